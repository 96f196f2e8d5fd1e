#include <algorithm>

#include "engine/model.h"

namespace wattn {
namespace {

constexpr const char* kConfig = "config.json";

Result<void> take_config(std::vector<NamedFile>& files, std::shared_ptr<LabelHead>& head) {
  const auto at = std::find_if(files.begin(), files.end(), [](const NamedFile& file) { return file.name == kConfig; });
  if (at == files.end()) return {};
  const auto json = Json::parse(at->bytes, kConfig);
  if (!json.ok()) return json.error();
  const JsonRef root = json.value().root();
  if (const auto type = root["model_type"].as_string_or(""); !type.ok() || type.value() != "GLiClass") return {};
  const auto config = read_label_config(root);
  if (!config.ok()) return config.error();
  auto encoder = encoder_config(root["encoder_config"]);
  if (!encoder.ok()) return encoder.error();
  at->bytes = std::move(encoder).value();
  head = std::make_shared<LabelHead>(config.value());
  return {};
}

Result<void> prepare(LabelHead& head, TransformerConfig& encoder, const Kernels& kernels) {
  if (head.config().vocab > 0) encoder.vocab_size = head.config().vocab;
  const bool any_length = encoder.positions == Positions::kNone && encoder.relative_positions == RelativePositions::kDisentangled;
  if (any_length) encoder.max_position_embeddings = std::max(encoder.max_position_embeddings, 2 * LabelHead::kUsualLength);
  return head.allocate(encoder.hidden_size, encoder.vocab_size, kernels);
}

// The encoder's tensors have a prefix of their own. The rest of the model has the name that it has.
std::string name_of(const Arch& arch, std::string_view name, bool is_gguf) {
  constexpr std::string_view kOfEncoder = "model.encoder_model.";
  if (!name.starts_with(kOfEncoder)) return std::string(name);
  return canonical_weight_name(arch, name.substr(kOfEncoder.size()), is_gguf);
}

Result<void> check(const LabelHead* head, std::int64_t num_labels) {
  if (!head && num_labels > 0) return input_error("num_labels: expected a model that scores labels which a call names (GLiClass)");
  if (!head || num_labels > 0) return {};
  return unsupported_error(
      "expected a model with labels of its own, found one that scores labels which a call names (GLiClass): use "
      "zero-shot-classification");
}

void run(const LabelHead& head, const Compute& compute, const Batch& batch, const float* hidden, std::int64_t num_labels,
         std::vector<float>& logits, std::vector<std::int32_t>& rows) {
  for (std::int64_t i = 0; i < batch.batch(); ++i) {
    const auto ids = std::span(batch.input_ids).subspan(batch.seq_start[i], static_cast<std::size_t>(batch.length(i)));
    rows.push_back(head.run(compute, ids, hidden + batch.seq_start[i] * head.in(), num_labels, logits) ? 1 : 0);
  }
}

}  // namespace

const LabelLoader kLabelLoader{take_config,
                               prepare,
                               [](const LabelHead& head) { return head.weight_targets(); },
                               name_of,
                               [](const LabelHead& head) { return head.weight_bytes(); },
                               check,
                               run,
                               LabelHead::kUsualLength};

}  // namespace wattn
