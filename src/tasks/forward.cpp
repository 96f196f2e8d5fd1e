#include "tasks/forward.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "pass/run.h"
#include "tasks/head_logits.h"

namespace wattn {
namespace {

// Rows per run of the head, as each row's logits are as wide as the vocabulary.
constexpr std::int64_t kLensRows = 16;
constexpr std::string_view kEncoder = "encoder.", kDecoder = "decoder.";

Result<void> check_lens(const Model& model, std::int64_t count) {
  if (count == 0) return {};
  if (model.has_lm_head() || model.head_kind() == HeadKind::kMaskedLm) {
    return check_logit_lens(count, model.generator().config().vocab_size);
  }
  return input_error("logit_lens: expected a model with a head over the vocabulary (ForMaskedLM), found one without");
}

StackRequest last_stack(const ForwardRequest& request) {
  return {.hidden_states = request.output_hidden_states || request.logit_lens > 0,
          .attentions = request.output_attentions,
          .qkv = request.output_qkv,
          .head_mask = request.head_mask,
          .cross_head_mask = request.cross_head_mask,
          .patches = request.patches};
}

StackRequest encoder_stack(const ForwardRequest& request) {
  return {.hidden_states = request.output_hidden_states,
          .attentions = request.output_attentions,
          .qkv = request.output_qkv,
          .head_mask = request.encoder_head_mask,
          .patches = request.patches,
          .prefix = kEncoder};
}

// As in transformers, the last of the hidden states is after the final norm.
void finish_hidden_states(const ForwardRequest& request, ForwardOutputs& out) {
  if (!request.output_hidden_states) out.hidden_states.clear();
  if (request.output_hidden_states && !out.hidden_states.empty()) out.hidden_states.back() = out.last_hidden_state;
}

// states: [tokens, hidden] of one layer.
Result<void> lens_of_masked_lm(Model& model, const std::vector<float>& states, std::int64_t count, StackOutputs& out) {
  const std::int64_t hidden = model.transformer().config().hidden_size;
  const auto tokens = static_cast<std::int64_t>(states.size()) / hidden;
  const auto vocab = static_cast<std::size_t>(model.labels());
  std::vector<float> rows, logits;
  std::vector<std::int32_t> order;
  for (std::int64_t first = 0; first < tokens; first += kLensRows) {
    const std::int64_t some = std::min(kLensRows, tokens - first);
    rows.assign(states.begin() + first * hidden, states.begin() + (first + some) * hidden);
    final_norm(model.transformer().plan(), model.transformer().compute(model.team()), rows.data(), some);
    logits.clear();
    if (auto ran = model.run_head(rows.data(), some, logits); !ran.ok()) return ran;
    for (std::size_t i = 0; i < logits.size(); i += vocab) add_best_tokens({&logits[i], vocab}, count, order, out);
  }
  return {};
}

// With a sequence head, an empty sequence gets logits of 0.
Result<void> packed_logits(Model& model, const Batch& batch, const float* hidden, std::vector<float>& logits) {
  std::vector<std::int32_t> counts;
  if (auto ran = add_head_logits(model, batch, hidden, {}, {logits, counts}); !ran.ok()) return ran;
  const auto labels = static_cast<std::ptrdiff_t>(model.labels());
  for (std::size_t i = 0; model.head_kind() == HeadKind::kSequence && i < counts.size(); ++i) {
    const auto at = logits.begin() + static_cast<std::ptrdiff_t>(i) * labels;
    if (counts[i] == 0) logits.insert(at, static_cast<std::size_t>(labels), 0.0f);
  }
  return {};
}

Result<void> add_ends(Model& model, const Batch& batch, const float* hidden, bool output_logits, ForwardOutputs& out) {
  if (model.transformer().has_pooler()) {
    out.pooler_output.resize(static_cast<std::size_t>(batch.batch() * model.transformer().config().hidden_size));
    model.transformer().pooler(batch, hidden, out.pooler_output.data());
  }
  if (!model.head() || !output_logits) return {};
  return packed_logits(model, batch, hidden, out.logits);
}

Result<ForwardOutputs> forward_packed(Model& model, const Batch& batch, const ForwardRequest& request) {
  const TransformerConfig& config = model.transformer().config();
  const StackRequest stack = last_stack(request);
  if (auto e = check_request(stack, config, batch.tokens()); !e.ok()) return e.error();
  if (auto e = check_lens(model, request.logit_lens); !e.ok()) return e.error();
  ForwardOutputs out;
  StackTaps taps(stack, config, 0, out);
  const auto hidden = model.run(batch, taps.taps());
  if (!hidden.ok()) return hidden.error();
  out.last_hidden_state.assign(hidden.value(), hidden.value() + batch.tokens() * config.hidden_size);
  for (const auto& states : out.hidden_states) {
    if (request.logit_lens == 0) break;
    if (auto e = lens_of_masked_lm(model, states, request.logit_lens, out); !e.ok()) return e.error();
  }
  finish_hidden_states(request, out);
  if (auto e = add_ends(model, batch, hidden.value(), request.output_logits, out); !e.ok()) return e.error();
  return out;
}

Result<void> check_both_stacks(const Model& model, const ForwardRequest& request, const StackRequest& decoder,
                               std::int64_t tokens) {
  const Transformer& encoder = model.transformer();
  const auto source_tokens = static_cast<std::int64_t>(request.source.size());
  if (source_tokens > encoder.positions()) {
    return input_error("input_ids: expected at most " + std::to_string(encoder.positions()) +
                       " tokens (the encoder's positions), found " + std::to_string(source_tokens));
  }
  for (const Patch& patch : request.patches) {
    if (patch.tap.starts_with(kEncoder) || patch.tap.starts_with(kDecoder)) continue;
    return input_error("patch: expected names that begin with encoder. or decoder., found '" + patch.tap + "'");
  }
  if (auto e = check_request(encoder_stack(request), encoder.config(), source_tokens); !e.ok()) return e;
  return check_request(decoder, model.decoder()->config(), tokens, source_tokens, "decoder_head_mask", "cross_attn_head_mask");
}

Result<void> check_sequence(const Model& model, const Batch& batch, const ForwardRequest& request, const StackRequest& last) {
  if (batch.batch() > 1) return input_error("input_ids: expected one sequence, found " + std::to_string(batch.batch()));
  if (auto e = check_lens(model, request.logit_lens); !e.ok()) return e;
  if (batch.tokens() > model.context_length()) {
    return input_error("input_ids: expected at most context_length = " + std::to_string(model.context_length()) +
                       " tokens, found " + std::to_string(batch.tokens()));
  }
  if (model.decoder()) return check_both_stacks(model, request, last, batch.tokens());
  return check_request(last, model.transformer().config(), batch.tokens());
}

// taps: of the decoder, for its cross keys and values.
Result<void> read_source(Model& model, const ForwardRequest& request, Taps* taps, EncoderOutputs& out) {
  const TransformerConfig& config = model.transformer().config();
  StackTaps encoder(encoder_stack(request), config, 0, out);
  const auto states = model.slots().read_source(0, request.source, encoder.taps(), taps);
  if (!states.ok()) return states.error();
  const auto tokens = static_cast<std::int64_t>(request.source.size());
  out.last_hidden_state.assign(states.value(), states.value() + tokens * config.hidden_size);
  if (request.output_hidden_states) out.hidden_states.back() = out.last_hidden_state;
  return {};
}

Result<void> read_pieces(Model& model, std::span<const std::int32_t> ids, bool output_logits, StackTaps& taps,
                         ForwardOutputs& out) {
  const TransformerConfig& config = model.generator().config();
  Slots& slots = model.slots();
  const auto tokens = static_cast<std::int64_t>(ids.size());
  Batch batch;
  for (std::int64_t first = 0; first < tokens; first += slots.token_budget()) {
    const std::int64_t count = std::min(slots.token_budget(), tokens - first);
    batch.clear();
    batch.add_to_slot(0, static_cast<std::int32_t>(first),
                      ids.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)));
    if (model.decoder()) batch.sources.push_back(0);
    taps.begin_at(first);
    const auto hidden = slots.run(batch, taps.taps());
    if (!hidden.ok()) return hidden.error();
    out.last_hidden_state.insert(out.last_hidden_state.end(), hidden.value(), hidden.value() + count * config.hidden_size);
    for (std::int64_t row = 0; output_logits && row < count; ++row) {
      const float* logits = slots.logits(hidden.value(), {&row, 1});
      out.logits.insert(out.logits.end(), logits, logits + config.vocab_size);
    }
  }
  return {};
}

void lens_of_lm(Model& model, std::int64_t count, ForwardOutputs& out) {
  const TransformerConfig& config = model.generator().config();
  std::vector<std::int32_t> order;
  for (const auto& states : out.hidden_states) {
    for (auto row = states.begin(); row != states.end(); row += config.hidden_size) {
      const float* logits = model.slots().logit_lens(&*row);
      add_best_tokens({logits, static_cast<std::size_t>(config.vocab_size)}, count, order, out);
    }
  }
}

// Runs the head over the decoder's state at the source's last eos token; no logits without one.
Result<void> decoder_logits(Model& model, const ForwardRequest& request, ForwardOutputs& out) {
  const auto& source = request.source;
  const auto eos = std::find(source.rbegin(), source.rend(), model.special_ids().eos);
  if (eos == source.rend()) return {};
  const std::int64_t width = model.generator().config().hidden_size;
  const std::int64_t begin = (source.rend() - eos - 1) * width;
  if (begin >= static_cast<std::int64_t>(out.last_hidden_state.size())) {
    return input_error("decoder_input_ids: expected as many as the source's " + std::to_string(source.size()) + " tokens, found " +
                       std::to_string(static_cast<std::int64_t>(out.last_hidden_state.size()) / width));
  }
  return model.run_head(out.last_hidden_state.data() + begin, 1, out.logits);
}

Result<ForwardOutputs> forward_in_slots(Model& model, const Batch& batch, const ForwardRequest& request) {
  StackRequest last = last_stack(request);
  if (model.decoder()) last.prefix = kDecoder;
  if (auto e = check_sequence(model, batch, request, last); !e.ok()) return e.error();
  ForwardOutputs out;
  if (batch.tokens() == 0) return out;
  SlotCapacity capacity{.slots = 1, .length = batch.tokens()};
  if (model.decoder()) capacity.sources = 1;
  capacity.source_length = static_cast<std::int64_t>(request.source.size());
  if (auto e = model.slots().reserve(capacity); !e.ok()) return e.error();
  StackTaps taps(last, model.generator().config(), batch.tokens(), out);
  if (model.decoder()) {
    if (auto e = read_source(model, request, taps.taps(), out.encoder); !e.ok()) return e.error();
  }
  const bool lm_logits = request.output_logits && model.has_lm_head();
  if (auto e = read_pieces(model, batch.input_ids, lm_logits, taps, out); !e.ok()) return e.error();
  if (request.logit_lens > 0) lens_of_lm(model, request.logit_lens, out);
  finish_hidden_states(request, out);
  if (!model.head() || !request.output_logits) return out;
  if (auto e = decoder_logits(model, request, out); !e.ok()) return e.error();
  return out;
}

}  // namespace

Result<ForwardOutputs> forward(Model& model, const Batch& batch, const ForwardRequest& request) {
  return model.has_lm_head() || model.decoder() ? forward_in_slots(model, batch, request) : forward_packed(model, batch, request);
}

Result<ForwardOutputs> forward_ends(Model& model, const Batch& batch, const float* hidden, bool output_logits) {
  if (auto e = model.transformer().check(batch); !e.ok()) return e.error();
  ForwardOutputs out;
  if (auto e = add_ends(model, batch, hidden, output_logits, out); !e.ok()) return e.error();
  return out;
}

}  // namespace wattn
