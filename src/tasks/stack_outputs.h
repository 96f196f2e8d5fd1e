// What a pass over one stack of layers is asked to show and to change, and what it has shown.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/taps.h"
#include "models/transformer_config.h"

namespace wattn {

// Replaces the numbers of a tap (models/transformer.h lists them) during the pass.
struct Patch {
  std::string tap;            // "layer.3.output"; of an encoder-decoder "encoder.layer.3.output" or "decoder.layer.3.output"
  std::vector<float> values;  // [tokens, width of that tap]
};

// What a stack shows, each on request.
struct StackOutputs {
  std::vector<std::vector<float>> hidden_states;     // [layers + 1] of [tokens, hidden]: the embeddings, then each layer
  std::vector<std::vector<float>> attentions;        // [layers], each sequence after sequence [heads, tokens, tokens]
  std::vector<std::vector<float>> cross_attentions;  // [layers] of [heads, tokens, source]
  std::vector<std::vector<float>> qkv[3];  // queries, keys, values as attention takes them: [layers] of [tokens, heads * head_dim]
  std::vector<std::vector<float>> cross_qkv[3];  // the same of cross attention, whose keys and values have the source's tokens
  std::vector<std::int32_t> lens_ids;            // [layers + 1, tokens, logit_lens] best tokens after each layer, best first
  std::vector<float> lens_logits;                // the same
};

// What is requested of one stack. Its views must live as long.
struct StackRequest {
  bool hidden_states = false;
  bool attentions = false;
  bool qkv = false;
  std::span<const float> head_mask{};        // [layers, heads]; empty: none
  std::span<const float> cross_head_mask{};  // the same
  std::span<const Patch> patches{};
  std::string_view prefix{};  // of this stack's patches
};

// Masks and patches fit the stack, which reads so many tokens and attends to so many of a source; an InputError says what does not.
// Patches with another prefix are ignored. The names are those of the masks' options.
Result<void> check_request(const StackRequest& request, const TransformerConfig& config, std::int64_t tokens,
                           std::int64_t source_tokens = 0, const char* mask_name = "head_mask", const char* cross_mask_name = "");

// Collects what is requested from passes, and changes in them what is to be changed.
class StackTaps : public Taps {
 public:
  // whole: tokens of the only sequence, which is read in pieces; 0: one pass over any number of sequences.
  StackTaps(const StackRequest& request, const TransformerConfig& config, std::int64_t whole, StackOutputs& out);

  // What a pass is given: null where nothing is requested.
  Taps* taps();
  // Where the next piece begins.
  void begin_at(std::int64_t token) { first_ = token; }

  void on_tensor(const TapPoint& point, const TensorView& tensor) override;
  void patch(const TapPoint& point, float* rows, std::int64_t count, std::int64_t width, std::int64_t stride) override;
  const float* head_mask(const TapPoint& probs) override;

 private:
  void keep_probs(const TensorView& tensor, std::int64_t keys, std::vector<float>& out) const;

  const StackRequest request_;
  const std::int64_t heads_;
  const std::int64_t whole_;
  std::int64_t first_ = 0;
  StackOutputs& out_;
};

// logit_lens: tokens for each layer and position.
Result<void> check_logit_lens(std::int64_t count, std::int64_t vocab_size);
// Appends the tokens with the largest logits of one row, best first. order: scratch that calls share.
void add_best_tokens(std::span<const float> logits, std::int64_t count, std::vector<std::int32_t>& order, StackOutputs& out);

}  // namespace wattn
