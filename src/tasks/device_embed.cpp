#include "tasks/device_embed.h"

#include <algorithm>
#include <utility>

namespace wattn {

Result<std::unique_ptr<DeviceEmbed>> DeviceEmbed::begin(Model& model, std::span<const std::u16string_view> texts,
                                                        const EmbedOptions& options) {
  auto job = EmbedJob::begin(model, texts, options);
  if (!job.ok()) return job.error();
  std::unique_ptr<DeviceEmbed> out(new DeviceEmbed(model, std::move(job).value()));
  for (std::size_t text = 0; text < texts.size(); ++text) {
    auto encoding = out->job_->encode(text);
    if (!encoding.ok()) return encoding.error();
    std::vector<Encoding> overflowing = std::move(encoding.value().overflowing);
    out->add(std::move(encoding).value(), text, true);
    for (Encoding& window : overflowing) out->add(std::move(window), text, false);
  }
  out->skip_ = out->job_->skip_;
  return out;
}

void DeviceEmbed::add(Encoding window, std::size_t text, bool is_first) {
  model_.add_text(window, batch_);
  texts_.push_back(text);
  job_->add(std::move(window), text, is_first);
}

Result<std::vector<float>> DeviceEmbed::pool(std::int64_t begin, std::int64_t end) {
  const std::int64_t size = model_.transformer().config().hidden_size, modes = static_cast<std::int64_t>(pooling().size());
  const std::int64_t rows = modes > 0 ? modes * (end - begin) : batch_.seq_start[end] - batch_.seq_start[begin];
  std::vector<float> pooled(static_cast<std::size_t>(size * rows));
  float* out = pooled.data();
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
    if (modes == 0) {
      out = std::copy_n(hidden.value(), part.tokens() * size, out);
    } else {
      job_->skip_.assign(skip_.begin() + begin, skip_.begin() + i);
      job_->pool_rows(part, hidden.value(), 0, part.tokens(), out);
      out += part.batch() * modes * size;
    }
    begin = i;
  }
  return pooled;
}

Result<EmbedResult> DeviceEmbed::finish(std::vector<float> pooled) {
  std::vector<float>& data = job_->result_.data;
  if (!pooling().empty() && !model_.sentence().modules.empty()) {
    model_.run_modules(pooled.data(), batch_.batch(), data);
  } else {
    data = std::move(pooled);
  }
  const float* at = data.data();
  for (std::int64_t i = 0; i < batch_.batch(); ++i) {
    const std::int64_t count = pooling().empty() ? batch_.length(i) * job_->result_.dim : job_->result_.dim;
    const std::string name = job_->name_of(texts_[static_cast<std::size_t>(i)]);
    if (auto checked = check_finite(at, count, name); !checked.ok()) return checked.error();
    at += count;
  }
  return job_->take_result();
}

}  // namespace wattn
