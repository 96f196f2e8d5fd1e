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
  if (auto gathered = gather(model_.token_budget()); !gathered.ok()) return gathered.error();
  if (auto ran = run(batch_, texts_); !ran.ok()) return ran.error();
  return has_more();
}

Result<void> TextJob::gather(std::int64_t most_tokens) {
  batch_.clear();
  texts_.clear();
  while (has_more()) {
    if (window_ == windows_.size()) {
      if (auto encoded = encode_next(); !encoded.ok()) return encoded.error();
    }
    Encoding& window = windows_[window_];
    if (batch_.batch() > 0 && batch_.tokens() + static_cast<std::int64_t>(window.size()) > most_tokens) break;
    model_.add_text(window, batch_);
    texts_.push_back(next_ - 1);
    add(std::move(window), next_ - 1, window_ == 0);
    ++window_;
  }
  return {};
}

Result<const float*> TextJob::states(const Batch& batch) {
  if (given_) return given_;
  return model_.run(batch, nullptr);
}

void TextJob::add_rows(const Batch& part, std::int64_t, const float* hidden, std::vector<float>& out) {
  out.insert(out.end(), hidden, hidden + part.tokens() * model_.transformer().config().hidden_size);
}

Result<std::vector<float>> TextJob::device_rows(std::int64_t begin, std::int64_t end) {
  std::vector<float> out;
  while (begin < end) {
    Batch part;
    std::int64_t i = begin;
    do {
      const auto from = static_cast<std::size_t>(batch_.seq_start[i]), count = static_cast<std::size_t>(batch_.length(i));
      part.add_sequence(std::span(batch_.input_ids).subspan(from, count), std::span(batch_.token_type_ids).subspan(from, count));
      ++i;
    } while (i < end && part.tokens() + batch_.length(i) <= model_.token_budget());
    const auto hidden = model_.run(part, nullptr);
    if (!hidden.ok()) return hidden.error();
    add_rows(part, begin, hidden.value(), out);
    begin = i;
  }
  return out;
}

Result<bool> TextJob::finish(std::span<const float> rows) {
  constexpr float kNothing = 0;  // of no tokens
  given_ = rows.empty() ? &kNothing : rows.data();
  auto ran = run(batch_, texts_);
  given_ = nullptr;
  if (!ran.ok()) return ran.error();
  return has_more();
}

Result<void> check_finite(const float* values, std::int64_t count, const std::string& text) {
  std::uint32_t largest = 0;  // infinity and NaN have the largest exponent
  for (std::int64_t i = 0; i < count; ++i) largest = std::max(largest, std::bit_cast<std::uint32_t>(values[i]) & 0x7FFFFFFFu);
  if (largest < 0x7F800000u) return {};
  return model_format_error(text + ": the model's result is not finite (check its weights for NaN, infinity and overflow)");
}

}  // namespace wattn
