// build: -Os
// The losses of a Trainer: the model's outputs for some rows, the losses over them, and their gradients back to the last states.
#include <algorithm>
#include <cmath>
#include <cstddef>

#include "models/heads_backward.h"
#include "ops/losses.h"
#include "ops/pooling.h"
#include "ops/sentence_losses.h"
#include "pass/run.h"
#include "tasks/head_logits.h"
#include "tasks/train.h"
#include "tasks/train_modules.h"

namespace wattn {
namespace {

constexpr float kLeastLength = 1e-12f;  // torch.nn.functional.normalize's
constexpr PoolingMode kMean[] = {PoolingMode::kMean};

std::size_t size_of(std::int64_t size) { return static_cast<std::size_t>(size); }

std::span<const PoolingMode> pooling_of(const SentenceConfig& sentence) {
  return sentence.pooling.empty() ? std::span<const PoolingMode>(kMean) : sentence.pooling;
}

}  // namespace

Result<void> Trainer::sentence_outputs(const Batch& batch, const float* states, Outputs& out) const {
  const SentenceConfig& sentence = model_.sentence();
  const std::span<const PoolingMode> pooling = pooling_of(sentence);
  const Kernels& kernels = model_.kernels();
  const std::int64_t hidden = model_.transformer().config().hidden_size, count = batch.batch();
  const std::int64_t pooled_width = hidden * std::ssize(pooling);
  out.values.resize(size_of(count * pooled_width));
  out.lengths.assign(size_of(count), 1.0f);
  for (std::int64_t i = 0; i < count; ++i) {
    pool(kernels, pooling, states + batch.seq_start[size_of(i)] * hidden, batch.length(i), hidden, 0,
         out.values.data() + i * pooled_width);
  }
  if (!sentence.modules.empty()) {
    if (sentence.modules.front().in != pooled_width)
      return input_error("pooling: expected a vector as wide as the model's modules read, found another width");
    const std::vector<float> pooled = std::move(out.values);
    model_.run_modules(pooled.data(), count, out.values, &out.inputs);
  }
  out.width = std::ssize(out.values) / std::max<std::int64_t>(count, 1);
  for (std::int64_t i = 0; sentence.normalize && i < count; ++i) {
    float* vector = out.values.data() + i * out.width;
    const float length = std::max(std::sqrt(kernels.dot(vector, vector, out.width)), kLeastLength);
    for (std::int64_t k = 0; k < out.width; ++k) vector[k] /= length;
    out.lengths[size_of(i)] = length;
  }
  return {};
}

Result<void> Trainer::sentence_backward(const Batch& batch, const float* states, float share, Outputs& out, float* d_states) const {
  const SentenceConfig& sentence = model_.sentence();
  const std::span<const PoolingMode> pooling = pooling_of(sentence);
  const Kernels& kernels = model_.kernels();
  const std::int64_t hidden = model_.transformer().config().hidden_size, count = batch.batch(), width = out.width;
  for (std::int64_t i = 0; i < count; ++i) {
    const float* vector = out.values.data() + i * width;
    float* d = out.d_values.data() + i * width;
    const float along = sentence.normalize ? kernels.dot(vector, d, width) : 0.0f;
    for (std::int64_t k = 0; k < width; ++k) d[k] = share * (d[k] - along * vector[k]) / out.lengths[size_of(i)];
  }
  if (auto done = modules_backward(model_, out.inputs, count, out.d_values); !done.ok()) return done;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t start = batch.seq_start[size_of(i)] * hidden;
    pool_backward(kernels, pooling, states + start, batch.length(i), hidden, 0,
                  out.d_values.data() + i * hidden * std::ssize(pooling), d_states + start);
  }
  return {};
}

Result<double> Trainer::sentence_loss(const TrainRows& rows, Outputs& out) const {
  const std::int64_t count = std::ssize(rows.texts);
  const LossInput x{out.values.data(), count, out.width};
  float* dx = out.d_values.data();
  switch (options_.loss) {
    case TrainLoss::kMultipleNegativesRanking: {
      const auto columns = static_cast<std::int64_t>(rows.scores.empty() ? 2 : rows.scores.front());
      return multiple_negatives_ranking_loss(x, count / columns, options_.loss_scale, dx);
    }
    case TrainLoss::kCosent:
      return cosent_loss(x, rows.scores, options_.loss_scale, dx);
    case TrainLoss::kCosineSimilarity:
      return cosine_similarity_loss(x, rows.scores, dx);
    case TrainLoss::kContrastive:
      return contrastive_loss(x, rows.scores, options_.margin, dx);
    case TrainLoss::kTriplet: {
      const std::int64_t n = count / 3, at = n * x.cols;
      return triplet_margin_loss({x.data, n, x.cols}, x.data + at, x.data + 2 * at, {.margin = static_cast<float>(options_.margin)},
                                 {dx, dx + at, dx + 2 * at});
    }
    case TrainLoss::kBatchAllTriplet:
      return batch_all_triplet_loss(x, rows.labels, options_.margin, dx);
    case TrainLoss::kSupCon:
      return sup_con_loss(x, rows.labels, options_.temperature, dx);
    default:
      return 0.0;
  }
}

Result<void> Trainer::head_outputs(const TrainRows& rows, const Batch& batch, const float* states, bool drops, Outputs& out) {
  const Head& head = *model_.head();
  const Kernels& kernels = model_.kernels();
  const std::int64_t hidden = model_.transformer().config().hidden_size;
  head_rows(kernels, head_reading(model_), batch, states, hidden, out.read, out.counts);
  const std::int64_t count = std::ssize(out.read) / hidden;
  out.width = head.labels();
  if (drops) out.dropout = head_dropout(head, dropout_.head, options_.seed, dropout_step());
  out.values.resize(size_of(count * out.width));
  auto ran = training_run({kernels, model_.team()}, head, model_.transformer().word_embeddings(), out.read.data(), count,
                          out.dropout, out.values.data());
  if (!ran.ok()) return ran;
  if (averages_logits()) average_logits(kernels, 0, out.width, out.counts, out.values);
  if (options_.head == HeadKind::kSequence) return {};
  auto labels = token_labels(rows, batch);
  if (!labels.ok()) return labels.error();
  out.labels = std::move(labels).value();
  return {};
}

Result<double> Trainer::head_loss(const TrainRows& rows, Outputs& out) const {
  const LossInput x{out.values.data(), std::ssize(out.values) / out.width, out.width};
  if (options_.loss != TrainLoss::kCrossEntropy) {
    if (rows.scores.size() != out.values.size()) {
      return input_error("training: expected " + std::to_string(out.values.size()) + " scores, found " +
                         std::to_string(rows.scores.size()));
    }
    return options_.loss == TrainLoss::kBinaryCrossEntropy
               ? binary_cross_entropy_with_logits(x, rows.scores.data(), {}, out.d_values.data())
               : mse_loss(x, rows.scores.data(), Reduction::kMean, out.d_values.data());
  }
  const std::vector<std::int32_t>& all = options_.head == HeadKind::kSequence ? rows.labels : out.labels;
  const auto ignored = [](std::int32_t label) { return label == CrossEntropy{}.ignore_index; };
  const auto wrong = [&](std::int32_t label) { return !ignored(label) && (label < 0 || label >= out.width); };
  const auto found = std::ranges::find_if(all, wrong);
  if (std::ssize(all) != x.rows || found != all.end()) {
    return input_error("training: expected " + std::to_string(x.rows) + " labels from 0 to " + std::to_string(out.width - 1) +
                       ", found " + (found == all.end() ? std::to_string(all.size()) + " labels" : std::to_string(*found)));
  }
  if (std::ranges::all_of(all, ignored)) return input_error("training: expected a token with a label, found none");
  return cross_entropy(x, all, {.label_smoothing = options_.label_smoothing}, out.d_values.data());
}

void Trainer::head_backward_of(const Batch& batch, float share, Outputs& out, Arena& arena, float* d_states) {
  const Kernels& kernels = model_.kernels();
  const std::int64_t hidden = model_.transformer().config().hidden_size;
  for (float& d : out.d_values) d *= share;
  if (averages_logits()) {
    std::vector<std::int32_t> each;
    each.reserve(size_of(batch.batch()));
    for (std::int64_t i = 0; i < batch.batch(); ++i) each.push_back(static_cast<std::int32_t>(batch.length(i)));
    std::vector<float> d_rows(size_of(std::ssize(out.read) / hidden * out.width));
    average_logits_backward(kernels, each, out.width, out.d_values.data(), d_rows.data());
    out.d_values = std::move(d_rows);
  }
  std::vector<float> d_read(out.read.size());
  const bool goes_on = options_.method != TrainMethod::kHead;
  head_backward({kernels, model_.team()}, *model_.head(), model_.transformer().word_embeddings(),
                {.rows = out.read.data(),
                 .count = std::ssize(out.read) / hidden,
                 .d_logits = out.d_values.data(),
                 .d_rows = goes_on ? d_read.data() : nullptr,
                 .gradients = &*head_gradients_,
                 .dropout = out.dropout},
                arena);
  if (goes_on) head_rows_backward(kernels, head_reading(model_), batch, d_read.data(), hidden, d_states);
}

// Runs the head over the vocabulary for some rows at a time. judge: is given the logits of tokens from `first` on, and writes their
// gradient. d_states: null: not wanted.
template <typename Judge>
Result<void> Trainer::lm_chunks(std::span<const NextToken> tokens, const float* states, float* d_states, Judge judge) const {
  constexpr std::int64_t kRows = 64;  // logits of so many tokens at a time
  const Transformer& transformer = model_.generator();
  const std::int64_t hidden = transformer.config().hidden_size, vocab = transformer.config().vocab_size;
  const int threads = model_.team().most_threads();
  const std::uint64_t bytes =
      lm_head_bytes(transformer.plan(), kRows, threads) + lm_head_backward_bytes(transformer.training_plan(), kRows, threads);
  auto arena = Arena::with_bytes(bytes, "training");
  if (!arena.ok()) return arena.error();
  std::vector<float> read(size_of(kRows * hidden)), d_read(read.size()), logits(size_of(kRows * vocab)), d_logits(logits.size());
  for (std::int64_t first = 0; first < std::ssize(tokens); first += kRows) {
    const auto chunk = tokens.subspan(size_of(first)).first(size_of(std::min(kRows, std::ssize(tokens) - first)));
    const std::int64_t count = std::ssize(chunk);
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      std::copy_n(states + chunk[i].row * hidden, hidden, read.data() + static_cast<std::int64_t>(i) * hidden);
    }
    arena.value().reset();
    lm_head(transformer.plan(), transformer.compute(model_.team()), read.data(), count, arena.value(), logits.data());
    judge(first, LossInput{logits.data(), count, vocab}, d_states ? d_logits.data() : nullptr);
    if (!d_states) continue;
    arena.value().reset();
    lm_head_backward(transformer.training_plan(), {model_.kernels(), model_.team()},
                     {.hidden = read.data(),
                      .rows = count,
                      .d_logits = d_logits.data(),
                      .d_hidden = d_read.data(),
                      .gradients = trains_embeddings() ? &stacks_.back().gradients->training_plan() : nullptr,
                      .logits = logits.data(),
                      .biases = biases_,
                      .weights = whole_},
                     arena.value());
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      model_.kernels().axpy(1.0f, d_read.data() + static_cast<std::int64_t>(i) * hidden, d_states + chunk[i].row * hidden, hidden);
    }
  }
  return {};
}

Result<std::vector<Trainer::NextToken>> Trainer::learned_tokens(const TrainRows& rows, const Batch& batch) const {
  auto found = next_tokens(rows, batch);
  if (found.ok() && found.value().empty()) {
    return input_error("training: expected a text with at least one token to predict, found none (is max_length too short?)");
  }
  return found;
}

Result<Trainer::LossSum> Trainer::lm_loss(const TrainRows& rows, const Batch& batch, const float* states, float share,
                                          float* d_states) const {
  const auto tokens = learned_tokens(rows, batch);
  if (!tokens.ok()) return tokens.error();
  LossSum loss{.tokens = std::ssize(tokens.value())};
  const float factor = share / static_cast<float>(loss.tokens);
  // Evaluation uses the loss from which perplexity is computed, without smoothing.
  const CrossEntropy options{.label_smoothing = d_states ? options_.label_smoothing : 0, .reduction = Reduction::kSum};
  auto ran = lm_chunks(tokens.value(), states, d_states, [&](std::int64_t first, const LossInput& logits, float* d_logits) {
    std::vector<std::int32_t> targets;
    for (std::int64_t i = first; i < first + logits.rows; ++i) targets.push_back(tokens.value()[size_of(i)].id);
    loss.sum += cross_entropy(logits, targets, options, d_logits);
    for (std::int64_t k = 0; d_logits && k < logits.size(); ++k) d_logits[k] *= factor;
  });
  if (!ran.ok()) return ran.error();
  return loss;
}

Result<void> Trainer::lm_outputs(const TrainRows& rows, const Batch& batch, const float* states, Outputs& out) const {
  auto tokens = learned_tokens(rows, batch);
  if (!tokens.ok()) return tokens.error();
  out.tokens = std::move(tokens).value();
  out.width = model_.generator().config().vocab_size;
  const double bytes = static_cast<double>(out.tokens.size()) * static_cast<double>(out.width) * sizeof(float);
  if (auto room = Arena::fits(2 * bytes, "logits of all tokens to learn"); !room.ok()) return room;
  for (const NextToken& token : out.tokens) out.labels.push_back(token.id);
  return lm_chunks(out.tokens, states, nullptr, [&](std::int64_t, const LossInput& logits, float*) {
    out.values.insert(out.values.end(), logits.data, logits.data + logits.size());
  });
}

Result<void> Trainer::outputs_of(const TrainRows& rows, const Batch& batch, const float* states, bool drops, Outputs& out) {
  if (is_lm()) return lm_outputs(rows, batch, states, out);
  return uses_head() ? head_outputs(rows, batch, states, drops, out) : sentence_outputs(batch, states, out);
}

Result<void> Trainer::outputs_backward(const Batch& batch, const float* states, float share, Outputs& out, float* d_states) {
  if (is_lm()) {
    return lm_chunks(out.tokens, states, d_states, [&](std::int64_t first, const LossInput& logits, float* d_logits) {
      const float* from = out.d_values.data() + first * logits.cols;
      for (std::int64_t k = 0; k < logits.size(); ++k) d_logits[k] = share * from[k];
    });
  }
  if (!uses_head()) return sentence_backward(batch, states, share, out, d_states);
  const std::int64_t count = std::ssize(out.read) / model_.transformer().config().hidden_size;
  auto arena = Arena::with_bytes(
      head_backward_bytes(*model_.head(), model_.transformer().word_embeddings(), count, model_.team().most_threads()), "training");
  if (!arena.ok()) return arena.error();
  head_backward_of(batch, share, out, arena.value(), d_states);
  return {};
}

}  // namespace wattn
