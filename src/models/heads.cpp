#include "models/heads.h"

#include <algorithm>

#include "core/part.h"
#include "models/config_fields.h"
#include "models/target_list.h"
#include "ops/pooling.h"

namespace wattn {
namespace {

constexpr std::int64_t kMostLabels = 1 << 20;
constexpr PoolingMode kMean[] = {PoolingMode::kMean};

// Where an architecture describes a kind of head, and the ends of class names in config.json's "architectures" that have one.
struct KindOfHead {
  HeadLayers Heads::* layers;
  const char* ending;
  const char* other_ending;
  const char* part = nullptr;  // of other such names: NeoBERTLMHead, XLMWithLMHeadModel
};
// In the order of HeadKind.
constexpr KindOfHead kKindsOfHeads[] = {
    {&Heads::sequence, "ForSequenceClassification", nullptr},
    {&Heads::token, "ForTokenClassification", nullptr},
    {&Heads::answer, "ForQuestionAnswering", nullptr},
    {&Heads::masked_lm, "ForMaskedLM", "ForPreTraining", "LMHead"},
};

// Kinds of heads share tensor names ("classifier.weight"), so only the class tells them apart. Without "architectures", any will
// do.
void check_class(const KindOfHead& kind, Fields& config) {
  const JsonRef classes = config["architectures"];
  if (classes.is_null() || classes.size() == 0) return;
  for (std::size_t i = 0; i < classes.size() && config.ok(); ++i) {
    const std::string_view name = config.take(classes[i].as_string());
    if (name.ends_with(kind.ending) || (kind.other_ending && name.ends_with(kind.other_ending))) return;
    if (kind.part && name.find(kind.part) != std::string_view::npos) return;
  }
  config.fail(unsupported_error(classes.where() + ": expected a model that ends in " + kind.ending +
                                ", which this task needs, found " + classes.to_text().substr(0, 200)));
}

}  // namespace

Result<HeadLayers> Head::find_layers(HeadKind kind, const Heads& heads, JsonRef json, bool any_class) {
  Fields config(json);
  const KindOfHead& row = kKindsOfHeads[static_cast<std::size_t>(kind) - static_cast<std::size_t>(HeadKind::kSequence)];
  if (!any_class) check_class(row, config);
  HeadLayers layers = heads.*row.layers;
  if (!layers.output) {
    config.fail(unsupported_error(json["model_type"].where() + ": expected an architecture with the head " + row.ending +
                                  ", found " + json["model_type"].describe()));
  }
  if (layers.tied) {
    layers.untied = Part<OwnOutputs>::get() && !layers.rest && !config.boolean_or("tie_word_embeddings", true);
    if (!layers.untied) config.expect("tie_word_embeddings", true);
    config.expect("decoder_bias", true);
  }
  if (layers.tied_by_config) layers.tied = config.boolean_or("tie_word_embeddings", false);
  if (layers.activation_key && config.has(layers.activation_key)) {
    layers.activation = read_activation(config, layers.activation_key);
  }
  if (layers.dense_key && !config.boolean_or(layers.dense_key, true)) layers.dense = nullptr;
  if (layers.dense_bias_key) layers.dense_bias = config.boolean_or(layers.dense_bias_key, layers.dense_bias);
  if (layers.norm_bias_key) layers.norm_bias = config.boolean_or(layers.norm_bias_key, layers.norm_bias);
  if (layers.pooling_key && config.has(layers.pooling_key)) {
    constexpr std::pair<std::string_view, HeadInput> kInputs[] = {
        {"cls", HeadInput::kFirst}, {"bos", HeadInput::kFirst}, {"mean", HeadInput::kMean}, {"late", HeadInput::kEach}};
    layers.input = config.choice(layers.pooling_key, kInputs);
  }
  if (!config.ok()) return config.error();
  return layers;
}

Result<std::int64_t> Head::num_labels(JsonRef json) {
  Fields config(json);
  if (!config.has("id2label")) {
    const std::int64_t labels = config.size_or("num_labels", kMostLabels, 2);
    return config.ok() ? Result<std::int64_t>(labels) : config.error();
  }
  const JsonRef names = json["id2label"];
  const auto size = static_cast<std::int64_t>(names.size());
  if (!names.is_object() || size == 0 || size > kMostLabels) return names.mismatch("an object of numbers and label names");
  return size;
}

Result<Head> Head::with_layers(const HeadLayers& layers, const HeadShape& shape, const Kernels& kernels) {
  Head head;
  head.layers_ = layers;
  head.shape_ = shape;
  if (shape.width == shape.hidden) head.layers_.rest = nullptr;
  head.kernels_ = &kernels;
  head.take_weights(head.weights_, kernels);  // measures
  auto weights = Arena::with_zeros(head.weights_.used(), "weights of the head");
  if (!weights.ok()) return weights.error();
  head.weights_ = std::move(weights).value();
  head.take_weights(head.weights_, kernels);
  return head;
}

// Hidden layers are f32 whatever the encoder's type: they are small and affect every logit.
void Head::take_weights(Arena& arena, const Kernels& kernels) {
  const std::int64_t width = this->width();
  if (layers_.dense) dense_ = take_linear(arena, kernels, WeightType::kF32, shape_.hidden, width, layers_.dense_bias);
  if (layers_.norm) norm_ = take_layer_norm(arena, width, shape_.norm_eps);
  if (layers_.tied) {
    bias_ = arena.take<float>(shape_.labels);
    if (layers_.rest) {
      rest_ = take_linear(arena, kernels, at_least_q8(shape_.type), width - shape_.width, shape_.labels, false);
    }
  } else {
    output_ = take_linear(arena, kernels, at_least_q8(shape_.type), width, shape_.labels, layers_.output_bias);
  }
}

std::vector<WeightTarget> Head::weight_targets(const std::string& word_embeddings) const {
  TargetList list;
  if (layers_.dense) list.linear(layers_.dense, dense_, 0, dense_.out, layers_.dense_bias);
  if (layers_.norm) list.norm(layers_.norm, norm_, layers_.norm_bias);
  if (!layers_.tied) {
    list.linear(own_name_.empty() ? layers_.output : own_name_, output_, 0, output_.out, layers_.output_bias && !bias_);
    if (bias_ && layers_.output_bias) list.vector(layers_.output, bias_, shape_.labels);
    return std::move(list.targets);
  }
  if (layers_.output_bias) list.vector(layers_.output, bias_, shape_.labels);
  // Checkpoints may repeat tied tensors, as the weight beside the bias or in a separate Linear.
  const std::string bias = layers_.output, prefix = bias.substr(0, bias.rfind('.'));
  const Shape shape{shape_.labels, shape_.width};
  list.repeats(prefix + ".weight", shape, word_embeddings + ".weight");
  list.repeats(prefix + ".decoder.weight", shape, word_embeddings + ".weight");
  if (layers_.output_bias) list.repeats(prefix + ".decoder.bias", {shape_.labels}, bias);
  if (layers_.rest) {
    list.transposed_linear(layers_.rest, rest_, 0, shape_.labels, false);
    return std::move(list.targets);
  }
  if (const auto* own = Part<OwnOutputs>::get()) (this->*own->keep)(list.targets);
  return std::move(list.targets);
}

Result<void> Head::run(const Compute& compute, const EmbeddingTable& words, const float* rows, std::int64_t count,
                       float* logits) const {
  std::vector<float> inner;
  if (layers_.dense) {
    inner.resize(static_cast<std::size_t>(count * dense_.out));
    linear(compute, dense_, rows, count, layers_.activation, {}, inner.data());
    if (layers_.norm) layer_norm(compute, norm_, inner.data(), nullptr, count, inner.data());
    rows = inner.data();
  }
  return run_output(compute, words, rows, count, logits);
}

Result<void> Head::run_output(const Compute& compute, const EmbeddingTable& words, const float* rows, std::int64_t count,
                              float* logits) const {
  if (layers_.rest) return (this->*Part<OwnOutputs>::get()->run_rest)(compute, words, rows, count, logits);
  if (layers_.tied) {
    tied_logits(compute, words, bias_, rows, count, logits);
    return {};
  }
  const auto take = [&](Arena& arena) { return take_linear_scratch(arena, at_least_q8(shape_.type), count, output_.in, 1); };
  Arena measure;
  take(measure);
  auto arena = Arena::with_bytes(measure.used(), "activations of the head");
  if (!arena.ok()) return arena.error();
  linear(compute, output_, rows, count, Activation::kNone, take(arena.value()), logits);
  return {};
}

void head_rows(const Kernels& kernels, const HeadReading& reading, const Batch& batch, const float* hidden, std::int64_t width,
               std::vector<float>& rows, std::vector<std::int32_t>& counts) {
  for (std::int64_t i = 0; i < batch.batch(); ++i) {
    const std::size_t before = rows.size();
    const float* states = hidden + batch.seq_start[i] * width;
    const auto ids = std::span(batch.input_ids).subspan(batch.seq_start[i], static_cast<std::size_t>(batch.length(i)));
    if (reading.input == HeadInput::kMean && !ids.empty()) {
      rows.resize(before + static_cast<std::size_t>(width));
      pool(kernels, kMean, states, batch.length(i), width, 0, rows.data() + before);
    } else {
      for_each_head_token(
          reading, ids, [&](std::int64_t token) { rows.insert(rows.end(), states + token * width, states + (token + 1) * width); });
    }
    counts.push_back(static_cast<std::int32_t>((rows.size() - before) / static_cast<std::size_t>(width)));
  }
}

void average_logits(const Kernels& kernels, std::size_t begin, std::int64_t labels, std::span<std::int32_t> counts,
                    std::vector<float>& logits) {
  std::vector<float> mean(static_cast<std::size_t>(labels));
  float* to = logits.data() + begin;
  const float* from = to;
  for (std::int32_t& count : counts) {
    if (count == 0) continue;
    pool(kernels, kMean, from, count, labels, 0, mean.data());
    from += count * labels;
    to = std::copy(mean.begin(), mean.end(), to);
    count = 1;
  }
  logits.resize(static_cast<std::size_t>(to - logits.data()));
}

}  // namespace wattn
