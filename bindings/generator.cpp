// A decoder across the seam. The same class name and the same first calls as bindings/engine.cpp, in a module of its own
// (wattn-generate), so that web/engine.ts loads either.
#include "engine/generator.h"

#include <emscripten/bind.h>

#include "bindings/model_handle.h"
#include "tasks/causal_forward.h"
#include "tasks/generate.h"

namespace wattn {
namespace {

std::vector<std::int32_t> to_ids(const val& array) { return emscripten::convertJSArrayToNumberVector<std::int32_t>(array); }

const char* name_of(FinishReason reason) {
  switch (reason) {
    case FinishReason::kNone:
      return "";
    case FinishReason::kEos:
      return "eos";
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
  }
  return "";
}

// web/ checked the types.
GenerateRequest to_request(const val& options) {
  GenerateRequest request;
  GenerateOptions& out = request.options;
  const auto count = [&](const char* key, std::int64_t& value) {
    if (const auto given = optional_field<double>(options, key)) value = static_cast<std::int64_t>(*given);
  };
  const auto number = [&](const char* key, double& value) { value = optional_field<double>(options, key).value_or(value); };
  if (const auto given = optional_field<double>(options, "max_new_tokens"))
    request.max_new_tokens = static_cast<std::int64_t>(*given);
  if (const auto given = optional_field<double>(options, "max_length")) request.max_length = static_cast<std::int64_t>(*given);
  count("min_length", request.min_length);
  count("min_new_tokens", out.min_new_tokens);
  count("top_k", out.top_k);
  count("no_repeat_ngram_size", out.no_repeat_ngram_size);
  count("num_beams", out.num_beams);
  count("num_return_sequences", out.num_return_sequences);
  number("temperature", out.temperature);
  number("top_p", out.top_p);
  number("min_p", out.min_p);
  number("repetition_penalty", out.repetition_penalty);
  number("length_penalty", out.length_penalty);
  out.do_sample = optional_field<bool>(options, "do_sample").value_or(false);
  out.renormalize_logits = optional_field<bool>(options, "renormalize_logits").value_or(false);
  out.seed = static_cast<std::uint64_t>(optional_field<double>(options, "seed").value_or(0));
  const std::string early = optional_field<std::string>(options, "early_stopping").value_or("no");
  out.early_stopping = early == "yes"     ? GenerateOptions::EarlyStopping::kYes
                       : early == "never" ? GenerateOptions::EarlyStopping::kNever
                                          : GenerateOptions::EarlyStopping::kNo;
  const auto given = [&](const char* key) { return !options[key].isUndefined() && !options[key].isNull(); };
  if (given("eos_token_id")) out.eos_token_ids = to_ids(options["eos_token_id"]);
  if (given("bad_words_ids")) {
    const val words = options["bad_words_ids"];
    for (std::size_t i = 0; i < words["length"].as<std::size_t>(); ++i) out.bad_words.push_back(to_ids(words[i]));
  }
  request.decoder_start_token_id = optional_field<std::int32_t>(options, "decoder_start_token_id");
  out.forced_bos_token_id = optional_field<std::int32_t>(options, "forced_bos_token_id");
  out.forced_eos_token_id = optional_field<std::int32_t>(options, "forced_eos_token_id");
  if (given("stop_strings")) request.stop_strings = emscripten::vecFromJSArray<std::string>(options["stop_strings"]);
  return request;
}

// One model, from its first byte to dispose(). Calls in this order: begin, begin_weight_file and push for each of weight_files,
// finish, then any of the others; generate_begin, generate_step as often as it says more, generate_end.
class GeneratorHandle : public ModelHandle<GeneratorLoader, Generator> {
 public:
  // Before begin, where the caller says how long sequences may be.
  val use_context_length(double tokens) {
    context_length_ = static_cast<std::int64_t>(tokens);
    return answer();
  }
  // head: "causal_lm" or "seq2seq_lm". Answer: weight_files.
  val begin(val files, std::string precision, std::string dtype, std::string head) {
    const GeneratorOptions options{.precision = to_precision(precision),
                                   .dtype = to_weight_type(dtype),
                                   .reads_source = head == "seq2seq_lm",
                                   .context_length = context_length_};
    return begin_with(GeneratorLoader::begin(to_files(files), options));
  }

  // prompts: [Int32Array, ...]; options: names and values of GenerateRequest.
  val generate_begin(val prompts, val options) {
    generation_.reset();
    std::vector<std::vector<std::int32_t>> ids;
    for (std::size_t i = 0; i < prompts["length"].as<std::size_t>(); ++i) ids.push_back(to_ids(prompts[i]));
    auto begun = Generation::begin(*model_, ids, to_request(options));
    if (!begun.ok()) return answer(begun.error());
    generation_ = std::move(begun).value();
    return answer();
  }
  // Up to so many steps. Answer: more (whether anything runs still), steps.
  val generate_step(int steps) {
    bool more = !generation_->done();
    int taken = 0;
    for (; more && taken < steps; ++taken) {
      const auto stepped = generation_->step();
      if (!stepped.ok()) return answer(stepped.error());
      more = stepped.value();
    }
    val out = answer();
    out.set("more", more);
    out.set("steps", taken);
    return out;
  }
  // Answer: tokens that came for the only sequence of prompt i since this was last asked.
  val generate_new(int i) {
    val out = answer();
    out.set("tokens", to_typed_array(generation_->take_new(static_cast<std::size_t>(i))));
    return out;
  }
  // Lets go of what runs. Answer: results, for each prompt [{tokens, reason, score}, ...].
  val generate_end() {
    val results = val::array();
    for (const auto& sequences : generation_->results()) {
      val of_prompt = val::array();
      for (const Generated& sequence : sequences) {
        val one = val::object();
        one.set("tokens", to_typed_array(sequence.tokens));
        one.set("reason", val(name_of(sequence.reason)));
        one.set("score", sequence.score);
        of_prompt.call<void>("push", one);
      }
      results.call<void>("push", of_prompt);
    }
    generation_.reset();
    val out = answer();
    out.set("results", results);
    return out;
  }

  // One sequence. options: {hidden_states, attentions, qkv, logits, logit_lens, head_mask, cross_head_mask, encoder_head_mask,
  // patches, source}. Answer: CausalForwardResult's fields, those of an encoder with "encoder_" before them.
  val forward(val ids, val options) {
    generation_.reset();  // the room is the same
    const CausalForwardOptions given{.output_hidden_states = optional_field<bool>(options, "hidden_states").value_or(false),
                                     .output_attentions = optional_field<bool>(options, "attentions").value_or(false),
                                     .output_qkv = optional_field<bool>(options, "qkv").value_or(false),
                                     .output_logits = optional_field<bool>(options, "logits").value_or(true),
                                     .logit_lens = optional_field<std::int32_t>(options, "logit_lens").value_or(0),
                                     .head_mask = to_floats(options, "head_mask"),
                                     .cross_head_mask = to_floats(options, "cross_head_mask"),
                                     .encoder_head_mask = to_floats(options, "encoder_head_mask"),
                                     .patches = to_patches(options)};
    std::vector<std::int32_t> source;
    if (const val given_source = options["source"]; !given_source.isUndefined()) source = to_ids(given_source);
    const auto result = causal_forward(*model_, to_ids(ids), given, source);
    if (!result.ok()) return answer(result.error());
    val out = answer();
    out.set("last_hidden_state", to_typed_array(result.value().last_hidden_state));
    out.set("logits", to_typed_array(result.value().logits));
    set_insides(out, result.value(), "");
    if (!model_->encoder()) return out;
    out.set("encoder_last_hidden_state", to_typed_array(result.value().source.last_hidden_state));
    set_insides(out, result.value().source, "encoder_");
    return out;
  }

  // Answer: what the model is and what it needs; arena_bytes for one sequence of context_length tokens.
  val info() const {
    const DecoderConfig& config = model_->decoder().config();
    const double context = static_cast<double>(model_->context_length());
    val out = answer();
    out.set("model_type", val(model_->arch().model_type));
    out.set("vocab_size", static_cast<double>(config.vocab_size));
    out.set("hidden_size", static_cast<double>(config.hidden_size));
    out.set("num_hidden_layers", static_cast<double>(config.num_hidden_layers));
    out.set("num_attention_heads", static_cast<double>(config.num_attention_heads));
    out.set("num_key_value_heads", static_cast<double>(config.num_key_value_heads));
    out.set("head_dim", static_cast<double>(config.head_dim));
    out.set("max_length", context);
    out.set("max_position_embeddings", static_cast<double>(config.max_position_embeddings));
    out.set("token_budget", static_cast<double>(model_->token_budget()));
    out.set("pooled", false);
    out.set("normalize", false);
    out.set("kernels", val(model_->decoder().kernels().name));
    out.set("weight_bytes", static_cast<double>(model_->weight_bytes()));
    out.set("arena_bytes", static_cast<double>(model_->run_bytes(longest_room())));
    out.set("prompts", val::object());
    if (!model_->encoder()) return out;
    const EncoderConfig& encoder = model_->encoder()->config();
    out.set("encoder_layers", static_cast<double>(encoder.num_hidden_layers));
    out.set("encoder_attention_heads", static_cast<double>(encoder.num_attention_heads));
    out.set("encoder_head_dim", static_cast<double>(encoder.head_dim()));
    out.set("max_source_length", static_cast<double>(encoder.max_position_embeddings));
    return out;
  }

 private:
  // For one sequence as long as can be.
  Room longest_room() const {
    Room room{.places = 1, .length = model_->context_length()};
    if (!model_->encoder()) return room;
    room.sources = 1;
    room.source_length = model_->encoder()->config().max_position_embeddings;
    return room;
  }

  std::int64_t context_length_ = 0;
  std::unique_ptr<Generation> generation_;
};

}  // namespace

EMSCRIPTEN_BINDINGS(generator) {
  register_handle<GeneratorHandle>()
      .function("use_context_length", &GeneratorHandle::use_context_length)
      .function("begin", &GeneratorHandle::begin)
      .function("generate_begin", &GeneratorHandle::generate_begin)
      .function("generate_step", &GeneratorHandle::generate_step)
      .function("generate_new", &GeneratorHandle::generate_new)
      .function("generate_end", &GeneratorHandle::generate_end)
      .function("forward", &GeneratorHandle::forward)
      .function("info", &GeneratorHandle::info);
}

}  // namespace wattn
