// A model in TensorFlow Lite Micro: in one arena by the runtime's own planner, then in two arenas as a header
// planned by chipmodel says, with unmapped addresses between them. Built and run by bench/two_memories.py.
#include <sys/mman.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "tensorflow/lite/micro/arena_allocator/single_arena_buffer_allocator.h"
#include "tensorflow/lite/micro/memory_planner/greedy_memory_planner.h"
#include "tensorflow/lite/micro/micro_interpreter.h"
#include "tensorflow/lite/micro/micro_mutable_op_resolver.h"
#include "tensorflow/lite/schema/schema_generated.h"
#include HEADER

namespace plan = SPACE;
using Bytes = std::vector<uint8_t>;
constexpr size_t kArena = 8 << 20;
constexpr size_t kApart = 256 << 20;  // from the start of one arena to that of the other
constexpr uint8_t kUntouched = 0xA5;

static tflite::MicroMutableOpResolver<24> Operators() {
  tflite::MicroMutableOpResolver<24> all;
  all.AddAdd(), all.AddAveragePool2D(), all.AddConcatenation(), all.AddConv2D(), all.AddDepthwiseConv2D();
  all.AddFullyConnected(), all.AddIf(), all.AddLess(), all.AddLogistic();
  all.AddMaxPool2D(), all.AddMean(), all.AddQuantize(), all.AddReshape(), all.AddSoftmax(), all.AddSvdf();
  all.AddUnidirectionalSequenceLSTM(), all.AddWhile();
  return all;
}

static uint8_t* Mapped(uint8_t* at, size_t size) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
  return static_cast<uint8_t*>(mmap(at, size, PROT_READ | PROT_WRITE, flags, -1, 0));
}

// The outputs of two runs on different inputs; empty where the runtime refuses.
static Bytes Run(const tflite::Model* model, tflite::MicroAllocator* allocator) {
  Bytes found;
  const auto operators = Operators();
  tflite::MicroInterpreter machine(model, operators, allocator);
  if (machine.AllocateTensors() != kTfLiteOk) return found;
  for (unsigned seed = 1; seed <= 2; ++seed) {
    unsigned random = seed;
    for (size_t i = 0; i < machine.inputs_size(); ++i) {
      TfLiteTensor* input = machine.input(i);
      for (size_t n = 0; n < input->bytes; ++n) {
        random = random * 1664525u + 1013904223u;
        input->data.uint8[n] = input->type == kTfLiteFloat32 && n % 4 == 3 ? 0x3F : random >> 24;
      }
    }
    if (machine.Invoke() != kTfLiteOk) return {};
    for (size_t i = 0; i < machine.outputs_size(); ++i) {
      const TfLiteTensor* output = machine.output(i);
      found.insert(found.end(), output->data.uint8, output->data.uint8 + output->bytes);
    }
  }
  return found;
}

// `PROGRAM MODEL` compares; `PROGRAM MODEL span` runs a model whose offline plan has both memories in one
// arena that spans them, which is what the runtime's own planner would need.
int main(int count, char** words) {
  std::ifstream file(words[1], std::ios::binary);
  Bytes data((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  data.reserve(data.size() + 16);
  const tflite::Model* model = tflite::GetModel(data.data());
  void* reserved = mmap(nullptr, 2 * kApart, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  uint8_t* sram = Mapped(static_cast<uint8_t*>(reserved), kArena);
  uint8_t* psram = Mapped(sram + kApart, kArena);
  if (count > 2) {
    static uint8_t persistent[kArena];
    auto* spans = tflite::MicroAllocator::Create(persistent, kArena, sram, kApart + kArena);
    return Run(model, spans).empty();
  }
  auto* whole = tflite::SingleArenaBufferAllocator::Create(sram, kArena);
  tflite::GreedyMemoryPlanner greedy;
  const Bytes alone = Run(model, tflite::MicroAllocator::Create(whole, &greedy));
  const size_t head = whole->GetNonPersistentUsedBytes();
  std::memset(psram, kUntouched, kArena);
  plan::TwoMemoryPlanner planner(sram, psram);
  auto* split = tflite::SingleArenaBufferAllocator::Create(sram, kArena);
  const Bytes both = Run(model, tflite::MicroAllocator::Create(split, &planner));
  size_t touched = kArena;
  while (touched && psram[touched - 1] == kUntouched) --touched;
  std::printf("%zu %zu %zu %d\n", head, split->GetNonPersistentUsedBytes(), touched,
              !alone.empty() && alone == both);
  return 0;
}
