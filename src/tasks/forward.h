// forward: runs a model over token ids and returns hidden states, attentions, queries, keys, values and logits on request
// (transformers' AutoModel, AutoModelForCausalLM and AutoModelForSeq2SeqLM).
#pragma once

#include <cstdint>
#include <vector>

#include "engine/model.h"
#include "tasks/stack_outputs.h"

namespace wattn {

// The last stack is the decoder of an encoder-decoder, else the only one.
struct ForwardRequest {
  bool output_hidden_states = false;
  bool output_attentions = false;
  bool output_qkv = false;
  bool output_logits = true;
  std::int64_t logit_lens = 0;             // best tokens per layer and position of the last stack; 0: none
  std::vector<float> head_mask{};          // [layers, heads], multiplies the attentions of the last stack; empty: none
  std::vector<float> cross_head_mask{};    // the same for cross attention
  std::vector<float> encoder_head_mask{};  // the same for the encoder of an encoder-decoder
  std::vector<Patch> patches{};            // in an encoder-decoder, taps begin with "encoder." or "decoder."
  std::vector<std::int32_t> source{};      // ids for the encoder of an encoder-decoder
};

struct EncoderOutputs : StackOutputs {
  std::vector<float> last_hidden_state;  // [source, hidden]
};

// Outputs of the last stack, packed like the batch.
struct ForwardOutputs : StackOutputs {
  std::vector<float> last_hidden_state;  // [tokens, hidden]
  std::vector<float> logits;             // sequence head: [batch, labels], others: [tokens, labels]; empty without a head
  std::vector<float> pooler_output;      // [batch, hidden]; empty without a pooler
  EncoderOutputs encoder;                // of an encoder-decoder
};

// The batch is one run of at most model.token_budget() tokens. A model with an lm head or a decoder takes one sequence of up to
// context_length() tokens, with positions from 0, and reads it in pieces.
Result<ForwardOutputs> forward(Model& model, const Batch& batch, const ForwardRequest& request);

// What follows the states [tokens, hidden] that a device has in place of a run: pooler_output and logits.
Result<ForwardOutputs> forward_ends(Model& model, const Batch& batch, const float* hidden, bool output_logits);

}  // namespace wattn
