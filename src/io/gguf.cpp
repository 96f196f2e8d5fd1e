#include "io/gguf.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>

#include "core/gguf.h"

namespace wattn {
namespace {

constexpr std::uint64_t kMaxTensors = 1 << 20;
constexpr std::uint64_t kMaxDims = 4;

// By ggml_type number; W8 is wattn's own.
constexpr std::pair<std::uint64_t, DType> kTypes[] = {{0, DType::kF32},   {1, DType::kF16},     {2, DType::kQ40},
                                                      {8, DType::kQ80},   {12, DType::kQ4K},    {14, DType::kQ6K},
                                                      {30, DType::kBF16}, {1 << 16, DType::kW8}};

Result<TensorInfo> read_tensor(GgufReader& in, std::uint64_t alignment, std::string_view file) {
  TensorInfo tensor;
  tensor.name = std::string(in.string());
  const std::string where = std::string(file) + ": tensor '" + tensor.name + "': ";
  const auto dims = in.number(4);
  if (dims > kMaxDims) return model_format_error(where + "expected at most 4 dimensions, found " + std::to_string(dims));
  for (std::uint64_t i = 0; i < dims; ++i) {
    const auto dim = in.number(8);
    if (dim > std::uint64_t{1} << 40) return model_format_error(where + "expected a size below 2^40, found " + std::to_string(dim));
    tensor.shape.insert(tensor.shape.begin(), static_cast<std::int64_t>(dim));
  }
  const auto type = in.number(4);
  tensor.begin = in.number(8);
  if (in.cut_off) return tensor;
  const auto* known = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const auto& row) { return row.first == type; });
  if (known == std::end(kTypes)) {
    return unsupported_error(where + "expected F32, F16, BF16, Q8_0, Q4_0, Q4_K, Q6_K or W8, found ggml type " +
                             std::to_string(type));
  }
  const DType dtype = tensor.dtype = known->second;
  const std::int64_t row = tensor.shape.empty() ? 1 : tensor.shape.back();
  const auto count = num_elements(tensor.shape);
  if (!count || *count > std::int64_t{1} << 50 || row % dtype_block(dtype) != 0) {
    return model_format_error(where + "expected rows of whole " + std::string(dtype_name(dtype)) + " blocks, found shape " +
                              to_string(tensor.shape));
  }
  if (tensor.begin % alignment != 0) {
    return model_format_error(where + "expected an offset aligned to " + std::to_string(alignment) + ", found " +
                              std::to_string(tensor.begin));
  }
  tensor.end = tensor.begin + static_cast<std::uint64_t>(*count / dtype_block(dtype) * dtype_bytes(dtype));
  return tensor;
}

float half_at(const char* bytes) {
  std::uint16_t half;
  std::memcpy(&half, bytes, sizeof(half));
  return half_to_float(half);
}

// Explicit vectors, because compilers do not vectorise the plain loop.
void widen_bytes(float scale, const char* bytes, int count, float* out) {
  using FourBytes = std::int8_t __attribute__((vector_size(4)));
  using FourInts = std::int32_t __attribute__((vector_size(16)));
  using FourFloats = float __attribute__((vector_size(16)));
  for (int i = 0; i < count; i += 4) {
    FourBytes weights;
    std::memcpy(&weights, bytes + i, sizeof weights);
    const FourFloats values = scale * __builtin_convertvector(__builtin_convertvector(weights, FourInts), FourFloats);
    std::memcpy(out + i, &values, sizeof values);
  }
}

void widen_q4_0(const char* block, float* out) {
  const float scale = half_at(block);
  for (int i = 0; i < 16; ++i) {
    const auto byte = static_cast<std::uint8_t>(block[2 + i]);
    out[i] = scale * static_cast<float>((byte & 15) - 8);
    out[i + 16] = scale * static_cast<float>((byte >> 4) - 8);
  }
}

// Eight groups of 32 with a 6-bit scale and minimum each, packed into 12 bytes.
void widen_q4_k(const char* block, float* out) {
  const float scale = half_at(block), least = half_at(block + 2);
  const auto* packed = reinterpret_cast<const std::uint8_t*>(block + 4);
  const auto* nibbles = reinterpret_cast<const std::uint8_t*>(block + 16);
  for (int group = 0; group < 8; ++group) {
    int factor, minimum;
    if (group < 4) {
      factor = packed[group] & 63;
      minimum = packed[group + 4] & 63;
    } else {
      factor = (packed[group + 4] & 15) | ((packed[group - 4] >> 6) << 4);
      minimum = (packed[group + 4] >> 4) | ((packed[group] >> 6) << 4);
    }
    const float step = scale * static_cast<float>(factor), base = least * static_cast<float>(minimum);
    const std::uint8_t* from = nibbles + group / 2 * 32;
    for (int i = 0; i < 32; ++i) {
      out[32 * group + i] = step * static_cast<float>(group % 2 == 0 ? from[i] & 15 : from[i] >> 4) - base;
    }
  }
}

// Sixteen groups of 16 with an 8-bit scale each; the four low bits and the two high bits of a weight are stored separately.
void widen_q6_k(const char* block, float* out) {
  const float scale = half_at(block + 208);
  for (int half = 0; half < 2; ++half) {
    const auto* low = reinterpret_cast<const std::uint8_t*>(block) + 64 * half;
    const auto* high = reinterpret_cast<const std::uint8_t*>(block) + 128 + 32 * half;
    const auto* scales = reinterpret_cast<const std::int8_t*>(block) + 192 + 8 * half;
    for (int quarter = 0; quarter < 4; ++quarter) {
      for (int i = 0; i < 32; ++i) {
        const int bits = quarter < 2 ? low[32 * quarter + i] & 15 : low[32 * (quarter - 2) + i] >> 4;
        const int weight = (bits | ((high[i] >> (2 * quarter)) & 3) << 4) - 32;
        const int group = 2 * quarter + i / 16;
        out[128 * half + 32 * quarter + i] = scale * static_cast<float>(scales[group]) * static_cast<float>(weight);
      }
    }
  }
}

}  // namespace

Result<GgufHeader> parse_gguf_header(std::string_view bytes, std::uint64_t file_bytes, std::string_view file) {
  const auto metadata = GgufMetadata::read(bytes);
  if (!metadata.ok()) return metadata.error();
  GgufHeader header;
  GgufReader in{metadata.value().rest(), metadata.value().is_cut_off()};
  const std::uint64_t count = metadata.value().tensor_count();
  if (count > kMaxTensors) {
    return model_format_error(std::string(file) + ": expected at most 2^20 tensors, found " + std::to_string(count));
  }
  const double aligned = metadata.value().number("general.alignment").value_or(32);
  if (!(aligned >= 1 && aligned <= 1 << 20) || aligned != static_cast<double>(static_cast<std::uint32_t>(aligned))) {
    return model_format_error(std::string(file) + ": general.alignment: expected a whole number from 1 to 2^20");
  }
  const auto alignment = static_cast<std::uint64_t>(aligned);
  for (std::uint64_t i = 0; i < count && !in.cut_off; ++i) {
    auto tensor = read_tensor(in, alignment, file);
    if (!tensor.ok()) return tensor.error();
    header.tensors.push_back(std::move(tensor).value());
  }
  if (in.cut_off) return GgufHeader{.is_cut_off = true};
  const std::uint64_t end = bytes.size() - in.rest.size();
  header.header_bytes = (end + alignment - 1) / alignment * alignment;
  std::sort(header.tensors.begin(), header.tensors.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  std::uint64_t at = 0;
  for (const TensorInfo& tensor : header.tensors) {
    const std::uint64_t room = file_bytes - std::min(file_bytes, header.header_bytes);
    if (tensor.begin < at || tensor.end > room) {
      return model_format_error(std::string(file) + ": tensor '" + tensor.name +
                                "': expected a byte range that overlaps no other and ends within the file's " +
                                std::to_string(room) + ", found " + std::to_string(tensor.begin) + " to " +
                                std::to_string(tensor.end));
    }
    at = tensor.end;
  }
  return header;
}

void widen_blocks(DType dtype, const char* blocks, std::int64_t count, float* out) {
  const std::int64_t block = dtype_block(dtype), bytes = dtype_bytes(dtype);
  for (std::int64_t i = 0; i < count / block; ++i) {
    const char* from = blocks + i * bytes;
    float* to = out + i * block;
    if (dtype == DType::kW8) {
      float scale;
      std::memcpy(&scale, from, sizeof scale);
      widen_bytes(scale, from + sizeof scale, 64, to);
    }
    if (dtype == DType::kQ80) widen_bytes(half_at(from), from + 2, 32, to);
    if (dtype == DType::kQ40) widen_q4_0(from, to);
    if (dtype == DType::kQ4K) widen_q4_k(from, to);
    if (dtype == DType::kQ6K) widen_q6_k(from, to);
  }
}

}  // namespace wattn
