#include "tasks/text_job.h"

#include <algorithm>
#include <bit>

namespace wattn {

Result<void> TextJob::encode_next() {
  auto encoding = encode(next_);
  if (!encoding.ok()) return encoding.error();
  windows_ = std::move(encoding.value().overflowing);
  windows_.insert(windows_.begin(), std::move(encoding).value());
  window_ = 0;
  ++next_;
  return {};
}

Result<bool> TextJob::step() {
  batch_.clear();
  texts_.clear();
  while (has_more()) {
    if (window_ == windows_.size()) {
      if (auto encoded = encode_next(); !encoded.ok()) return encoded.error();
    }
    Encoding& window = windows_[window_];
    if (batch_.batch() > 0 && batch_.tokens() + static_cast<std::int64_t>(window.size()) > model_.token_budget()) break;
    model_.add_text(window, batch_);
    texts_.push_back(next_ - 1);
    add(std::move(window), next_ - 1, window_ == 0);
    ++window_;
  }
  if (auto ran = run(batch_, texts_); !ran.ok()) return ran.error();
  return has_more();
}

Result<void> check_finite(const float* values, std::int64_t count, const std::string& text) {
  std::uint32_t largest = 0;  // infinity and NaN have the largest exponent
  for (std::int64_t i = 0; i < count; ++i) largest = std::max(largest, std::bit_cast<std::uint32_t>(values[i]) & 0x7FFFFFFFu);
  if (largest < 0x7F800000u) return {};
  return model_format_error(text + ": the model's result is not finite (check its weights for NaN, infinity and overflow)");
}

}  // namespace wattn
