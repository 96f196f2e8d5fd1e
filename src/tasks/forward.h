// forward: the bare encoder over token ids, with its insides on request (transformers' AutoModel).
#pragma once

#include <cstdint>
#include <vector>

#include "engine.h"

namespace wattn {

struct ForwardOptions {
  bool output_hidden_states = false;
  bool output_attentions = false;
};

// All packed: sequences end to end, see Batch.
struct ForwardResult {
  std::vector<float> last_hidden_state;           // [tokens, hidden]
  std::vector<float> pooler_output;               // [batch, hidden]; empty when the checkpoint has no pooler
  std::vector<std::vector<float>> hidden_states;  // [layers + 1] of [tokens, hidden]: the embeddings, then each layer
  std::vector<std::vector<float>> attentions;     // [layers], each sequence after sequence [heads, seq, seq]
};

// The whole batch is one run: at most engine.token_budget() tokens.
Result<ForwardResult> forward(Engine& engine, const Batch& batch, const ForwardOptions& options);

}  // namespace wattn
