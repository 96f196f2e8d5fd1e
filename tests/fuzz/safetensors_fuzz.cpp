// Reads any bytes as a safetensors file, in pieces: the result is a model or an error, never a crash.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "io/weight_loader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wattn;
  if (size == 0) return 0;
  const std::size_t chunk = 1 + data[0] % 61;
  const std::string_view file(reinterpret_cast<const char*>(data) + 1, size - 1);
  float sum = 0;
  WeightLoader loader({{"a", {2, 3}, true, [&](std::int64_t, const float* row) { sum += row[0] + row[2]; }}}, {"b*"},
                      [](std::string_view name) { return std::string(name); });
  if (!loader.begin_file("model.safetensors", file.size()).ok()) return 0;
  for (std::size_t at = 0; at < file.size(); at += chunk) {
    if (!loader.push(file.substr(at, chunk)).ok()) return 0;
  }
  (void)loader.finish().ok();
  return 0;
}
