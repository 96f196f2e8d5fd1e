#include "models/transformer_backward.h"

#include "models/training_pass.h"

namespace wattn {

std::int64_t tape_size(const TransformerConfig& config, std::int64_t tokens, const TapeOptions& options) {
  return TapeView(config, tokens, options, nullptr).size();
}

std::uint64_t backward_bytes(const Transformer& model, std::int64_t max_tokens, std::int64_t max_seq, int threads,
                             const SourceLimits& sources, const TapeOptions& options) {
  Arena measure;
  ThreadTeam alone;
  const Batch none;
  const TrainingPass measured(model, alone, none, {max_tokens, max_seq, threads, sources}, nullptr, {}, options, {}, measure);
  return measure.used();
}

namespace {

PassSize size_of(const Batch& batch, const CrossSources& sources, const ThreadTeam& team) {
  return {batch.tokens(), batch.longest(), team.threads(), {sources.tokens(), sources.longest()}};
}

}  // namespace

void training_forward(const Transformer& model, ThreadTeam& team, const Batch& batch, float* tape, float* hidden, Arena& arena,
                      const TapeOptions& options, const CrossSources& sources) {
  const ThreadTeam::Awake awake(team);
  TrainingPass pass(model, team, batch, size_of(batch, sources, team), nullptr, {}, options, sources, arena);
  pass.forward({model.config(), batch.tokens(), options, tape}, hidden);
}

void backward(const Transformer& model, ThreadTeam& team, const Batch& batch, float* tape, float* d_hidden, Arena& arena,
              Transformer* gradients, const BackwardScope& scope, const TapeOptions& options, const CrossSources& sources) {
  const ThreadTeam::Awake awake(team);
  TrainingPass pass(model, team, batch, size_of(batch, sources, team), gradients, scope, options, sources, arena);
  pass.backward({model.config(), batch.tokens(), options, tape}, d_hidden);
}

void lm_head_backward(const Transformer& model, ThreadTeam& team, const LmHeadGradient& gradient, Arena& arena) {
  const ThreadTeam::Awake awake(team);
  TrainingPass::lm_head(model, team, gradient, arena);
}

std::uint64_t lm_head_backward_bytes(const Transformer& model, std::int64_t most_rows, int threads) {
  Arena measure;
  const TransformerConfig& config = model.config();
  measure.take<float>(linear_backward_scratch(config.hidden_size, config.vocab_size, most_rows, threads));
  return measure.used();
}

}  // namespace wattn
