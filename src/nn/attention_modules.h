// Attention with learned projections: the notes' SelfAttention and CrossAttention, and torch's MultiheadAttention.
#pragma once

#include <memory>
#include <string>

#include "nn/attention.h"
#include "nn/layers.h"

namespace wattn::nn {

// How the distance of key and query affects the score.
enum class Relative : std::uint8_t {
  kNone,
  kBias,      // `relative` [2r - 1, heads] is added
  kMultiply,  // `relative` [2r - 1, heads] multiplies
  kVector,    // q (k + pi), `relative` [2r - 1, d_head] holds pi
  kT5,        // `relative` [num_buckets, heads] is added, by bucket
  kAlibi,
  kRotary,
};

struct AttentionOptions {
  std::int64_t hidden = 0;   // width of the queries' input and of the unified output
  std::int64_t context = 0;  // width of the keys' and values' input; 0: hidden
  std::int64_t heads = 1;
  bool wide = false;     // each head has projections of widths d_q and d_v; else the heads share them
  bool unify = false;    // an output projection from all heads to hidden, with bias
  bool bias = false;     // of W_q, W_k, W_v
  std::int64_t d_q = 0;  // 0: hidden
  std::int64_t d_v = 0;  // 0: hidden
  bool scaled = true;    // by 1 / sqrt(d_q of a head)
  bool causal = false;
  Relative relative = Relative::kNone;
  std::int64_t max_distance = 128;  // larger offsets are clipped to it; T5's
  T5Buckets t5;
  Rotary rotary;
};
Result<AttentionOptions> read_attention_options(Options& options, bool cross);

// softmax(Q K^T / sqrt(d_q)) V with Q = W_q x, K = W_k x, V = W_v x, head by head; arXiv 1706.03762.
// x [batch, seq, hidden] (or [seq, hidden]) -> [batch, seq, hidden], or [.., d_v] without `unify`.
// Parameters W_q, W_k, W_v, unify (Linear each) and relative. Cross: keys and values come from Arguments::key.
class SelfAttention : public Module {
 public:
  SelfAttention(std::string type, const AttentionOptions& options);

 protected:
  Result<Outputs> run(const Arguments& arguments) const override;

 private:
  Result<Tensor> relative_of(const Tensor& q, std::int64_t keys, std::int64_t past, float scale) const;

  AttentionOptions options_;
  std::int64_t d_head_;
  std::shared_ptr<Linear> query_, key_, value_, unify_;
  ParameterPtr relative_;
};

// torch.nn.MultiheadAttention with batch_first: query [batch, queries, embed_dim], key [batch, keys, kdim], value [batch, keys,
// vdim]. weights: [batch, queries, keys], the mean over heads, or [batch, heads, queries, keys].
class MultiheadAttention : public Module {
 public:
  MultiheadAttention(std::int64_t embed_dim, std::int64_t heads, bool bias = true, std::int64_t kdim = 0, std::int64_t vdim = 0,
                     double dropout = 0);

 protected:
  Result<Outputs> run(const Arguments& arguments) const override;

 private:
  std::int64_t dim_, heads_;
  double dropout_;  // of the weights, in train mode
  ParameterPtr in_weight_, q_weight_, k_weight_, v_weight_, in_bias_;
  std::shared_ptr<Linear> out_proj_;
  PackedLinear q_packed_, k_packed_, v_packed_;
};

}  // namespace wattn::nn
