#include "engine/labels_encoder.h"

#include <algorithm>
#include <cmath>

#include "core/utf.h"
#include "engine/load_plan.h"
#include "pass/run.h"

namespace wattn {
namespace {

constexpr std::string_view kPrefix = "labels_encoder.";
constexpr std::string_view kInFiles = "token_rep_layer.labels_encoder.model.";
constexpr std::string_view kTokenizerFolder = "labels_tokenizer/";
constexpr const char* kConfigFile = "labels_encoder/config.json";
constexpr std::int64_t kTokenBudget = 512;  // of one run

// The text of the encoder's config.json.
Result<std::string> config_text(const Documents& documents, JsonRef config) {
  const JsonRef own = config["labels_encoder_config"];
  if (own.is_object()) return encoder_config(own);
  if (const NamedFile* file = documents.find(kConfigFile)) return file->bytes;
  return model_format_error("gliner_config.json: labels_encoder_config: expected the configuration of the labels' encoder, found " +
                            own.describe() + "; the package gliner takes that of " + config["labels_encoder"].describe() +
                            " (labels_encoder)");
}

Error with_place(Error error, const char* place) {
  error.message = std::string(place) + ": " + error.message;
  return error;
}

}  // namespace

Result<std::unique_ptr<LabelsEncoder>> LabelsEncoder::read(const Documents& documents, JsonRef config, const LoadOptions& options,
                                                           const Kernels& kernels) {
  auto text = config_text(documents, config);
  if (!text.ok()) return text.error();
  std::vector<NamedFile> files{{"config.json", std::move(text).value()}};
  for (const NamedFile& file : documents.files()) {
    if (file.name.starts_with(kTokenizerFolder)) files.push_back({file.name.substr(kTokenizerFolder.size()), file.bytes});
  }
  const Documents own(files);
  const auto json = read_config(own);
  if (!json.ok()) return with_place(json.error(), "labels_encoder_config");
  auto plan = make_load_plan(json.value().root(), {.head = HeadKind::kSpans});
  if (!plan.ok()) return with_place(plan.error(), "labels_encoder_config");
  TransformerConfig& encoder = plan.value().stacks.transformer;
  if (encoder.causal || encoder.is_static()) {
    return unsupported_error(std::string("gliner_config.json: labels_encoder_config: expected an encoder, found ") +
                             plan.value().arch->model_type);
  }
  const auto vocab = config["vocab_size"].as_int_or(-1);
  if (!config["labels_encoder_config"].is_object() && vocab.ok() && vocab.value() > 0) encoder.vocab_size = vocab.value();
  auto tokenizer = read_tokenizer(own, false);
  if (!tokenizer.ok()) return with_place(tokenizer.error(), "labels_tokenizer");
  auto transformer = Transformer::with_config(encoder, encoder.max_position_embeddings, kernels, options.dtype);
  if (!transformer.ok()) return transformer.error();
  std::unique_ptr<LabelsEncoder> out(new LabelsEncoder(std::move(tokenizer).value(), std::move(transformer).value()));
  out->arch_ = plan.value().arch;
  out->ignored_ = std::move(plan.value().ignored);
  const std::int64_t positions = out->transformer_.positions();
  out->max_length_ = std::min<std::int64_t>(out->tokenizer_.model_max_length().value_or(positions), positions);
  return out;
}

std::vector<WeightTarget> LabelsEncoder::weight_targets(bool is_gguf) const {
  std::vector<WeightTarget> targets = transformer_.weight_targets(arch_->names, is_gguf);
  for (WeightTarget& target : targets) {
    target.name.insert(0, kPrefix);
    if (!target.twin.empty()) target.twin.insert(0, kPrefix);
  }
  return targets;
}

std::vector<std::string> LabelsEncoder::ignored() const {
  std::vector<std::string> out{"rnn.*"};  // SpanConfig::rnn_layers
  for (const std::string& pattern : ignored_) out.push_back(std::string(kPrefix) + pattern);
  return out;
}

std::string LabelsEncoder::name_of(std::string_view name, bool is_gguf) const {
  if (!name.starts_with(kInFiles)) return {};
  return std::string(kPrefix) + canonical_weight_name(*arch_, name.substr(kInFiles.size()), is_gguf);
}

std::int64_t LabelsEncoder::token_budget() const { return std::max(kTokenBudget, max_length_); }

Result<std::vector<float>> LabelsEncoder::rows(const SpanHead& head, ThreadTeam& team,
                                               std::span<const std::u16string_view> labels) {
  ++calls_;
  std::vector<std::u16string_view> missing;
  for (const std::u16string_view label : labels) {
    const auto at = kept_.find(label);
    if (at == kept_.end()) missing.push_back(label);
    if (at != kept_.end()) at->second.call = calls_;
  }
  const auto width = static_cast<std::size_t>(head.label_width());
  std::vector<float> found;
  if (!missing.empty()) {
    const auto vectors = read_labels(team, missing);
    if (!vectors.ok()) return vectors.error();
    const ThreadTeam::Awake awake(team);
    const Compute compute{transformer_.kernels(), team};
    const auto count = static_cast<std::int64_t>(missing.size());
    const std::vector<float> projected = head.project_labels(compute, vectors.value().data(), count);
    found = head.label_rows(compute, projected.data(), count);
  }
  std::vector<float> out;
  out.reserve(labels.size() * width);
  std::size_t next = 0;  // of the missing ones
  for (const std::u16string_view label : labels) {
    const bool is_missing = next < missing.size() && missing[next].data() == label.data() && missing[next].size() == label.size();
    const float* row = is_missing ? found.data() + width * next++ : kept_.find(label)->second.row.data();
    out.insert(out.end(), row, row + width);
  }
  keep(width, labels, out);
  return out;
}

void LabelsEncoder::keep(std::size_t width, std::span<const std::u16string_view> labels, const std::vector<float>& rows) {
  const std::size_t most = most_kept_bytes_ / (width * sizeof(float));
  std::size_t added = 0;
  for (const std::u16string_view label : labels) added += kept_.contains(label) ? 0 : 1;
  if (kept_.size() + added > most) {
    std::erase_if(kept_, [&](const auto& entry) { return entry.second.call != calls_; });
  }
  for (std::size_t i = 0; i < labels.size() && kept_.size() < most; ++i) {
    if (kept_.contains(labels[i])) continue;
    const float* row = rows.data() + i * width;
    kept_.emplace(std::u16string(labels[i]), Kept{{row, row + width}, calls_});
  }
}

Result<std::vector<float>> LabelsEncoder::read_labels(ThreadTeam& team, std::span<const std::u16string_view> labels) {
  std::vector<float> out;
  Batch batch;
  std::size_t first = 0;  // of the batch
  for (std::size_t i = 0; i < labels.size(); ++i) {
    // As in Python, a longer label is cut.
    auto encoding = tokenizer_.encode(labels[i], {.max_length = static_cast<std::int32_t>(max_length_)});
    if (!encoding.ok()) return encoding.error();
    const auto size = static_cast<std::int64_t>(encoding.value().size());
    if (size <= tokenizer_.num_special_tokens(false))
      return input_error("labels: expected texts with at least one token, found '" + to_utf8(labels[i].substr(0, 40)) + "'");
    if (batch.batch() > 0 && batch.tokens() + size > token_budget()) {
      if (auto ran = run(team, batch, labels.subspan(first, i - first), out); !ran.ok()) return ran.error();
      batch.clear();
      first = i;
    }
    std::vector<std::int32_t>& types = encoding.value().type_ids;
    if (transformer_.config().type_vocab_size == 1) std::fill(types.begin(), types.end(), 0);
    batch.add_sequence(encoding.value().ids, types);
  }
  if (auto ran = run(team, batch, labels.subspan(first), out); !ran.ok()) return ran.error();
  return out;
}

// Appends the labels' vectors.
Result<void> LabelsEncoder::run(ThreadTeam& team, const Batch& batch, std::span<const std::u16string_view> labels,
                                std::vector<float>& out) {
  if (auto checked = transformer_.check(batch); !checked.ok()) return checked;
  const std::int64_t hidden = transformer_.config().hidden_size;
  const std::int64_t keys = std::min(token_budget(), transformer_.positions());
  if (arena_.measuring()) {
    Arena measure;
    measure.take<float>(token_budget() * hidden);
    const PassSizes limits{.tokens = token_budget(), .keys = keys, .own_keys = keys, .threads = team.most_threads()};
    auto arena = Arena::with_bytes(measure.used() + forward_bytes(transformer_.plan(), limits), "activations of labels");
    if (!arena.ok()) return arena.error();
    arena_ = std::move(arena).value();
  }
  arena_.reset();
  float* states = arena_.take<float>(token_budget() * hidden);
  forward(transformer_.plan(), transformer_.compute(team), batch, {}, arena_, states, nullptr);
  num_read_ += labels.size();
  const PoolingMode mean[] = {PoolingMode::kMean};
  for (std::int64_t i = 0; i < batch.batch(); ++i) {
    const std::size_t at = out.size();
    out.resize(at + static_cast<std::size_t>(hidden));
    pool(transformer_.kernels(), mean, states + batch.seq_start[i] * hidden, batch.length(i), hidden, 0, out.data() + at);
    if (std::all_of(out.begin() + static_cast<std::ptrdiff_t>(at), out.end(), [](float value) { return std::isfinite(value); }))
      continue;
    return model_format_error("label '" + to_utf8(labels[static_cast<std::size_t>(i)].substr(0, 40)) +
                              "': the model's result is not finite (check its weights for NaN, infinity and overflow)");
  }
  return {};
}

}  // namespace wattn
