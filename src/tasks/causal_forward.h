// causal_forward: a decoder over token ids, with its insides and its logits on request (transformers' AutoModelForCausalLM and
// AutoModelForSeq2SeqLM).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/generator.h"
#include "tasks/insides.h"

namespace wattn {

struct CausalForwardOptions {
  bool output_hidden_states = false;
  bool output_attentions = false;
  bool output_qkv = false;
  bool output_logits = true;
  std::int64_t logit_lens = 0;             // tokens for each layer of the decoder and position; 0: none
  std::vector<float> head_mask{};          // [layers, heads], times the decoder's attentions; empty: none
  std::vector<float> cross_head_mask{};    // the same of cross attention
  std::vector<float> encoder_head_mask{};  // [encoder's layers, its heads]
  std::vector<Patch> patches{};            // of an encoder-decoder each with "encoder." or "decoder." before
};

// What the encoder of an encoder-decoder made of the source.
struct SourceResult : Insides {
  std::vector<float> last_hidden_state;  // [source, hidden]
};

// Of one sequence.
struct CausalForwardResult : Insides {
  std::vector<float> last_hidden_state;  // [tokens, hidden]
  std::vector<float> logits;             // [tokens, vocab]
  SourceResult source;
};

// source: what an encoder-decoder's encoder reads; empty for a decoder alone.
Result<CausalForwardResult> causal_forward(Generator& generator, std::span<const std::int32_t> ids,
                                           const CausalForwardOptions& options, std::span<const std::int32_t> source = {});

}  // namespace wattn
