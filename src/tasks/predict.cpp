#include "tasks/predict.h"

#include <algorithm>
#include <optional>

#include "tasks/forward.h"
#include "tasks/head_logits.h"

namespace wattn {
namespace {

Result<void> encode_all(const Model& model, std::span<const std::u16string_view> texts, std::span<const std::u16string_view> pairs,
                        EncodeOptions options, PredictResult& result) {
  const std::int64_t limit = std::min(model.transformer().positions(), model.context_length());
  if (options.max_length && *options.max_length > limit) {
    return input_error("max_length: expected a whole number from 1 to " + std::to_string(limit) +
                       " (the model's positions), found " + std::to_string(*options.max_length));
  }
  if (!options.max_length) options.max_length = static_cast<std::int32_t>(model.max_length());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    auto encoding =
        pairs.empty() ? model.tokenizer().encode(texts[i], options) : model.tokenizer().encode_pair(texts[i], pairs[i], options);
    if (!encoding.ok()) return encoding.error();
    std::vector<Encoding> windows = std::move(encoding.value().overflowing);
    result.encodings.push_back(std::move(encoding).value());
    for (Encoding& window : windows) result.encodings.push_back(std::move(window));
    result.text.resize(result.encodings.size(), static_cast<std::int32_t>(i));
  }
  return {};
}

// Runs one micro-batch and appends its logits.
Result<void> run_batch(Model& model, const Batch& batch, std::optional<std::int32_t> at_id, PredictResult& result) {
  if (batch.tokens() == 0) {
    result.rows.resize(result.rows.size() + static_cast<std::size_t>(batch.batch()));
    return {};
  }
  const auto hidden = model.run(batch, nullptr);
  if (!hidden.ok()) return hidden.error();
  return add_head_logits(model, batch, hidden.value(), at_id, {result.logits, result.rows});
}

// The encoder reads the text, the decoder the text shifted right by one.
Result<void> run_both_stacks(Model& model, const Encoding& encoding, PredictResult& result) {
  Batch shifted;
  std::vector<std::int32_t> ids = encoding.ids;
  if (!ids.empty()) {
    std::rotate(ids.begin(), ids.end() - 1, ids.end());
    ids.front() = model.special_ids().decoder_start;
  }
  shifted.add_sequence(ids, {});
  const auto outputs = forward(model, shifted, {.source = encoding.ids});
  if (!outputs.ok()) return outputs.error();
  const std::vector<float>& logits = outputs.value().logits;
  result.rows.push_back(logits.empty() ? 0 : 1);
  result.logits.insert(result.logits.end(), logits.begin(), logits.end());
  return {};
}

}  // namespace

Result<PredictResult> predict(Model& model, std::span<const std::u16string_view> texts, std::span<const std::u16string_view> pairs,
                              const PredictOptions& options) {
  if (!model.head()) return input_error("predict: this model was loaded without a head");
  std::optional<std::int32_t> at_id;
  if (!options.at_token.empty()) {
    at_id = model.tokenizer().token_to_id(options.at_token);
    if (!at_id) return input_error("predict: the vocabulary has no token '" + options.at_token + "'");
  }
  PredictResult result;
  result.labels = model.head()->labels();
  if (auto encoded = encode_all(model, texts, pairs, options.encode, result); !encoded.ok()) return encoded.error();
  Batch batch;
  for (const Encoding& encoding : result.encodings) {
    if (model.decoder()) {
      if (auto ran = run_both_stacks(model, encoding, result); !ran.ok()) return ran.error();
      continue;
    }
    if (batch.tokens() + static_cast<std::int64_t>(encoding.size()) > model.token_budget()) {
      if (auto ran = run_batch(model, batch, at_id, result); !ran.ok()) return ran.error();
      batch.clear();
    }
    model.add_text(encoding, batch);
  }
  if (auto ran = run_batch(model, batch, at_id, result); !ran.ok()) return ran.error();
  return result;
}

}  // namespace wattn
