#include <algorithm>

#include "engine/model.h"

namespace wattn {
namespace {

constexpr const char* kConfig = "config.json";

Result<std::shared_ptr<LabelConfig>> take_config(std::vector<NamedFile>& files) {
  const auto at = std::find_if(files.begin(), files.end(), [](const NamedFile& file) { return file.name == kConfig; });
  if (at == files.end()) return std::shared_ptr<LabelConfig>();
  const auto json = Json::parse(at->bytes, kConfig);
  if (!json.ok()) return json.error();
  const JsonRef root = json.value().root();
  if (const auto type = root["model_type"].as_string_or(""); !type.ok() || type.value() != "GLiClass") {
    return std::shared_ptr<LabelConfig>();
  }
  auto config = read_label_config(root);
  if (!config.ok()) return config.error();
  auto encoder = encoder_config(root["encoder_config"]);
  if (!encoder.ok()) return encoder.error();
  at->bytes = std::move(encoder).value();
  return std::make_shared<LabelConfig>(config.value());
}

Result<std::shared_ptr<LabelHead>> make_head(const LabelConfig& given, TransformerConfig& encoder, const Kernels& kernels) {
  LabelConfig config = given;
  if (config.vocab > 0) encoder.vocab_size = config.vocab;
  // As the package numbers tokens that the configuration has no ids for.
  if (config.class_token < 0) config.class_token = static_cast<std::int32_t>(encoder.vocab_size);
  if (config.text_token < 0) config.text_token = static_cast<std::int32_t>(encoder.vocab_size + 1);
  const bool any_length = encoder.positions == Positions::kNone && encoder.relative_positions == RelativePositions::kDisentangled;
  if (any_length) encoder.max_position_embeddings = std::max(encoder.max_position_embeddings, 2 * LabelHead::kUsualLength);
  return LabelHead::with_config(config, encoder.hidden_size, kernels);
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
                               make_head,
                               [](const LabelHead& head) { return head.weight_targets(); },
                               [](const LabelHead& head) { return head.weight_bytes(); },
                               run,
                               LabelHead::kUsualLength};

}  // namespace wattn
