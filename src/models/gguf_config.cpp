#include "models/gguf_config.h"

#include <algorithm>

#include "core/gguf.h"
#include "core/json.h"
#include "core/utf.h"
#include "io/gguf.h"
#include "models/arch.h"

namespace wattn {
namespace {

// The text of one JSON object.
struct ObjectText {
  std::string members;

  // json: "\"name\": value, ...", or empty.
  void append(std::string_view json) {
    if (!json.empty() && !members.empty()) members += ", ";
    members += json;
  }
  void add(std::string_view name, const std::string& value) { append(json_text(name) + ": " + value); }
  std::string text() const { return "{" + members + "}"; }
};

// As config.json writes it: sizes without a point.
std::string number_text(double value) {
  const auto whole = static_cast<std::int64_t>(value);
  return static_cast<double>(whole) == value ? std::to_string(whole) : json_text(value);
}

struct Header : GgufKeys {
  std::string file;

  // Rows of a table, by the shape of its tensor.
  std::int64_t rows(std::string_view tensor) const {
    const TensorInfo* info = find(tensor);
    return info && info->shape.size() == 2 ? info->shape[0] : 0;
  }
};

Result<void> add_fields(const Header& header, std::span<const GgufField> fields, ObjectText& config) {
  for (const GgufField& field : fields) {
    const std::string key = header.prefix + field.key;
    const auto text = header.metadata.string(key);
    if (text && !is_utf8(*text)) return model_format_error(header.file + ": " + key + ": expected UTF-8, found other bytes");
    if (text) {
      config.add(field.field, json_text(*text));  // the architecture checks it, as in config.json
      continue;
    }
    const auto value = header.metadata.number(key);
    if (!value && !header.metadata.numbers(key).empty()) {
      return unsupported_error(header.file + ": " + key + ": expected a number for all layers, found one for each");
    }
    if (!value && field.missing) config.add(field.field, field.missing);
    if (!value && !field.required) continue;
    if (!value) return model_format_error(header.file + ": " + key + ": expected a number, found none");
    if (!(*value > -1e15 && *value < 1e15)) {
      return model_format_error(header.file + ": " + key + ": expected a size, found another number");
    }
    config.add(field.field, number_text(*value));
  }
  return {};
}

// llama.cpp's default for a factor without a type is linear.
Result<void> add_rope_scaling(const Header& header, ObjectText& config) {
  const std::string key = header.prefix + "rope.scaling.";
  const auto factor = header.metadata.number(key + "factor");
  const auto type = header.metadata.string(key + "type").value_or(factor ? "linear" : "none");
  if (type == "none") return {};
  if (type != "linear" || !factor || !(*factor > 0 && *factor < 1e6)) {
    return unsupported_error(header.file + ": " + key + "type: expected \"none\" or \"linear\" with a factor, found " +
                             shown_text(type));
  }
  ObjectText scaling;
  scaling.add("type", json_text(type));
  scaling.add("factor", json_text(*factor));
  config.add("rope_scaling", scaling.text());
  return {};
}

Result<void> add_labels(const Header& header, ObjectText& config) {
  const auto labels = header.metadata.strings(header.prefix + "classifier.output_labels");
  if (labels.empty()) return {};
  ObjectText map;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (!is_utf8(labels[i])) return model_format_error(header.file + ": expected labels in UTF-8, found other bytes");
    map.add(std::to_string(i), json_text(labels[i]));
  }
  config.add("architectures", R"(["GgufForSequenceClassification"])");
  config.add("id2label", map.text());
  return {};
}

std::string token_ids(const GgufMetadata& metadata) {
  ObjectText ids;
  for (const auto& [field, key] :
       {std::pair("bos_token_id", "tokenizer.ggml.bos_token_id"), std::pair("eos_token_id", "tokenizer.ggml.eos_token_id"),
        std::pair("pad_token_id", "tokenizer.ggml.padding_token_id")}) {
    const auto id = metadata.number(key);
    if (id && *id >= 0 && *id < 1 << 30) ids.add(field, number_text(*id));
  }
  return ids.members;
}

Result<std::string> config_text(const Header& header, const Arch& arch) {
  ObjectText config;
  config.add("model_type", json_text(arch.model_type));
  config.append(arch.gguf.config);
  if (arch.gguf.more) config.append(arch.gguf.more(header));
  for (const GgufSwitch& one : arch.gguf.switches) config.append(header.find(one.tensor) ? one.present : one.absent);
  if (auto e = add_fields(header, arch.gguf.fields, config); !e.ok()) return e.error();
  config.add("vocab_size", std::to_string(header.rows("token_embd.weight")));
  config.add("type_vocab_size", std::to_string(header.rows("token_types.weight")));
  config.add("tie_word_embeddings", header.find("output.weight") ? "false" : "true");
  if (auto e = add_rope_scaling(header, config); !e.ok()) return e.error();
  if (auto e = add_labels(header, config); !e.ok()) return e.error();
  config.append(token_ids(header.metadata));
  return config.text();
}

// general.pooling_type: 0 none, 1 mean, 2 cls, 3 last; 4 (rank) is a classifier, which has no pooling.
const char* pooling_name(double type) {
  constexpr std::pair<double, const char*> kNames[] = {{1, "mean"}, {2, "cls"}, {3, "lasttoken"}};
  for (const auto& [number, name] : kNames) {
    if (number == type) return name;
  }
  return nullptr;
}

}  // namespace

const TensorInfo* GgufKeys::find(std::string_view tensor) const {
  const auto at = std::find_if(tensors.begin(), tensors.end(), [&](const TensorInfo& info) { return info.name == tensor; });
  return at == tensors.end() ? nullptr : &*at;
}

double GgufKeys::number_or(std::string_view key, double fallback) const {
  return metadata.number(prefix + std::string(key)).value_or(fallback);
}

Result<std::vector<std::pair<std::string, std::string>>> gguf_documents(std::string_view bytes, std::string_view file) {
  const auto metadata = GgufMetadata::read(bytes);
  if (!metadata.ok()) return metadata.error();
  const auto parsed = parse_gguf_header(bytes, UINT64_MAX / 2, file);
  if (!parsed.ok()) return parsed.error();
  std::vector<std::pair<std::string, std::string>> out = metadata.value().packed_files(false);
  if (!out.empty()) return out;
  const auto architecture = metadata.value().string("general.architecture").value_or("");
  const auto arch = find_gguf_arch(architecture);
  if (!arch.ok()) return unsupported_error(std::string(file) + ": " + arch.error().message);
  const Header header{{metadata.value(), parsed.value().tensors, std::string(architecture) + "."}, std::string(file)};
  auto config = config_text(header, *arch.value());
  if (!config.ok()) return config.error();
  out.emplace_back("config.json", std::move(config).value());
  out.emplace_back("generation_config.json", "{" + token_ids(metadata.value()) + "}");
  const auto chat = metadata.value().string("tokenizer.chat_template");
  if (chat && is_utf8(*chat)) out.emplace_back("tokenizer_config.json", "{\"chat_template\": " + json_text(*chat) + "}");
  if (const char* pooling = pooling_name(metadata.value().number(header.prefix + "pooling_type").value_or(0))) {
    std::string modules = R"([{"type": "models.Transformer", "path": ""}, {"type": "models.Pooling", "path": "1_Pooling"})";
    for (const GgufModule& module : kGgufModules) {
      const TensorInfo* weight = header.find(std::string(module.tensor) + ".weight");  // [out, in]
      if (!weight || weight->shape.size() != 2) continue;
      modules.append(R"(, {"type": "models.Dense", "path": ")").append(module.folder).append("\"}");
      ObjectText dense;
      dense.add("in_features", std::to_string(weight->shape[1]));
      dense.add("out_features", std::to_string(weight->shape[0]));
      dense.add("bias", "false");
      dense.add("activation_function", R"("torch.nn.modules.linear.Identity")");
      out.emplace_back(std::string(module.folder) + "/config.json", dense.text());
    }
    out.emplace_back("modules.json", modules + R"(, {"type": "models.Normalize", "path": "4_Normalize"}])");
    out.emplace_back("1_Pooling/config.json", std::string("{\"pooling_mode\": \"") + pooling + "\"}");
  }
  return out;
}

}  // namespace wattn
