#include "tasks/forward.h"

#include <algorithm>
#include <numeric>

namespace wattn {
namespace {

// Rows that the head sees at a time: their logits are as wide as the vocabulary.
constexpr std::int64_t kLensRows = 16;

Result<void> check_lens(const Engine& engine, std::int64_t count) {
  if (count == 0) return {};
  if (engine.head() && engine.head()->kind() == HeadKind::kMaskedLm) return check_logit_lens(count, engine.head()->labels());
  return input_error("logit_lens: expected a model with a head over the vocabulary (ForMaskedLM), found one without");
}

// states: [tokens, hidden] of one layer.
Result<void> look_through_lens(Engine& engine, const std::vector<float>& states, std::int64_t count, Insides& out) {
  const std::int64_t hidden = engine.encoder().config().hidden_size;
  const auto tokens = static_cast<std::int64_t>(states.size()) / hidden;
  std::vector<float> rows, logits;
  std::vector<std::int32_t> order, numbers(static_cast<std::size_t>(kLensRows));
  std::iota(numbers.begin(), numbers.end(), 0);
  for (std::int64_t first = 0; first < tokens; first += kLensRows) {
    const std::int64_t some = std::min(kLensRows, tokens - first);
    rows.assign(states.begin() + first * hidden, states.begin() + (first + some) * hidden);
    engine.encoder().final_norm(engine.team(), rows.data(), some);
    logits.clear();
    const auto first_numbers = std::span<const std::int32_t>(numbers).first(static_cast<std::size_t>(some));
    if (auto ran = engine.run_head(rows.data(), {}, first_numbers, logits); !ran.ok()) return ran;
    const auto vocab = static_cast<std::size_t>(engine.head()->labels());
    for (std::size_t i = 0; i < logits.size(); i += vocab) add_likeliest({&logits[i], vocab}, count, order, out);
  }
  return {};
}

}  // namespace

Result<ForwardResult> forward(Engine& engine, const Batch& batch, const ForwardOptions& options) {
  ForwardResult result;
  const Encoder& encoder = engine.encoder();
  const EncoderConfig& config = encoder.config();
  const Asked asked{.hidden_states = options.output_hidden_states || options.logit_lens > 0,
                    .attentions = options.output_attentions,
                    .qkv = options.output_qkv,
                    .head_mask = options.head_mask,
                    .patches = options.patches};
  const StackShape shape = stack_shape(config);
  if (auto e = check_asked(asked, shape, batch.tokens(), 0); !e.ok()) return e.error();
  if (auto e = check_lens(engine, options.logit_lens); !e.ok()) return e.error();
  Collector collector(asked, shape, 0, result);
  const auto hidden = engine.run(batch, collector.taps());
  if (!hidden.ok()) return hidden.error();
  result.last_hidden_state.assign(hidden.value(), hidden.value() + batch.tokens() * config.hidden_size);
  for (const auto& states : result.hidden_states) {
    if (options.logit_lens == 0) break;
    if (auto e = look_through_lens(engine, states, options.logit_lens, result); !e.ok()) return e.error();
  }
  if (!options.output_hidden_states) result.hidden_states.clear();
  // As transformers has it: the last of them has passed the final norm.
  if (options.output_hidden_states) result.hidden_states.back() = result.last_hidden_state;
  if (encoder.has_pooler()) {
    result.pooler_output.resize(static_cast<std::size_t>(batch.batch() * config.hidden_size));
    encoder.pooler(batch, hidden.value(), result.pooler_output.data());
  }
  if (!engine.head()) return result;
  std::vector<std::int32_t> tokens(batch.seq_start.begin(), batch.seq_start.end() - 1);
  if (engine.head()->kind() != HeadKind::kSequence) {
    tokens.resize(static_cast<std::size_t>(batch.tokens()));
    std::iota(tokens.begin(), tokens.end(), 0);
  }
  if (auto ran = engine.run_head(hidden.value(), batch, tokens, result.logits); !ran.ok()) return ran.error();
  return result;
}

}  // namespace wattn
