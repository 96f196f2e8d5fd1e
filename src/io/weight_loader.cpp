// build: -Os
#include "io/weight_loader.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "io/gguf_widen.h"

namespace wattn {
namespace {

constexpr std::uint64_t kFirstGgufBytes = 1 << 16;
constexpr int kFileBegins = -2;  // in WeightLoader::all_targets_

bool is_float(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF64; }

bool is_integer(DType dtype) { return dtype == DType::kI8 || dtype == DType::kI32 || dtype == DType::kI64; }

// Widens count elements at bytes (any alignment) to f32. f64 and large integers are rounded.
void widen(const TensorInfo& tensor, const char* bytes, std::int64_t count, float* out) {
  if (tensor.blocks) return widen_blocks(*tensor.blocks, bytes, count, out);
  const DType dtype = tensor.dtype;
  const auto read = [&]<class T>(T, std::int64_t i) {
    T value;
    std::memcpy(&value, bytes + i * sizeof(T), sizeof(T));
    return value;
  };
  switch (dtype) {
    case DType::kF32:
      std::memcpy(out, bytes, count * sizeof(float));
      break;
    case DType::kF16:
      for (std::int64_t i = 0; i < count; ++i) out[i] = half_to_float(read(std::uint16_t{}, i));
      break;
    case DType::kBF16:
      for (std::int64_t i = 0; i < count; ++i) out[i] = bfloat_to_float(read(std::uint16_t{}, i));
      break;
    case DType::kF64:
      for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(read(double{}, i));
      break;
    case DType::kI8:
    case DType::kI32:
    case DType::kI64: {
      const std::int64_t size = dtype_bytes(dtype), unused_bits = 64 - 8 * size;
      for (std::int64_t i = 0; i < count; ++i) {
        std::uint64_t value = 0;
        std::memcpy(&value, bytes + i * size, static_cast<std::size_t>(size));
        out[i] = static_cast<float>(static_cast<std::int64_t>(value << unused_bits) >> unused_bits);
      }
      break;
    }
    default:  // no weights
      break;
  }
}

std::int64_t row_length(const Shape& shape) { return shape.empty() ? 1 : shape.back(); }

std::uint64_t row_bytes(const TensorInfo& tensor) {
  return static_cast<std::uint64_t>(row_length(tensor.shape) / tensor.piece_length() * tensor.piece_bytes());
}

// FNV-1a over values; zeros of either sign are equal.
std::uint64_t add_to_digest(std::uint64_t digest, const float* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    digest = (digest ^ std::bit_cast<std::uint32_t>(values[i] + 0.0f)) * 0x100000001B3u;
  }
  return digest;
}

}  // namespace

bool matches_any(std::string_view name, const std::vector<std::string>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(), [&](std::string_view pattern) {
    if (pattern.starts_with('*')) return name.ends_with(pattern.substr(1));
    return pattern.ends_with('*') ? name.starts_with(pattern.substr(0, pattern.size() - 1)) : name == pattern;
  });
}

WeightLoader::WeightLoader(std::vector<WeightTarget> targets, std::vector<std::string> ignored,
                           std::function<std::string(std::string_view)> canonical)
    : targets_(std::move(targets)), ignored_(std::move(ignored)), canonical_(std::move(canonical)) {
  for (std::size_t i = 0; i < targets_.size(); ++i) target_by_name_.emplace(targets_[i].name, i);
  for (WeightTarget& target : targets_) {
    if (const auto twin = target_by_name_.find(target.twin); twin != target_by_name_.end()) {
      target.compared = targets_[twin->second].compared = true;
    }
  }
}

HeldBlocks WeightLoader::blocks_of(std::string_view name) const {
  const auto found = target_by_name_.find(canonical_(name));
  return found == target_by_name_.end() ? HeldBlocks::kNone : targets_[found->second].blocks;
}

std::vector<std::uint8_t> WeightLoader::held() const {
  std::vector<std::uint8_t> out;
  if (widened_blocks_) return out;
  for (const int i : all_targets_) {
    if (i < 0) {
      out.push_back(i == kFileBegins ? 255 : 0);
      continue;
    }
    const WeightTarget& target = targets_[i];
    const bool is_twin = target.compared && !target.twin.empty() && targets_[target_by_name_.at(target.twin)].filled;
    const bool repeats = is_twin && !target.write_row && !target.differs;
    out.push_back(static_cast<std::uint8_t>(repeats ? HeldBlocks::kRepeats : target.blocks));
  }
  return out;
}

Result<void> WeightLoader::begin_file(std::string file, std::uint64_t file_bytes) {
  if (auto complete = check_complete(); !complete.ok()) return complete;
  file_ = std::move(file);
  file_bytes_ = file_bytes;
  taken_ = header_bytes_ = gap_ = 0;
  tensors_.clear();
  tensor_ = 0;
  row_ = 0;
  pending_.clear();
  is_gguf_ = file_.ends_with(".gguf");
  wanted_ = is_gguf_ ? std::min(file_bytes, kFirstGgufBytes) : kSafetensorsPrefixBytes;
  if (is_gguf_ && file_bytes == 0) return model_format_error(file_ + ": expected a GGUF file, found no bytes");
  if (!is_gguf_ && file_bytes < kSafetensorsPrefixBytes) return safetensors_header_bytes({}, file_bytes, file_).error();
  return {};
}

Result<void> WeightLoader::match_tensors() {
  tensor_targets_.assign(tensors_.size(), -1);
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const TensorInfo& tensor = tensors_[i];
    const std::string name = canonical_(tensor.name), where = file_ + ": tensor '" + tensor.name + "'";
    const auto found = target_by_name_.find(name);
    if (found == target_by_name_.end()) {
      if (matches_any(name, ignored_)) continue;
      return model_format_error(where + " " + to_string(tensor.shape) + ": this architecture has no such tensor");
    }
    WeightTarget& target = targets_[found->second];
    if (target.filled) return model_format_error(where + " is repeated");
    const bool lacks_rows = target.may_lack_rows && tensor.shape.size() == 2 && tensor.shape[0] < target.shape[0];
    if (tensor.shape != target.shape && !(lacks_rows && tensor.shape[1] == target.shape[1])) {
      return model_format_error(where + ": expected shape " + to_string(target.shape) + ", found " + to_string(tensor.shape));
    }
    if (!is_float(tensor.dtype) && !(target.integers && is_integer(tensor.dtype))) {
      return unsupported_error(where + ": expected F32, F16, BF16 or F64, found " + std::string(dtype_name(tensor.dtype)));
    }
    target.filled = true;  // finish() fails if the bytes do not arrive
    tensor_targets_[i] = static_cast<int>(found->second);
  }
  all_targets_.push_back(kFileBegins);
  all_targets_.insert(all_targets_.end(), tensor_targets_.begin(), tensor_targets_.end());
  return {};
}

Result<void> WeightLoader::begin_tensors(std::vector<TensorInfo> tensors, std::uint64_t header_bytes) {
  tensors_ = std::move(tensors);
  header_bytes_ = header_bytes;
  wanted_ = 0;
  gap_ = tensors_.empty() ? 0 : tensors_[0].begin;
  return match_tensors();
}

Result<void> WeightLoader::open_safetensors() {
  if (header_bytes_ == 0) {
    auto length = safetensors_header_bytes(pending_, file_bytes_, file_);
    if (!length.ok()) return length.error();
    header_bytes_ = length.value();
    wanted_ = kSafetensorsPrefixBytes + header_bytes_;
    return {};
  }
  auto tensors = parse_safetensors_header(std::string_view(pending_).substr(kSafetensorsPrefixBytes), file_bytes_, file_);
  if (!tensors.ok()) return tensors.error();
  return begin_tensors(std::move(tensors).value(), wanted_);
}

Result<void> WeightLoader::open_gguf() {
  auto header = parse_gguf_header(pending_, file_bytes_, file_);
  if (!header.ok()) return header.error();
  const std::uint64_t wanted = header.value().is_cut_off ? 2 * wanted_ : header.value().header_bytes;
  if (header.value().is_cut_off || wanted > pending_.size()) {
    if (pending_.size() == file_bytes_) {
      return model_format_error(file_ + ": expected a complete header, found a file of " + std::to_string(file_bytes_) +
                                " bytes that ends inside it");
    }
    wanted_ = std::min(wanted, file_bytes_);
    return {};
  }
  return begin_tensors(std::move(header.value().tensors), wanted);
}

Result<void> WeightLoader::take_row(const TensorInfo& tensor, WeightTarget& target, std::int64_t row, const char* bytes) {
  const bool is_w8 = tensor.blocks && tensor.blocks->number == kW8;
  const bool is_written = is_w8 && target.write_blocks && target.write_blocks(row, bytes);
  if (is_written && !target.compared) return {};
  widened_blocks_ |= is_w8 && !is_written && target.write_row;
  const std::int64_t count = row_length(tensor.shape);
  const float* values = reinterpret_cast<const float*>(bytes);
  if (tensor.blocks || tensor.dtype != DType::kF32 || reinterpret_cast<std::uintptr_t>(bytes) % alignof(float) != 0) {
    values_.resize(static_cast<std::size_t>(count));
    widen(tensor, bytes, count, values_.data());
    values = values_.data();
  }
  std::uint32_t largest = 0;  // as bits without the sign: infinity and NaN are above all others
  for (std::int64_t i = 0; i < count; ++i) largest = std::max(largest, std::bit_cast<std::uint32_t>(values[i]) & 0x7FFFFFFFu);
  if (largest >= 0x7F800000u) {
    const std::int64_t i = std::find_if(values, values + count, [](float x) { return !std::isfinite(x); }) - values;
    return model_format_error(file_ + ": tensor '" + tensor.name + "': expected finite numbers, found " +
                              (std::isnan(values[i]) ? "NaN" : "infinity") + " at row " + std::to_string(row) + ", column " +
                              std::to_string(i));
  }
  const auto within = [&](float x) { return x >= 0 && x < static_cast<float>(target.below) && x == std::trunc(x); };
  if (const float* bad = std::find_if_not(values, values + count, within); target.below > 0 && bad != values + count) {
    return model_format_error(file_ + ": tensor '" + tensor.name + "': expected whole numbers from 0 to " +
                              std::to_string(target.below - 1) + ", found " +
                              std::to_string(static_cast<std::int64_t>(std::clamp(*bad, -1e9f, 1e9f))));
  }
  if (target.compared) target.digest = add_to_digest(target.digest, values, count);
  if (target.offset != 0) {
    if (values != values_.data()) values_.assign(values, values + count);
    for (float& value : values_) value += target.offset;
    values = values_.data();
  }
  if (target.write_row && !is_written) target.write_row(row, values);
  return {};
}

Result<void> WeightLoader::push(std::string_view bytes) {
  if (bytes.size() > file_bytes_ - taken_) {
    return model_format_error(file_ + ": expected " + std::to_string(file_bytes_) + " bytes, found more");
  }
  taken_ += bytes.size();
  std::string after_header;
  while (wanted_ > 0) {
    const std::uint64_t missing = wanted_ - pending_.size();
    const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(missing, bytes.size()));
    pending_.append(bytes.substr(0, count));
    bytes.remove_prefix(count);
    if (count < missing) return {};
    if (auto opened = is_gguf_ ? open_gguf() : open_safetensors(); !opened.ok()) return opened;
    if (wanted_ > 0) continue;
    after_header.assign(pending_, static_cast<std::size_t>(header_bytes_));
    after_header.append(bytes);
    bytes = after_header;
    pending_.clear();
    pending_.shrink_to_fit();
  }
  while (tensor_ < tensors_.size()) {
    const std::size_t passed = static_cast<std::size_t>(std::min<std::uint64_t>(gap_, bytes.size()));
    bytes.remove_prefix(passed);
    gap_ -= passed;
    const TensorInfo& tensor = tensors_[tensor_];
    const std::uint64_t tensor_bytes = tensor.end - tensor.begin;
    const std::uint64_t row_bytes = wattn::row_bytes(tensor);
    if (row_bytes == 0 || static_cast<std::uint64_t>(row_) * row_bytes == tensor_bytes) {
      ++tensor_;
      row_ = 0;
      if (tensor_ < tensors_.size()) gap_ = tensors_[tensor_].begin - tensor.end;
      continue;
    }
    if (bytes.empty()) break;
    const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(row_bytes - pending_.size(), bytes.size()));
    const char* whole_row = count == row_bytes ? bytes.data() : nullptr;
    if (!whole_row) pending_.append(bytes.substr(0, count));
    bytes.remove_prefix(count);
    if (!whole_row && pending_.size() < row_bytes) break;
    if (const int target = tensor_targets_[tensor_]; target >= 0) {
      auto taken = take_row(tensor, targets_[target], row_, whole_row ? whole_row : pending_.data());
      if (!taken.ok()) return taken;
    }
    pending_.clear();
    ++row_;
  }
  return {};
}

Result<void> WeightLoader::check_complete() const {
  if (taken_ == file_bytes_) return {};
  return model_format_error(file_ + ": expected " + std::to_string(file_bytes_) + " bytes, found only " + std::to_string(taken_) +
                            " (cut off)");
}

Result<void> WeightLoader::finish() {
  if (auto complete = check_complete(); !complete.ok()) return complete;
  for (WeightTarget& target : targets_) {
    if (target.required && !target.adapted && !target.filled) {
      return model_format_error(file_ + ": expected tensor '" + target.name + "' " + to_string(target.shape) +
                                ", found no such tensor");
    }
    if (!target.compared || target.twin.empty() || !target.filled) continue;
    const WeightTarget& twin = targets_[target_by_name_.at(target.twin)];
    target.differs = twin.filled && twin.digest != target.digest;
    if (target.differs && !target.may_differ) {
      return unsupported_error(file_ + ": tensor '" + target.name + "': expected the values of '" + twin.name +
                               "', to which config.json ties it, found different values");
    }
  }
  return {};
}

}  // namespace wattn
