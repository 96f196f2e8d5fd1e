#include "tasks/embed.h"

#include <algorithm>

#include "core/utf.h"

namespace wattn {
namespace {

// torch.nn.functional.normalize's eps, which sentence-transformers' Normalize uses.
constexpr float kNormEpsilon = 1e-12f;

bool windows(const EmbedOptions& options) {
  return options.overflow == Overflow::kWindowMean || options.overflow == Overflow::kWindows;
}

EncodeOptions encode_options(const Model& model, const EmbedOptions& options) {
  EncodeOptions encode;
  encode.max_length = static_cast<std::int32_t>(options.max_length.value_or(model.max_length()));
  encode.split_special_tokens = options.split_special_tokens;
  encode.return_overflowing = windows(options);
  encode.overlap = static_cast<std::int32_t>(options.overlap);
  return encode;
}

Result<Encoding> tokenize_one(const Model& model, std::size_t index, std::u16string_view text, std::u16string_view prompt,
                              const EmbedOptions& options) {
  std::u16string prompted;
  if (!prompt.empty()) text = prompted.append(prompt).append(text);
  auto encoding = model.tokenizer().encode(text, encode_options(model, options));
  if (encoding.ok() && encoding.value().truncated() && options.overflow == Overflow::kError) {
    return input_error("text " + std::to_string(options.first_text + static_cast<std::int64_t>(index)) + ": expected at most " +
                       std::to_string(encoding.value().size()) + " tokens, found " +
                       std::to_string(encoding.value().num_tokens_untruncated) + " (on_overflow is 'error')");
  }
  return encoding;
}

// First tokens that include_prompt: false excludes from pooling: leading special tokens and the prompt (like sentence-transformers,
// the prompt tokenized alone, without a closing special token).
Result<std::int64_t> prompt_tokens(const Model& model, std::u16string_view prompt, const EmbedOptions& options) {
  if (model.sentence().include_prompt || prompt.empty()) return std::int64_t{0};
  const auto encoding = model.tokenizer().encode(prompt, encode_options(model, options));
  if (!encoding.ok()) return encoding.error();
  const std::vector<std::uint8_t>& special = encoding.value().special_tokens_mask;
  return static_cast<std::int64_t>(special.size()) - (!special.empty() && special.back() ? 1 : 0);
}

// The micro-batch being filled, and the results so far.
struct Run {
  Model& model;
  std::span<const PoolingMode> pooling;
  EmbedResult result{};
  Batch batch{};
  std::vector<std::int64_t> skip{};  // [batch] first tokens to exclude from pooling

  Result<void> add(const Encoding& encoding, std::int64_t skipped) {
    if (batch.tokens() + static_cast<std::int64_t>(encoding.size()) > model.token_budget()) {
      if (auto ran = flush(); !ran.ok()) return ran;
    }
    model.add_text(encoding, batch);
    skip.push_back(skipped);
    return {};
  }

  // Runs the micro-batch and appends its vectors.
  Result<void> flush() {
    const auto hidden = model.run(batch, nullptr);
    if (!hidden.ok()) return hidden.error();
    const std::int64_t size = model.transformer().config().hidden_size;
    if (pooling.empty()) {
      result.data.insert(result.data.end(), hidden.value(), hidden.value() + batch.tokens() * size);
    } else {
      const std::int64_t width = size * static_cast<std::int64_t>(pooling.size());
      std::vector<float> pooled(static_cast<std::size_t>(batch.batch() * width));
      for (std::int64_t i = 0; i < batch.batch(); ++i) {
        const std::int64_t first = batch.seq_start[i];
        pool(model.kernels(), pooling, hidden.value() + first * size, batch.seq_start[i + 1] - first, size, skip[i],
             pooled.data() + i * width);
      }
      if (!model.sentence().dense.empty()) {
        std::vector<float> dense;
        model.run_dense(pooled.data(), batch.batch(), dense);
        pooled = std::move(dense);
      }
      result.data.insert(result.data.end(), pooled.begin(), pooled.end());
    }
    batch = Batch();
    skip.clear();
    return {};
  }
};

// Replaces the vectors of each text's windows by their mean.
void join_windows(const Kernels& kernels, EmbedResult& result) {
  std::vector<float> joined(result.windows.size() * static_cast<std::size_t>(result.dim), 0.0f);
  const float* vector = result.data.data();
  for (std::size_t i = 0; i < result.windows.size(); ++i) {
    float* mean = joined.data() + static_cast<std::int64_t>(i) * result.dim;
    for (std::int32_t w = 0; w < result.windows[i]; ++w, vector += result.dim) kernels.axpy(1.0f, vector, mean, result.dim);
    for (std::int64_t j = 0; j < result.dim; ++j) mean[j] /= static_cast<float>(result.windows[i]);
  }
  result.data = std::move(joined);
}

void normalize_rows(const Kernels& kernels, EmbedResult& result) {
  const std::size_t step = static_cast<std::size_t>(result.dim);
  for (std::size_t i = 0; i < result.data.size(); i += step) kernels.l2_normalize(result.data.data() + i, kNormEpsilon, result.dim);
}

void truncate_rows(std::int64_t dim, EmbedResult& result) {
  float* out = result.data.data();
  for (std::size_t i = 0; i < result.data.size(); i += static_cast<std::size_t>(result.dim)) {
    out = std::copy_n(result.data.data() + i, dim, out);
  }
  result.data.resize(static_cast<std::size_t>(out - result.data.data()));
  result.dim = dim;
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

Result<EmbedResult> embed(Model& model, std::span<const std::u16string_view> texts, const EmbedOptions& options) {
  const SentenceConfig& sentence = model.sentence();
  const std::vector<PoolingMode>& pooling = options.pooling ? *options.pooling : sentence.pooling;
  const auto modes = static_cast<std::int64_t>(pooling.size());
  const bool pooled = modes > 0;
  std::int64_t width = model.transformer().config().hidden_size * std::max<std::int64_t>(1, modes);
  if (pooled && !sentence.dense.empty()) {
    if (sentence.dense.front().in != width) {
      return input_error("pooling: expected the " + std::to_string(sentence.dense.front().in) +
                         " components of the model's Dense module, found " + std::to_string(width));
    }
    width = sentence.dense.back().out;
  }
  if (auto checked = check_options(model, options, pooled, width); !checked.ok()) return checked.error();
  const std::u16string prompt = to_utf16(options.prompt);
  const auto skip = prompt_tokens(model, prompt, options);
  if (!skip.ok()) return skip.error();

  Run run{model, pooling};
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto encoding = tokenize_one(model, i, texts[i], prompt, options);
    if (!encoding.ok()) return encoding.error();
    if (auto added = run.add(encoding.value(), skip.value()); !added.ok()) return added.error();
    std::int64_t tokens = static_cast<std::int64_t>(encoding.value().size());
    for (const Encoding& window : encoding.value().overflowing) {
      if (auto added = run.add(window, 0); !added.ok()) return added.error();
      tokens += static_cast<std::int64_t>(window.size());
    }
    run.result.tokens.push_back(static_cast<std::int32_t>(tokens));
    run.result.tokens_untruncated.push_back(encoding.value().num_tokens_untruncated);
    run.result.windows.push_back(static_cast<std::int32_t>(1 + encoding.value().overflowing.size()));
  }
  if (auto ran = run.flush(); !ran.ok()) return ran.error();
  EmbedResult& result = run.result;
  result.pooled = pooled;
  result.dim = width;
  if (options.overflow == Overflow::kWindowMean) join_windows(model.kernels(), result);
  // sentence-transformers' order: the repository's Normalize, truncation, then the caller's.
  const bool normalize = options.normalize.value_or(sentence.normalize);
  if (normalize && (sentence.normalize || !options.truncate_dim)) normalize_rows(model.kernels(), result);
  if (options.truncate_dim) truncate_rows(*options.truncate_dim, result);
  if (options.truncate_dim && options.normalize.value_or(false)) normalize_rows(model.kernels(), result);
  return std::move(result);
}

}  // namespace wattn
