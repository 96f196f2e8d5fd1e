#include "engine/load_plan.h"

#include <algorithm>

namespace wattn {
namespace {

// Whether config.json's `architectures` include one with a language-model head, or are absent.
Result<bool> names_lm_class(JsonRef config) {
  const JsonRef classes = config["architectures"];
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const auto name = classes[i].as_string();
    if (!name.ok()) return name.error();
    for (const char* ending : {"ForCausalLM", "LMHeadModel", "ForConditionalGeneration", "MTModel"}) {
      if (name.value().ends_with(ending)) return true;
    }
  }
  return classes.size() == 0;
}

// The head to load; an UnsupportedError when the config's stacks cannot have the requested one.
Result<HeadKind> choose_head(const LoadOptions& options, const ModelConfig& stacks, JsonRef config) {
  const bool is_decoder = !stacks.decoder && stacks.transformer.causal && stacks.transformer.lm_head;
  if (options.own_lm_head) {
    const auto named = names_lm_class(config);
    if (!named.ok()) return named.error();
    if (!named.value()) return HeadKind::kNone;
    return stacks.decoder ? HeadKind::kSeq2SeqLm : is_decoder ? HeadKind::kCausalLm : HeadKind::kNone;
  }
  if (options.or_causal_lm && is_decoder && config["architectures"].size() > 0) {
    const auto named = names_lm_class(config);
    if (!named.ok()) return named.error();
    if (named.value()) return HeadKind::kCausalLm;
  }
  const char* expected = nullptr;
  if (options.head == HeadKind::kCausalLm && !is_decoder) {
    expected = stacks.decoder ? "a decoder, which this task needs (text2text-generation runs encoder-decoders)"
                              : "a decoder, which this task needs";
  }
  if (options.head == HeadKind::kSeq2SeqLm && !stacks.decoder) expected = "an encoder-decoder, which this task needs";
  if (!expected) return options.head;
  const JsonRef model_type = config["model_type"];
  return unsupported_error(model_type.where() + ": expected " + expected + ", found " + model_type.describe());
}

// The first of several ids.
Result<SpecialIds> read_special_ids(JsonRef config) {
  SpecialIds ids;
  const std::pair<const char*, std::int32_t*> rows[] = {
      {"pad_token_id", &ids.pad}, {"eos_token_id", &ids.eos}, {"decoder_start_token_id", &ids.decoder_start}};
  for (const auto& [key, id] : rows) {
    const JsonRef value = config[key].size() > 0 ? config[key][0] : config[key];
    if (value.is_null()) continue;
    const auto found = value.as_int();
    if (!found.ok()) return found.error();
    *id = static_cast<std::int32_t>(std::clamp<std::int64_t>(found.value(), -1, INT32_MAX));
  }
  return ids;
}

// Clears a stack's lm head if the task does not need it. Its weights are ignored then, or if tied to the word embeddings.
void plan_lm_head(const TransformerNames& names, bool needed, TransformerConfig& stack, LoadPlan& plan) {
  if (!stack.lm_head || (needed && !stack.tie_word_embeddings)) return;
  plan.ignored.push_back(std::string(names.lm_head) + ".weight");
  if (needed) return;
  stack.lm_head = false;
  if (names.lm_head_bias) plan.ignored.emplace_back(names.lm_head_bias);
}

}  // namespace

Result<Json> read_config(const Documents& documents) {
  const NamedFile* file = documents.find("config.json");
  return file && !has_gguf_config(documents) ? read_config_json(file->bytes) : documents.read("config.json");
}

Result<SentenceConfig> read_sentence_config(const Documents& documents) {
  SentenceConfig sentence;
  if (documents.has("modules.json")) {
    auto modules = documents.read("modules.json");
    if (!modules.ok()) return modules.error();
    const auto list = parse_modules(modules.value().root());
    if (!list.ok()) return list.error();
    sentence.normalize = list.value().normalize;
    if (list.value().pooling) {
      const std::string& path = list.value().pooling_path;
      auto pooling = documents.read((path.empty() ? path : path + "/") + "config.json");
      if (!pooling.ok()) return pooling.error();
      if (auto e = parse_pooling(pooling.value().root(), sentence); !e.ok()) return e.error();
    }
    for (const auto& [kind, path] : list.value().modules) {
      if (kind == SentenceModule::Kind::kNormalize) {
        sentence.modules.push_back({.kind = kind});
        continue;
      }
      const auto json = documents.read(path + "/config.json");
      if (!json.ok()) return json.error();
      const JsonRef root = json.value().root();
      const bool is_dense = kind == SentenceModule::Kind::kDense;
      if (auto e = is_dense ? parse_dense(root, path, sentence) : parse_layer_norm(root, path, sentence); !e.ok()) return e.error();
    }
  }
  using Parse = Result<void> (*)(JsonRef, SentenceConfig&);
  const std::pair<const char*, Parse> optional[] = {{"sentence_bert_config.json", parse_sentence_bert},
                                                    {"config_sentence_transformers.json", parse_prompts}};
  for (const auto& [name, parse] : optional) {
    if (!documents.has(name)) continue;
    auto json = documents.read(name);
    if (!json.ok()) return json.error();
    if (auto e = parse(json.value().root(), sentence); !e.ok()) return e.error();
  }
  return sentence;
}

Result<LoadPlan> make_load_plan(JsonRef config, const LoadOptions& options) {
  LoadPlan plan;
  const auto arch = find_arch(config);
  if (!arch.ok()) return arch.error();
  plan.arch = arch.value();
  auto stacks = parse_model_config(*plan.arch, config);
  if (!stacks.ok()) return stacks.error();
  plan.stacks = std::move(stacks).value();
  const auto head = choose_head(options, plan.stacks, config);
  if (!head.ok()) return head.error();
  plan.head = head.value();
  const auto ids = read_special_ids(config);
  if (!ids.ok()) return ids.error();
  plan.special_ids = ids.value();
  if (has_layers(plan.head)) {
    const auto layers = Head::find_layers(plan.head, plan.arch->heads, config, options.adapted_head);
    if (!layers.ok()) return layers.error();
    plan.layers = layers.value();
    plan.stacks.transformer.global_tokens = plan.layers.global_tokens;
  }
  if (options.new_head == HeadKind::kSequence) plan.stacks.transformer.global_tokens = plan.arch->heads.sequence.global_tokens;
  plan.ignored = ignored_tensors(*plan.arch, plan.stacks);
  plan_lm_head(plan.arch->names, is_lm(plan.head), plan.stacks.transformer, plan);
  if (!plan.stacks.decoder) return plan;
  const TransformerNames& names = plan.arch->decoder_names;
  plan_lm_head(names, is_lm(plan.head), *plan.stacks.decoder, plan);
  const bool reads_decoder = plan.head == HeadKind::kSequence && plan.layers.input == HeadInput::kEos;
  if (reads_decoder && plan.special_ids.eos < 0) return config["eos_token_id"].mismatch("a token id");
  if (reads_decoder && plan.special_ids.decoder_start < 0) return config["decoder_start_token_id"].mismatch("a token id");
  if (is_lm(plan.head) || reads_decoder) return plan;
  plan.stacks.decoder.reset();
  // The part before the first dot distinguishes the decoder's tensors from the encoder's.
  const std::string name = names.attention_output;
  plan.ignored.push_back(name.substr(0, name.find('.') + 1) + "*");
  return plan;
}

}  // namespace wattn
