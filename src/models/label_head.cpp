#include "models/label_head.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/fields.h"
#include "models/config_fields.h"
#include "models/target_list.h"

namespace wattn {
namespace {

constexpr std::int64_t kMostHidden = 1 << 14;
constexpr std::int64_t kMostVocab = 1 << 24;

// Rejects unsupported variants of GLiClass, each by the key that tells it apart.
void reject_relatives(Fields& config) {
  if (config.string_or("architecture_type", "uni-encoder") != "uni-encoder")
    config.unsupported("architecture_type", "\"uni-encoder\"");
  config.expect("squeeze_layers", false);
  config.expect("multimodal", false);
  config.expect("use_segment_embeddings", false);
  config.expect("encoder_layer_id", -1);
}

std::vector<float> run_linear(const Compute& compute, const LinearWeights& layer, const std::vector<float>& rows,
                              Activation activation = Activation::kNone) {
  return run_linear(compute, layer, rows.data(), static_cast<std::int64_t>(rows.size()) / layer.in, activation);
}

// x / (|x| + 1e-8) for each row.
void normalize_rows(const Kernels& kernels, std::int64_t width, std::vector<float>& rows) {
  for (std::size_t at = 0; at < rows.size(); at += static_cast<std::size_t>(width)) {
    float* row = rows.data() + at;
    const float length = std::sqrt(kernels.dot(row, row, width)) + 1e-8f;
    for (std::int64_t i = 0; i < width; ++i) row[i] /= length;
  }
}

// rows: [count, width], at least one. zeros: rows of zeros that follow them.
std::vector<float> pool_rows(LabelConfig::Pooling pooling, const float* rows, std::int64_t count, std::int64_t width,
                             std::int64_t zeros = 0) {
  using Pooling = LabelConfig::Pooling;
  const float* last = rows + (count - 1) * width;
  if (pooling == Pooling::kFirst) return {rows, rows + width};
  if (pooling == Pooling::kLast && zeros == 0) return {last, last + width};
  if (pooling == Pooling::kLast) return std::vector<float>(static_cast<std::size_t>(width));
  const bool is_max = pooling == Pooling::kMax || pooling == Pooling::kAbsMax;
  const auto value_of = [pooling](float x) {
    if (pooling == Pooling::kRms) return x * x;
    return pooling == Pooling::kAbsMean || pooling == Pooling::kAbsMax ? std::fabs(x) : x;
  };
  std::vector<float> out(static_cast<std::size_t>(width));
  for (std::int64_t i = 0; i < width; ++i) {
    float sum = value_of(rows[i]);
    for (std::int64_t row = 1; row < count; ++row) {
      const float value = value_of(rows[row * width + i]);
      if (!is_max) {
        sum += value;
      } else if (!(value <= sum)) {
        sum = value;
      }
    }
    if (is_max && zeros > 0) sum = std::max(sum, 0.0f);
    if (!is_max && pooling != Pooling::kSum) sum /= static_cast<float>(count + zeros);
    out[static_cast<std::size_t>(i)] = pooling == Pooling::kRms ? std::sqrt(sum) : sum;
  }
  return out;
}

}  // namespace

Result<LabelConfig> read_label_config(JsonRef json) {
  using Pooling = LabelConfig::Pooling;
  using Scorer = LabelConfig::Scorer;
  Fields config(json);
  LabelConfig out;
  reject_relatives(config);
  constexpr std::pair<std::string_view, Scorer> kScorers[] = {
      {"simple", Scorer::kDot}, {"weighted-dot", Scorer::kWeightedDot}, {"mlp", Scorer::kMlp}};
  out.scorer = config.choice("scorer_type", kScorers, "simple");
  constexpr std::pair<std::string_view, Pooling> kPoolings[] = {
      {"first", Pooling::kFirst}, {"last", Pooling::kLast}, {"avg", Pooling::kMean},        {"sum", Pooling::kSum},
      {"max", Pooling::kMax},     {"rms", Pooling::kRms},   {"abs_avg", Pooling::kAbsMean}, {"abs_max", Pooling::kAbsMax}};
  out.pooling = config.choice("pooling_strategy", kPoolings, "first");
  constexpr std::pair<std::string_view, bool> kOfLabels[] = {{"first", false}, {"average", true}};
  out.average_labels = config.choice("class_token_pooling", kOfLabels, "first");
  out.hidden = config.integer_or("hidden_size", 0, 1, kMostHidden);
  out.vocab = config.integer_or("vocab_size", 0, 1, kMostVocab);
  out.class_token = static_cast<std::int32_t>(config.integer_or("class_token_index", -1, -1, INT32_MAX));
  out.text_token = static_cast<std::int32_t>(config.integer_or("text_token_index", -1, -1, INT32_MAX));
  out.prompt_first = config.boolean_or("prompt_first", false);
  out.embed_class_token = config.boolean_or("embed_class_token", true);
  out.from_text_token = config.boolean_or("extract_text_features", false);
  out.has_lstm = config.boolean_or("use_lstm", false);
  out.normalize = config.boolean_or("normalize_features", false);
  if (config.has("projector_hidden_act")) out.activation = read_activation(config, "projector_hidden_act");
  if (!config.ok()) return config.error();
  return out;
}

Result<void> LabelHead::allocate(std::int64_t in, std::int64_t vocab, const Kernels& kernels) {
  if (config_.hidden == 0) config_.hidden = in;
  if ((config_.scorer != LabelConfig::Scorer::kDot || config_.has_lstm) && config_.hidden != in) {
    return model_format_error("config.json: hidden_size: expected the encoder's " + std::to_string(in) + ", found " +
                              std::to_string(config_.hidden));
  }
  if (config_.has_lstm && in % 2 != 0) {
    return model_format_error("config.json: hidden_size: expected an even number, for both directions of the LSTM, found " +
                              std::to_string(in));
  }
  // As the package numbers tokens that the configuration has no ids for.
  if (config_.class_token < 0) config_.class_token = static_cast<std::int32_t>(vocab);
  if (config_.text_token < 0) config_.text_token = static_cast<std::int32_t>(vocab + 1);
  in_ = in;
  take_weights(weights_, kernels);  // measures
  auto weights = Arena::with_zeros(weights_.used(), "weights of the head");
  if (!weights.ok()) return weights.error();
  weights_ = std::move(weights).value();
  take_weights(weights_, kernels);
  return {};
}

// All in f32 whatever the encoder's type: they are small and affect every score.
void LabelHead::take_weights(Arena& arena, const Kernels& kernels) {
  using Scorer = LabelConfig::Scorer;
  constexpr std::int64_t kMlpWidth = 256;  // the package has no key for it
  const std::int64_t hidden = config_.hidden;
  const auto linear_of = [&](std::int64_t in, std::int64_t out) {
    return take_linear(arena, kernels, WeightType::kF32, in, out, true);
  };
  for (Mlp* mlp : {&text_, &labels_}) *mlp = {linear_of(in_, hidden), linear_of(hidden, in_)};
  if (config_.has_lstm) {
    forward_ = take_lstm(arena, kernels, in_, in_ / 2);
    backward_ = take_lstm(arena, kernels, in_, in_ / 2);
  }
  layers_.clear();
  if (config_.scorer == Scorer::kWeightedDot) {
    of_text_ = linear_of(in_, 2 * in_);
    of_label_ = linear_of(in_, 2 * in_);
    layers_ = {linear_of(3 * in_, 4 * in_), linear_of(4 * in_, 1)};
  } else if (config_.scorer == Scorer::kMlp) {
    layers_ = {linear_of(2 * in_, kMlpWidth), linear_of(kMlpWidth, kMlpWidth / 2), linear_of(kMlpWidth / 2, 1)};
  }
  logit_scale_ = config_.normalize ? arena.take<float>(1) : nullptr;
}

std::vector<WeightTarget> LabelHead::weight_targets() const {
  TargetList list;
  const auto linear_targets = [&](const std::string& name, const LinearWeights& layer) { list.linear(name, layer, 0, layer.out); };
  for (const auto& [name, mlp] : {std::pair<std::string, const Mlp*>("text", &text_), {"classes", &labels_}}) {
    linear_targets("model." + name + "_projector.linear_1", mlp->up);
    linear_targets("model." + name + "_projector.linear_2", mlp->down);
  }
  if (config_.has_lstm) {
    list.lstm("model.lstm.lstm", "_l0", forward_);
    list.lstm("model.lstm.lstm", "_l0_reverse", backward_);
  }
  if (config_.scorer == LabelConfig::Scorer::kWeightedDot) {
    linear_targets("model.scorer.proj_text", of_text_);
    linear_targets("model.scorer.proj_label", of_label_);
    linear_targets("model.scorer.out_mlp.0", layers_[0]);
    linear_targets("model.scorer.out_mlp.3", layers_[1]);
  } else {
    for (std::size_t i = 0; i < layers_.size(); ++i) linear_targets("model.scorer.mlp." + std::to_string(2 * i), layers_[i]);
  }
  if (logit_scale_) {
    list.targets.push_back(
        {"model.logit_scale", {}, true, [scale = logit_scale_](std::int64_t, const float* row) { *scale = *row; }});
  }
  return std::move(list.targets);
}

std::vector<float> LabelHead::project(const Compute& compute, const Mlp& mlp, const std::vector<float>& rows) const {
  std::vector<float> out = run_linear(compute, mlp.down, run_linear(compute, mlp.up, rows, config_.activation));
  if (config_.normalize) normalize_rows(compute.kernels, in_, out);
  return out;
}

// [num_labels, in]; empty if there are fewer. Python takes the first num_labels, too, but of a text before its labels: there the
// last ones are the labels' own.
std::vector<float> LabelHead::label_rows(std::span<const std::int32_t> ids, const float* hidden, std::int64_t num_labels) const {
  const auto count = static_cast<std::int64_t>(ids.size());
  std::vector<std::int64_t> begins;
  for (std::int64_t at = 0; at < count; ++at) {
    if (ids[static_cast<std::size_t>(at)] == config_.class_token) begins.push_back(at);
  }
  const std::int64_t more = static_cast<std::int64_t>(begins.size()) - num_labels;
  if (more < 0) return {};
  const auto text_at = std::find(ids.begin(), ids.end(), config_.text_token) - ids.begin();
  begins.push_back(count);
  std::vector<float> out;
  out.reserve(static_cast<std::size_t>(num_labels * in_));
  for (std::int64_t label = 0; label < num_labels; ++label) {
    const std::int64_t i = label + (config_.prompt_first ? 0 : more);
    const std::int64_t begin = begins[static_cast<std::size_t>(i)] + (config_.embed_class_token ? 0 : 1);
    std::int64_t end = std::min(begins[static_cast<std::size_t>(i + 1)], count);
    if (config_.from_text_token && text_at >= begin) end = std::min<std::int64_t>(end, text_at);
    if (!config_.average_labels) end = std::min(begin + 1, count);
    // As in Python, a label without tokens has zeros.
    const std::vector<float> row = begin < end ? pool_rows(LabelConfig::Pooling::kMean, hidden + begin * in_, end - begin, in_)
                                               : std::vector<float>(static_cast<std::size_t>(in_));
    out.insert(out.end(), row.begin(), row.end());
  }
  return out;
}

std::vector<float> LabelHead::text_row(const Compute& compute, std::span<const std::int32_t> ids, const float* hidden) const {
  const auto found = config_.from_text_token ? std::find(ids.begin(), ids.end(), config_.text_token) : ids.end();
  const std::int64_t begin = found == ids.end() ? 0 : found - ids.begin();
  const std::int64_t count = static_cast<std::int64_t>(ids.size()) - begin;
  hidden += begin * in_;
  // As in Python, zeros take the place of the rows before the text.
  if (!config_.has_lstm) return pool_rows(config_.pooling, hidden, count, in_, begin);
  std::vector<float> rows(static_cast<std::size_t>(count * in_)), scratch(static_cast<std::size_t>(lstm_scratch(in_ / 2, count)));
  lstm(compute, forward_, hidden, count, false, scratch.data(), rows.data(), in_);
  lstm(compute, backward_, hidden, count, true, scratch.data(), rows.data() + in_ / 2, in_);
  return pool_rows(config_.pooling, rows.data(), count, in_);
}

// text: [in]; labels: [count, in].
std::vector<float> LabelHead::score(const Compute& compute, const std::vector<float>& text,
                                    const std::vector<float>& labels) const {
  using Scorer = LabelConfig::Scorer;
  const auto width = static_cast<std::size_t>(in_), count = labels.size() / width;
  std::vector<float> rows;
  switch (config_.scorer) {
    case Scorer::kDot:
      for (std::size_t i = 0; i < count; ++i) rows.push_back(compute.kernels.dot(text.data(), labels.data() + i * width, in_));
      return rows;
    case Scorer::kWeightedDot: {
      const std::vector<float> t = run_linear(compute, of_text_, text), l = run_linear(compute, of_label_, labels);
      for (std::size_t i = 0; i < count; ++i) {
        const float* label = l.data() + 2 * i * width;
        rows.insert(rows.end(), t.begin(), t.begin() + in_);
        rows.insert(rows.end(), label, label + width);
        for (std::size_t k = width; k < 2 * width; ++k) rows.push_back(t[k] * label[k]);
      }
      break;
    }
    case Scorer::kMlp:
      for (std::size_t i = 0; i < count; ++i) {
        rows.insert(rows.end(), text.begin(), text.end());
        rows.insert(rows.end(), labels.data() + i * width, labels.data() + (i + 1) * width);
      }
  }
  for (const LinearWeights& layer : layers_) {
    rows = run_linear(compute, layer, rows, &layer == &layers_.back() ? Activation::kNone : Activation::kRelu);
  }
  return rows;
}

bool LabelHead::run(const Compute& compute, std::span<const std::int32_t> ids, const float* hidden, std::int64_t num_labels,
                    std::vector<float>& logits) const {
  const std::vector<float> rows = label_rows(ids, hidden, num_labels);
  if (rows.empty()) return false;
  const std::vector<float> labels = project(compute, labels_, rows);
  const std::vector<float> text = project(compute, text_, text_row(compute, ids, hidden));
  std::vector<float> scores = score(compute, text, labels);
  for (float& each : scores) each *= logit_scale_ ? *logit_scale_ : 1.0f;
  logits.insert(logits.end(), scores.begin(), scores.end());
  return true;
}

}  // namespace wattn
