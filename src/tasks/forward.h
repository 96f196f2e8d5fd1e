// forward: a model's stacks over token ids, with hidden states, attentions, queries, keys, values and logits on request
// (transformers' AutoModel, AutoModelForCausalLM and AutoModelForSeq2SeqLM).
#pragma once

#include <cstdint>
#include <vector>

#include "engine/model.h"
#include "tasks/stack_outputs.h"

namespace wattn {

// "The last stack" is the decoder of an encoder-decoder, else the only one.
struct ForwardRequest {
  bool output_hidden_states = false;
  bool output_attentions = false;
  bool output_qkv = false;
  bool output_logits = true;
  std::int64_t logit_lens = 0;             // best tokens of each layer of the last stack and position; 0: none
  std::vector<float> head_mask{};          // [layers, heads], times the attentions of the last stack; empty: none
  std::vector<float> cross_head_mask{};    // the same of cross attention
  std::vector<float> encoder_head_mask{};  // [layers, heads] of the encoder of an encoder-decoder
  std::vector<Patch> patches{};            // of an encoder-decoder each tap begins with "encoder." or "decoder."
  std::vector<std::int32_t> source{};      // ids that the encoder of an encoder-decoder reads
};

struct EncoderOutputs : StackOutputs {
  std::vector<float> last_hidden_state;  // [source, hidden]
};

// Of the last stack, packed as the batch is.
struct ForwardOutputs : StackOutputs {
  std::vector<float> last_hidden_state;  // [tokens, hidden]
  std::vector<float> logits;             // of a sequence head [batch, labels], of others [tokens, labels]; empty without a head
  std::vector<float> pooler_output;      // [batch, hidden]; empty when the checkpoint has no pooler
  EncoderOutputs encoder;                // of an encoder-decoder
};

// The whole batch is one run of at most model.token_budget() tokens. Models with an lm head or a decoder take one sequence of up to
// context_length() tokens, whose positions count from 0, and read it in pieces.
Result<ForwardOutputs> forward(Model& model, const Batch& batch, const ForwardRequest& request);

}  // namespace wattn
