// Shapes, element types and views. A view owns nothing.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace wattn {

// The types of safetensors. GGUF's blocks: io/gguf_blocks.h.
enum class DType : std::uint8_t { kF64, kF32, kF16, kBF16, kI64, kI32, kI16, kI8, kU8, kBool };

std::int64_t dtype_bytes(DType dtype);
std::string_view dtype_name(DType dtype);  // as safetensors and GGUF spell it: "F32"
std::optional<DType> dtype_from_name(std::string_view name);

using Shape = std::vector<std::int64_t>;

std::string to_string(const Shape& shape);                     // "[30522, 384]"
std::optional<std::int64_t> num_elements(const Shape& shape);  // nothing if it exceeds 62 bits or a dim is negative

struct TensorView {
  const float* data = nullptr;
  std::span<const std::int64_t> shape{};
};

// Exact conversions of f16 and bf16 to f32.
float half_to_float(std::uint16_t half);
float bfloat_to_float(std::uint16_t bfloat);

}  // namespace wattn
