// Runs a plan's sections. A pass reads packed sequences, or extends those in the slots of a cache; with cross attention it also
// attends to an encoder's states. A sequence read at once, in pieces or token by token, with or without a slot, gives the same
// bits.
#pragma once

#include <cstdint>

#include "pass/memory.h"
#include "plan/plan.h"

namespace wattn {

// Bytes that forward() takes from its arena for batches within these limits, of which `buckets` follows from the others.
std::uint64_t forward_bytes(const Plan& plan, const PassSizes& limits);

// hidden: [tokens, hidden], after the final norm if there is one. The batch has passed Transformer::check(); arena has
// forward_bytes() free. Taps shown: "embeddings.output", "layer.N.attention.{query,key,value,scores,probs,context,output}",
// "layer.N.cross_attention.{query,probs,context,output}", "layer.N.intermediate", "layer.N.output" and "final_norm.output". All
// but scores and probs may be patched, which affects what follows. Queries and keys are shown after rotation, "attention.output"
// after the residual (and the norm, if post-norm). layers: how many of the first ones run, if not all.
void forward(const Plan& plan, const Compute& compute, const Batch& batch, const PassStates& states, Arena& arena, float* hidden,
             Taps* taps, std::size_t layers = SIZE_MAX);

// Projects an encoder's states, [tokens, hidden], to the cross keys and values of a slot; arena has read_source_bytes() free. Taps
// shown: "layer.N.cross_attention.{key,value}", which may be patched.
void read_source(const Plan& plan, const Compute& compute, const float* states, std::int64_t tokens, std::int64_t slot,
                 CrossKv& cross_kv, Arena& arena, Taps* taps);
std::uint64_t read_source_bytes(const Plan& plan, std::int64_t tokens, int threads);

// Applies the final norm, if there is one, in place to rows of a layer's output.
void final_norm(const Plan& plan, const Compute& compute, float* rows, std::int64_t count);

// logits: [rows, vocab] of rows from forward(), which are changed. Needs a head over the vocabulary.
void lm_head(const Plan& plan, const Compute& compute, float* hidden, std::int64_t rows, Arena& arena, float* logits);
std::uint64_t lm_head_bytes(const Plan& plan, std::int64_t rows, int threads);

// states: with recurrent states.
KvCache take_kv_cache(Arena& arena, const Plan& plan, std::int64_t slots, std::int64_t length, bool states = true);
CrossKv take_cross_kv(Arena& arena, const Plan& plan, std::int64_t slots, std::int64_t length);

// Where a section reads and writes, beside its arena.
struct Places {
  float* stream = nullptr;
  float* relative = nullptr;
  float* output = nullptr;
  float* sources = nullptr;
  std::byte* arena = nullptr;    // as many bytes as the layout has
  float* const* tape = nullptr;  // by the home of each value that the layout has on the tape
};
// One section, as `layer`: -1 outside of the layers. forward() and the others are made of these.
void run_section(const Plan& plan, const SectionUse& use, const PassInput& pass, const Layout& layout, const Places& places,
                 std::int64_t layer = -1);
// One step of a section, of whose call the data and the memory are set.
void run_step(const Plan& plan, const SectionUse& use, const Step& step, std::int64_t layer, OpCall& call);

#ifdef NDEBUG
constexpr bool kPoisonsMemory = false;
#else
constexpr bool kPoisonsMemory = true;
#endif

// The buckets of distances in sequences of at most so many tokens.
Disentangled relative_terms(const Plan& plan, std::int64_t tokens);

}  // namespace wattn
