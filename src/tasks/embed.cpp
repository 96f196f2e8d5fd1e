// build: -Os
#include "tasks/embed.h"

#include <algorithm>

namespace wattn {
namespace {

// torch.nn.functional.normalize's eps, which sentence-transformers' Normalize uses.
constexpr float kNormEpsilon = 1e-12f;

bool windows(const EmbedOptions& options) {
  return options.overflow == Overflow::kWindowMean || options.overflow == Overflow::kWindows;
}

// text's first characters (code points).
std::u16string_view first_characters(std::u16string_view text, std::int64_t count) {
  std::size_t end = 0;
  for (; count > 0 && end < text.size(); --count) {
    const bool is_pair = end + 1 < text.size() && (text[end] & 0xFC00) == 0xD800 && (text[end + 1] & 0xFC00) == 0xDC00;
    end += is_pair ? 2 : 1;
  }
  return text.substr(0, end);
}

void leave_out(std::int32_t id, Encoding& window) {
  std::size_t kept = 0;
  for (const std::int32_t other : window.ids) {
    if (other != id) window.ids[kept++] = other;
  }
  window.num_tokens_untruncated -= static_cast<std::int32_t>(window.ids.size() - kept);
  window.ids.resize(kept);
  window.type_ids.resize(kept);
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
  if (result_.pooled && !sentence.modules.empty()) {
    if (sentence.modules.front().in != result_.dim) {
      return input_error("pooling: expected the " + std::to_string(sentence.modules.front().in) +
                         " components of the model's Dense module, found " + std::to_string(result_.dim));
    }
    result_.dim = sentence.modules.back().out;
  }
  if (result_.pooled) own_dim_ = sentence.truncate_dim;
  if (own_dim_ && *own_dim_ > result_.dim) {
    return model_format_error("config_sentence_transformers.json: truncate_dim: expected at most the vector's " +
                              std::to_string(result_.dim) + " components, found " + std::to_string(*own_dim_));
  }
  const std::int64_t width = own_dim_.value_or(result_.dim);
  if (auto checked = check_options(model(), options_, result_.pooled, width); !checked.ok()) return checked;
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
  encode.add_special_tokens = !model().transformer().config().is_static();
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
  const bool skip_unknown = model().transformer().config().skip_unknown;
  std::u16string_view read = whole;
  if (skip_unknown && options_.overflow == Overflow::kTruncate) {
    read = first_characters(whole, model().characters_per_token() * options_.max_length.value_or(model().max_length()));
  }
  auto encoding = model().tokenizer().encode(read, encode_options());
  if (!encoding.ok()) return encoding;
  if (encoding.value().truncated() && options_.overflow == Overflow::kError) {
    return input_error(name_of(text) + ": expected at most " + std::to_string(encoding.value().size()) + " tokens, found " +
                       std::to_string(encoding.value().num_tokens_untruncated) + " (on_overflow is 'error')");
  }
  if (read.size() < whole.size()) ++encoding.value().num_tokens_untruncated;  // or more
  if (skip_unknown) {
    leave_out(model().tokenizer().unknown_id(), encoding.value());
    for (Encoding& window : encoding.value().overflowing) leave_out(model().tokenizer().unknown_id(), window);
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

// rows: tokens [begin, end) of the batch, whose vectors are [end - begin, hidden]. window: the first of its sequences.
// pooled: [batch, modes * hidden].
void EmbedJob::pool_rows(const Batch& batch, std::int64_t window, const float* rows, std::int64_t begin, std::int64_t end,
                         float* pooled) const {
  const std::int64_t size = model().transformer().config().hidden_size;
  for (std::int64_t i = 0; i < batch.batch(); ++i) {
    const std::int64_t start = batch.seq_start[i], from = std::max(begin, start);
    const std::int64_t count = std::min<std::int64_t>(end, batch.seq_start[i + 1]) - from;
    pool_part(model().kernels(), pooling_, rows + (from - begin) * size,
              {.begin = from - start, .count = count, .skip = skip_[window + i], .tokens = batch.length(i)}, size, pooled);
    pooled += size * static_cast<std::int64_t>(pooling_.size());
  }
}

void EmbedJob::add_rows(const Batch& part, std::int64_t window, const float* hidden, std::vector<float>& out) {
  if (pooling_.empty()) return TextJob::add_rows(part, window, hidden, out);
  const std::size_t at = out.size();
  out.resize(at + static_cast<std::size_t>(part.batch() * model().transformer().config().hidden_size) * pooling_.size());
  pool_rows(part, window, hidden, 0, part.tokens(), out.data() + at);
}

// The vectors of tokens [begin, end). Only static embeddings are run in parts.
Result<const float*> EmbedJob::run_part(const Batch& batch, std::int64_t begin, std::int64_t end) {
  const Transformer& transformer = model().transformer();
  if (!transformer.config().is_static()) {
    const auto hidden = states(batch);
    return hidden.ok() ? hidden.value() + begin * transformer.config().hidden_size : hidden;
  }
  if (auto checked = transformer.check(batch); begin == 0 && !checked.ok()) return checked.error();
  rows_.resize(static_cast<std::size_t>((end - begin) * transformer.config().hidden_size));
  transformer.word_rows(std::span(batch.input_ids).subspan(begin, end - begin), rows_.data());
  return static_cast<const float*>(rows_.data());
}

Result<void> EmbedJob::run(const Batch& batch, const std::vector<std::size_t>& texts) {
  const std::int64_t size = model().transformer().config().hidden_size;
  std::vector<float>& data = result_.data;
  std::size_t at = data.size();
  std::vector<float> pooled(static_cast<std::size_t>(batch.batch() * size) * pooling_.size());
  const bool is_pooled = given() && !pooling_.empty();
  if (is_pooled) std::copy_n(given(), pooled.size(), pooled.begin());
  for (std::int64_t begin = 0; !is_pooled && (begin == 0 || begin < batch.tokens()); begin += model().token_budget()) {
    const std::int64_t end = std::min(batch.tokens(), begin + model().token_budget());
    const auto hidden = run_part(batch, begin, end);
    if (!hidden.ok()) return hidden.error();
    if (pooling_.empty()) data.insert(data.end(), hidden.value(), hidden.value() + (end - begin) * size);
    pool_rows(batch, 0, hidden.value(), begin, end, pooled.data());
  }
  if (!pooling_.empty() && !model().sentence().modules.empty()) {
    std::vector<float> dense;
    model().run_modules(pooled.data(), batch.batch(), dense);
    pooled = std::move(dense);
  }
  data.insert(data.end(), pooled.begin(), pooled.end());
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
  // sentence-transformers' order: the repository's Normalize, truncation (the caller's, else the repository's), then the caller's
  // normalization.
  const auto dim = options_.truncate_dim ? options_.truncate_dim : own_dim_;
  const SentenceConfig& sentence = model().sentence();
  const bool normalize = options_.normalize.value_or(sentence.normalize);
  if (normalize && (sentence.normalize || !dim)) normalize_rows();
  if (dim) truncate_rows(*dim);
  if (dim && options_.normalize.value_or(sentence.normalize_truncated)) normalize_rows();
  return std::move(result_);
}

Result<EmbedResult> embed(Model& model, std::span<const std::u16string_view> texts, const EmbedOptions& options) {
  const auto job = EmbedJob::begin(model, texts, options);
  if (!job.ok()) return job.error();
  if (auto ran = run_all(*job.value()); !ran.ok()) return ran.error();
  return job.value()->take_result();
}

}  // namespace wattn
