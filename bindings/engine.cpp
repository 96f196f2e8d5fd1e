#include "engine.h"

#include <emscripten/bind.h>
#include <emscripten/emscripten.h>

#include "bindings/loading.h"
#include "bindings/summary.h"
#include "bindings/tokenizer.h"
#include "tasks/embed.h"
#include "tasks/forward.h"
#include "tasks/predict.h"

namespace wattn {
namespace {

std::optional<std::vector<PoolingMode>> to_pooling(const val& names) {
  if (names.isUndefined() || names.isNull()) return std::nullopt;
  std::vector<PoolingMode> modes;
  for (const auto& name : emscripten::vecFromJSArray<std::string>(names)) {
    if (const auto mode = pooling_mode_from_name(name)) modes.push_back(*mode);  // web/ checked the names
  }
  return modes;
}

// One model, from its first byte to dispose(). Calls in this order: begin, begin_weight_file and push for each of
// weight_files, finish, then any of the others. web/engine.ts keeps to it.
class EngineHandle {
 public:
  val gguf_files(val bytes) { return Loading<EngineLoader>::gguf_files(bytes); }
  // files: [[name, Uint8Array], ...]. Answer: weight_files.
  // dtype: "f32", "q16", "q8" or "q4"; head: "none", "sequence", "token", "answer" or "masked_lm"; web/ checked all words.
  val begin(val files, std::string precision, std::string dtype, std::string head) {
    const LoadOptions options{
        .precision = to_precision(precision),
        .dtype = to_weight_type(dtype),
        .head = head == "sequence"    ? HeadKind::kSequence
                : head == "token"     ? HeadKind::kToken
                : head == "answer"    ? HeadKind::kAnswer
                : head == "masked_lm" ? HeadKind::kMaskedLm
                                      : HeadKind::kNone,
    };
    return loading_.begin(EngineLoader::begin(to_files(files), options));
  }
  val begin_weight_file(std::string name, double bytes) { return loading_.begin_weight_file(name, bytes); }
  val push(val chunk) { return loading_.push(chunk); }
  val make_room_for_helpers(int count) { return loading_.make_room_for_helpers(count); }
  val use_helpers(int count) { return loading_.use_helpers(count); }
  val finish() { return loading_.finish(engine_); }

  // options: {pooling, normalize, truncate_dim, prompt, prompt_name, max_length, overflow (as in Overflow), overlap,
  // split_special_tokens, first_text}. Answer: data, dim, pooled, tokens, untruncated, windows.
  val embed(val text, val lengths, val options) {
    EmbedOptions embed_options;
    embed_options.pooling = to_pooling(options["pooling"]);
    embed_options.normalize = optional_field<bool>(options, "normalize");
    embed_options.max_length = optional_field<std::int32_t>(options, "max_length");
    embed_options.truncate_dim = optional_field<std::int32_t>(options, "truncate_dim");
    embed_options.overlap = optional_field<std::int32_t>(options, "overlap").value_or(0);
    embed_options.overflow = static_cast<Overflow>(optional_field<int>(options, "overflow").value_or(0));
    embed_options.split_special_tokens = optional_field<bool>(options, "split_special_tokens").value_or(false);
    embed_options.first_text = optional_field<std::int32_t>(options, "first_text").value_or(0);
    if (auto prompt = optional_field<std::string>(options, "prompt")) {
      embed_options.prompt = std::move(*prompt);
    } else {
      auto found = find_prompt(engine_->sentence(), optional_field<std::string>(options, "prompt_name").value_or(""));
      if (!found.ok()) return answer(found.error());
      embed_options.prompt = std::move(found).value();
    }
    const Texts texts(text, lengths);
    const auto result = wattn::embed(*engine_, texts.views, embed_options);
    if (!result.ok()) return answer(result.error());
    val out = answer();
    out.set("data", to_typed_array(result.value().data));
    out.set("dim", static_cast<double>(result.value().dim));
    out.set("pooled", result.value().pooled);
    out.set("tokens", to_typed_array(result.value().tokens));
    out.set("untruncated", to_typed_array(result.value().tokens_untruncated));
    out.set("windows", to_typed_array(result.value().windows));
    return out;
  }

  // options: those of encode() and at_token. pairs: the second texts, joined alike, or null. Answer: as encode()'s, and
  // logits [sum of rows, labels], rows [encodings], labels.
  val predict(val text, val lengths, val pair_text, val pair_lengths, val options) {
    const Texts texts(text, lengths);
    std::optional<Texts> pairs;
    if (!pair_text.isNull()) pairs.emplace(pair_text, pair_lengths);
    const PredictOptions predict_options{.encode = to_encode_options(options),
                                         .at_token = optional_field<std::string>(options, "at_token").value_or("")};
    const auto result = wattn::predict(
        *engine_, texts.views, pairs ? std::span<const std::u16string_view>(pairs->views) : std::span<const std::u16string_view>(),
        predict_options);
    if (!result.ok()) return answer(result.error());
    FlatEncodings flat;
    for (std::size_t i = 0; i < result.value().encodings.size(); ++i) {
      flat.add(result.value().encodings[i], result.value().text[i]);
    }
    val out = flat.to_answer();
    out.set("logits", to_typed_array(result.value().logits));
    out.set("rows", to_typed_array(result.value().rows));
    out.set("labels", static_cast<double>(result.value().labels));
    return out;
  }

  // The batch packed: Int32Arrays input_ids, token_type_ids, position_ids [tokens] and seq_start [batch + 1].
  // options: {hidden_states, attentions, qkv, head_mask, patches: [[tap, Float32Array], ...]}.
  // Answer: last_hidden_state, pooler_output, logits, hidden_states, attentions, queries, keys, values as ForwardResult has them.
  val forward(val input_ids, val token_type_ids, val position_ids, val seq_start, val options) {
    Batch batch;
    batch.input_ids = emscripten::convertJSArrayToNumberVector<std::int32_t>(input_ids);
    batch.token_type_ids = emscripten::convertJSArrayToNumberVector<std::int32_t>(token_type_ids);
    batch.position_ids = emscripten::convertJSArrayToNumberVector<std::int32_t>(position_ids);
    batch.seq_start = emscripten::convertJSArrayToNumberVector<std::int32_t>(seq_start);
    ForwardOptions forward_options{.output_hidden_states = optional_field<bool>(options, "hidden_states").value_or(false),
                                   .output_attentions = optional_field<bool>(options, "attentions").value_or(false),
                                   .output_qkv = optional_field<bool>(options, "qkv").value_or(false)};
    const auto floats = [](const val& array) { return emscripten::convertJSArrayToNumberVector<float>(array); };
    if (const val mask = options["head_mask"]; !mask.isUndefined()) forward_options.head_mask = floats(mask);
    const val patches = options["patches"];
    for (std::size_t i = 0; !patches.isUndefined() && i < patches["length"].as<std::size_t>(); ++i) {
      forward_options.patches.push_back({patches[i][0].as<std::string>(), floats(patches[i][1])});
    }
    const auto result = wattn::forward(*engine_, batch, forward_options);
    if (!result.ok()) return answer(result.error());
    const auto arrays = [](const std::vector<std::vector<float>>& layers) {
      val out = val::array();
      for (const auto& layer : layers) out.call<void>("push", to_typed_array(layer));
      return out;
    };
    val out = answer();
    out.set("last_hidden_state", to_typed_array(result.value().last_hidden_state));
    out.set("pooler_output", to_typed_array(result.value().pooler_output));
    out.set("logits", to_typed_array(result.value().logits));
    out.set("hidden_states", arrays(result.value().hidden_states));
    out.set("attentions", arrays(result.value().attentions));
    out.set("queries", arrays(result.value().qkv[0]));
    out.set("keys", arrays(result.value().qkv[1]));
    out.set("values", arrays(result.value().qkv[2]));
    return out;
  }

  val encode(val text, val lengths, val pair_text, val pair_lengths, val options) const {
    return wattn::encode(engine_->tokenizer(), text, lengths, pair_text, pair_lengths, options);
  }
  val count(val text, val lengths, val options) const { return wattn::count(engine_->tokenizer(), text, lengths, options); }
  val decode(val ids, bool skip_special_tokens, bool clean_up_spaces) const {
    return wattn::decode(engine_->tokenizer(), ids, skip_special_tokens, clean_up_spaces);
  }
  // tokens: an array of strings. Answer: text.
  val tokens_to_string(val tokens) const {
    val out = answer();
    out.set("text", val(engine_->tokenizer().tokens_to_string(emscripten::vecFromJSArray<std::string>(tokens))));
    return out;
  }
  // Answer: id, -1 for a string that is no token.
  val token_to_id(std::string token) const {
    val out = answer();
    out.set("id", engine_->tokenizer().token_to_id(token).value_or(-1));
    return out;
  }
  val ids_to_tokens(val ids) const { return wattn::ids_to_tokens(engine_->tokenizer(), ids); }
  val describe_tokenizer() const { return wattn::describe(engine_->tokenizer()); }

  // Answer: what the model is and what it needs.
  val info() const {
    const EncoderConfig& config = engine_->encoder().config();
    val out = answer();
    out.set("model_type", val(engine_->arch().model_type));
    out.set("hidden_size", static_cast<double>(config.hidden_size));
    out.set("num_hidden_layers", static_cast<double>(config.num_hidden_layers));
    out.set("num_attention_heads", static_cast<double>(config.num_attention_heads));
    out.set("max_length", static_cast<double>(engine_->max_length()));
    out.set("max_position_embeddings", static_cast<double>(config.max_position_embeddings));
    out.set("token_budget", static_cast<double>(engine_->token_budget()));
    out.set("pooled", !engine_->sentence().pooling.empty());
    out.set("normalize", engine_->sentence().normalize);
    out.set("kernels", val(engine_->kernels().name));
    out.set("weight_bytes", static_cast<double>(engine_->weight_bytes()));
    out.set("arena_bytes", static_cast<double>(engine_->arena_bytes()));
    val prompts = val::object();
    for (const auto& [name, text] : engine_->sentence().prompts) prompts.set(name, val(text));
    out.set("prompts", prompts);
    return out;
  }

  // Answer: rows [{name, type, kernel, output, parameters, mult_adds}] for one sequence of seq tokens.
  val summary(int seq) const { return to_summary(inspect(*engine_, seq)); }

 private:
  Loading<EngineLoader> loading_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace

EMSCRIPTEN_BINDINGS(engine) {
  emscripten::class_<EngineHandle>("Engine")
      .constructor()
      .function("gguf_files", &EngineHandle::gguf_files)
      .function("begin", &EngineHandle::begin)
      .function("begin_weight_file", &EngineHandle::begin_weight_file)
      .function("push", &EngineHandle::push)
      .function("make_room_for_helpers", &EngineHandle::make_room_for_helpers)
      .function("use_helpers", &EngineHandle::use_helpers)
      .function("finish", &EngineHandle::finish)
      .function("embed", &EngineHandle::embed)
      .function("predict", &EngineHandle::predict)
      .function("forward", &EngineHandle::forward)
      .function("encode", &EngineHandle::encode)
      .function("count", &EngineHandle::count)
      .function("decode", &EngineHandle::decode)
      .function("tokens_to_string", &EngineHandle::tokens_to_string)
      .function("token_to_id", &EngineHandle::token_to_id)
      .function("ids_to_tokens", &EngineHandle::ids_to_tokens)
      .function("describe_tokenizer", &EngineHandle::describe_tokenizer)
      .function("info", &EngineHandle::info)
      .function("summary", &EngineHandle::summary);
}

}  // namespace wattn
