#include "bindings/model_options.h"

#include <utility>

namespace wattn {

std::vector<std::vector<std::int32_t>> to_id_lists(const val& lists) {
  std::vector<std::vector<std::int32_t>> out;
  for (std::size_t i = 0; i < lists["length"].as<std::size_t>(); ++i) out.push_back(to_ids(lists[i]));
  return out;
}

LoadOptions to_load_options(const Options& options) {
  const std::string head = options.word("head");
  return {.precision = options.choice<Precision>("precision", {"exact", "fast"}),
          .dtype = options.choice<WeightType>("dtype", {"f32", "q16", "q8", "q4", "f16"}),
          .head = head == "sparse"    ? HeadKind::kMaskedLm
                  : head == "ranking" ? HeadKind::kSequence
                                      : options.choice<HeadKind>("head", kHeads),
          .own_lm_head = head == "own_lm",
          .or_causal_lm = head == "ranking",
          .adapted_head = options.flag("adapted_head"),
          .adapted_names = options.has("adapted_names") ? emscripten::vecFromJSArray<std::string>(options["adapted_names"])
                                                        : std::vector<std::string>(),
          .adapted_rows = options.has("adapted_names") ? to_ids(options["adapted_rows"]) : std::vector<std::int32_t>(),
          .retrieval = head == "sparse"          ? Retrieval::kSparse
                       : head == "token_vectors" ? Retrieval::kTokenVectors
                                                 : Retrieval::kNone,
          .context_length = options.integer("context_length")};
}

EmbedOptions to_embed_options(const Options& options) {
  EmbedOptions out;
  if (options.has("pooling")) {
    out.pooling.emplace();
    for (const auto& name : emscripten::vecFromJSArray<std::string>(options["pooling"])) {
      if (const auto mode = pooling_mode_from_name(name)) out.pooling->push_back(*mode);  // web/ has checked the names
    }
  }
  if (options.has("normalize")) out.normalize = options.flag("normalize");
  out.max_length = options.optional_integer("max_length");
  out.truncate_dim = options.optional_integer("truncate_dim");
  out.overlap = options.integer("overlap");
  out.overflow = static_cast<Overflow>(options.integer("overflow"));
  out.split_special_tokens = options.flag("split_special_tokens");
  out.first_text = options.integer("first_text");
  out.prompt = options.word("prompt");
  return out;
}

ForwardRequest to_forward_request(const Options& options) {
  ForwardRequest out{.output_hidden_states = options.flag("hidden_states"),
                     .output_attentions = options.flag("attentions"),
                     .output_qkv = options.flag("qkv"),
                     .output_logits = options.flag("logits", true),
                     .logit_lens = options.integer("logit_lens"),
                     .head_mask = options.floats("head_mask"),
                     .cross_head_mask = options.floats("cross_head_mask"),
                     .encoder_head_mask = options.floats("encoder_head_mask"),
                     .source = options.ids("source")};
  const val patches = options["patches"];
  for (std::size_t i = 0; !patches.isUndefined() && i < patches["length"].as<std::size_t>(); ++i) {
    out.patches.push_back({patches[i][0].as<std::string>(), emscripten::convertJSArrayToNumberVector<float>(patches[i][1])});
  }
  return out;
}

GenerateRequest to_generate_request(const Options& options) {
  GenerateRequest request;
  request.max_new_tokens = options.optional_integer("max_new_tokens");
  request.max_length = options.optional_integer("max_length");
  request.min_length = options.integer("min_length");
  request.decoder_start_token_id = options.optional_integer<std::int32_t>("decoder_start_token_id");
  if (options.has("stop_strings")) request.stop_strings = emscripten::vecFromJSArray<std::string>(options["stop_strings"]);
  GenerateOptions& out = request.options;
  for (const auto& [key, value] : {std::pair{"min_new_tokens", &out.min_new_tokens},
                                   {"top_k", &out.top_k},
                                   {"no_repeat_ngram_size", &out.no_repeat_ngram_size},
                                   {"num_beams", &out.num_beams},
                                   {"num_return_sequences", &out.num_return_sequences}}) {
    *value = options.integer(key, *value);
  }
  for (const auto& [key, value] : {std::pair{"temperature", &out.temperature},
                                   {"top_p", &out.top_p},
                                   {"min_p", &out.min_p},
                                   {"repetition_penalty", &out.repetition_penalty},
                                   {"length_penalty", &out.length_penalty}}) {
    *value = options.number(key, *value);
  }
  out.do_sample = options.flag("do_sample");
  out.renormalize_logits = options.flag("renormalize_logits");
  out.seed = static_cast<std::uint64_t>(options.number("seed"));
  out.early_stopping = options.choice<GenerateOptions::EarlyStopping>("early_stopping", {"no", "yes", "never"});
  out.eos_token_ids = options.ids("eos_token_id");
  if (options.has("bad_words_ids")) out.bad_words = to_id_lists(options["bad_words_ids"]);
  out.forced_bos_token_id = options.optional_integer<std::int32_t>("forced_bos_token_id");
  out.forced_eos_token_id = options.optional_integer<std::int32_t>("forced_eos_token_id");
  return request;
}

}  // namespace wattn
