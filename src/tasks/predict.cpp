#include "tasks/predict.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace wattn {
namespace {

Result<void> encode_all(const Engine& engine, std::span<const std::u16string_view> texts,
                        std::span<const std::u16string_view> pairs, EncodeOptions options, PredictResult& result) {
  const std::int64_t limit = engine.encoder().config().max_position_embeddings;
  if (options.max_length && *options.max_length > limit) {
    return input_error("max_length: expected a whole number from 1 to " + std::to_string(limit) +
                       " (the model's positions), found " + std::to_string(*options.max_length));
  }
  if (!options.max_length) options.max_length = static_cast<std::int32_t>(engine.max_length());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    auto encoding =
        pairs.empty() ? engine.tokenizer().encode(texts[i], options) : engine.tokenizer().encode_pair(texts[i], pairs[i], options);
    if (!encoding.ok()) return encoding.error();
    std::vector<Encoding> windows = std::move(encoding.value().overflowing);
    result.encodings.push_back(std::move(encoding).value());
    for (Encoding& window : windows) result.encodings.push_back(std::move(window));
    result.text.resize(result.encodings.size(), static_cast<std::int32_t>(i));
  }
  return {};
}

// The tokens of a batch that the head runs on.
std::vector<std::int32_t> head_tokens(HeadKind kind, const Batch& batch, std::optional<std::int32_t> at_id) {
  std::vector<std::int32_t> tokens;
  if (kind == HeadKind::kSequence) {
    for (std::int64_t i = 0; i < batch.batch(); ++i) {
      if (batch.seq_start[i] < batch.seq_start[i + 1]) tokens.push_back(batch.seq_start[i]);
    }
    return tokens;
  }
  for (std::size_t t = 0; t < batch.input_ids.size(); ++t) {
    if (!at_id || batch.input_ids[t] == *at_id) tokens.push_back(static_cast<std::int32_t>(t));
  }
  return tokens;
}

// Runs one micro-batch and appends its logits.
Result<void> run_batch(Engine& engine, const Batch& batch, std::optional<std::int32_t> at_id, PredictResult& result) {
  if (batch.tokens() == 0) return {};
  const auto hidden = engine.run(batch, nullptr);
  if (!hidden.ok()) return hidden.error();
  const std::vector<std::int32_t> tokens = head_tokens(engine.head()->kind(), batch, at_id);
  for (std::int64_t i = 0; i < batch.batch(); ++i) {
    const auto begin = std::lower_bound(tokens.begin(), tokens.end(), batch.seq_start[i]);
    const auto end = std::lower_bound(tokens.begin(), tokens.end(), batch.seq_start[i + 1]);
    result.rows.push_back(static_cast<std::int32_t>(end - begin));
  }
  return engine.run_head(hidden.value(), batch, tokens, result.logits);
}

}  // namespace

Result<PredictResult> predict(Engine& engine, std::span<const std::u16string_view> texts,
                              std::span<const std::u16string_view> pairs, const PredictOptions& options) {
  if (!engine.head()) return input_error("predict: this model was loaded without a head");
  std::optional<std::int32_t> at_id;
  if (!options.at_token.empty()) {
    at_id = engine.tokenizer().token_to_id(options.at_token);
    if (!at_id) return input_error("predict: the vocabulary has no token '" + options.at_token + "'");
  }
  PredictResult result;
  result.labels = engine.head()->labels();
  if (auto encoded = encode_all(engine, texts, pairs, options.encode, result); !encoded.ok()) return encoded.error();
  Batch batch;
  for (const Encoding& encoding : result.encodings) {
    if (batch.tokens() + static_cast<std::int64_t>(encoding.size()) > engine.token_budget()) {
      if (auto ran = run_batch(engine, batch, at_id, result); !ran.ok()) return ran.error();
      batch = Batch();
    }
    engine.add_text(encoding, batch);
  }
  if (auto ran = run_batch(engine, batch, at_id, result); !ran.ok()) return ran.error();
  return result;
}

}  // namespace wattn
