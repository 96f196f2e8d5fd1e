// causal_forward: a decoder over token ids, with its insides and its logits on request (transformers' AutoModelForCausalLM).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/generator.h"
#include "tasks/forward.h"

namespace wattn {

struct CausalForwardOptions {
  bool output_hidden_states = false;
  bool output_attentions = false;
  bool output_logits = true;
  std::int64_t logit_lens = 0;     // tokens for each layer and position; 0: none
  std::vector<float> head_mask{};  // [layers, heads], times the attentions; empty: none
};

// What the encoder of an encoder-decoder made of the source.
struct SourceResult {
  std::vector<float> last_hidden_state;           // [source, hidden]
  std::vector<std::vector<float>> hidden_states;  // [layers + 1] of [source, hidden]
  std::vector<std::vector<float>> attentions;     // [layers] of [heads, source, source]
};

// Of one sequence.
struct CausalForwardResult {
  std::vector<float> last_hidden_state;  // [tokens, hidden]
  std::vector<float> logits;             // [tokens, vocab]
  std::vector<std::vector<float>>
      hidden_states;  // [layers + 1] of [tokens, hidden]: the embeddings, each layer, the last after the norm
  std::vector<std::vector<float>> attentions;  // [layers] of [heads, tokens, tokens]
  std::vector<std::int32_t> lens_ids;          // [layers + 1, tokens, logit_lens] the likeliest by final norm and head, best first
  std::vector<float> lens_logits;              // the same
  std::vector<std::vector<float>> cross_attentions;  // [layers] of [heads, tokens, source]; empty without a source
  SourceResult source;
};

// source: what an encoder-decoder's encoder reads; empty for a decoder alone.
Result<CausalForwardResult> causal_forward(Generator& generator, std::span<const std::int32_t> ids,
                                           const CausalForwardOptions& options, std::span<const std::int32_t> source = {});

}  // namespace wattn
