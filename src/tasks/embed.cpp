#include "tasks/embed.h"

#include <algorithm>

#include "core/utf.h"

namespace wattn {
namespace {

// torch.nn.functional.normalize's eps, which sentence-transformers' Normalize uses.
constexpr float kNormEpsilon = 1e-12f;

EncodeOptions encode_options(const Engine& engine, const EmbedOptions& options) {
  EncodeOptions encode;
  encode.max_length = static_cast<std::int32_t>(options.max_length.value_or(engine.max_length()));
  encode.split_special_tokens = options.split_special_tokens;
  return encode;
}

Result<Encoding> tokenize_one(const Engine& engine, std::size_t index, std::u16string_view text, std::u16string_view prompt,
                              const EmbedOptions& options) {
  std::u16string prompted;
  if (!prompt.empty()) text = prompted.append(prompt).append(text);
  auto encoding = engine.tokenizer().encode(text, encode_options(engine, options));
  if (encoding.ok() && encoding.value().truncated() && !options.truncate) {
    return input_error("text " + std::to_string(options.first_text + static_cast<std::int64_t>(index)) + ": expected at most " +
                       std::to_string(encoding.value().size()) + " tokens, found " +
                       std::to_string(encoding.value().num_tokens_untruncated) + " (on_overflow is 'error')");
  }
  return encoding;
}

// Tokens that include_prompt: false leaves out of the pooling: the prompt's own, and the specials before it
// (sentence-transformers counts the prompt tokenized alone, less a closing special).
Result<std::int64_t> prompt_tokens(const Engine& engine, std::u16string_view prompt, const EmbedOptions& options) {
  if (engine.sentence().include_prompt || prompt.empty()) return std::int64_t{0};
  const auto encoding = engine.tokenizer().encode(prompt, encode_options(engine, options));
  if (!encoding.ok()) return encoding.error();
  const std::vector<std::uint8_t>& special = encoding.value().special_tokens_mask;
  return static_cast<std::int64_t>(special.size()) - (!special.empty() && special.back() ? 1 : 0);
}

// Runs one micro-batch and appends its vectors.
Result<void> run_batch(Engine& engine, const Batch& batch, std::span<const PoolingMode> pooling, bool normalize, std::int64_t skip,
                       EmbedResult& result) {
  const auto hidden = engine.run(batch, nullptr);
  if (!hidden.ok()) return hidden.error();
  const std::int64_t size = engine.encoder().config().hidden_size;
  const std::size_t begin = result.data.size();
  if (pooling.empty()) {
    result.data.insert(result.data.end(), hidden.value(), hidden.value() + batch.tokens() * size);
  } else {
    result.data.resize(begin + static_cast<std::size_t>(batch.batch() * result.dim));
    for (std::int64_t i = 0; i < batch.batch(); ++i) {
      const std::int64_t first = batch.seq_start[i];
      pool(engine.kernels(), pooling, hidden.value() + first * size, batch.seq_start[i + 1] - first, size, skip,
           result.data.data() + begin + i * result.dim);
    }
  }
  for (std::size_t i = begin; normalize && i < result.data.size(); i += static_cast<std::size_t>(result.dim)) {
    engine.kernels().l2_normalize(result.data.data() + i, kNormEpsilon, result.dim);
  }
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

Result<EmbedResult> embed(Engine& engine, std::span<const std::u16string_view> texts, const EmbedOptions& options) {
  const std::vector<PoolingMode>& pooling = options.pooling ? *options.pooling : engine.sentence().pooling;
  const bool normalize = options.normalize.value_or(engine.sentence().normalize);
  const std::u16string prompt = to_utf16(options.prompt);
  const auto skip = prompt_tokens(engine, prompt, options);
  if (!skip.ok()) return skip.error();
  const std::int64_t limit = engine.encoder().config().max_position_embeddings;
  if (options.max_length && (*options.max_length < 1 || *options.max_length > limit)) {
    return input_error("max_length: expected a whole number from 1 to " + std::to_string(limit) +
                       " (the model's positions), found " + std::to_string(*options.max_length));
  }

  EmbedResult result;
  result.pooled = !pooling.empty();
  result.dim = engine.encoder().config().hidden_size * std::max<std::int64_t>(1, static_cast<std::int64_t>(pooling.size()));
  Batch batch;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto encoding = tokenize_one(engine, i, texts[i], prompt, options);
    if (!encoding.ok()) return encoding.error();
    const auto size = static_cast<std::int64_t>(encoding.value().size());
    if (batch.tokens() + size > engine.token_budget()) {
      if (auto ran = run_batch(engine, batch, pooling, normalize, skip.value(), result); !ran.ok()) return ran.error();
      batch = Batch();
    }
    batch.add_sequence(encoding.value().ids, encoding.value().type_ids);
    result.tokens.push_back(static_cast<std::int32_t>(size));
    result.tokens_untruncated.push_back(encoding.value().num_tokens_untruncated);
  }
  if (auto ran = run_batch(engine, batch, pooling, normalize, skip.value(), result); !ran.ok()) return ran.error();
  return result;
}

}  // namespace wattn
