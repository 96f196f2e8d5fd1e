#include "engine/model.h"

#include <algorithm>

#include "core/part.h"
#include "pass/run.h"

namespace wattn {
namespace {

// Most bytes of logits from one call: a masked-language head gives a whole vocabulary per token.
constexpr std::uint64_t kMostLogitBytes = 1ull << 30;

}  // namespace

std::uint64_t Model::weight_bytes() const {
  std::uint64_t adapters = 0;
  for (const auto& adapter : adapters_) adapters += adapter ? adapter->bytes() : 0;
  return transformer_.weight_bytes() + (decoder_ ? decoder_->weight_bytes() : 0) + module_memory_.used() +
         (head_ ? head_->weight_bytes() : 0) + (spans_ ? Part<SpanLoader>::get()->weight_bytes(*spans_) : 0) +
         (label_head_ ? Part<LabelLoader>::get()->weight_bytes(*label_head_) : 0) + adapters;
}

std::uint64_t Model::packed_bytes() const {
  const std::int64_t keys = std::min(token_budget(), transformer_.positions());
  Arena measure;
  measure.take<float>(token_budget() * transformer_.config().hidden_size);
  return measure.used() +
         forward_bytes(transformer_.plan(),
                       {.tokens = token_budget(), .keys = keys, .own_keys = keys, .threads = team_.most_threads()});
}

std::uint64_t Model::arena_bytes() const {
  if (!decoder_ && !has_lm_head()) return packed_bytes();
  SlotCapacity longest{.slots = 1, .length = context_length()};
  if (decoder_) longest.sources = 1;
  if (decoder_) longest.source_length = transformer_.positions();
  return slots_.bytes(longest);
}

void Model::add_text(const Encoding& encoding, Batch& batch) const {
  batch.add_sequence(encoding.ids, encoding.type_ids);
  const auto added = static_cast<std::ptrdiff_t>(encoding.size());
  if (transformer_.config().type_vocab_size == 1) std::fill(batch.token_type_ids.end() - added, batch.token_type_ids.end(), 0);
}

Result<const float*> Model::run(const Batch& batch, Taps* taps) {
  if (auto checked = transformer_.check(batch); !checked.ok()) return checked.error();
  if (batch.tokens() > token_budget()) {
    return input_error("input_ids: expected at most " + std::to_string(token_budget()) + " tokens in one run, found " +
                       std::to_string(batch.tokens()));
  }
  if (arena_.measuring()) {
    auto arena = Arena::with_bytes(packed_bytes(), "activations");
    if (!arena.ok()) return arena.error();
    arena_ = std::move(arena).value();
  }
  arena_.reset();
  float* hidden = arena_.take<float>(token_budget() * transformer_.config().hidden_size);
  forward(transformer_.plan(), transformer_.compute(team_), batch, {}, arena_, hidden, taps);
  return static_cast<const float*>(hidden);
}

void Model::run_modules(const float* pooled, std::int64_t count, std::vector<float>& out, std::vector<std::vector<float>>* inputs) {
  const ThreadTeam::Awake awake(team_);
  const Compute compute{kernels(), team_};
  const std::int64_t in = sentence_.modules.empty() ? 0 : sentence_.modules.front().in;
  out.assign(pooled, pooled + count * in);
  for (std::size_t i = 0; i < modules_.size(); ++i) {
    const SentenceModule& module = sentence_.modules[i];
    const ModuleWeights& weights = modules_[i];
    if (inputs) inputs->push_back(out);
    if (module.kind == SentenceModule::Kind::kLayerNorm) layer_norm(compute, weights.norm, out.data(), nullptr, count, out.data());
    if (module.kind == SentenceModule::Kind::kNormalize) {
      constexpr float kEpsilon = 1e-12f;  // torch.nn.functional.normalize's
      for (std::int64_t row = 0; row < count; ++row) kernels().l2_normalize(out.data() + row * module.in, kEpsilon, module.in);
    }
    if (module.kind != SentenceModule::Kind::kDense) continue;
    std::vector<float> next(static_cast<std::size_t>(count * module.out));
    linear(compute, weights.dense, out.data(), count, module.activation, {}, next.data());
    if (module.projects_residual()) {
      std::vector<float> projected(next.size());
      linear(compute, weights.residual, out.data(), count, Activation::kNone, {}, projected.data());
      out = std::move(projected);
    }
    if (module.residual) kernels().axpy(1.0f, out.data(), next.data(), count * module.out);
    out = std::move(next);
  }
}

Result<void> Model::run_head(const float* rows, std::int64_t count, std::vector<float>& logits) {
  if (auto checked = check_head(); !checked.ok()) return checked;
  const std::size_t begin = logits.size();
  const std::size_t more = static_cast<std::size_t>(count * labels());
  if ((begin + more) * sizeof(float) > kMostLogitBytes) {
    return input_error("logits: expected at most " + std::to_string(kMostLogitBytes / sizeof(float) / labels()) + " tokens of " +
                       std::to_string(labels()) + " logits in one call, found more");
  }
  logits.resize(begin + more);
  const ThreadTeam::Awake awake(team_);
  return head_->run({kernels(), team_, lora()}, transformer_.word_embeddings(), rows, count, logits.data() + begin);
}

Result<void> Model::run_lm_head(const float* rows, std::int64_t count, std::span<const std::int32_t> ids,
                                std::vector<float>& logits) {
  constexpr std::int64_t kRows = 8;  // at a time, as each row's logits are as wide as the vocabulary
  const Plan& plan = transformer_.plan();
  const std::int64_t width = transformer_.config().hidden_size;
  const auto vocab = static_cast<std::size_t>(transformer_.config().vocab_size);
  auto arena = Arena::with_bytes(lm_head_bytes(plan, kRows, team_.most_threads()), "a head over the vocabulary");
  if (!arena.ok()) return arena.error();
  std::vector<float> states, all(static_cast<std::size_t>(kRows) * vocab);
  for (std::int64_t first = 0; first < count; first += kRows) {
    const std::int64_t some = std::min(kRows, count - first);
    states.assign(rows + first * width, rows + (first + some) * width);  // the head changes them
    arena.value().reset();
    lm_head(plan, transformer_.compute(team_), states.data(), some, arena.value(), all.data());
    for (std::int64_t row = 0; row < some; ++row) {
      for (const std::int32_t id : ids) logits.push_back(all[static_cast<std::size_t>(row) * vocab + static_cast<std::size_t>(id)]);
    }
  }
  return {};
}

}  // namespace wattn
