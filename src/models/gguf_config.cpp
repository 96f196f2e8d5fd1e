#include "models/gguf_config.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/gguf.h"
#include "core/json.h"
#include "core/utf.h"
#include "io/gguf.h"

namespace wattn {
namespace {

struct Architecture {
  std::string_view gguf;
  const char* config;  // what config.json says of all such models
};
constexpr Architecture kArchitectures[] = {
    {"bert", R"("model_type": "bert", "hidden_act": "gelu")"},
    {"jina-bert-v2", R"("model_type": "bert", "hidden_act": "gelu", "feed_forward_type": "geglu")"},
    {"modern-bert", R"("model_type": "modernbert", "hidden_activation": "gelu")"},
    {"nomic-bert", R"("model_type": "nomic_bert", "hidden_act": "silu")"},
};
// Older files of Jina's have the gate's weights and the other half as two tensors (jina_bert.cpp).
constexpr const char* kJinaInTwo = R"(, "position_embedding_type": "alibi, gate apart")";

// config.json's field and the key that follows "<architecture>.".
struct Field {
  const char* field;
  const char* key;
  const char* only = nullptr;  // the architecture that has it
  double fallback = 0;         // 0: it must be there
};
constexpr Field kFields[] = {
    {"hidden_size", "embedding_length"},
    {"num_hidden_layers", "block_count"},
    {"num_attention_heads", "attention.head_count"},
    {"intermediate_size", "feed_forward_length"},
    {"max_position_embeddings", "context_length"},
    {"layer_norm_eps", "attention.layer_norm_epsilon"},
    {"norm_eps", "attention.layer_norm_epsilon", "modern-bert"},
    {"local_attention", "attention.sliding_window", "modern-bert"},
    {"global_attn_every_n_layers", "attention.sliding_window_pattern", "modern-bert", 3},
    {"global_rope_theta", "rope.freq_base", "modern-bert", 160000},
    {"local_rope_theta", "rope.freq_base_swa", "modern-bert", 10000},
    {"rope_theta", "rope.freq_base", "nomic-bert", 1000},
};

// As config.json writes it: sizes without a point.
std::string number_text(double value) {
  const auto whole = static_cast<std::int64_t>(value);
  return static_cast<double>(whole) == value ? std::to_string(whole) : json_text(value);
}

// Rows of a table, by the shape of its tensor.
std::int64_t rows_of(const GgufHeader& header, std::string_view tensor) {
  for (const TensorInfo& info : header.tensors) {
    if (info.name == tensor && info.shape.size() == 2) return info.shape[0];
  }
  return 0;
}

bool has_tensor(const GgufHeader& header, std::string_view name) {
  return std::any_of(header.tensors.begin(), header.tensors.end(), [&](const TensorInfo& info) { return info.name == name; });
}

std::string label_map(const std::vector<std::string_view>& labels) {
  std::string out = "{";
  for (std::size_t i = 0; i < labels.size(); ++i) {
    out += (i ? ", \"" : "\"") + std::to_string(i) + "\": " + json_text(labels[i]);
  }
  return out + "}";
}

// general.pooling_type: 0 none, 1 mean, 2 cls, 3 last; 4 (rank) is a classifier, which has no pooling.
std::optional<std::string_view> pooling_name(int type) {
  switch (type) {
    case 1:
      return "mean";
    case 2:
      return "cls";
    case 3:
      return "lasttoken";
    default:
      return std::nullopt;
  }
}

}  // namespace

Result<std::vector<std::pair<std::string, std::string>>> gguf_documents(std::string_view header, std::string_view file) {
  const auto read = GgufMetadata::read(header);
  if (!read.ok()) return read.error();
  const GgufMetadata& metadata = read.value();
  const auto parsed = parse_gguf_header(header, UINT64_MAX / 2, file);
  if (!parsed.ok()) return parsed.error();
  const std::string name(file);
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& [packed, bytes] : metadata.packed_files()) out.emplace_back(packed, bytes);
  if (!out.empty()) return out;
  const auto architecture = metadata.string("general.architecture");
  const auto known = std::find_if(std::begin(kArchitectures), std::end(kArchitectures),
                                  [&](const Architecture& one) { return one.gguf == architecture; });
  if (known == std::end(kArchitectures)) {
    std::string names;
    for (const Architecture& one : kArchitectures) names += (names.empty() ? "\"" : ", \"") + std::string(one.gguf) + "\"";
    return unsupported_error(name + ": general.architecture: expected one of " + names + ", found " +
                             (architecture ? shown_text(*architecture) : "nothing"));
  }
  const std::string prefix = std::string(known->gguf) + ".";
  if (metadata.number(prefix + "rope.scaling.factor") || metadata.string(prefix + "rope.scaling.type").value_or("none") != "none") {
    return unsupported_error(name + ": " + prefix + "rope.scaling: expected none, found some");
  }
  const auto wrong = [&](const std::string& key, const char* what) { return model_format_error(name + ": " + key + what); };
  std::string config = std::string("{") + known->config;
  if (known->gguf == "jina-bert-v2") {
    config += has_tensor(parsed.value(), "blk.0.ffn_gate.weight") ? kJinaInTwo : R"(, "position_embedding_type": "alibi")";
  }
  for (const Field& field : kFields) {
    if (field.only && known->gguf != field.only) continue;
    const std::string key = prefix + field.key;
    const auto value = metadata.number(key);
    if (!value && field.fallback == 0) return wrong(key, ": expected a number, found none");
    const double number = value.value_or(field.fallback);
    if (!(number > -1e15 && number < 1e15)) return wrong(key, ": expected a size, found another number");
    config += std::string(", \"") + field.field + "\": " + number_text(number);
  }
  config += ", \"vocab_size\": " + std::to_string(rows_of(parsed.value(), "token_embd.weight"));
  config += ", \"type_vocab_size\": " + std::to_string(rows_of(parsed.value(), "token_types.weight"));
  const auto labels = metadata.strings(prefix + "classifier.output_labels");
  for (const std::string_view label : labels) {
    if (!is_utf8(label)) return model_format_error(name + ": expected labels in UTF-8, found other bytes");
  }
  if (!labels.empty()) config += ", \"architectures\": [\"BertForSequenceClassification\"], \"id2label\": " + label_map(labels);
  config += "}";
  out.emplace_back("config.json", config);
  const auto pooling = pooling_name(static_cast<int>(metadata.number(prefix + "pooling_type").value_or(0)));
  if (pooling) {
    out.emplace_back("modules.json",
                     R"([{"type": "models.Transformer", "path": ""}, {"type": "models.Pooling", "path": "1_Pooling"},)"
                     R"( {"type": "models.Normalize", "path": "2_Normalize"}])");
    out.emplace_back("1_Pooling/config.json", "{\"pooling_mode\": " + json_text(*pooling) + "}");
  }
  return out;
}

}  // namespace wattn
