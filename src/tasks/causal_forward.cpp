#include "tasks/causal_forward.h"

#include <algorithm>

namespace wattn {
namespace {

constexpr std::string_view kEncoder = "encoder.", kDecoder = "decoder.";

// What is asked of both stacks; the encoder's is nothing where there is none.
struct AskedOfBoth {
  Asked decoder, encoder;
};

AskedOfBoth asked_of_both(const Generator& generator, const CausalForwardOptions& options) {
  AskedOfBoth out;
  out.decoder = {.hidden_states = options.output_hidden_states || options.logit_lens > 0,
                 .attentions = options.output_attentions,
                 .qkv = options.output_qkv,
                 .head_mask = options.head_mask,
                 .cross_head_mask = options.cross_head_mask,
                 .patches = options.patches};
  if (!generator.encoder()) return out;
  out.decoder.prefix = kDecoder;
  out.encoder = {.hidden_states = options.output_hidden_states,
                 .attentions = options.output_attentions,
                 .qkv = options.output_qkv,
                 .head_mask = options.encoder_head_mask,
                 .patches = options.patches,
                 .prefix = kEncoder};
  return out;
}

Result<void> check_options(const Generator& generator, const CausalForwardOptions& options, const AskedOfBoth& asked,
                           std::int64_t tokens, std::int64_t source_tokens) {
  const DecoderConfig& config = generator.decoder().config();
  if (auto e = check_logit_lens(options.logit_lens, config.vocab_size); !e.ok()) return e;
  if (tokens > generator.context_length()) {
    return input_error("input_ids: expected at most context_length = " + std::to_string(generator.context_length()) +
                       " tokens, found " + std::to_string(tokens));
  }
  const StackShape shape = stack_shape(config);
  if (!generator.encoder()) return check_asked(asked.decoder, shape, tokens, 0);
  const EncoderConfig& encoder = generator.encoder()->config();
  if (source_tokens > encoder.max_position_embeddings) {
    return input_error("input_ids: expected at most " + std::to_string(encoder.max_position_embeddings) +
                       " tokens (the encoder's positions), found " + std::to_string(source_tokens));
  }
  for (const Patch& patch : options.patches) {
    if (patch.tap.starts_with(kEncoder) || patch.tap.starts_with(kDecoder)) continue;
    return input_error("patch: expected names that begin with encoder. or decoder., found '" + patch.tap + "'");
  }
  if (auto e = check_asked(asked.encoder, stack_shape(encoder), source_tokens, 0); !e.ok()) return e;
  return check_asked(asked.decoder, shape, tokens, source_tokens, "decoder_head_mask", "cross_attn_head_mask");
}

// decoder: the taps of the decoder, whose cross attention makes its keys and values here.
Result<void> read_source(Generator& generator, const Asked& asked, std::span<const std::int32_t> source, Taps* decoder,
                         SourceResult& out) {
  const EncoderConfig& config = generator.encoder()->config();
  Collector collector(asked, stack_shape(config), 0, out);
  const auto states = generator.read_source(0, source, collector.taps(), decoder);
  if (!states.ok()) return states.error();
  out.last_hidden_state.assign(states.value(), states.value() + static_cast<std::int64_t>(source.size()) * config.hidden_size);
  if (asked.hidden_states) out.hidden_states.back() = out.last_hidden_state;
  return {};
}

void look_through_lens(Generator& generator, std::int64_t count, CausalForwardResult& result) {
  const DecoderConfig& config = generator.decoder().config();
  std::vector<std::int32_t> order;
  for (const auto& states : result.hidden_states) {
    for (auto row = states.begin(); row != states.end(); row += config.hidden_size) {
      const float* logits = generator.look_through_head(&*row);
      add_likeliest({logits, static_cast<std::size_t>(config.vocab_size)}, count, order, result);
    }
  }
}

Result<void> read_pieces(Generator& generator, std::span<const std::int32_t> ids, bool output_logits, Collector& collector,
                         CausalForwardResult& result) {
  const DecoderConfig& config = generator.decoder().config();
  const auto tokens = static_cast<std::int64_t>(ids.size());
  DecoderBatch batch;
  for (std::int64_t first = 0; first < tokens; first += generator.token_budget()) {
    const std::int64_t count = std::min(generator.token_budget(), tokens - first);
    batch.clear();
    batch.add(0, static_cast<std::int32_t>(first), ids.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)));
    if (generator.encoder()) batch.sources.push_back(0);
    collector.begin_at(first);
    const auto hidden = generator.run(batch, collector.taps());
    if (!hidden.ok()) return hidden.error();
    result.last_hidden_state.insert(result.last_hidden_state.end(), hidden.value(), hidden.value() + count * config.hidden_size);
    for (std::int64_t row = 0; output_logits && row < count; ++row) {
      const float* logits = generator.run_head(hidden.value(), {&row, 1});
      result.logits.insert(result.logits.end(), logits, logits + config.vocab_size);
    }
  }
  return {};
}

}  // namespace

Result<CausalForwardResult> causal_forward(Generator& generator, std::span<const std::int32_t> ids,
                                           const CausalForwardOptions& options, std::span<const std::int32_t> source) {
  const auto tokens = static_cast<std::int64_t>(ids.size()), source_tokens = static_cast<std::int64_t>(source.size());
  const AskedOfBoth asked = asked_of_both(generator, options);
  if (auto e = check_options(generator, options, asked, tokens, source_tokens); !e.ok()) return e.error();
  CausalForwardResult result;
  if (tokens == 0) return result;
  Room room{.places = 1, .length = tokens};
  if (generator.encoder()) room.sources = 1;
  room.source_length = source_tokens;
  if (auto e = generator.make_room(room); !e.ok()) return e.error();
  Collector collector(asked.decoder, stack_shape(generator.decoder().config()), tokens, result);
  if (generator.encoder()) {
    if (auto e = read_source(generator, asked.encoder, source, collector.taps(), result.source); !e.ok()) return e.error();
  }
  if (auto e = read_pieces(generator, ids, options.output_logits, collector, result); !e.ok()) return e.error();
  if (options.logit_lens > 0) look_through_lens(generator, options.logit_lens, result);
  if (!options.output_hidden_states) result.hidden_states.clear();
  if (options.output_hidden_states) result.hidden_states.back() = result.last_hidden_state;
  return result;
}

}  // namespace wattn
