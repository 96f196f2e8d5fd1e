#include "tasks/input_gradient.h"

#include <algorithm>
#include <string>

#include "models/heads_backward.h"
#include "pass/run.h"
#include "pass/training.h"
#include "tasks/head_logits.h"

namespace wattn {
namespace {

Result<void> check(const Model& model, const Batch& batch, std::span<const float> embeddings, const OutputGradient& given) {
  const TransformerConfig& config = model.transformer().config();
  if (model.transformer().weight_type() != WeightType::kF32)
    return input_error("gradient: expected a model loaded with dtype 'f32'");
  if (model.decoder() || config.is_static() || config.in_groups() || config.learns_nothing()) {
    return unsupported_error("gradient: expected a model with one stack of trainable layers");
  }
  const std::int64_t tokens = batch.tokens(), size = tokens * config.hidden_size;
  if (batch.batch() != 1 || tokens == 0 || tokens > model.transformer().positions()) {
    return input_error("gradient: expected one text of 1 to " + std::to_string(model.transformer().positions()) +
                       " tokens, found " + std::to_string(tokens));
  }
  if ((!embeddings.empty() && std::ssize(embeddings) != size) || (!given.hidden.empty() && std::ssize(given.hidden) != size)) {
    return input_error("gradient: expected " + std::to_string(size) + " numbers (a vector for each token), found another count");
  }
  if (given.logits.empty()) return {};
  const std::int64_t labels = model.has_lm_head() ? config.vocab_size : model.head() ? model.head()->labels() : 0;
  if (std::ssize(given.logits) != labels || given.token < 0 || given.token >= tokens) {
    return input_error("gradient: expected " + std::to_string(labels) + " logits for one of " + std::to_string(tokens) +
                       " tokens, found " + std::to_string(given.logits.size()) + " for token " + std::to_string(given.token));
  }
  return {};
}

// Both add to d_states, [tokens, hidden].
Result<void> lm_backward(Model& model, const float* states, const OutputGradient& given, float* d_states) {
  const Transformer& stack = model.generator();
  const std::int64_t hidden = stack.config().hidden_size;
  const int threads = model.team().most_threads();
  auto arena = Arena::with_bytes(
      lm_head_bytes(stack.plan(), 1, threads) + lm_head_backward_bytes(stack.training_plan(), 1, threads), "gradient");
  if (!arena.ok()) return arena.error();
  std::vector<float> read(states + given.token * hidden, states + (given.token + 1) * hidden), d_read(read.size());
  std::vector<float> logits(given.logits.size()), d_logits(given.logits.begin(), given.logits.end());
  lm_head(stack.plan(), stack.compute(model.team()), read.data(), 1, arena.value(), logits.data());
  arena.value().reset();
  lm_head_backward(
      stack.training_plan(), {model.kernels(), model.team()},
      {.hidden = read.data(), .rows = 1, .d_logits = d_logits.data(), .d_hidden = d_read.data(), .logits = logits.data()},
      arena.value());
  model.kernels().axpy(1.0f, d_read.data(), d_states + given.token * hidden, hidden);
  return {};
}

Result<void> head_backward_of(Model& model, const Batch& batch, const float* states, const OutputGradient& given, float* d_states) {
  const Kernels& kernels = model.kernels();
  const Head& head = *model.head();
  const EmbeddingTable& words = model.transformer().word_embeddings();
  const std::int64_t hidden = model.transformer().config().hidden_size;
  const bool is_sequence = model.head_kind() == HeadKind::kSequence;
  const HeadReading reading = head_reading(model);
  std::vector<float> rows, d_logits(given.logits.begin(), given.logits.end());
  std::vector<std::int32_t> counts;
  if (is_sequence) {
    head_rows(kernels, reading, batch, states, hidden, rows, counts);
  } else {
    rows.assign(states + given.token * hidden, states + (given.token + 1) * hidden);
  }
  const std::int64_t count = std::ssize(rows) / hidden;
  if (is_sequence && reading.input == HeadInput::kEach) {
    d_logits.resize(static_cast<std::size_t>(count * head.labels()));
    average_logits_backward(kernels, counts, head.labels(), given.logits.data(), d_logits.data());
  }
  auto arena = Arena::with_bytes(head_backward_bytes(head, words, count, model.team().most_threads()), "gradient");
  if (!arena.ok()) return arena.error();
  std::vector<float> d_rows(rows.size());
  head_backward({kernels, model.team()}, head, words,
                {.rows = rows.data(), .count = count, .d_logits = d_logits.data(), .d_rows = d_rows.data()}, arena.value());
  if (is_sequence) {
    head_rows_backward(kernels, reading, batch, d_rows.data(), hidden, d_states);
  } else {
    kernels.axpy(1.0f, d_rows.data(), d_states + given.token * hidden, hidden);
  }
  return {};
}

}  // namespace

Result<std::vector<float>> input_gradient(Model& model, const Batch& batch, std::span<const float> embeddings,
                                          const OutputGradient& given) {
  if (auto checked = check(model, batch, embeddings, given); !checked.ok()) return checked.error();
  if (auto checked = model.transformer().check(batch); !checked.ok()) return checked.error();
  const Transformer& stack = model.transformer();
  const Plan& plan = stack.training_plan();
  const std::int64_t tokens = batch.tokens(), size = tokens * stack.config().hidden_size;
  const TapeOptions options{.kept_layers = stack.config().num_hidden_layers,
                            .input = embeddings.empty() ? nullptr : embeddings.data()};
  const BackwardScope scope{.embeddings = false, .layers = false, .input = true};
  const TrainingLimits limits{.tokens = tokens, .max_seq = tokens, .threads = model.team().most_threads()};
  Arena measure;
  measure.take<float>(tape_size(plan, tokens, options));
  measure.take<float>(size);
  auto arena = Arena::with_bytes(measure.used() + backward_bytes(plan, limits, options, scope), "gradient");
  if (!arena.ok()) return arena.error();
  float* const tape = arena.value().take<float>(tape_size(plan, tokens, options));
  float* const states = arena.value().take<float>(size);
  const std::uint64_t mark = arena.value().used();
  const Compute compute{model.kernels(), model.team()};
  training_forward(plan, compute, batch, tape, states, arena.value(), options);
  arena.value().rewind(mark);
  std::vector<float> d_states(given.hidden.begin(), given.hidden.end());
  d_states.resize(static_cast<std::size_t>(size));
  if (!given.logits.empty()) {
    auto went = model.has_lm_head() ? lm_backward(model, states, given, d_states.data())
                                    : head_backward_of(model, batch, states, given, d_states.data());
    if (!went.ok()) return went.error();
  }
  backward(plan, compute, batch, tape, d_states.data(), arena.value(), nullptr, scope, options);
  return d_states;
}

}  // namespace wattn
