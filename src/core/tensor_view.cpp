// build: -Oz
#include "core/tensor_view.h"

#include <bit>

namespace wattn {
namespace {

struct DTypeRow {
  std::string_view name;
  std::int64_t bytes;
};
// In the order of the enum.
constexpr DTypeRow kDTypes[] = {{"F64", 8}, {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"I64", 8},
                                {"I32", 4}, {"I16", 2}, {"I8", 1},  {"U8", 1},   {"BOOL", 1}};

}  // namespace

std::int64_t dtype_bytes(DType dtype) { return kDTypes[static_cast<int>(dtype)].bytes; }
std::string_view dtype_name(DType dtype) { return kDTypes[static_cast<int>(dtype)].name; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kDTypes); ++i) {
    if (kDTypes[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

std::string to_string(const Shape& shape) {
  std::string out = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) out += (i ? ", " : "") + std::to_string(shape[i]);
  return out + "]";
}

std::optional<std::int64_t> num_elements(const Shape& shape) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 62;
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) {
    if (dim < 0 || (dim > 0 && count > kLargest / dim)) return std::nullopt;
    count *= dim;
  }
  return count;
}

float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1F;
  const std::uint32_t mantissa = half & 0x3FF;
  if (exponent == 0) {  // zero and subnormals: mantissa * 2^-24, exact in f32
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000u | (mantissa << 13));
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

float bfloat_to_float(std::uint16_t bfloat) { return std::bit_cast<float>(static_cast<std::uint32_t>(bfloat) << 16); }

}  // namespace wattn
