// TransformerConfig, of which every architecture is an instance, and TransformerNames, the names of its weights.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ops/attention.h"
#include "ops/linear.h"
#include "ops/norm.h"
#include "ops/op.h"
#include "ops/position.h"

namespace wattn {

enum class NormPlacement : std::uint8_t {
  kPost,  // x = norm(x + f(x))
  kPre,   // x = x + f(norm(x)), with a norm after the last layer
};
enum class FeedForward : std::uint8_t {
  kPlain,  // down(act(up(x)))
  kGated,  // down(act(gate(x)) * up(x))
};
// Which sublayers read the sum of those before them (pre-norm).
enum class Residual : std::uint8_t {
  kSequential,      // x = x + attention(norm(x)), then x = x + feed_forward(ffn_norm(x))
  kParallel,        // x = x + attention(norm(x)) + feed_forward(ffn_norm(x))
  kParallelOneNorm  // the same with norm in place of ffn_norm
};
// Positions added to the embeddings.
enum class Positions : std::uint8_t {
  kNone,
  kLearned,       // a table: row i for position i
  kSinusoidal,    // a table of sines, not in the checkpoint
  kAfterPadding,  // a table: row padding_idx for that token, row padding_idx + i for the i-th other token, from 1
};
// Positions inside attention. A model may have both kinds (MPNet).
enum class RelativePositions : std::uint8_t {
  kNone,
  kRotary,
  kAlibi,
  kT5Buckets,     // one table for all layers, or one for each
  kDisentangled,  // ops/attention_disentangled.h
};

// Field names are config.json's where possible. Defaults are BERT's.
struct TransformerConfig {
  std::int64_t vocab_size = 0;
  std::int64_t hidden_size = 0;
  std::int64_t num_hidden_layers = 0;  // 0: static embeddings, whose tokens do not affect each other
  std::int64_t num_attention_heads = 0;
  std::int64_t num_key_value_heads = 0;  // 0: num_attention_heads
  std::int64_t head_dim = 0;             // 0: hidden_size / num_attention_heads
  std::int64_t intermediate_size = 0;
  std::int64_t max_position_embeddings = 0;  // longest sequence in tokens
  std::int64_t type_vocab_size = 0;          // 0: no token types, token_type_ids are ignored
  std::int64_t embedding_size = 0;  // width of the embedding tables, projected to hidden_size; 0: hidden_size, no projection
  float norm_eps = 0.0f;
  Activation hidden_act = Activation::kGelu;

  bool causal = false;  // a token attends only to itself and earlier tokens
  NormKind norm = NormKind::kLayer;
  NormPlacement norm_placement = NormPlacement::kPost;
  bool embeddings_norm = true;
  bool norm_before_positions = false;  // of the embeddings, to which positions are added afterwards
  bool learned_norms = true;           // false: norms have no weights
  float embedding_scale = 1.0f;        // of the word embeddings
  double query_pre_attn_scalar = 0;    // scores are divided by its square root; 0: head_dim
  float attn_logit_softcapping = 0;    // ScoreTerms::softcap
  bool scale_by_layer = false;         // scores of layer i also by 1 / (i + 1)
  bool first_attention_norm = true;    // pre-norm: the first layer has an attention norm
  bool input_norms = true;             // pre-norm: norms of the input of attention and feed-forward
  bool output_norms = false;           // pre-norm: norms of the output of attention and feed-forward, before the residual
  Residual residual = Residual::kSequential;
  float residual_multiplier = 1;       // of what attention and feed-forward add
  bool query_key_norm = false;         // RMSNorm of each head of queries and keys, before rotary positions
  bool query_key_norm_joined = false;  // and that over all heads together
  bool query_key_norm_last = false;    // after rotary positions
  bool attention_gate = false;         // the query matrix also has a gate of each head, by whose sigmoid its context is multiplied
  FeedForward feed_forward = FeedForward::kPlain;
  // A mixture of experts in place of some layers' feed-forward: the sum of the top_k experts' outputs, by their softmax.
  struct {
    std::int64_t count = 0;
    std::int64_t top_k = 0;
    std::int64_t every = 1;  // every how many layers, from the second one on
  } experts;
  // Layers that share weights (ALBERT): groups of inner layers, each of which is run again and again before the next. 0: none do.
  std::int64_t layer_groups = 0;
  std::int64_t group_layers = 1;
  bool pooler = false;           // the checkpoint may have a pooler over the first token
  bool cross_attention = false;  // over an encoder's states, [source, hidden_size]
  struct {
    bool qkv = true;
    bool attention_output = true;
    bool keys = true;  // where there is one of query, key and value
    bool up = true;    // and gate
    bool down = true;
    bool norms = true;
  } biases;

  Positions positions = Positions::kLearned;
  std::int64_t padding_idx = 0;      // for kAfterPadding
  std::int64_t dropped_word = -1;    // Op::kTokenDropout; -1: none
  std::int64_t padding_word = -1;    // the token that is read without training its embedding: torch's padding_idx; -1: none
  std::int64_t position_offset = 0;  // for kLearned: row of position 0 in the checkpoint's table
  bool fairseq_positions = false;    // kLearned, kAfterPadding: that table is fairseq's sines, not in the checkpoint
  RelativePositions relative_positions = RelativePositions::kNone;
  RopeScaling rope;
  double local_rope_theta = 0;        // of layers with local attention; 0: rope.theta
  std::vector<bool> rotary_layers{};  // whether each layer has rotary positions; empty: all do
  struct {
    std::int64_t buckets = 32;  // of both directions; causal: of one
    std::int64_t max_distance = 128;
    bool each_layer = false;  // a table for each layer
  } t5;
  struct {
    std::int64_t buckets = 0;       // position_buckets; below 1: a row for each distance
    std::int64_t max_distance = 0;  // max_relative_positions
    bool norm = false;              // norm_rel_ebd
    bool own_matrices = false;      // of the relative embeddings, in place of the layer's query and key matrices
  } disentangled;
  // Over the embeddings of neighbouring tokens, whose output is added to the first layer's and normalised.
  struct {
    std::int64_t kernel = 0;  // tokens, an odd number; 0: none
    std::int64_t groups = 1;  // of inputs and outputs that know nothing of the others
    Activation activation = Activation::kTanh;
  } convolution;
  // LFM2's gated convolutions in place of some layers' attention (ops/short_convolution.h).
  struct {
    std::int64_t kernel = 0;     // tokens
    std::vector<bool> layers{};  // whether each layer has one; empty: none does
    bool bias = false;           // of its matrices and filter
  } short_convolution;
  // Gated DeltaNet in place of some layers' attention (ops/gated_delta.h).
  struct {
    std::int64_t key_heads = 0, value_heads = 0;
    std::int64_t key_dim = 0, value_dim = 0;  // of a head
    std::int64_t kernel = 0;                  // tokens of the convolution
    std::vector<bool> layers{};               // whether each layer has one; empty: none does
  } gated_delta;
  // SqueezeBERT's independent groups of inputs and outputs of each matrix: its tensors are [out, in / groups, 1]. 0: matrices are
  // whole. ConvBERT has them in up and down.
  struct {
    std::int64_t query = 0, key = 0, value = 0, attention_output = 0, up = 0, down = 0;
  } pointwise;
  const struct RareLayers* rare = nullptr;  // what its layers have that others do not; null: nothing
  // MobileBERT's embeddings and layers (mobilebert.cpp), instead of the usual ones.
  struct {
    bool trigrams = false;           // the embeddings' projection reads a token and its neighbours
    std::int64_t size = 0;           // columns of a layer between its first and its last matrix; 0: hidden_size
    bool attention = false;          // query, key and value read these columns
    bool shared = false;             // else query and key read as many others, and value the layer's input
    std::int64_t feed_forwards = 1;  // in a row, the last of which is up, down and ffn_norm
  } bottleneck;
  // ConvBERT's convolutions beside attention (convbert.cpp): tokens that each reads; 0: none.
  std::int64_t span_kernel = 0;
  // Longformer's tokens that attend, and are attended to, without a window (longformer.cpp): those of a head.
  GlobalTokens global_tokens = GlobalTokens::kNone;
  std::int64_t separator = -1;       // the token that ends those of GlobalTokens::kBeforeSeparator
  std::vector<bool> local_layers{};  // whether each layer attends to a window only; empty: none does
  std::int64_t local_window = 0;     // tokens on each side, or before the token if causal, without itself

  // Fields of static embeddings.
  std::int64_t table_rows = 0;  // rows of the word embeddings that tokens share; 0: each token has its own
  bool token_weights = false;   // each token has a factor
  bool skip_unknown = false;    // unknown tokens are left out after truncation, and before it texts are cut by characters

  // The head over the vocabulary. The loader clears lm_head when the task needs no logits.
  bool lm_head = false;
  bool tie_word_embeddings = false;
  bool lm_head_bias = false;  // [1, vocab], zeros if absent from the checkpoint
  // A dense layer with an activation and a norm before the head.
  struct {
    bool present = false;
    bool bias = false;
    Activation activation = Activation::kGelu;
  } lm_head_dense;
  float lm_head_scale = 1.0f;         // of the head's input
  float final_logit_softcapping = 0;  // c: logits become c * tanh(logits / c); 0: they stay

  std::int64_t kv_heads() const { return num_key_value_heads > 0 ? num_key_value_heads : num_attention_heads; }
  std::int64_t head_size() const { return is_static() || head_dim > 0 ? head_dim : hidden_size / num_attention_heads; }
  // Columns that attention and feed-forward read and write.
  std::int64_t layer_size() const { return bottleneck.size > 0 ? bottleneck.size : hidden_size; }
  // Whether matrices keep zeros between groups of inputs and outputs.
  bool in_groups() const { return pointwise.up > 0; }
  bool is_static() const { return num_hidden_layers == 0; }
  std::int64_t query_width() const { return num_attention_heads * head_size(); }
  std::int64_t kv_width() const { return kv_heads() * head_size(); }
  std::int64_t qkv_width() const { return query_width() + 2 * kv_width(); }
  // Rows of the matrix of queries, keys and values, and gates.
  std::int64_t qkv_rows() const { return qkv_width() + (attention_gate ? query_width() : 0); }
  AttentionShape attention_shape() const { return {.heads = num_attention_heads, .kv_heads = kv_heads(), .head_dim = head_size()}; }
  // A disentangled score is the sum of three products.
  float score_scale() const {
    const float products = relative_positions == RelativePositions::kDisentangled ? 3.0f : 1.0f;
    const double scalar = query_pre_attn_scalar > 0 ? query_pre_attn_scalar : static_cast<double>(head_size());
    return 1.0f / std::sqrt(static_cast<float>(scalar) * products);
  }
  std::int64_t embedding_width() const { return embedding_size > 0 ? embedding_size : hidden_size; }
  bool positions_by_table() const { return positions == Positions::kLearned || positions == Positions::kSinusoidal; }
  std::int64_t relative_rows() const { return 2 * (disentangled.buckets > 0 ? disentangled.buckets : disentangled.max_distance); }
  bool gated() const { return feed_forward == FeedForward::kGated; }
  bool has_experts(std::int64_t layer) const { return experts.count > 0 && layer % experts.every == 1 % experts.every; }
  bool is_local(std::int64_t layer) const { return !local_layers.empty() && local_layers[static_cast<std::size_t>(layer)]; }
  bool convolves(std::int64_t layer) const {
    return !short_convolution.layers.empty() && short_convolution.layers[static_cast<std::size_t>(layer)];
  }
  bool is_recurrent(std::int64_t layer) const {
    return !gated_delta.layers.empty() && gated_delta.layers[static_cast<std::size_t>(layer)];
  }
  // What has no derivative.
  bool learns_nothing() const { return attention_gate || !gated_delta.layers.empty(); }
  bool is_rotary(std::int64_t layer) const {
    return relative_positions == RelativePositions::kRotary &&
           (rotary_layers.empty() || rotary_layers[static_cast<std::size_t>(layer)]);
  }
  bool is_parallel() const { return residual != Residual::kSequential; }
  bool shares_layers() const { return layer_groups > 0; }
  // Layers with weights of their own, and which of them a layer has.
  std::int64_t own_layers() const { return shares_layers() ? layer_groups * group_layers : num_hidden_layers; }
  std::int64_t weights_of(std::int64_t layer) const {
    if (!shares_layers()) return layer;
    // As in Python, by a quotient of floats.
    const std::int64_t runs = num_hidden_layers / group_layers, run = layer / group_layers;
    const double runs_of_group = static_cast<double>(runs) / static_cast<double>(layer_groups);
    const auto group = static_cast<std::int64_t>(static_cast<double>(run) / runs_of_group);
    return group * group_layers + layer % group_layers;
  }
};

// Names of weights in the checkpoint, without ".weight" and ".bias"; "{}" stands for the layer's number. Null: no such weight.
struct TransformerNames {
  const char* word_embeddings = nullptr;
  const char* token_rows = nullptr;     // [vocab] the row of each token, if tokens share rows
  const char* token_weights = nullptr;  // [vocab]
  const char* position_embeddings = nullptr;
  const char* token_type_embeddings = nullptr;
  const char* embeddings_norm = nullptr;
  const char* embeddings_projection = nullptr;
  const char* query = nullptr;
  const char* key = nullptr;
  const char* value = nullptr;
  const char* query_key_value = nullptr;  // instead of the three: one tensor in this order
  bool heads_in_turn = false;             // query_key_value has the query, key and value of a head, then those of the next
  bool quarters_in_turn = false;     // query_key_value has the query, value and key of a quarter of the heads, then of the next
  const char* query_bias = nullptr;  // in place of the bias of query_key_value, including any ending
  const char* value_bias = nullptr;
  const char* query_norm = nullptr;
  const char* key_norm = nullptr;
  const char* attention_output = nullptr;
  const char* attention_norm = nullptr;
  const char* attention_output_norm = nullptr;
  const char* gate = nullptr;      // the gate projection of a gated feed-forward
  const char* up = nullptr;        // the up projection
  const char* gate_up = nullptr;   // instead of gate and up: one tensor, gate first
  const char* up_gate = nullptr;   // likewise, up first
  const char* plain_up = nullptr;  // instead of up in an ungated feed-forward; null: up
  const char* down = nullptr;
  const char* ffn_norm = nullptr;  // post-norm: after the feed-forward; pre-norm: before it
  const char* ffn_output_norm = nullptr;
  const char* router = nullptr;                   // [experts, hidden]
  const char* experts_up = nullptr;               // [experts * ffn, hidden], including any ending
  const char* experts_down = nullptr;             // [experts * ffn, hidden], likewise
  const char* experts_bias = nullptr;             // [hidden], likewise
  const char* final_norm = nullptr;               // this and other norms: "" if norms have no weights
  float norm_offset = 0;                          // what checkpoints other than GGUF leave out of the weights of norms
  const char* relative_attention_bias = nullptr;  // [buckets, heads], of a layer if each has a table
  const char* relative_embeddings = nullptr;      // [2 * buckets, hidden]
  const char* relative_norm = nullptr;
  const char* relative_query = nullptr;  // with a bias
  const char* relative_key = nullptr;
  const char* convolution = nullptr;  // [hidden, hidden / groups, kernel], with a bias
  const char* convolution_norm = nullptr;
  const char* short_convolution_in = nullptr;  // [3 * hidden, hidden]
  const char* short_convolution = nullptr;     // [hidden, 1, kernel]
  const char* short_convolution_out = nullptr;
  const char* gated_delta = nullptr;  // the module with a Gated DeltaNet's weights
  const char* pooler = nullptr;       // dense layer over the first token
  const char* cross_query = nullptr;
  const char* cross_key = nullptr;
  const char* cross_value = nullptr;
  const char* cross_output = nullptr;
  const char* cross_norm = nullptr;
  const char* lm_head = "lm_head";
  const char* lm_head_bias = nullptr;  // including any ending
  const char* lm_head_dense = nullptr;
  const char* lm_head_norm = nullptr;
  bool transposed = false;             // matrices are [in, out] in safetensors
  bool rope_permuted_in_gguf = false;  // llama.cpp interleaves the halves of each head of queries and keys
};

// pattern with the layer's number for "{}". With a second "{}": the number of its group, then its own number in that group.
std::string layer_name(const char* pattern, std::size_t layer, std::size_t group_layers = 1);

// The stacks of one model.
struct ModelConfig {
  TransformerConfig transformer;             // the only stack, or the encoder of an encoder-decoder
  std::optional<TransformerConfig> decoder;  // of an encoder-decoder
  std::vector<std::string> ignored{};        // tensors of this model, beside Arch::ignored
};

}  // namespace wattn
