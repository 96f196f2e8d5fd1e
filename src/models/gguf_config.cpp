#include "models/gguf_config.h"

#include <optional>
#include <vector>

#include "core/gguf.h"
#include "core/json.h"
#include "core/utf.h"
#include "io/gguf.h"

namespace wattn {
namespace {

// config.json's field and the key that follows "<architecture>.".
struct Field {
  const char* field;
  const char* key;
};
constexpr Field kBertFields[] = {
    {"hidden_size", "embedding_length"},
    {"num_hidden_layers", "block_count"},
    {"num_attention_heads", "attention.head_count"},
    {"intermediate_size", "feed_forward_length"},
    {"max_position_embeddings", "context_length"},
    {"layer_norm_eps", "attention.layer_norm_epsilon"},
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
  if (architecture != "bert") {
    return unsupported_error(name + ": general.architecture: expected \"bert\", found " +
                             (architecture ? json_text(*architecture) : "nothing"));
  }
  const auto wrong = [&](const std::string& key, const char* what) { return model_format_error(name + ": " + key + what); };
  std::string config = R"({"model_type": "bert", "hidden_act": "gelu")";
  for (const auto& [field, suffix] : kBertFields) {
    const std::string key = std::string(*architecture) + "." + suffix;
    const auto value = metadata.number(key);
    if (!value) return wrong(key, ": expected a number, found none");
    if (!(*value > -1e15 && *value < 1e15)) return wrong(key, ": expected a size, found another number");
    config += std::string(", \"") + field + "\": " + number_text(*value);
  }
  config += ", \"vocab_size\": " + std::to_string(rows_of(parsed.value(), "token_embd.weight"));
  config += ", \"type_vocab_size\": " + std::to_string(rows_of(parsed.value(), "token_types.weight"));
  const auto labels = metadata.strings(std::string(*architecture) + ".classifier.output_labels");
  for (const std::string_view label : labels) {
    if (!is_utf8(label)) return model_format_error(name + ": expected labels in UTF-8, found other bytes");
  }
  if (!labels.empty()) config += ", \"architectures\": [\"BertForSequenceClassification\"], \"id2label\": " + label_map(labels);
  config += "}";
  out.emplace_back("config.json", config);
  const auto pooling = pooling_name(static_cast<int>(metadata.number(std::string(*architecture) + ".pooling_type").value_or(0)));
  if (pooling) {
    out.emplace_back("modules.json",
                     R"([{"type": "models.Transformer", "path": ""}, {"type": "models.Pooling", "path": "1_Pooling"},)"
                     R"( {"type": "models.Normalize", "path": "2_Normalize"}])");
    out.emplace_back("1_Pooling/config.json", "{\"pooling_mode\": " + json_text(*pooling) + "}");
  }
  return out;
}

}  // namespace wattn
