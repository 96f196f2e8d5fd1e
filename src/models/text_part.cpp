// The text part of models that also read images: Gemma 3, Qwen2-VL, Qwen2.5-VL, Qwen3-VL, Qwen3.5, Ministral 3 and
// LFM2-VL (transformers/models/*/configuration_*.py, v5.24.0). Without images, the three positions of a Qwen token are equal.
#include "models/arch.h"

namespace wattn {
namespace {

struct TextPart {
  const char* model_type;
  const char* text_type;  // its architecture; null: what text_config says
  const char* defaults;   // where they differ from those of text_type
};
constexpr const char* kQwenDefaults = R"("rope_theta": 1000000, "rms_norm_eps": 1e-5, )";
constexpr TextPart kParts[] = {
    {"gemma3", "gemma3_text", ""},
    {"lfm2_vl", nullptr, ""},
    {"lfm2-vl", nullptr, ""},
    {"mistral3", nullptr, ""},
    {"qwen2_5_vl", "qwen2", kQwenDefaults},
    {"qwen2_vl", "qwen2", kQwenDefaults},
    {"qwen3_5", "qwen3_5_text", ""},
    {"qwen3_vl", "qwen3", R"("rope_theta": 500000, "max_position_embeddings": 128000, )"},
};

}  // namespace

std::string text_part(JsonRef config) {
  const JsonRef model_type = config["model_type"], inner = config["text_config"];
  if (!model_type.is_string()) return {};
  for (const auto& [name, text_type, defaults] : kParts) {
    if (model_type.as_string().value() != name) continue;
    // The first Qwens have the keys of the text beside those of the whole.
    std::string out = (inner.is_object() ? inner : config).to_text();
    out.insert(out.find('{') + 1, defaults);
    out.pop_back();
    const auto add = [&](const char* key, const std::string& value) { out += std::string(", \"") + key + "\": " + value; };
    for (const char* key : {"tie_word_embeddings", "eos_token_id"}) {
      if (!config[key].is_null()) add(key, config[key].to_text());
    }
    if (text_type) add("model_type", '"' + std::string(text_type) + '"');
    add("architectures", "null");
    const JsonRef scaling = (inner.is_object() ? inner : config)["rope_scaling"];
    if (scaling.is_object() && scaling["type"].is_string() && scaling["type"].as_string().value() == "mrope") {
      add("rope_scaling", "null");
    }
    return out + "}";
  }
  return {};
}

}  // namespace wattn
