// Plan: what a model computes, as data. A pass runs its sections one after the other (pass/run.h): the embeddings, each layer, the
// final norm, the head over the vocabulary. For each source there are the keys and values that cross attention reads.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/dropout.h"
#include "ops/op.h"

namespace wattn {

// A number of a value or weight within its section; -1: none.
using PlanId = std::int8_t;

enum class Rows : std::uint8_t {
  kTokens,   // those that the section is run over
  kBuckets,  // of distances (ops/attention_disentangled.h)
  kSources,  // of an encoder's states, that cross attention reads
};

// Where a value is stored. All but the first outlast their section; a plan names none on the tape.
enum class Place : std::uint8_t {
  kArena,
  kStream,    // what a layer reads, and its result: one memory from layer to layer
  kRelative,  // the relative embeddings, which all layers read
  kOutput,    // of the head
  kSources,   // an encoder's states
  kTape,      // what the derivative reads
};

struct Value {
  const char* name = nullptr;  // of the tap that shows it (core/taps.h); null: none
  std::int64_t width = 0;
  Rows rows = Rows::kTokens;
  Place place = Place::kArena;
  PlanId of = -1;           // a view: columns of this value
  std::int64_t column = 0;  // the first of them
  DropPlace drop = DropPlace::kNone;
  bool again = false;  // a derivative that reads it computes it again, where it would be kept else
  bool operator==(const Value&) const = default;
};

struct Step {
  Op op;
  std::uint8_t variant = 0;    // an enumerator that the op names
  PlanId x = -1, other = -1;   // read
  PlanId out = -1;             // written
  PlanId weight = -1;          // from the first weight of the layer on
  std::int8_t attention = -1;  // constants, in Plan::attentions
  float factor = 1;
  bool operator==(const Step&) const = default;
};

// How a weight is held in memory.
enum class Hold : std::uint8_t {
  kMatrix,      // Linear in the model's dtype
  kSensitive,   // Linear, at least q8: values are as sensitive as all later matrices together (bench/README.md)
  kNorm,        // LayerNorm
  kFineTable,   // Embedding of few rows that are part of every token, at least q16: int8 would save little and cost accuracy
  kWords,       // WordTable: rows in the model's dtype, unless the head over the vocabulary has them
  kExperts,     // std::shared_ptr<Experts>
  kDistances,   // DistanceBias of one layer
  kFilter,      // Linear in f32: a few weights for each channel
  kGatedDelta,  // std::shared_ptr<GatedDelta>
  kConstant,    // a table that is computed, or that all layers share
};

enum class Learned : std::uint8_t {
  kNever,  // a table that is computed
  kWithSection,
  kWithEmbeddings,  // of a table that all layers share
};

// A layer's use of a tensor, or of its first rows. Those that are used more than once have one address.
struct Weight {
  const char* name = nullptr;
  void* at = nullptr;  // what the op reads
  Hold hold = Hold::kConstant;
  bool bias = false;
  std::int64_t rows = 0, width = 0;
  Learned learned = Learned::kWithSection;
  std::int64_t first_unbiased = 0, unbiased = 0;  // rows without a bias
  float epsilon = 0;                              // of a norm; 0: the model's
};

// Steps in their order. Value 0 is the stream, value 1 the relative embeddings.
struct Section {
  const char* name = nullptr;
  std::int32_t first_value = 0, num_values = 0;
  std::int32_t first_step = 0, num_steps = 0;
};
constexpr PlanId kStreamValue = 0, kRelativeValue = 1;

// A section with weights; layers of one kind share a section.
struct SectionUse {
  std::int32_t section = -1;  // -1: there is none
  std::int32_t first_weight = 0;
};

struct Layer {
  SectionUse steps;
  SectionUse source;                // over an encoder's states
  float score_divisor = 1;          // of attention
  std::int64_t state = 0;           // its number among the layers with a state of that kind
  float* const* weights = nullptr;  // where the memory of its weights begins
};

// What outlasts a pass, of sequences and of sources.
struct State {
  AttentionShape shape{};                              // of keys and values
  std::int64_t layers = 0;                             // that have them
  std::int64_t product_width = 0, product_layers = 0;  // of short convolutions
  std::int64_t state_size = 0, state_layers = 0;       // of recurrent states
  bool q8 = false;                                     // keys and values are kept in 8 bits
};

struct Plan {
  std::vector<Value> values;
  std::vector<Step> steps;
  std::vector<AttentionStep> attentions;
  std::vector<Weight> weights;
  std::vector<Section> sections;
  SectionUse embeddings, final_norm, head;
  std::vector<Layer> layers;
  State keys_values, cross_keys_values;
  const DistanceBuckets* distances = nullptr;  // of the relative embeddings; null: there are none
};

}  // namespace wattn
