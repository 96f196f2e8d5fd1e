#include "tasks/predict.h"

#include <algorithm>

#include "tasks/forward.h"
#include "tasks/head_logits.h"

namespace wattn {

Result<std::unique_ptr<PredictJob>> PredictJob::begin(Model& model, std::span<const std::u16string_view> texts,
                                                      std::span<const std::u16string_view> pairs, const PredictOptions& options) {
  std::unique_ptr<PredictJob> out(new PredictJob(model, texts, pairs, options));
  if (auto prepared = out->prepare(); !prepared.ok()) return prepared.error();
  return out;
}

Result<void> PredictJob::prepare() {
  if (!model().head()) return input_error("predict: this model was loaded without a head");
  if (!options_.at_token.empty()) {
    at_id_ = model().tokenizer().token_to_id(options_.at_token);
    if (!at_id_) return input_error("predict: the vocabulary has no token '" + options_.at_token + "'");
  }
  std::optional<std::int32_t>& max_length = options_.encode.max_length;
  const std::int64_t limit = std::min(model().transformer().positions(), model().context_length());
  if (max_length && *max_length > limit) {
    return input_error("max_length: expected a whole number from 1 to " + std::to_string(limit) +
                       " (the model's positions), found " + std::to_string(*max_length));
  }
  if (!max_length) max_length = static_cast<std::int32_t>(model().max_length());
  result_.labels = model().labels();
  return {};
}

Result<Encoding> PredictJob::encode(std::size_t text) {
  const Tokenizer& tokenizer = model().tokenizer();
  return pairs_.empty() ? tokenizer.encode(texts_[text], options_.encode)
                        : tokenizer.encode_pair(texts_[text], pairs_[text], options_.encode);
}

void PredictJob::add(Encoding window, std::size_t text, bool) {
  result_.encodings.push_back(std::move(window));
  result_.text.push_back(static_cast<std::int32_t>(text));
}

// The encoder reads the text, the decoder the text shifted right by one.
Result<void> PredictJob::run_both_stacks(const Encoding& encoding) {
  Batch shifted;
  std::vector<std::int32_t> ids = encoding.ids;
  if (!ids.empty()) {
    std::rotate(ids.begin(), ids.end() - 1, ids.end());
    ids.front() = model().special_ids().decoder_start;
  }
  shifted.add_sequence(ids, {});
  const auto outputs = forward(model(), shifted, {.source = encoding.ids});
  if (!outputs.ok()) return outputs.error();
  const std::vector<float>& logits = outputs.value().logits;
  result_.rows.push_back(logits.empty() ? 0 : 1);
  result_.logits.insert(result_.logits.end(), logits.begin(), logits.end());
  return {};
}

Result<void> PredictJob::run(const Batch& batch, const std::vector<std::size_t>& texts) {
  const std::size_t first = result_.rows.size();
  std::size_t at = result_.logits.size();
  if (model().decoder()) {
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (auto ran = run_both_stacks(result_.encodings[first + i]); !ran.ok()) return ran;
    }
  } else if (batch.tokens() == 0) {
    result_.rows.resize(first + texts.size());
  } else {
    const auto hidden = model().run(batch, nullptr);
    if (!hidden.ok()) return hidden.error();
    if (auto added = add_head_logits(model(), batch, hidden.value(), at_id_, {result_.logits, result_.rows}); !added.ok()) {
      return added;
    }
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::int64_t count = result_.rows[first + i] * result_.labels;
    const std::string text = "text " + std::to_string(options_.first_text + static_cast<std::int64_t>(texts[i]));
    if (auto checked = check_finite(result_.logits.data() + at, count, text); !checked.ok()) return checked;
    at += static_cast<std::size_t>(count);
  }
  return {};
}

Result<PredictResult> predict(Model& model, std::span<const std::u16string_view> texts, std::span<const std::u16string_view> pairs,
                              const PredictOptions& options) {
  const auto job = PredictJob::begin(model, texts, pairs, options);
  if (!job.ok()) return job.error();
  if (auto ran = run_all(*job.value()); !ran.ok()) return ran.error();
  return job.value()->take_result();
}

}  // namespace wattn
