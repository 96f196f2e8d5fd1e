// build: -Oz
#include "io/gguf.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <utility>

#include "core/gguf.h"
#include "io/gguf_blocks.h"

namespace wattn {
namespace {

constexpr std::uint64_t kMaxTensors = 1 << 20;
constexpr std::uint64_t kMaxDims = 4;

constexpr std::pair<std::uint64_t, DType> kPlain[] = {{0, DType::kF32}, {1, DType::kF16}, {30, DType::kBF16}};  // by ggml_type

const BlockType* find_block_type(std::uint64_t number) {
  for (const std::span<const BlockType> types : {block_types(), more_block_types()}) {
    for (const BlockType& type : types) {
      if (type.number == number) return &type;
    }
  }
  return nullptr;
}

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
  const auto* plain = std::find_if(std::begin(kPlain), std::end(kPlain), [&](const auto& one) { return one.first == type; });
  if (plain != std::end(kPlain)) {
    tensor.dtype = plain->second;
  } else {
    tensor.blocks = find_block_type(type);
    if (!tensor.blocks || !tensor.blocks->widen) {
      const std::string name = tensor.blocks ? std::string(tensor.blocks->name) : "ggml's type " + std::to_string(type);
      return unsupported_error(where + "expected a supported type (use a Q4_K_M or Q8_0 file), found " + name);
    }
  }
  const std::int64_t row = tensor.shape.empty() ? 1 : tensor.shape.back();
  const auto count = num_elements(tensor.shape);
  if (!count || *count > std::int64_t{1} << 50 || row % tensor.piece_length() != 0) {
    return model_format_error(where + "expected rows of whole " +
                              std::string(tensor.blocks ? tensor.blocks->name : dtype_name(tensor.dtype)) + " blocks of " +
                              std::to_string(tensor.piece_length()) + ", found shape " + to_string(tensor.shape));
  }
  if (tensor.begin % alignment != 0) {
    return model_format_error(where + "expected an offset aligned to " + std::to_string(alignment) + ", found " +
                              std::to_string(tensor.begin));
  }
  tensor.end = tensor.begin + static_cast<std::uint64_t>(*count / tensor.piece_length() * tensor.piece_bytes());
  return tensor;
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
    return model_format_error(std::string(file) +
                              ": general.alignment: expected a whole number from 1 to 2^20, found another number");
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
                                "': expected a byte range that overlaps no other and ends within the tensor data's " +
                                std::to_string(room) + " bytes, found " + std::to_string(tensor.begin) + " to " +
                                std::to_string(tensor.end));
    }
    at = tensor.end;
  }
  return header;
}

}  // namespace wattn
