#include "tasks/predict.h"

#include <algorithm>

#include "core/part.h"
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
  const bool is_lm = model().head_kind() == HeadKind::kCausalLm && !options_.label_ids.empty();
  if (const auto* labels = Part<LabelLoader>::get()) {
    if (auto checked = labels->check(model().label_head(), options_.num_labels); !checked.ok()) return checked;
  }
  if (!model().head() && !is_lm && !model().label_head()) return input_error("predict: this model was loaded without a head");
  for (const std::int32_t id : options_.label_ids) {
    if (const std::int64_t vocab = model().transformer().config().vocab_size; id < 0 || id >= vocab) {
      return input_error("predict: expected ids of tokens below " + std::to_string(vocab) + " (config.json: vocab_size), found " +
                         std::to_string(id));
    }
  }
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
  result_.labels = options_.num_labels > 0 ? options_.num_labels
                   : is_lm                 ? static_cast<std::int64_t>(options_.label_ids.size())
                                           : model().labels();
  return {};
}

Result<Encoding> PredictJob::encode(std::size_t text) {
  const Tokenizer& tokenizer = model().tokenizer();
  auto encoding = pairs_.empty() ? tokenizer.encode(texts_[text], options_.encode)
                                 : tokenizer.encode_pair(texts_[text], pairs_[text], options_.encode);
  if (!encoding.ok() || !encoding.value().truncated()) return encoding;
  std::vector<std::int32_t>& ids = encoding.value().ids;
  const std::size_t kept = std::min(ids.size(), options_.tail.size());
  std::copy(options_.tail.end() - static_cast<std::ptrdiff_t>(kept), options_.tail.end(),
            ids.end() - static_cast<std::ptrdiff_t>(kept));
  return encoding;
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

Result<void> PredictJob::add_label_logits(const Batch& batch, const float* hidden) {
  const std::int64_t width = model().transformer().config().hidden_size;
  std::vector<float> rows;
  for (std::int64_t i = 0; i < batch.batch(); ++i) {
    const bool has_token = batch.length(i) > 0;
    result_.rows.push_back(has_token ? 1 : 0);
    const float* end = hidden + batch.seq_start[i + 1] * width;
    if (has_token) rows.insert(rows.end(), end - width, end);
  }
  return model().run_lm_head(rows.data(), static_cast<std::int64_t>(rows.size()) / width, options_.label_ids, result_.logits);
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
    const auto hidden = states(batch);
    if (!hidden.ok()) return hidden.error();
    Result<void> added;
    if (const LabelHead* head = model().label_head()) {
      const ThreadTeam::Awake awake(model().team());
      Part<LabelLoader>::get()->run(*head, {model().kernels(), model().team()}, batch, hidden.value(), options_.num_labels,
                                    result_.logits, result_.rows);
    } else if (model().head()) {
      added = add_head_logits(model(), batch, hidden.value(), at_id_, {result_.logits, result_.rows});
    } else {
      added = add_label_logits(batch, hidden.value());
    }
    if (!added.ok()) return added;
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
