// Transformer layers and stacks as in torch.nn (batch first), and the notes' TransformerBlock.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nn/attention_modules.h"

namespace wattn::nn {

struct LayerOptions {
  std::int64_t d_model = 0;
  std::int64_t nhead = 0;
  std::int64_t dim_feedforward = 2048;
  Activation activation = Activation::kRelu;
  float layer_norm_eps = 1e-5f;
  bool norm_first = false;
  bool bias = true;
  double dropout = 0.1;  // in train mode: of attention weights, and of the output of each part
};
// The caller may read more options and calls options.finish().
LayerOptions read_layer_options(Options& options);

// TransformerEncoderLayer: self-attention and feed-forward, each with a residual and a norm after it, or before it (norm_first).
// Takes attn_mask, key_padding_mask, is_causal. TransformerDecoderLayer: also attention to memory, with memory_mask and
// memory_key_padding_mask. weights: of the last attention.
class TransformerLayer : public Module {
 public:
  TransformerLayer(bool decoder, const LayerOptions& options);

 protected:
  Result<Outputs> run(const Arguments& arguments) const override;

 private:
  LayerOptions options_;
  std::shared_ptr<MultiheadAttention> self_attn_, multihead_attn_;  // the second of a decoder
  std::shared_ptr<Linear> linear1_, linear2_;
  std::shared_ptr<Norm> norm1_, norm2_, norm3_;
};

// TransformerEncoder and TransformerDecoder: layers.0, layers.1, ..., and optionally norm.
class TransformerStack : public Module {
 public:
  TransformerStack(bool decoder, const LayerOptions& options, std::int64_t num_layers, bool norm);

 protected:
  Result<Outputs> run(const Arguments& arguments) const override;

 private:
  std::vector<ModulePtr> layers_;
  std::shared_ptr<Norm> norm_;
};

// Encoder and decoder: input is the target, key the source; src_mask and src_key_padding_mask are the source's.
class Transformer : public Module {
 public:
  Transformer(const LayerOptions& options, std::int64_t num_encoder_layers, std::int64_t num_decoder_layers);
  const Module& encoder() const { return *encoder_; }
  const Module& decoder() const { return *decoder_; }

 protected:
  Result<Outputs> run(const Arguments& arguments) const override;

 private:
  std::shared_ptr<TransformerStack> encoder_, decoder_;
};

// The notes' block: self-attention and a feed-forward of width n_mlp * k, each with a residual and a norm. Parts: attention, norm1,
// feed_forward, norm2.
class TransformerBlock : public Module {
 public:
  TransformerBlock(const AttentionOptions& attention, std::int64_t width, Activation activation, bool pre_norm, bool rms,
                   float eps);

 protected:
  Result<Outputs> run(const Arguments& arguments) const override;

 private:
  bool pre_norm_;
  std::shared_ptr<SelfAttention> attention_;
  std::shared_ptr<Norm> norm1_, norm2_;
  std::shared_ptr<FeedForward> feed_forward_;
};

}  // namespace wattn::nn
