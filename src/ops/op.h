// Ops as the steps of a pass have them (plan/plan.h). Each has a row in a table: the width of its result, what memory that may
// share, what it computes, and the scratch it takes.
#pragma once

#include <cstdint>
#include <span>

#include "core/arena.h"
#include "core/taps.h"
#include "ops/attention.h"
#include "ops/batch.h"
#include "ops/compute.h"
#include "ops/dropout.h"

namespace wattn {

enum class Op : std::uint8_t {
  kWords,      // embeddings of the tokens; weight: WordTable
  kAddRows,    // x + a row for each token; variant: IdsOf; weight: EmbeddingTable
  kRelative,   // rows of the relative embeddings for the distances of the batch; weight: EmbeddingTable
  kScale,      // factor * x
  kNorm,       // norm(x), or norm(x + other); variant: NormKind; weight: LayerNorm
  kHeadNorm,   // x with an RMSNorm of its queries (variant 0) or keys (1), in parts as wide as the weight, a LayerNorm
  kRotate,     // x with its queries and keys rotated; weight: Rotary
  kLinear,     // activation(x W^T + bias); variant: Activation; weight: LinearWeights, of which the first rows may be used
  kActivate,   // activation(x); variant: Activation
  kGate,       // activation(x[:, :width]) * x[:, width:]; variant: Activation
  kAdd,        // other + factor * x
  kAttention,  // x: queries, keys, values; other: relative queries and keys, or none; weight: DistanceBias, or none. Cross
               // attention, x: queries; other: keys and values of the sources, or none: those of its state
  kStore,      // x: cross keys and values of a source, into its slot
  kSoftcap,    // factor * tanh(x / factor)
  // Rare: in kMoreOps.
  kWindows,           // rows of x around each token, side by side, zeros outside of its sequence; factor: how many; variant 1: the
                      // last of them first
  kExperts,           // the sum of the outputs of the experts that suit a token best; variant: Activation; weight: Experts
  kShortConvolution,  // of the columns B, C and x (ops/short_convolution.h); weight: LinearWeights in f32, [width, kernel]
  kTokenDropout,      // ESM's: 0 for the token `factor`; the others times 0.88 over the share of its sequence that they are
  kAffine,            // gamma * x + beta; weight: LayerNorm
  kJoin,              // the columns of x, then those of other
  // Attention to a window and to global tokens, the first of a sequence (ops/global_attention.h). x: queries, keys, values; other:
  // those that global tokens attend by; variant: GlobalTokens; factor: the separator.
  kGlobalAttention,
  kDepthwise,  // of each column a sum over the tokens around, by weights of its own; weight: LinearWeights in f32, [width, kernel]
  kDynamicConvolution,  // of each head's columns of x the same by weights that the token gives: the softmax of `factor` columns of
                        // other; attention: how many heads
  kGatedDelta,          // of the columns q, k, v and z; other: b and a (ops/gated_delta.h); variant: Activation; weight: GatedDelta
  kSigmoidGate,         // x * sigmoid(the last columns of other, as many as x has)
};
constexpr int kCommonOps = static_cast<int>(Op::kWindows);

// Which rows kAddRows takes.
enum class IdsOf : std::uint8_t {
  kTokenTypes,
  kPositions,
  kAfterPadding,  // factor: the padding token, which has the row of its number; the others have those that follow
};

// Which tokens kGlobalAttention attends to and from without a window.
enum class GlobalTokens : std::uint8_t {
  kNone,
  kFirst,
  kBeforeSeparator,  // all tokens before the first separator of the sequence; none if there is no separator
};

// The constants of attention, and of what prepares its queries and keys.
struct AttentionStep {
  AttentionShape shape;
  float scale = 1, softcap = 0;                        // as in ScoreTerms
  std::int64_t window_before = -1, window_after = -1;  // likewise
  bool causal = false;
  bool cross = false;  // keys and values are those of a source
  bool operator==(const AttentionStep&) const = default;
};

// Limits of a pass, or its sizes.
struct PassSizes {
  std::int64_t tokens = 0;
  std::int64_t buckets = 0;   // of relative embeddings
  std::int64_t sources = 0;   // tokens of an encoder's states, if a layer projects them itself
  std::int64_t keys = 0;      // of any sequence, slot or source
  std::int64_t own_keys = 0;  // of a sequence without a slot
  std::int64_t q8_keys = 0;   // of one with a slot in 8 bits
  int threads = 1;
};

// Keys and values that outlast a pass.
struct PassStates {
  const KvCache* cache = nullptr;     // of the batch's slots; null: without a cache
  const CrossKv* cross_kv = nullptr;  // of the batch's sources; null: without cross attention
};

struct OpCall;
struct OpRow;
const OpRow& op_row(Op op);
struct Training;

// What all steps of a pass share.
struct PassInput {
  const Compute* compute = nullptr;  // null while memory is planned
  const Batch* batch = nullptr;      // null where no op reads it
  PassSizes sizes{};
  PassStates states{};
  std::int64_t source = 0;  // the slot that kStore fills
  Taps* taps = nullptr;
  Disentangled relative{};
  const OpRow& (*rows)(Op op) = op_row;
  // Training alone (ops/op_gradient.h).
  const Training* training = nullptr;
  void (*drop)(const OpCall& call, DropPlace place) = nullptr;
  std::span<const std::int32_t> source_start{};  // [batch + 1] of the sources' tokens
};

// One step. Null data while scratch is measured.
struct OpCall {
  const PassInput& pass;
  const void* weight = nullptr;
  const char* weight_name = nullptr;
  bool has_bias = false;  // of the weight
  const AttentionStep* attention = nullptr;
  std::uint8_t variant = 0;
  float factor = 1;
  std::int64_t rows = 0, x_width = 0, other_width = 0, width = 0;
  const float* x = nullptr;      // [rows, x_width]
  const float* other = nullptr;  // [rows, other_width], of attention: [buckets, ..]
  float* out = nullptr;          // [rows, width]
  std::int64_t layer = -1;       // whose step it is
  std::int64_t state = 0;        // of the layer
  float score_divisor = 1;       // of the layer
  Arena* scratch = nullptr;
  const ProbabilityDropout* dropout = nullptr;  // of attention
};

// How wide an op's result is.
enum class OpWidth : std::uint8_t { kNone, kOfX, kHalfOfX, kFactorTimesX, kOfWeight, kRowsOfWeight, kContext, kOfBoth };

struct OpRow {
  OpWidth width;
  bool over_x, over_other;  // whether the result may take the place of x or other, if nothing reads that later
  void (*forward)(const OpCall& call);
  void (*scratch)(const OpCall& call);  // takes what forward() takes from call.scratch; null: nothing
};
// What attention() needs of a step. relative: the memory of what the terms refer to.
ScoreTerms score_terms(const OpCall& call, Disentangled& relative);
AttentionInput attention_input(const OpCall& call);

// From Op::kWindows on (more_op_rows.cpp).
struct MoreOps {
  const OpRow* rows;
};
extern const MoreOps kMoreOps;

}  // namespace wattn
