// forward: the bare encoder over token ids, with its insides on request (transformers' AutoModel).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine.h"

namespace wattn {

// Numbers put in place of a tap's (models/encoder.h lists them) in the pass.
struct Patch {
  std::string tap;            // "layer.3.output"
  std::vector<float> values;  // [tokens, width of that tap]
};

struct ForwardOptions {
  bool output_hidden_states = false;
  bool output_attentions = false;
  bool output_qkv = false;
  std::vector<float> head_mask{};  // [layers, heads], times the attentions; empty: none
  std::vector<Patch> patches{};
};

// All packed: sequences end to end, see Batch.
struct ForwardResult {
  std::vector<float> last_hidden_state;           // [tokens, hidden]
  std::vector<float> logits;                      // of the head: [batch or tokens, labels]; empty without one
  std::vector<float> pooler_output;               // [batch, hidden]; empty when the checkpoint has no pooler
  std::vector<std::vector<float>> hidden_states;  // [layers + 1] of [tokens, hidden]: the embeddings, then each layer
  std::vector<std::vector<float>> attentions;     // [layers], each sequence after sequence [heads, seq, seq]
  std::vector<std::vector<float>> qkv[3];         // queries, keys, values as attention takes them: [layers] of [tokens, hidden]
};

// The whole batch is one run: at most engine.token_budget() tokens.
Result<ForwardResult> forward(Engine& engine, const Batch& batch, const ForwardOptions& options);

}  // namespace wattn
