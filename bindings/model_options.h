// The options of a model's calls, from JS objects with the members listed here.
#pragma once

#include <cstdint>
#include <vector>

#include "bindings/convert.h"
#include "engine/model.h"
#include "tasks/embed.h"
#include "tasks/forward.h"
#include "tasks/generate.h"

namespace wattn {

// In the order of HeadKind.
inline constexpr const char* kHeads[] = {"none", "sequence", "token", "answer", "masked_lm", "causal_lm", "seq2seq_lm", "spans"};

// [Int32Array, ...]
std::vector<std::vector<std::int32_t>> to_id_lists(const val& lists);

// {precision: "exact" or "fast"; dtype: "f32", "q16", "q8", "q4" or "f16"; head: one of kHeads, or "own_lm":
// LoadOptions::own_lm_head, "ranking": LoadOptions::or_causal_lm, "token_vectors" or "sparse": LoadOptions::retrieval;
// adapted_head; adapted_names and adapted_rows (Int32Array); context_length}
LoadOptions to_load_options(const Options& options);

// {pooling, normalize, truncate_dim, prompt, max_length, overflow (as in Overflow), overlap, split_special_tokens, first_text}
EmbedOptions to_embed_options(const Options& options);

// {hidden_states, attentions, qkv, logits, logit_lens, head_mask, cross_head_mask, encoder_head_mask,
// patches [[tap, Float32Array], ...], source}
ForwardRequest to_forward_request(const Options& options);

// The fields of GenerateRequest and GenerateOptions; bad_words_ids is a list of lists.
GenerateRequest to_generate_request(const Options& options);

}  // namespace wattn
