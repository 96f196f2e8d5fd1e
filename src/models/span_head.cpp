#include "models/span_head.h"

#include <algorithm>
#include <cmath>

#include "core/fields.h"
#include "models/config_fields.h"
#include "models/target_list.h"

namespace wattn {
namespace {

constexpr std::int64_t kMostHidden = 1 << 14;
constexpr std::int64_t kMostSpanWidth = 1 << 10;
constexpr std::int64_t kMostWords = 1 << 14;
constexpr std::int64_t kMostRnnLayers = 16;
constexpr std::int64_t kMostVocab = 1 << 24;
// Words of a window with a schema: the package reads a text of any length at once.
constexpr std::int64_t kSchemaWords = 512;
// Spans, or words, that a product takes at a time.
constexpr std::int64_t kBlock = 128;

// Rejects unsupported variants of GLiNER, each by the key that tells it apart.
void reject_relatives(Fields& config) {
  for (const char* key : {"labels_decoder", "relations_layer", "triples_layer", "span_encoder_config"}) {
    config.absent(key);
  }
  config.expect("fuse_layers", false);
  config.expect("precomputed_prompts_mode", false);
  config.expect("represent_spans", false);
  if (!config.string_or("post_fusion_schema", "").empty()) config.unsupported("post_fusion_schema", "\"\"");
}

}  // namespace

namespace {

// config.json of the package gliner2. Older files have max_width outside of span_head, and no architecture.
Result<SpanConfig> read_schema_config(JsonRef json) {
  Fields config(json);
  SpanConfig out;
  config.expect("architecture", "span");
  constexpr std::pair<std::string_view, CountingLayer> kLayers[] = {{"count_lstm", CountingLayer::kLstm},
                                                                    {"count_lstm_v2", CountingLayer::kLstmV2}};
  out.counting = config.choice("counting_layer", kLayers, "count_lstm");
  constexpr std::pair<std::string_view, PoolingMode> kPoolings[] = {
      {"first", PoolingMode::kCls}, {"mean", PoolingMode::kMean}, {"max", PoolingMode::kMax}};
  out.pooling = config.choice("token_pooling", kPoolings, "first");
  out.max_width = config.size_or("max_width", kMostSpanWidth, 8);
  if (json["span_head"].is_object()) {
    Fields span(json["span_head"]);
    span.expect("span_mode", "markerV0");
    out.max_width = span.size_or("max_width", kMostSpanWidth, out.max_width);
    if (!span.ok()) return span.error();
  }
  out.max_words = kSchemaWords;
  out.ent_token = "[E]";
  out.sep_token = "[SEP_TEXT]";
  if (!config.ok()) return config.error();
  return out;
}

}  // namespace

bool has_schema(JsonRef json) {
  const auto type = json["model_type"].as_string_or("");
  return type.ok() && type.value() == "extractor";
}

Result<SpanConfig> read_span_config(JsonRef json) {
  if (has_schema(json)) return read_schema_config(json);
  Fields config(json);
  SpanConfig out;
  reject_relatives(config);
  constexpr std::pair<std::string_view, bool> kModes[] = {{"markerV0", false}, {"token_level", true}, {"token-level", true}};
  out.by_token = config.choice("span_mode", kModes, "markerV0");
  constexpr std::pair<std::string_view, PoolingMode> kPoolings[] = {
      {"first", PoolingMode::kCls}, {"last", PoolingMode::kLastToken}, {"mean", PoolingMode::kMean}, {"max", PoolingMode::kMax}};
  out.pooling = config.choice("subtoken_pooling", kPoolings, "first");
  config.expect("words_splitter_type", "whitespace");
  out.hidden = config.size_or("hidden_size", kMostHidden, 512);
  out.max_width = config.size_or("max_width", kMostSpanWidth, 12);
  out.max_words = config.size_or("max_len", kMostWords, 384);
  // Files of before num_rnn_layers have one layer, or has_rnn.
  out.rnn_layers = config.integer_or("num_rnn_layers", config.boolean_or("has_rnn", true) ? 1 : 0, -1, kMostRnnLayers);
  out.rnn_layers = std::max<std::int64_t>(out.rnn_layers, 0);
  if (out.rnn_layers > 0 && out.hidden % 2 != 0) config.mismatch("hidden_size", "an even number, for both directions of the LSTM");
  out.embed_ent_token = config.boolean_or("embed_ent_token", true);
  out.class_token = static_cast<std::int32_t>(config.integer_or("class_token_index", -1, -1, INT32_MAX));
  out.vocab = config.integer_or("vocab_size", -1, -1, kMostVocab);
  if (out.vocab == 0) config.mismatch("vocab_size", "a number of tokens, or -1");
  out.ent_token = config.string_or("ent_token", "<<ENT>>");
  out.sep_token = config.string_or("sep_token", "<<SEP>>");
  out.bi_encoder = !json["labels_encoder"].is_null();
  if (out.bi_encoder) out.rnn_layers = 0;  // the package makes the LSTM, but does not run it (BaseBiEncoderModel in 0.2.29)
  if (out.bi_encoder && config.string_or("labels_encoder", "").empty()) config.mismatch("labels_encoder", "the name of an encoder");
  if (!config.ok()) return config.error();
  return out;
}

Result<std::unique_ptr<SpanHead>> SpanHead::with_config(SpanConfig config, std::int64_t in, const Kernels& kernels) {
  auto head = std::make_unique<SpanHead>();
  head->config_ = std::move(config);
  head->in_ = in;
  head->take_weights(head->weights_, kernels);  // measures
  auto weights = Arena::with_zeros(head->weights_.used(), "weights of the head");
  if (!weights.ok()) return weights.error();
  head->weights_ = std::move(weights).value();
  head->take_weights(head->weights_, kernels);
  return head;
}

// All in f32 whatever the encoder's type: they are small and affect every score.
void SpanHead::take_weights(Arena& arena, const Kernels& kernels) {
  const std::int64_t hidden = config_.hidden, inner = 4 * hidden;
  const auto linear_of = [&](std::int64_t in, std::int64_t out, bool bias = true) {
    return take_linear(arena, kernels, WeightType::kF32, in, out, bias);
  };
  if (in_ != hidden) projection_ = linear_of(in_, hidden);
  if (config_.bi_encoder && config_.labels_in != hidden) labels_projection_ = linear_of(config_.labels_in, hidden);
  rnn_.clear();
  for (std::int64_t i = 0; i < 2 * config_.rnn_layers; ++i) rnn_.push_back(take_lstm(arena, kernels, hidden, hidden / 2));
  if (config_.by_token) {
    token_ = linear_of(hidden, 2 * hidden);
    label_ = linear_of(hidden, 2 * hidden);
    of_token_ = linear_of(hidden, inner);
    of_label_ = linear_of(hidden, inner, false);
    of_product_ = linear_of(hidden, inner, false);
    scores_ = linear_of(inner, 3);
    return;
  }
  if (config_.is_schema()) {
    schema_.take_weights(arena, kernels, config_.counting, hidden);
    classes_ = {linear_of(hidden, 2 * hidden), linear_of(2 * hidden, 1)};
  } else {
    prompt_ = {linear_of(hidden, inner), linear_of(inner, hidden)};
  }
  for (Mlp* mlp : {&start_, &end_}) *mlp = {linear_of(hidden, inner), linear_of(inner, hidden)};
  from_start_ = linear_of(hidden, inner);
  from_end_ = linear_of(hidden, inner, false);
  onto_labels_ = linear_of(hidden, inner, false);
  last_bias_ = arena.take<float>(hidden);
}

std::vector<WeightTarget> SpanHead::weight_targets() const {
  TargetList list;
  const std::int64_t hidden = config_.hidden, inner = 4 * hidden;
  const auto linear_targets = [&](const std::string& name, const LinearWeights& layer) { list.linear(name, layer, 0, layer.out); };
  // Matrices that read parts of what the checkpoint's matrix reads, side by side.
  const auto split = [&](const std::string& name, std::vector<const LinearWeights*> parts) {
    const auto width = hidden * static_cast<std::int64_t>(parts.size());
    float* bias = parts[0]->bias;
    list.matrix(name, inner, width, true, [parts = std::move(parts), hidden](std::int64_t i, const float* row) {
      for (std::size_t part = 0; part < parts.size(); ++part) {
        set_weight_row(*parts[part], i, row + hidden * static_cast<std::int64_t>(part));
      }
    });
    list.vector(name + ".bias", bias, inner);
  };
  if (projection_.out > 0) linear_targets("token_rep_layer.projection", projection_);
  if (labels_projection_.out > 0) linear_targets("token_rep_layer.labels_projection", labels_projection_);
  for (std::size_t i = 0; i < rnn_.size(); ++i) {
    list.lstm("rnn.lstm", "_l" + std::to_string(i / 2) + (i % 2 ? "_reverse" : ""), rnn_[i]);
  }
  if (config_.by_token) {
    linear_targets("scorer.proj_token", token_);
    linear_targets("scorer.proj_label", label_);
    split("scorer.out_mlp.0", {&of_token_, &of_label_, &of_product_});
    linear_targets("scorer.out_mlp.3", scores_);
    return std::move(list.targets);
  }
  const std::string spans = config_.is_schema() ? "span_rep.span_rep_layer." : "span_rep_layer.span_rep_layer.";
  const auto mlp_targets = [&](const std::string& name, const Mlp& mlp) {
    linear_targets(name + ".0", mlp.up);
    linear_targets(name + ".3", mlp.down);
  };
  if (config_.is_schema()) {
    schema_.add_targets(list);
    linear_targets("classifier.0", classes_.up);
    linear_targets("classifier.2", classes_.down);
  } else {
    mlp_targets("prompt_rep_layer", prompt_);
  }
  mlp_targets(spans + "project_start", start_);
  mlp_targets(spans + "project_end", end_);
  split(spans + "out_project.0", {&from_start_, &from_end_});
  list.transposed_linear(spans + "out_project.3", onto_labels_, 0, inner, false);
  list.vector(spans + "out_project.3.bias", last_bias_, hidden);
  return std::move(list.targets);
}

namespace {

// x = relu(x + y), [n].
void add_and_relu(const Kernels& kernels, const float* y, float* x, std::int64_t n) {
  kernels.axpy(1.0f, y, x, n);
  kernels.activate(Activation::kRelu, x, x, n);
}

Result<void> to_scores(const Kernels& kernels, const SpanHead::Request& request, std::vector<float>& logits) {
  if (!std::all_of(logits.begin(), logits.end(), [](float logit) { return std::isfinite(logit); })) {
    return model_format_error(request.what +
                              ": the model's result is not finite (check its weights for NaN, infinity and overflow)");
  }
  kernels.activate(Activation::kSigmoid, logits.data(), logits.data(), static_cast<std::int64_t>(logits.size()));
  return {};
}

Result<void> add(const SpanHead::Request& request, std::int64_t first, std::int64_t last, std::int64_t label, float score,
                 std::vector<ScoredSpan>& spans) {
  if (spans.size() == request.most) {
    return input_error("threshold: expected a value that at most " + std::to_string(request.most) +
                       " spans of a text exceed, found " + std::to_string(request.threshold));
  }
  spans.push_back({static_cast<std::int32_t>(first), static_cast<std::int32_t>(last), static_cast<std::int32_t>(label), score});
  return {};
}

}  // namespace

std::vector<float> SpanHead::run_mlp(const Compute& compute, const Mlp& mlp, const float* rows, std::int64_t count,
                                     Activation last) const {
  const std::vector<float> inner = run_linear(compute, mlp.up, rows, count, Activation::kRelu);
  return run_linear(compute, mlp.down, inner.data(), count, last);
}

std::vector<float> SpanHead::run_rnn(const Compute& compute, const float* rows, std::int64_t count) const {
  const std::int64_t half = config_.hidden / 2;
  std::vector<float> words(rows, rows + count * config_.hidden);
  std::vector<float> scratch(rnn_.empty() ? 0 : static_cast<std::size_t>(lstm_scratch(half, count)));
  std::vector<float> out(rnn_.empty() ? 0 : words.size());
  for (std::size_t i = 0; i < rnn_.size(); i += 2) {
    for (const std::size_t side : {0, 1}) {
      float* column = out.data() + static_cast<std::int64_t>(side) * half;
      lstm(compute, rnn_[i + side], words.data(), count, side == 1, scratch.data(), column, config_.hidden);
    }
    std::swap(words, out);
  }
  return words;
}

std::vector<float> SpanHead::project(const Compute& compute, const float* states, std::int64_t tokens) const {
  return projection_.out > 0 ? run_linear(compute, projection_, states, tokens) : std::vector<float>(states, states + tokens * in_);
}

std::vector<float> SpanHead::project_labels(const Compute& compute, const float* vectors, std::int64_t labels) const {
  if (labels_projection_.out > 0) return run_linear(compute, labels_projection_, vectors, labels);
  return {vectors, vectors + labels * config_.hidden};
}

// markerV0: a row of weights over what spans have, and its bias. token_level: a row to add, and the factor of each component.
std::vector<float> SpanHead::label_rows(const Compute& compute, const float* labels, std::int64_t count) const {
  const std::int64_t hidden = config_.hidden, inner = 4 * hidden;
  std::vector<float> out;
  out.reserve(static_cast<std::size_t>(count * label_width()));
  if (config_.by_token) {
    const std::vector<float> both = run_linear(compute, label_, labels, count);
    std::vector<float> first;
    for (std::int64_t i = 0; i < count; ++i)
      first.insert(first.end(), both.data() + 2 * i * hidden, both.data() + (2 * i + 1) * hidden);
    const std::vector<float> rows = run_linear(compute, of_label_, first.data(), count);
    for (std::int64_t i = 0; i < count; ++i) {
      out.insert(out.end(), rows.data() + i * inner, rows.data() + (i + 1) * inner);
      out.insert(out.end(), both.data() + (2 * i + 1) * hidden, both.data() + (2 * i + 2) * hidden);
    }
    return out;
  }
  std::vector<float> prompts(labels, labels + count * hidden);
  if (!config_.is_schema()) prompts = run_mlp(compute, prompt_, labels, count, Activation::kNone);
  const std::vector<float> rows = run_linear(compute, onto_labels_, prompts.data(), count);
  for (std::int64_t i = 0; i < count; ++i) {
    out.insert(out.end(), rows.data() + i * inner, rows.data() + (i + 1) * inner);
    out.push_back(compute.kernels.dot(prompts.data() + i * hidden, last_bias_, hidden));
  }
  return out;
}

std::vector<float> SpanHead::classify(const Compute& compute, const float* rows, std::int64_t count) const {
  return run_mlp(compute, classes_, rows, count, Activation::kNone);
}

Result<std::vector<float>> SpanHead::instances(const Compute& compute, const float* parent, const float* labels, std::int64_t count,
                                               std::int64_t most) const {
  const std::int64_t expected = std::min(schema_.instances(compute, parent), most);
  if (expected == 0) return std::vector<float>();
  return schema_.rows(compute, labels, count, expected);
}

Result<void> SpanHead::find(const Compute& compute, const Request& request, std::vector<ScoredSpan>& spans) const {
  const std::vector<float> words = run_rnn(compute, request.words, request.num_words);
  return config_.by_token ? find_by_token(compute, request, words, spans) : find_by_span(compute, request, words, spans);
}

Result<void> SpanHead::find_by_span(const Compute& compute, const Request& request, const std::vector<float>& words,
                                    std::vector<ScoredSpan>& spans) const {
  const std::int64_t inner = 4 * config_.hidden, num_labels = request.num_labels;
  const auto take = [&](Arena& arena) { return take_linear(arena, compute.kernels, WeightType::kF32, inner, num_labels, true); };
  Arena measure;
  take(measure);
  auto arena = Arena::with_zeros(measure.used(), "labels");
  if (!arena.ok()) return arena.error();
  const LinearWeights by_label = take(arena.value());
  for (std::int64_t label = 0; label < num_labels; ++label) {
    const float* row = request.labels + label * label_width();
    set_weight_row(by_label, label, row);
    by_label.bias[label] = row[inner];
  }
  const std::int64_t num_words = request.num_words;
  const auto half_layer = [&](const Mlp& mlp, const LinearWeights& layer) {
    const std::vector<float> ends = run_mlp(compute, mlp, words.data(), num_words, Activation::kRelu);
    return run_linear(compute, layer, ends.data(), num_words);
  };
  const std::vector<float> as_start = half_layer(start_, from_start_), as_end = half_layer(end_, from_end_);

  std::vector<float> block(static_cast<std::size_t>(std::max(kBlock, config_.max_width) * inner));
  std::vector<float> scores;
  const auto width_at = [&](std::int64_t word) { return word < request.alone ? 1 : std::min(config_.max_width, num_words - word); };
  for (std::int64_t begin = request.alone > 0 ? 0 : request.begin; begin < request.end;) {
    if (begin == request.alone) begin = request.begin;
    const std::int64_t last = begin < request.alone ? request.alone : request.end;
    std::int64_t end = begin, count = 0;
    for (; end < last && (count == 0 || count + width_at(end) <= kBlock); ++end) {
      for (std::int64_t width = 0; width < width_at(end); ++width, ++count) {
        float* row = std::copy_n(as_start.data() + end * inner, inner, block.data() + count * inner) - inner;
        add_and_relu(compute.kernels, as_end.data() + (end + width) * inner, row, inner);
      }
    }
    scores = run_linear(compute, by_label, block.data(), count);
    if (auto checked = to_scores(compute.kernels, request, scores); !checked.ok()) return checked;
    const float* score = scores.data();
    for (; begin < end; ++begin) {
      for (std::int64_t width = 0; width < width_at(begin); ++width) {
        for (std::int64_t label = 0; label < num_labels; ++label, ++score) {
          if (!(*score > request.threshold) && !(config_.is_schema() && *score == request.threshold)) continue;
          if (auto added = add(request, begin, begin + width, label, *score, spans); !added.ok()) return added;
        }
      }
    }
  }
  return {};
}

Result<void> SpanHead::find_by_token(const Compute& compute, const Request& request, const std::vector<float>& words,
                                     std::vector<ScoredSpan>& spans) const {
  const std::int64_t hidden = config_.hidden, inner = 4 * hidden, num_words = request.num_words, num_labels = request.num_labels;
  const std::vector<float> token = run_linear(compute, token_, words.data(), num_words);
  // The first or second half of each row.
  const auto half = [&](std::int64_t which) {
    std::vector<float> out;
    for (std::int64_t i = 0; i < num_words; ++i) {
      const float* row = token.data() + (2 * i + which) * hidden;
      out.insert(out.end(), row, row + hidden);
    }
    return out;
  };
  const std::vector<float> of_token = run_linear(compute, of_token_, half(0).data(), num_words);
  const std::vector<float> token_factor = half(1);
  std::vector<float> scores(static_cast<std::size_t>(num_labels * num_words * 3));  // [labels, words, 3]
  std::vector<float> product(static_cast<std::size_t>(std::min(kBlock, num_words) * hidden)), logits;
  for (std::int64_t c = 0; c < num_labels; ++c) {
    const float *of_label = request.labels + c * label_width(), *label_factor = of_label + inner;
    for (std::int64_t begin = 0; begin < num_words; begin += kBlock) {
      const std::int64_t count = std::min(kBlock, num_words - begin);
      for (std::int64_t i = 0; i < count * hidden; ++i) {
        product[i] = token_factor[begin * hidden + i] * label_factor[i % hidden];
      }
      std::vector<float> mixed = run_linear(compute, of_product_, product.data(), count);
      for (std::int64_t i = 0; i < count; ++i) {
        float* row = mixed.data() + i * inner;
        compute.kernels.axpy(1.0f, of_token.data() + (begin + i) * inner, row, inner);
        add_and_relu(compute.kernels, of_label, row, inner);
      }
      logits = run_linear(compute, scores_, mixed.data(), count);
      if (auto checked = to_scores(compute.kernels, request, logits); !checked.ok()) return checked;
      std::copy(logits.begin(), logits.end(), scores.begin() + (c * num_words + begin) * 3);
    }
  }
  const float threshold = request.threshold;
  for (std::int64_t first = request.begin; first < request.end; ++first) {
    for (std::int64_t c = 0; c < num_labels; ++c) {
      const float* of_words = scores.data() + c * num_words * 3;
      if (!(of_words[3 * first] > threshold)) continue;
      float least = of_words[3 * first];
      for (std::int64_t last = first; last < num_words && of_words[3 * last + 2] >= threshold; ++last) {
        least = std::min(least, of_words[3 * last + 2]);
        if (!(of_words[3 * last + 1] > threshold)) continue;
        if (auto added = add(request, first, last, c, std::min(least, of_words[3 * last + 1]), spans); !added.ok()) return added;
      }
    }
  }
  return {};
}

}  // namespace wattn
