#include "tasks/embed.h"

#include <algorithm>

namespace wattn {
namespace {

// torch.nn.functional.normalize's eps, which sentence-transformers' Normalize uses.
constexpr float kNormEpsilon = 1e-12f;

bool windows(const EmbedOptions& options) {
  return options.overflow == Overflow::kWindowMean || options.overflow == Overflow::kWindows;
}

// width: of a vector before truncate_dim.
Result<void> check_options(const Model& model, const EmbedOptions& options, bool pooled, std::int64_t width) {
  const std::int64_t limit = model.transformer().positions();
  if (options.max_length && (*options.max_length < 1 || *options.max_length > limit)) {
    return input_error("max_length: expected a whole number from 1 to " + std::to_string(limit) +
                       " (the model's positions), found " + std::to_string(*options.max_length));
  }
  if (options.truncate_dim && (*options.truncate_dim < 1 || *options.truncate_dim > width)) {
    return input_error("truncate_dim: expected a whole number from 1 to " + std::to_string(width) +
                       " (the vector's components), found " + std::to_string(*options.truncate_dim));
  }
  if (windows(options) && !pooled) return input_error("on_overflow: 'window': expected a pooling, found none");
  return {};
}

}  // namespace

Result<std::string> find_prompt(const SentenceConfig& sentence, std::string_view name) {
  if (name.empty() && sentence.default_prompt_name.empty()) return std::string();
  const auto prompt = sentence.prompts.find(name.empty() ? sentence.default_prompt_name : name);
  if (prompt != sentence.prompts.end()) return prompt->second;
  std::string known;
  for (const auto& [key, text] : sentence.prompts) known += (known.empty() ? "'" : ", '") + key + "'";
  return input_error("prompt_name: expected " + (known.empty() ? "nothing (this model has no prompts)" : "one of " + known) +
                     ", found '" + std::string(name) + "'");
}

Result<std::unique_ptr<EmbedJob>> EmbedJob::begin(Model& model, std::span<const std::u16string_view> texts,
                                                  const EmbedOptions& options) {
  std::unique_ptr<EmbedJob> out(new EmbedJob(model, texts, options));
  if (auto prepared = out->prepare(); !prepared.ok()) return prepared.error();
  return out;
}

Result<void> EmbedJob::prepare() {
  const SentenceConfig& sentence = model().sentence();
  pooling_ = options_.pooling ? *options_.pooling : sentence.pooling;
  const auto modes = static_cast<std::int64_t>(pooling_.size());
  result_.pooled = modes > 0;
  result_.dim = model().transformer().config().hidden_size * std::max<std::int64_t>(1, modes);
  if (result_.pooled && !sentence.dense.empty()) {
    if (sentence.dense.front().in != result_.dim) {
      return input_error("pooling: expected the " + std::to_string(sentence.dense.front().in) +
                         " components of the model's Dense module, found " + std::to_string(result_.dim));
    }
    result_.dim = sentence.dense.back().out;
  }
  if (auto checked = check_options(model(), options_, result_.pooled, result_.dim); !checked.ok()) return checked;
  if (sentence.include_prompt || prompt_.empty()) return {};
  // include_prompt: false excludes leading special tokens and the prompt from pooling (like sentence-transformers, the prompt
  // tokenized alone, without a closing special token).
  const auto encoding = model().tokenizer().encode(prompt_, encode_options());
  if (!encoding.ok()) return encoding.error();
  const std::vector<std::uint8_t>& special = encoding.value().special_tokens_mask;
  prompt_tokens_ = static_cast<std::int64_t>(special.size()) - (!special.empty() && special.back() ? 1 : 0);
  return {};
}

EncodeOptions EmbedJob::encode_options() const {
  EncodeOptions encode;
  encode.max_length = static_cast<std::int32_t>(options_.max_length.value_or(model().max_length()));
  encode.split_special_tokens = options_.split_special_tokens;
  encode.return_overflowing = windows(options_);
  encode.overlap = static_cast<std::int32_t>(options_.overlap);
  return encode;
}

std::string EmbedJob::name_of(std::size_t text) const {
  return "text " + std::to_string(options_.first_text + static_cast<std::int64_t>(text));
}

Result<Encoding> EmbedJob::encode(std::size_t text) {
  std::u16string prompted;
  std::u16string_view whole = texts_[text];
  if (!prompt_.empty()) whole = prompted.append(prompt_).append(whole);
  auto encoding = model().tokenizer().encode(whole, encode_options());
  if (encoding.ok() && encoding.value().truncated() && options_.overflow == Overflow::kError) {
    return input_error(name_of(text) + ": expected at most " + std::to_string(encoding.value().size()) + " tokens, found " +
                       std::to_string(encoding.value().num_tokens_untruncated) + " (on_overflow is 'error')");
  }
  return encoding;
}

void EmbedJob::add(Encoding window, std::size_t, bool is_first) {
  skip_.push_back(is_first ? prompt_tokens_ : 0);
  if (is_first) {
    result_.tokens.push_back(0);
    result_.tokens_untruncated.push_back(window.num_tokens_untruncated);
    result_.windows.push_back(0);
    result_.unknown.push_back(window.unknown);
  }
  result_.tokens.back() += static_cast<std::int32_t>(window.size());
  ++result_.windows.back();
}

Result<void> EmbedJob::run(const Batch& batch, const std::vector<std::size_t>& texts) {
  const auto hidden = model().run(batch, nullptr);
  if (!hidden.ok()) return hidden.error();
  const std::int64_t size = model().transformer().config().hidden_size;
  std::vector<float>& data = result_.data;
  std::size_t at = data.size();
  if (pooling_.empty()) {
    data.insert(data.end(), hidden.value(), hidden.value() + batch.tokens() * size);
  } else {
    const std::int64_t width = size * static_cast<std::int64_t>(pooling_.size());
    std::vector<float> pooled(static_cast<std::size_t>(batch.batch() * width));
    for (std::int64_t i = 0; i < batch.batch(); ++i) {
      const std::int64_t first = batch.seq_start[i];
      pool(model().kernels(), pooling_, hidden.value() + first * size, batch.length(i), size, skip_[i], pooled.data() + i * width);
    }
    if (!model().sentence().dense.empty()) {
      std::vector<float> dense;
      model().run_dense(pooled.data(), batch.batch(), dense);
      pooled = std::move(dense);
    }
    data.insert(data.end(), pooled.begin(), pooled.end());
  }
  skip_.clear();
  for (std::int64_t i = 0; i < batch.batch(); ++i) {
    const std::int64_t count = pooling_.empty() ? batch.length(i) * size : result_.dim;
    if (auto checked = check_finite(data.data() + at, count, name_of(texts[i])); !checked.ok()) return checked;
    at += static_cast<std::size_t>(count);
  }
  return {};
}

void EmbedJob::join_windows() {
  std::vector<float> joined(result_.windows.size() * static_cast<std::size_t>(result_.dim), 0.0f);
  const float* vector = result_.data.data();
  for (std::size_t i = 0; i < result_.windows.size(); ++i) {
    float* mean = joined.data() + static_cast<std::int64_t>(i) * result_.dim;
    for (std::int32_t w = 0; w < result_.windows[i]; ++w, vector += result_.dim) {
      model().kernels().axpy(1.0f, vector, mean, result_.dim);
    }
    for (std::int64_t j = 0; j < result_.dim; ++j) mean[j] /= static_cast<float>(result_.windows[i]);
  }
  result_.data = std::move(joined);
}

void EmbedJob::normalize_rows() {
  const std::size_t step = static_cast<std::size_t>(result_.dim);
  for (std::size_t i = 0; i < result_.data.size(); i += step) {
    model().kernels().l2_normalize(result_.data.data() + i, kNormEpsilon, result_.dim);
  }
}

void EmbedJob::truncate_rows(std::int64_t dim) {
  float* out = result_.data.data();
  for (std::size_t i = 0; i < result_.data.size(); i += static_cast<std::size_t>(result_.dim)) {
    out = std::copy_n(result_.data.data() + i, dim, out);
  }
  result_.data.resize(static_cast<std::size_t>(out - result_.data.data()));
  result_.dim = dim;
}

EmbedResult EmbedJob::take_result() {
  if (options_.overflow == Overflow::kWindowMean) join_windows();
  // sentence-transformers' order: the repository's Normalize, truncation, then the caller's.
  const bool of_repository = model().sentence().normalize;
  const bool normalize = options_.normalize.value_or(of_repository);
  if (normalize && (of_repository || !options_.truncate_dim)) normalize_rows();
  if (options_.truncate_dim) truncate_rows(*options_.truncate_dim);
  if (options_.truncate_dim && options_.normalize.value_or(false)) normalize_rows();
  return std::move(result_);
}

Result<EmbedResult> embed(Model& model, std::span<const std::u16string_view> texts, const EmbedOptions& options) {
  const auto job = EmbedJob::begin(model, texts, options);
  if (!job.ok()) return job.error();
  if (auto ran = run_all(*job.value()); !ran.ok()) return ran.error();
  return job.value()->take_result();
}

}  // namespace wattn
