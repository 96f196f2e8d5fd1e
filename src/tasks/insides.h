// insides: what a pass over one stack of layers shows of itself, and what is changed in it; the same for encoders and decoders.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/taps.h"
#include "models/decoder.h"
#include "models/encoder.h"

namespace wattn {

// Numbers put in place of a tap's (models/encoder.h and models/decoder.h list them) in the pass.
struct Patch {
  std::string tap;            // "layer.3.output"; of an encoder-decoder "encoder.layer.3.output" or "decoder.layer.3.output"
  std::vector<float> values;  // [tokens, width of that tap]
};

// What a stack shows, each on request.
struct Insides {
  std::vector<std::vector<float>> hidden_states;     // [layers + 1] of [tokens, hidden]: the embeddings, then each layer
  std::vector<std::vector<float>> attentions;        // [layers], each sequence after sequence [heads, tokens, tokens]
  std::vector<std::vector<float>> cross_attentions;  // [layers] of [heads, tokens, source]
  std::vector<std::vector<float>> qkv[3];  // queries, keys, values as attention takes them: [layers] of [tokens, heads * size]
  std::vector<std::vector<float>> cross_qkv[3];  // the same of cross attention, whose keys and values have the source's tokens
  std::vector<std::int32_t> lens_ids;            // [layers + 1, tokens, logit_lens] what the head makes of each layer, best first
  std::vector<float> lens_logits;                // the same
};

// What is asked of a stack. Its views must live as long.
struct Asked {
  bool hidden_states = false;
  bool attentions = false;
  bool qkv = false;
  std::span<const float> head_mask{};        // [layers, heads]; empty: none
  std::span<const float> cross_head_mask{};  // the same
  std::span<const Patch> patches{};
  std::string_view prefix{};  // of the patches that are this stack's
};

// The sizes of a stack's taps.
struct StackShape {
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t hidden = 0;
  std::int64_t queries = 0;  // width of a token's queries
  std::int64_t keys = 0;     // and of its keys, and of its values
  std::int64_t ffn = 0;
  bool final_norm = false;
  bool cross = false;
};
StackShape stack_shape(const EncoderConfig& config);
StackShape stack_shape(const DecoderConfig& config);

// Masks and patches fit the stack, which reads so many tokens (and looks at so many of a source); an InputError says what does not.
// Patches of another prefix are passed over. mask_names: of both masks' options.
Result<void> check_asked(const Asked& asked, const StackShape& shape, std::int64_t tokens, std::int64_t source_tokens,
                         const char* mask_name = "head_mask", const char* cross_mask_name = "");

// Takes what is asked for out of passes, and changes in them what is to be changed.
class Collector : public Taps {
 public:
  // whole: tokens of the only sequence, which comes in pieces; 0: one pass, of any number of sequences.
  Collector(const Asked& asked, const StackShape& shape, std::int64_t whole, Insides& out);

  // What a pass is given: null where nothing is asked.
  Taps* taps();
  // Of the piece that comes next.
  void begin_at(std::int64_t token) { first_ = token; }

  void on_tensor(const TapPoint& point, const TensorView& tensor) override;
  void patch(const TapPoint& point, float* rows, std::int64_t count, std::int64_t width, std::int64_t stride) override;
  const float* head_mask(const TapPoint& probs) override;

 private:
  void keep_probs(const TensorView& tensor, std::int64_t keys, std::vector<float>& out) const;

  const Asked asked_;
  const StackShape shape_;
  const std::int64_t whole_;
  std::int64_t first_ = 0;
  Insides& out_;
};

// logit_lens: tokens for each layer and position.
Result<void> check_logit_lens(std::int64_t count, std::int64_t vocab_size);
// Appends the likeliest tokens of one row of logits, best first. order: memory that the rows share.
void add_likeliest(std::span<const float> logits, std::int64_t count, std::vector<std::int32_t>& order, Insides& out);

}  // namespace wattn
