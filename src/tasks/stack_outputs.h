// What to collect and patch during a pass over one stack of layers, and what was collected.
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

// Replaces the values of a tap (models/transformer.h lists them) during a pass.
struct Patch {
  std::string tap;            // "layer.3.output"; of an encoder-decoder "encoder.layer.3.output" or "decoder.layer.3.output"
  std::vector<float> values;  // [tokens, width of that tap]
};

// Each only on request.
struct StackOutputs {
  std::vector<std::vector<float>> hidden_states;     // [layers + 1] of [tokens, hidden]: the embeddings, then each layer
  std::vector<std::vector<float>> attentions;        // [layers] of [heads, tokens, tokens] per sequence
  std::vector<std::vector<float>> cross_attentions;  // [layers] of [heads, tokens, source]
  std::vector<std::vector<float>> qkv[3];            // queries, keys, values: [layers] of [tokens, heads * head_dim]
  std::vector<std::vector<float>> cross_qkv[3];      // of cross attention, keys and values: [layers] of [source, ...]
  std::vector<std::int32_t> lens_ids;                // [layers + 1, tokens, logit_lens] tokens after each layer, best first
  std::vector<float> lens_logits;                    // their logits
};

// Requested from one stack. The views must outlive it.
struct StackRequest {
  bool hidden_states = false;
  bool attentions = false;
  bool qkv = false;
  std::span<const float> head_mask{};        // [layers, heads]; empty: none
  std::span<const float> cross_head_mask{};  // the same for cross attention
  std::span<const Patch> patches{};
  std::string_view prefix{};  // of this stack's patches
};

// An InputError unless masks and patches fit the stack and the numbers of tokens it reads and attends to. Patches with another
// prefix are ignored. The names are those of the masks' options.
Result<void> check_request(const StackRequest& request, const TransformerConfig& config, std::int64_t tokens,
                           std::int64_t source_tokens = 0, const char* mask_name = "head_mask", const char* cross_mask_name = "");

// Collects and patches as requested during one or more passes.
class StackTaps : public Taps {
 public:
  // whole: tokens of a single sequence read in pieces; 0: one pass over any number of sequences.
  StackTaps(const StackRequest& request, const TransformerConfig& config, std::int64_t whole, StackOutputs& out);

  // Null if nothing is requested.
  Taps* taps();
  // First token of the next piece.
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

// count: tokens per layer and position.
Result<void> check_logit_lens(std::int64_t count, std::int64_t vocab_size);
// Appends the tokens with the largest logits of one row, best first. order: scratch shared by calls.
void add_best_tokens(std::span<const float> logits, std::int64_t count, std::vector<std::int32_t>& order, StackOutputs& out);

}  // namespace wattn
