// forward: the bare encoder over token ids, with its insides on request (transformers' AutoModel).
#pragma once

#include <cstdint>
#include <vector>

#include "engine.h"
#include "tasks/insides.h"

namespace wattn {

struct ForwardOptions {
  bool output_hidden_states = false;
  bool output_attentions = false;
  bool output_qkv = false;
  std::int64_t logit_lens = 0;     // of a masked_lm head: tokens for each layer and position; 0: none
  std::vector<float> head_mask{};  // [layers, heads], times the attentions; empty: none
  std::vector<Patch> patches{};
};

// All packed: sequences end to end, see Batch.
struct ForwardResult : Insides {
  std::vector<float> last_hidden_state;  // [tokens, hidden]
  std::vector<float> logits;             // of the head: [batch or tokens, labels]; empty without one
  std::vector<float> pooler_output;      // [batch, hidden]; empty when the checkpoint has no pooler
};

// The whole batch is one run: at most engine.token_budget() tokens.
Result<ForwardResult> forward(Engine& engine, const Batch& batch, const ForwardOptions& options);

}  // namespace wattn
