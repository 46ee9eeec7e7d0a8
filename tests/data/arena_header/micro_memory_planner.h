#include <cstddef>
enum TfLiteStatus { kTfLiteOk, kTfLiteError };
namespace tflite {
struct MicroMemoryPlanner {
  virtual ~MicroMemoryPlanner() {}
  virtual TfLiteStatus AddBuffer(int, int, int) = 0;
  virtual TfLiteStatus AddBuffer(int, int, int, int) { return kTfLiteError; }
  virtual size_t GetMaximumMemorySize() = 0;
  virtual int GetBufferCount() = 0;
  virtual TfLiteStatus GetOffsetForBuffer(int, int*) = 0;
  virtual TfLiteStatus Init(unsigned char*, int) { return kTfLiteOk; }
  virtual bool preserves_all_tensors() const = 0;
};
}  // namespace tflite
