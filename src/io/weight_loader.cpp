#include "io/weight_loader.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace wattn {
namespace {

bool is_float(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF64; }

// Widens count elements at bytes (any alignment) to f32. f64 is rounded.
void widen(DType dtype, const char* bytes, std::int64_t count, float* out) {
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
    default:
      for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(read(double{}, i));
      break;
  }
}

std::int64_t row_length(const Shape& shape) { return shape.empty() ? 1 : shape.back(); }

}  // namespace

bool matches_any(std::string_view name, const std::vector<std::string>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(), [&](std::string_view pattern) {
    return pattern.ends_with('*') ? name.starts_with(pattern.substr(0, pattern.size() - 1)) : name == pattern;
  });
}

WeightLoader::WeightLoader(std::vector<WeightSlot> slots, std::vector<std::string> ignored,
                           std::function<std::string(std::string_view)> canonical)
    : slots_(std::move(slots)), ignored_(std::move(ignored)), canonical_(std::move(canonical)) {
  for (std::size_t i = 0; i < slots_.size(); ++i) slot_by_name_.emplace(slots_[i].name, i);
}

Result<void> WeightLoader::begin_file(std::string file, std::uint64_t file_bytes) {
  if (taken_ != file_bytes_) {
    return model_format_error(file_ + ": expected " + std::to_string(file_bytes_) + " bytes, found only " + std::to_string(taken_));
  }
  file_ = std::move(file);
  file_bytes_ = file_bytes;
  taken_ = header_bytes_ = 0;
  header_open_ = true;
  tensors_.clear();
  tensor_ = 0;
  row_ = 0;
  pending_.clear();
  if (file_bytes < kSafetensorsPrefixBytes) return safetensors_header_bytes({}, file_bytes, file_).error();
  return {};
}

Result<void> WeightLoader::match_tensors() {
  tensor_slots_.assign(tensors_.size(), -1);
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const TensorInfo& tensor = tensors_[i];
    const std::string name = canonical_(tensor.name);
    const auto found = slot_by_name_.find(name);
    if (found == slot_by_name_.end()) {
      if (matches_any(name, ignored_)) continue;
      return model_format_error(file_ + ": tensor '" + tensor.name + "' " + to_string(tensor.shape) +
                                " is not one that this architecture has");
    }
    WeightSlot& slot = slots_[found->second];
    if (slot.filled) return model_format_error(file_ + ": tensor '" + tensor.name + "' comes a second time");
    if (tensor.shape != slot.shape) {
      return model_format_error(file_ + ": tensor '" + tensor.name + "': expected shape " + to_string(slot.shape) + ", found " +
                                to_string(tensor.shape));
    }
    if (!is_float(tensor.dtype)) {
      return unsupported_error(file_ + ": tensor '" + tensor.name + "': expected F32, F16, BF16 or F64, found " +
                               std::string(dtype_name(tensor.dtype)));
    }
    slot.filled = true;  // its bytes are counted: finish() cannot pass without them
    tensor_slots_[i] = static_cast<int>(found->second);
  }
  return {};
}

Result<void> WeightLoader::open_header() {
  if (header_bytes_ == 0) {
    if (pending_.size() < kSafetensorsPrefixBytes) return {};
    auto length = safetensors_header_bytes(pending_, file_bytes_, file_);
    if (!length.ok()) return length.error();
    header_bytes_ = length.value();
    pending_.clear();
    return {};
  }
  if (pending_.size() < header_bytes_) return {};
  auto tensors = parse_safetensors_header(pending_, file_bytes_, file_);
  if (!tensors.ok()) return tensors.error();
  tensors_ = std::move(tensors).value();
  pending_.clear();
  pending_.shrink_to_fit();
  header_open_ = false;
  return match_tensors();
}

Result<void> WeightLoader::take_row(const TensorInfo& tensor, WeightSlot& slot, std::int64_t row) {
  const std::int64_t count = row_length(tensor.shape);
  values_.resize(static_cast<std::size_t>(count));
  widen(tensor.dtype, pending_.data(), count, values_.data());
  for (std::int64_t i = 0; i < count; ++i) {
    if (!std::isfinite(values_[i])) {
      return model_format_error(file_ + ": tensor '" + tensor.name + "': expected finite numbers, found " +
                                (std::isnan(values_[i]) ? "NaN" : "infinity") + " at row " + std::to_string(row) + ", column " +
                                std::to_string(i));
    }
  }
  slot.write_row(row, values_.data());
  return {};
}

Result<void> WeightLoader::push(std::string_view bytes) {
  if (bytes.size() > file_bytes_ - taken_) {
    return model_format_error(file_ + ": expected " + std::to_string(file_bytes_) + " bytes, found more");
  }
  taken_ += bytes.size();
  while (header_open_) {
    const std::uint64_t wanted = (header_bytes_ ? header_bytes_ : kSafetensorsPrefixBytes) - pending_.size();
    const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(wanted, bytes.size()));
    pending_.append(bytes.substr(0, count));
    bytes.remove_prefix(count);
    if (count < wanted) return {};
    if (auto opened = open_header(); !opened.ok()) return opened;
  }
  while (tensor_ < tensors_.size()) {
    const TensorInfo& tensor = tensors_[tensor_];
    const std::uint64_t tensor_bytes = tensor.end - tensor.begin;
    const std::uint64_t row_bytes = static_cast<std::uint64_t>(row_length(tensor.shape) * dtype_bytes(tensor.dtype));
    if (row_bytes == 0 || static_cast<std::uint64_t>(row_) * row_bytes == tensor_bytes) {
      ++tensor_;
      row_ = 0;
      continue;
    }
    if (bytes.empty()) break;
    const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(row_bytes - pending_.size(), bytes.size()));
    pending_.append(bytes.substr(0, count));
    bytes.remove_prefix(count);
    if (pending_.size() < row_bytes) break;
    if (const int slot = tensor_slots_[tensor_]; slot >= 0) {
      if (auto taken = take_row(tensor, slots_[slot], row_); !taken.ok()) return taken;
    }
    pending_.clear();
    ++row_;
  }
  return {};
}

Result<void> WeightLoader::finish() {
  if (taken_ != file_bytes_) {
    return model_format_error(file_ + ": expected " + std::to_string(file_bytes_) + " bytes, found only " + std::to_string(taken_) +
                              " (cut off)");
  }
  for (const WeightSlot& slot : slots_) {
    if (slot.required && !slot.filled) {
      return model_format_error(file_ + ": expected tensor '" + slot.name + "' " + to_string(slot.shape) +
                                ", found no such tensor");
    }
  }
  return {};
}

}  // namespace wattn
