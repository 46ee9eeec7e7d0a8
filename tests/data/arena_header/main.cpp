#include <cstdio>
#include <cstdlib>
#include "plan.h"
// Arguments: bytes that Psram is off its alignment, bytes to plan in, then three numbers for each buffer.
int main(int count, char** words) {
  alignas(16) static uint8_t sram[1 << 20];
  alignas(16) static uint8_t psram[1 << 20];
  uint8_t* second = psram + std::atoi(words[1]);
  m_arena::TwoMemoryPlanner planner(sram, second);
  if (planner.Init(sram, std::atoi(words[2])) != kTfLiteOk) return 1;
  for (int i = 3; i + 2 < count; i += 3)
    if (planner.AddBuffer(std::atoi(words[i]), std::atoi(words[i + 1]), std::atoi(words[i + 2])) != kTfLiteOk)
      return 1;
  for (int i = 0; i < planner.GetBufferCount(); ++i) {
    int offset;
    if (planner.GetOffsetForBuffer(i, &offset) != kTfLiteOk) return 1;
    uint8_t* at = sram + offset;
    const bool there = at >= second && at < second + m_arena::kPsramBytes;
    std::printf("%d %d\n", there, static_cast<int>(at - (there ? second : sram)));
  }
  std::printf("%zu\n", planner.GetMaximumMemorySize());
  return 0;
}
