#include "models/heads.h"

#include <algorithm>

#include "models/config_fields.h"

namespace wattn {
namespace {

constexpr std::int64_t kMostLabels = 1 << 20;
// Rows of the word embeddings that are widened at a time.
constexpr std::int64_t kTiedRows = 8;

// The ends of class names in config.json's "architectures" whose checkpoints bring such a head.
std::vector<std::string_view> class_endings(HeadKind kind) {
  switch (kind) {
    case HeadKind::kSequence:
      return {"ForSequenceClassification"};
    case HeadKind::kToken:
      return {"ForTokenClassification"};
    case HeadKind::kAnswer:
      return {"ForQuestionAnswering"};
    case HeadKind::kMaskedLm:
      return {"ForMaskedLM", "ForPreTraining"};
    default:
      return {""};
  }
}

// Heads of several kinds share tensor names ("classifier.weight"), so the class must tell. No "architectures": taken on trust.
void check_class(HeadKind kind, Fields& config) {
  const JsonRef classes = config["architectures"];
  if (classes.is_null() || classes.size() == 0) return;
  const std::vector<std::string_view> endings = class_endings(kind);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const std::string_view name = config.take(classes[i].as_string());
    for (const std::string_view ending : endings) {
      if (name.ends_with(ending)) return;
    }
  }
  config.fail(unsupported_error(classes.where() + ": expected a model that ends in " + std::string(endings.front()) +
                                ", which this task needs, found " + classes.to_text().substr(0, 200)));
}

const HeadLayers& layers_of(HeadKind kind, const Heads& heads) {
  static constexpr HeadLayers kNothing;
  switch (kind) {
    case HeadKind::kSequence:
      return heads.sequence;
    case HeadKind::kToken:
      return heads.token;
    case HeadKind::kAnswer:
      return heads.answer;
    case HeadKind::kMaskedLm:
      return heads.masked_lm;
    default:
      return kNothing;
  }
}

WeightSlot vector_slot(std::string name, float* values, std::int64_t size) {
  return {std::move(name), {size}, true, [values, size](std::int64_t, const float* row) { std::copy(row, row + size, values); }};
}

void add_linear(std::vector<WeightSlot>& slots, const std::string& name, const Linear& layer) {
  slots.push_back({name + ".weight", {layer.out, layer.in}, true, [layer](std::int64_t i, const float* row) {
                     set_weight_row(layer, i, row);
                   }});
  if (layer.bias) slots.push_back(vector_slot(name + ".bias", layer.bias, layer.out));
}

// logits [count, vocab] = x [count, width] times the table's rows, plus bias. A row of the table is widened once for all of x;
// each element is one chain of multiply-adds in rising k.
void tied_logits(const Compute& compute, const Embedding& words, const float* bias, const float* x, std::int64_t count,
                 float* logits) {
  for_parts(compute, words.rows, kTiedRows, 1024, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> table(static_cast<std::size_t>(kTiedRows * words.hidden));
    std::int32_t ids[kTiedRows];
    for (std::int64_t first = begin; first < end; first += kTiedRows) {
      const std::int64_t rows = std::min(kTiedRows, end - first);
      std::fill(table.begin(), table.end(), 0.0f);
      for (std::int64_t j = 0; j < rows; ++j) ids[j] = static_cast<std::int32_t>(first + j);
      add_embedding_rows(words, {ids, static_cast<std::size_t>(rows)}, table.data());
      for (std::int64_t i = 0; i < count; ++i) {
        float sum[kTiedRows] = {};
        for (std::int64_t k = 0; k < words.hidden; ++k) {
          for (std::int64_t j = 0; j < kTiedRows; ++j) sum[j] += x[i * words.hidden + k] * table[j * words.hidden + k];
        }
        for (std::int64_t j = 0; j < rows; ++j) logits[i * words.rows + first + j] = sum[j] + bias[first + j];
      }
    }
  });
}

}  // namespace

Result<HeadLayers> Head::find_layers(HeadKind kind, const Heads& heads, JsonRef json) {
  Fields config(json);
  check_class(kind, config);
  HeadLayers layers = layers_of(kind, heads);
  if (!layers.output) {
    config.fail(unsupported_error(json["model_type"].where() + ": " + json["model_type"].describe() + " has no head " +
                                  std::string(class_endings(kind).front()) + " here yet"));
  }
  if (layers.tied) {
    config.expect("tie_word_embeddings", true);
    config.expect("decoder_bias", true);
  }
  if (layers.tied_by_config) layers.tied = config.boolean_or("tie_word_embeddings", false);
  if (layers.activation_key && config.has(layers.activation_key)) {
    layers.activation = read_activation(config, layers.activation_key);
  }
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

Result<Head> Head::with_layers(HeadKind kind, const HeadLayers& layers, const HeadShape& shape, const Kernels& kernels) {
  Head head;
  head.kind_ = kind;
  head.layers_ = layers;
  head.shape_ = shape;
  head.take_weights(head.weights_, kernels);  // measures
  auto weights = Arena::with_zeros(head.weights_.used(), "weights of the head");
  if (!weights.ok()) return weights.error();
  head.weights_ = std::move(weights).value();
  head.take_weights(head.weights_, kernels);
  return head;
}

// In f32 whatever the encoder's: small, and the last word on every score.
void Head::take_weights(Arena& arena, const Kernels& kernels) {
  const std::int64_t width = layers_.dense ? shape_.width : shape_.hidden;
  if (layers_.dense) dense_ = take_linear(arena, kernels, WeightType::kF32, shape_.hidden, width, layers_.dense_bias);
  if (layers_.norm) norm_ = take_layer_norm(arena, width, shape_.norm_eps);
  if (layers_.tied) {
    bias_ = arena.take<float>(shape_.labels);
  } else {
    output_ = take_linear(arena, kernels, at_least_q8(shape_.type), width, shape_.labels, layers_.output_bias);
  }
}

std::vector<WeightSlot> Head::weight_slots() const {
  std::vector<WeightSlot> slots;
  if (layers_.dense) add_linear(slots, layers_.dense, dense_);
  if (layers_.norm) {
    slots.push_back(vector_slot(std::string(layers_.norm) + ".weight", norm_.gamma, norm_.hidden));
    if (layers_.norm_bias) slots.push_back(vector_slot(std::string(layers_.norm) + ".bias", norm_.beta, norm_.hidden));
  }
  if (!layers_.tied) {
    add_linear(slots, layers_.output, output_);
  } else if (layers_.output_bias) {
    slots.push_back(vector_slot(layers_.output, bias_, shape_.labels));
  }
  return slots;
}

Result<void> Head::run(const Compute& compute, const Embedding& words, const float* rows, std::int64_t count, float* logits) const {
  std::vector<float> inner;
  if (layers_.dense) {
    inner.resize(static_cast<std::size_t>(count * dense_.out));
    linear(compute, dense_, rows, count, layers_.activation, {}, inner.data());
    if (layers_.norm) layer_norm(compute, norm_, inner.data(), nullptr, count, inner.data());
    rows = inner.data();
  }
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

}  // namespace wattn
