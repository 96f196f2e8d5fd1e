// build: -Oz
#include "io/safetensors.h"

#include <algorithm>

#include "core/json.h"

namespace wattn {
namespace {

Result<TensorInfo> parse_tensor(std::string_view name, JsonRef entry) {
  TensorInfo tensor;
  tensor.name = name;
  const auto dtype_text = entry["dtype"].as_string();
  if (!dtype_text.ok()) return dtype_text.error();
  const auto dtype = dtype_from_name(dtype_text.value());
  if (dtype_text.value() == "W8") {
    const auto is_w8 = [](const BlockType& type) { return type.number == kW8; };
    tensor.blocks = &*std::find_if(block_types().begin(), block_types().end(), is_w8);
  } else if (!dtype) {
    return unsupported_error(entry["dtype"].where() + ": expected one of F64, F32, F16, BF16, I64, I32, I16, I8, U8, BOOL, found " +
                             entry["dtype"].describe());
  }
  tensor.dtype = dtype.value_or(DType::kF32);

  const JsonRef shape = entry["shape"];
  if (!shape.is_array()) return shape.mismatch("an array of dimensions");
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto dim = shape[i].as_int();
    if (!dim.ok()) return dim.error();
    tensor.shape.push_back(dim.value());
  }
  const auto count = num_elements(tensor.shape);
  if (!count) return shape.mismatch("dimensions of 0 or more whose product is below 2^62");

  const JsonRef offsets = entry["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2) return offsets.mismatch("an array of two byte offsets");
  const auto begin = offsets[0].as_int();
  const auto end = offsets[1].as_int();
  if (!begin.ok()) return begin.error();
  if (!end.ok()) return end.error();
  if (begin.value() < 0 || end.value() < begin.value()) return offsets.mismatch("0 <= begin <= end");
  tensor.begin = static_cast<std::uint64_t>(begin.value());
  tensor.end = static_cast<std::uint64_t>(end.value());

  // Elements are blocks of some values of a row, or values.
  const std::int64_t length = tensor.piece_length();
  if (length > 1 && (tensor.shape.empty() || tensor.shape.back() % length != 0)) return shape.mismatch("rows of whole blocks");
  const auto item_bytes = static_cast<std::uint64_t>(tensor.piece_bytes());
  const std::uint64_t span = tensor.end - tensor.begin;
  if (span % item_bytes != 0 || span / item_bytes != static_cast<std::uint64_t>(*count / length)) {
    return model_format_error(offsets.where() + ": expected " + std::to_string(*count / length) + " elements of " +
                              std::to_string(item_bytes) + " bytes for shape " + to_string(tensor.shape) + ", found " +
                              std::to_string(span) + " bytes");
  }
  return tensor;
}

}  // namespace

Result<std::uint64_t> safetensors_header_bytes(std::string_view prefix, std::uint64_t file_bytes, std::string_view file) {
  const std::string name(file);
  if (prefix.size() < kSafetensorsPrefixBytes || file_bytes < kSafetensorsPrefixBytes) {
    return model_format_error(name + ": expected a safetensors file, found only " + std::to_string(file_bytes) + " bytes");
  }
  std::uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | static_cast<unsigned char>(prefix[i]);
  const std::uint64_t largest = std::min(kSafetensorsMaxHeaderBytes, file_bytes - kSafetensorsPrefixBytes);
  if (length >= 2 && length <= largest) return length;
  // Not before: a length of 60 begins like HTML.
  if (prefix.starts_with("<")) {
    return model_format_error(name + ": expected a safetensors file, found HTML or XML (a web page in place of the file?)");
  }
  if (prefix.starts_with("version ")) {
    return model_format_error(name + ": expected a safetensors file, found a Git LFS pointer (the file itself was not fetched)");
  }
  return model_format_error(name + ": expected a header length from 2 to " + std::to_string(largest) + ", found " +
                            std::to_string(length) + " (not a safetensors file, or cut off)");
}

Result<std::vector<TensorInfo>> parse_safetensors_header(std::string_view header, std::uint64_t file_bytes, std::string_view file) {
  auto json = Json::parse(header, std::string(file) + " (header)");
  if (!json.ok()) return json.error();
  const JsonRef root = json.value().root();
  if (!root.is_object()) return root.mismatch("an object of tensors");

  std::vector<TensorInfo> tensors;
  tensors.reserve(root.size());
  for (const auto& [name, entry] : root.members()) {
    if (name == "__metadata__") continue;
    auto tensor = parse_tensor(name, entry);
    if (!tensor.ok()) return tensor.error();
    tensors.push_back(std::move(tensor).value());
  }
  // An empty tensor sorts before the one that starts at the same byte.
  std::sort(tensors.begin(), tensors.end(),
            [](const TensorInfo& a, const TensorInfo& b) { return a.begin != b.begin ? a.begin < b.begin : a.end < b.end; });
  std::uint64_t expected = 0;
  for (const TensorInfo& tensor : tensors) {
    if (tensor.begin != expected) {
      return model_format_error(std::string(file) + ": tensor '" + tensor.name + "': expected its bytes to begin at " +
                                std::to_string(expected) + ", found " + std::to_string(tensor.begin) +
                                (tensor.begin > expected ? " (a gap)" : " (an overlap)"));
    }
    expected = tensor.end;
  }
  const std::uint64_t data_bytes = file_bytes - kSafetensorsPrefixBytes - header.size();
  if (expected != data_bytes) {
    return model_format_error(std::string(file) + ": expected " + std::to_string(expected) +
                              " bytes of tensors according to the header, found " + std::to_string(data_bytes) +
                              (data_bytes < expected ? " (cut off)" : " (bytes left over)"));
  }
  return tensors;
}

}  // namespace wattn
