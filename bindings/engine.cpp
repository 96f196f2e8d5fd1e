#include "engine.h"

#include <emscripten/bind.h>
#include <emscripten/emscripten.h>

#include "bindings/model_handle.h"
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
class EngineHandle : public ModelHandle<EngineLoader, Engine> {
 public:
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
    return begin_with(EngineLoader::begin(to_files(files), options));
  }

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
      auto found = find_prompt(model_->sentence(), optional_field<std::string>(options, "prompt_name").value_or(""));
      if (!found.ok()) return answer(found.error());
      embed_options.prompt = std::move(found).value();
    }
    const Texts texts(text, lengths);
    const auto result = wattn::embed(*model_, texts.views, embed_options);
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
        *model_, texts.views, pairs ? std::span<const std::u16string_view>(pairs->views) : std::span<const std::u16string_view>(),
        predict_options);
    if (!result.ok()) return answer(result.error());
    FlatEncodings flat(val::undefined());
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
  // options: {hidden_states, attentions, qkv, logit_lens, head_mask, patches}. Answer: ForwardResult's fields.
  val forward(val input_ids, val token_type_ids, val position_ids, val seq_start, val options) {
    Batch batch;
    batch.input_ids = emscripten::convertJSArrayToNumberVector<std::int32_t>(input_ids);
    batch.token_type_ids = emscripten::convertJSArrayToNumberVector<std::int32_t>(token_type_ids);
    batch.position_ids = emscripten::convertJSArrayToNumberVector<std::int32_t>(position_ids);
    batch.seq_start = emscripten::convertJSArrayToNumberVector<std::int32_t>(seq_start);
    const ForwardOptions forward_options{.output_hidden_states = optional_field<bool>(options, "hidden_states").value_or(false),
                                         .output_attentions = optional_field<bool>(options, "attentions").value_or(false),
                                         .output_qkv = optional_field<bool>(options, "qkv").value_or(false),
                                         .logit_lens = optional_field<std::int32_t>(options, "logit_lens").value_or(0),
                                         .head_mask = to_floats(options, "head_mask"),
                                         .patches = to_patches(options)};
    const auto result = wattn::forward(*model_, batch, forward_options);
    if (!result.ok()) return answer(result.error());
    val out = answer();
    out.set("last_hidden_state", to_typed_array(result.value().last_hidden_state));
    out.set("pooler_output", to_typed_array(result.value().pooler_output));
    out.set("logits", to_typed_array(result.value().logits));
    set_insides(out, result.value(), "");
    return out;
  }

  // tokens: an array of strings. Answer: text.
  val tokens_to_string(val tokens) const {
    val out = answer();
    out.set("text", val(model_->tokenizer().tokens_to_string(emscripten::vecFromJSArray<std::string>(tokens))));
    return out;
  }
  // Answer: id, -1 for a string that is no token.
  val token_to_id(std::string token) const {
    val out = answer();
    out.set("id", model_->tokenizer().token_to_id(token).value_or(-1));
    return out;
  }
  // Answer: what the model is and what it needs.
  val info() const {
    const EncoderConfig& config = model_->encoder().config();
    val out = answer();
    out.set("model_type", val(model_->arch().model_type));
    out.set("hidden_size", static_cast<double>(config.hidden_size));
    out.set("num_hidden_layers", static_cast<double>(config.num_hidden_layers));
    out.set("num_attention_heads", static_cast<double>(config.num_attention_heads));
    out.set("max_length", static_cast<double>(model_->max_length()));
    out.set("max_position_embeddings", static_cast<double>(config.max_position_embeddings));
    out.set("token_budget", static_cast<double>(model_->token_budget()));
    out.set("pooled", !model_->sentence().pooling.empty());
    out.set("normalize", model_->sentence().normalize);
    out.set("kernels", val(model_->kernels().name));
    out.set("weight_bytes", static_cast<double>(model_->weight_bytes()));
    out.set("arena_bytes", static_cast<double>(model_->arena_bytes()));
    val prompts = val::object();
    for (const auto& [name, text] : model_->sentence().prompts) prompts.set(name, val(text));
    out.set("prompts", prompts);
    return out;
  }
};

}  // namespace

EMSCRIPTEN_BINDINGS(engine) {
  register_handle<EngineHandle>()
      .function("begin", &EngineHandle::begin)
      .function("embed", &EngineHandle::embed)
      .function("predict", &EngineHandle::predict)
      .function("forward", &EngineHandle::forward)
      .function("tokens_to_string", &EngineHandle::tokens_to_string)
      .function("token_to_id", &EngineHandle::token_to_id)
      .function("info", &EngineHandle::info);
}

}  // namespace wattn
