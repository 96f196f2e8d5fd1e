#include <algorithm>

#include "engine/labels_encoder.h"
#include "models/target_list.h"

namespace wattn {
namespace {

constexpr const char* kConfig = "gliner_config.json";

Result<void> add_config(std::vector<NamedFile>& files) {
  const Documents documents(files);
  const auto json = documents.read(kConfig);
  if (!json.ok()) return json.error();
  const JsonRef encoder = json.value().root()["encoder_config"];
  if (encoder.is_object()) {
    auto config = encoder_config(encoder);
    if (!config.ok()) return config.error();
    std::erase_if(files, [](const NamedFile& file) { return file.name == "config.json"; });
    files.push_back({"config.json", std::move(config).value()});
    return {};
  }
  if (documents.has("config.json")) return {};
  const auto name = json.value().root()["model_name"].as_string_or("");
  return model_format_error(
      std::string(kConfig) + ": encoder_config: expected the encoder's configuration, found " + encoder.describe() +
      (name.ok() && !name.value().empty()
           ? "; the package gliner takes that of " + shown_text(name.value()) + ": add that repository's config.json"
           : ""));
}

// As gliner 0.2.29 does (BaseGLiNER._resize_token_embeddings, modeling/encoder.py): tokens that gliner_config.json has no ids for
// are added to the tokenizer, and the encoder's table gets a row for each of its tokens. A bi-encoder's table stays as it is.
Result<void> add_tokens(SpanConfig& config, bool has_encoder_config, TransformerConfig& encoder, Tokenizer& tokenizer) {
  if (!has_encoder_config && config.vocab != -1) encoder.vocab_size = config.vocab;
  if (config.bi_encoder || (config.class_token != -1 && config.vocab != -1)) return {};
  // The first is unused, and has a row.
  if (auto added = tokenizer.add_tokens({"[FLERT]", config.ent_token, config.sep_token}); !added.ok()) return added.error();
  const std::int32_t tokens = tokenizer.vocab_size();
  config.class_token = tokens - 2;
  if (tokens != config.vocab) encoder.vocab_size = tokens;
  return {};
}

Result<std::shared_ptr<SpanParts>> read(const Documents& documents, const LoadOptions& options, const Kernels& kernels,
                                        TransformerConfig& encoder, Tokenizer& tokenizer) {
  auto json = documents.read(kConfig);
  if (!json.ok()) return json.error();
  // A repository of GLiNER2 has it as config.json, which errors name.
  if (has_schema(json.value().root())) json = Json::parse(documents.find(kConfig)->bytes, "config.json");
  auto config = read_span_config(json.value().root());
  if (!config.ok()) return config.error();
  const bool has_encoder_config = json.value().root()["encoder_config"].is_object();
  if (config.value().is_schema()) {
    config.value().hidden = encoder.hidden_size;
    const auto marker = tokenizer.token_to_id(config.value().ent_token);
    if (!marker || *marker >= encoder.vocab_size) {
      return model_format_error("tokenizer.json: expected the token '" + config.value().ent_token +
                                "' with an id below vocab_size " + std::to_string(encoder.vocab_size) + ", found " +
                                (marker ? std::to_string(*marker) : "none"));
    }
    config.value().class_token = *marker;
  } else if (auto added = add_tokens(config.value(), has_encoder_config, encoder, tokenizer); !added.ok()) {
    return added.error();
  }
  const auto parts = std::make_shared<SpanParts>();
  if (config.value().bi_encoder) {
    auto labels = LabelsEncoder::read(documents, json.value().root(), options, kernels);
    if (!labels.ok()) return labels.error();
    parts->labels = std::move(labels).value();
    config.value().labels_in = parts->labels->transformer().config().hidden_size;
  } else if (config.value().class_token >= encoder.vocab_size) {
    return json.value().root()["class_token_index"].mismatch("an id below vocab_size " + std::to_string(encoder.vocab_size));
  }
  const bool any_length = encoder.positions == Positions::kNone && encoder.relative_positions == RelativePositions::kDisentangled;
  constexpr std::int64_t kTokensOfWord = 4;  // on average at most, labels included
  if (any_length) {
    encoder.max_position_embeddings = std::max(encoder.max_position_embeddings, kTokensOfWord * config.value().max_words);
  }
  auto head = SpanHead::with_config(std::move(config).value(), encoder.hidden_size, kernels);
  if (!head.ok()) return head.error();
  parts->head = std::move(head).value();
  return parts;
}

std::vector<WeightTarget> weight_targets(const SpanParts& parts, bool is_gguf, std::vector<std::string>& ignored) {
  std::vector<WeightTarget> targets = parts.head->weight_targets();
  if (!parts.labels) return targets;
  add_targets(parts.labels->weight_targets(is_gguf), targets);
  for (std::string& pattern : parts.labels->ignored()) ignored.push_back(std::move(pattern));
  return targets;
}

// The encoder's tensors have their own prefix. The rest of the model has the name that it has.
std::string name_of(const SpanParts& parts, const Arch& arch, std::string_view name, bool is_gguf) {
  if (parts.labels) {
    if (std::string own = parts.labels->name_of(name, is_gguf); !own.empty()) return own;
  }
  const bool is_schema = parts.head->config().is_schema();
  const std::string_view prefix = is_schema ? "encoder." : "token_rep_layer.bert_layer.model.";
  if (name.starts_with(prefix)) {
    name.remove_prefix(prefix.size());
  } else if (is_schema) {
    return std::string(name);
  }
  return canonical_weight_name(arch, name, is_gguf);
}

std::uint64_t weight_bytes(const SpanParts& parts) {
  return parts.head->weight_bytes() + (parts.labels ? parts.labels->weight_bytes() : 0);
}

}  // namespace

const SpanHead* Model::span_head() const { return spans_ ? spans_->head.get() : nullptr; }
LabelsEncoder* Model::labels_encoder() const { return spans_ ? spans_->labels.get() : nullptr; }

const SpanLoader kSpanLoader{add_config, read, weight_targets, name_of, weight_bytes};

}  // namespace wattn
