#include "tasks/train.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "models/heads_backward.h"
#include "ops/pooling.h"
#include "ops/sentence_losses.h"
#include "tasks/head_logits.h"

namespace wattn {
namespace {

constexpr float kLeastLength = 1e-12f;  // torch.nn.functional.normalize's
constexpr const char* kPeftPrefix = "base_model.model.";
constexpr PoolingMode kMean[] = {PoolingMode::kMean};

bool ends_with_module(const std::string& name, const std::string& module) {
  if (name == module) return true;
  return name.size() > module.size() && name.ends_with(module) && name[name.size() - module.size() - 1] == '.';
}

std::string last_part(const std::string& name) { return name.substr(name.rfind('.') + 1); }

// Columns of texts that a loss compares; 0: any number from 2 on.
std::int64_t columns_of(TrainLoss loss) {
  switch (loss) {
    case TrainLoss::kMultipleNegativesRanking:
      return 0;
    case TrainLoss::kCosent:
    case TrainLoss::kCosineSimilarity:
    case TrainLoss::kContrastive:
      return 2;
    case TrainLoss::kTriplet:
      return 3;
    case TrainLoss::kBatchAllTriplet:
    case TrainLoss::kSupCon:
      return 1;
    default:
      return 0;
  }
}

bool compares_scores(TrainLoss loss) { return columns_of(loss) == 2; }
bool compares_labels(TrainLoss loss) { return columns_of(loss) == 1; }

std::size_t size_of(std::int64_t size) { return static_cast<std::size_t>(size); }

std::int64_t longest(const Batch& batch) {
  std::int64_t most = 0;
  for (std::int64_t i = 0; i < batch.batch(); ++i) most = std::max(most, batch.length(i));
  return most;
}

Error not_finite(const char* what) {
  return {ErrorCode::kInput, std::string("training: expected a finite ") + what +
                                 ", found NaN or infinity (a lower learning_rate may help); the weights are as before this step"};
}

}  // namespace

Result<std::unique_ptr<Trainer>> Trainer::begin(Model& model, const TrainOptions& options) {
  std::unique_ptr<Trainer> out(new Trainer(model, options));
  if (auto prepared = out->prepare(); !prepared.ok()) return prepared.error();
  return out;
}

Result<void> Trainer::prepare() {
  const Transformer& transformer = model_.transformer();
  if (transformer.weight_type() != WeightType::kF32) return input_error("training: expected a model loaded with dtype 'f32'");
  if (model_.decoder()) return unsupported_error("training: an encoder-decoder cannot be trained yet");
  if (transformer.config().experts.count > 0) return unsupported_error("training: a model with experts cannot be trained yet");
  if (transformer.config().attn_logit_softcapping != 0 || transformer.config().final_logit_softcapping != 0) {
    return unsupported_error(
        "training: a model with soft caps (attn_logit_softcapping, final_logit_softcapping) cannot be trained yet");
  }
  if (!model_.sentence().dense.empty()) {
    return unsupported_error("training: a sentence-transformers model with Dense modules cannot be trained yet");
  }
  if (options_.method == TrainMethod::kLora) {
    if (auto prepared = prepare_lora(); !prepared.ok()) return prepared;
  }
  auto gradients = Transformer::with_config(gradient_config(), 1, transformer.kernels(), WeightType::kF32);
  if (!gradients.ok()) return gradients.error();
  gradients_ = std::make_unique<Transformer>(std::move(gradients).value());
  const std::int64_t layers = transformer.config().num_hidden_layers;
  switch (options_.method) {
    case TrainMethod::kLora:
      break;
    case TrainMethod::kFull:
      prepare_layers(0);
      break;
    case TrainMethod::kLastLayers:
      if (options_.last_layers < 1 || options_.last_layers > layers) {
        return input_error("last_layers: expected a number from 1 to " + std::to_string(layers) + ", found " +
                           std::to_string(options_.last_layers));
      }
      if (transformer.config().share_layers && options_.last_layers < layers) {
        return unsupported_error("last_layers: this model's layers share their weights; train all of them");
      }
      prepare_layers(layers - options_.last_layers);
      break;
    case TrainMethod::kHead:
      if (!uses_head()) return input_error("method: expected a loss over a head's logits with method 'head'");
      break;
  }
  if (auto prepared = prepare_head(); !prepared.ok()) return prepared;
  if (options_.dropout) {
    const auto config = Json::parse(options_.config, "config.json");
    if (!config.ok()) return config.error();
    dropout_ = read_dropout_rates(config.value().root());
  }
  for (const Parameter& parameter : parameters_) {
    moments_.push_back({std::vector<float>(parameter.value.size()), std::vector<float>(parameter.value.size())});
  }
  return {};
}

Result<void> Trainer::prepare_head() {
  if (!uses_head()) return {};
  if (model_.has_lm_head()) {
    options_.head = HeadKind::kCausalLm;
    if (options_.method == TrainMethod::kHead)
      return unsupported_error("method: 'head' cannot train the head of a language model yet");
    return {};
  }
  const Arch& arch = model_.arch();
  const Transformer& transformer = model_.transformer();
  const auto is_pooler = [&](const HeadLayers& layers) {
    return layers.dense && arch.names.pooler && std::string_view(layers.dense) == arch.names.pooler;
  };
  if (!model_.head()) {
    const auto config = Json::parse(options_.config, "config.json");
    if (!config.ok()) return config.error();
    const auto layers = Head::find_layers(options_.head, arch.heads, config.value().root());
    if (!layers.ok()) return layers.error();
    const auto labels = Head::num_labels(config.value().root());
    if (!labels.ok()) return labels.error();
    const TransformerConfig& stack = transformer.config();
    auto head =
        Head::with_layers(layers.value(), {stack.hidden_size, stack.hidden_size, labels.value(), stack.norm_eps}, model_.kernels());
    if (!head.ok()) return head.error();
    init_head(head.value(), options_.seed);
    if (is_pooler(layers.value()) && transformer.has_pooler()) {
      const Linear &from = transformer.pooler_layer(), &to = head.value().dense();
      std::copy_n(weights_f32(from).data(), weights_f32(from).size(), weights_f32(to).data());
      std::copy_n(from.bias, from.out, to.bias);
    }
    model_.set_head(std::move(head).value(), options_.head);
  }
  options_.head = model_.head_kind();
  const Head& head = *model_.head();
  if (head.layers().tied) return unsupported_error("training: a head that is tied to the word embeddings cannot be trained yet");
  auto gradients = Head::with_layers(head.layers(), head.shape(), model_.kernels());
  if (!gradients.ok()) return gradients.error();
  head_gradients_ = std::move(gradients).value();
  const auto add = [&](std::span<float> value, std::span<float> gradient, bool decays) {
    parameters_.push_back({value, gradient, decays});
  };
  const auto add_linear = [&](const Linear& value, const Linear& gradient) {
    add(weights_f32(value), weights_f32(gradient), true);
    if (value.bias) add({value.bias, size_of(value.out)}, {gradient.bias, size_of(value.out)}, false);
  };
  // With LoRA the pooler stays as it is: PEFT does not save it.
  if (head.layers().dense && !(options_.method == TrainMethod::kLora && is_pooler(head.layers()))) {
    add_linear(head.dense(), head_gradients_->dense());
  }
  if (head.layers().dense && head.layers().norm) {
    const auto width = size_of(head.width());
    add({head.norm().gamma, width}, {head_gradients_->norm().gamma, width}, false);
    if (head.layers().norm_bias) add({head.norm().beta, width}, {head_gradients_->norm().beta, width}, false);
  }
  add_linear(head.output(), head_gradients_->output());
  return {};
}

// Only layers get gradients.
TransformerConfig Trainer::gradient_config() const {
  TransformerConfig config = model_.transformer().config();
  config.vocab_size = 1;
  config.max_position_embeddings = 1;
  config.type_vocab_size = std::min<std::int64_t>(config.type_vocab_size, 1);
  config.pooler = false;
  config.lm_head = false;
  if (scope().only_qkv) config.intermediate_size = 1;
  return config;
}

std::vector<Trainer::LoraTarget> Trainer::lora_targets() const {
  const TransformerConfig& config = model_.transformer().config();
  const TransformerNames& names = model_.arch().names;
  const std::int64_t queries = config.query_width(), keys = config.kv_width(), ffn = config.intermediate_size;
  using Layer = TransformerLayer;
  struct Role {
    const char* name;
    Linear Layer::* linear;
    std::int64_t first, out;
  };
  const char* up = !config.gated() && names.plain_up ? names.plain_up : names.up;
  const Role roles[] = {
      {names.query, &Layer::qkv, 0, queries},
      {names.key, &Layer::qkv, queries, keys},
      {names.value, &Layer::qkv, queries + keys, keys},
      {names.query_key_value, &Layer::qkv, 0, config.qkv_width()},
      {names.attention_output, &Layer::attention_output, 0, config.hidden_size},
      {config.gated() ? names.gate : nullptr, &Layer::up, 0, ffn},
      {up, &Layer::up, config.gated() ? ffn : 0, ffn},
      {config.gated() ? names.gate_up : nullptr, &Layer::up, 0, 2 * ffn},
      {names.down, &Layer::down, 0, config.hidden_size},
  };
  std::vector<LoraTarget> out;
  const auto layers = static_cast<std::size_t>(config.share_layers ? 1 : config.num_hidden_layers);
  for (std::size_t layer = 0; layer < layers; ++layer) {
    for (const Role& role : roles) {
      if (!role.name || (role.name == names.up && role.name != up)) continue;
      const auto index = static_cast<std::int64_t>(layer);
      out.push_back({layer_name(role.name, layer),
                     index,
                     {model_.transformer().layer_at(index).*role.linear, role.first, role.out},
                     role.linear,
                     role.first});
    }
  }
  return out;
}

Result<void> Trainer::prepare_lora() {
  std::vector<std::string>& wanted = options_.target_modules;
  const TransformerNames& names = model_.arch().names;
  if (options_.lora.r < 1) return input_error("r: expected a number from 1 on, found " + std::to_string(options_.lora.r));
  if (wanted.empty() && names.query) {
    wanted = {last_part(names.query), last_part(names.value)};
  } else if (wanted.empty()) {
    wanted = {last_part(names.query_key_value)};
  }
  std::vector<LoraTarget> all = lora_targets();
  const bool every = wanted.size() == 1 && wanted.front() == "all-linear";
  const auto is_unknown = [&](const std::string& module) {
    return std::none_of(all.begin(), all.end(), [&](const auto& one) { return ends_with_module(one.module, module); });
  };
  const auto unknown = every ? wanted.end() : std::find_if(wanted.begin(), wanted.end(), is_unknown);
  if (unknown != wanted.end()) {
    std::string known;
    for (const LoraTarget& one : all) {
      if (one.layer == 0) known += (known.empty() ? "'" : ", '") + last_part(one.module) + "'";
    }
    return input_error("target_modules: expected some of " + known + ", found '" + *unknown + "'");
  }
  Generator generator(options_.seed);
  for (LoraTarget& one : all) {
    const auto is_it = [&](const std::string& module) { return ends_with_module(one.module, module); };
    if (!every && std::none_of(wanted.begin(), wanted.end(), is_it)) continue;
    lora_.emplace_back(one.rows, options_.lora, generator);
    targets_.push_back(std::move(one));
  }
  for (LoraMatrix& matrix : lora_) {
    for (const std::size_t size : {matrix.a().size(), matrix.b().size()}) lora_gradients_.emplace_back(size);
  }
  for (std::size_t i = 0; i < lora_.size(); ++i) {
    parameters_.push_back({lora_[i].a(), lora_gradients_[2 * i]});
    parameters_.push_back({lora_[i].b(), lora_gradients_[2 * i + 1]});
  }
  return {};
}

void Trainer::prepare_layers(std::int64_t first_layer) {
  const Transformer& transformer = model_.transformer();
  const TransformerConfig& config = transformer.config();
  const auto add_matrix = [&](const Linear& value, const Linear& gradient) {
    if (value.out == 0) return;
    parameters_.push_back({weights_f32(value), weights_f32(gradient)});
    const auto out = static_cast<std::size_t>(value.out);
    if (value.bias) parameters_.push_back({{value.bias, out}, {gradient.bias, out}, false});
  };
  const auto add_norm = [&](const LayerNorm& value, const LayerNorm& gradient) {
    const auto hidden = static_cast<std::size_t>(value.hidden);
    if (hidden == 0) return;
    parameters_.push_back({{value.gamma, hidden}, {gradient.gamma, hidden}, false});
    if (config.norm == NormKind::kLayer && config.biases.norms) {
      parameters_.push_back({{value.beta, hidden}, {gradient.beta, hidden}, false});
    }
  };
  for (std::int64_t i = first_layer; i < (config.share_layers ? 1 : config.num_hidden_layers); ++i) {
    const TransformerLayer &value = transformer.layer_at(i), &gradient = gradients_->layer_at(i);
    using Layer = TransformerLayer;
    for (const auto matrix : {&Layer::qkv, &Layer::attention_output, &Layer::up, &Layer::down}) {
      add_matrix(value.*matrix, gradient.*matrix);
    }
    for (const auto norm : {&Layer::query_norm, &Layer::key_norm}) {
      const auto size = static_cast<std::size_t>((value.*norm).hidden);
      if (size > 0) parameters_.push_back({{(value.*norm).gamma, size}, {(gradient.*norm).gamma, size}, false});
    }
    if (config.norm_placement == NormPlacement::kPost || i > 0 || config.first_attention_norm) {
      add_norm(value.attention_norm, gradient.attention_norm);
    }
    add_norm(value.ffn_norm, gradient.ffn_norm);
  }
  add_norm(transformer.last_norm(), gradients_->last_norm());
}

BackwardScope Trainer::scope() const {
  BackwardScope scope{.embeddings = false};
  if (options_.method == TrainMethod::kLastLayers) {
    scope.first_layer = model_.transformer().config().num_hidden_layers - options_.last_layers;
  }
  const auto is_qkv = [](const LoraTarget& target) { return target.linear == &TransformerLayer::qkv; };
  scope.only_qkv = options_.method == TrainMethod::kHead ||
                   (options_.method == TrainMethod::kLora && std::all_of(targets_.begin(), targets_.end(), is_qkv));
  return scope;
}

TapeOptions Trainer::tape_options() const {
  return {.kept_layers = options_.checkpointing ? 0 : model_.transformer().config().num_hidden_layers - scope().first_layer,
          .dropout = dropout_,
          .seed = options_.seed,
          .step = dropout_step()};
}

TrainPlan Trainer::plan(std::int64_t tokens, std::int64_t max_seq) const {
  const Transformer& transformer = model_.transformer();
  TrainPlan out{.weights = transformer.weight_bytes(), .gradients = gradients_->weight_bytes()};
  for (const Parameter& parameter : parameters_) {
    out.trainable += static_cast<std::int64_t>(parameter.value.size());
    out.optimizer += 2 * parameter.value.size_bytes();
    if (options_.method == TrainMethod::kLora) out.gradients += parameter.gradient.size_bytes();
  }
  for (const LoraTarget& one : targets_)
    out.weights += static_cast<std::uint64_t>(one.rows.out * one.rows.layer.in) * sizeof(float);
  out.all = static_cast<std::int64_t>(transformer.weight_bytes() / sizeof(float));
  if (head_gradients_) out.gradients += head_gradients_->weight_bytes();
  out.activations = activation_bytes(tokens, max_seq);
  return out;
}

std::uint64_t Trainer::activation_bytes(std::int64_t tokens, std::int64_t max_seq) const {
  const TransformerConfig& config = model_.transformer().config();
  Arena measure;
  measure.take<float>(tape_size(config, tokens, tape_options()));
  measure.take<float>(2 * tokens * config.hidden_size);
  return measure.used() + backward_bytes(model_.transformer(), tokens, max_seq, model_.team().most_threads());
}

void Trainer::clear_gradients() {
  const std::span<float> all = gradients_->weights_f32();
  std::fill(all.begin(), all.end(), 0.0f);
  if (head_gradients_) std::ranges::fill(head_gradients_->weights_f32(), 0.0f);
  accumulated_ = 0;
  loss_ = 0;
  tokens_ = 0;
}

// The tokens of text i; of losses over logits with its second text, if there are any.
Result<Encoding> Trainer::encode_text(const TrainRows& rows, std::size_t i) const {
  EncodeOptions options;
  const std::int64_t limit = model_.transformer().positions();
  options.max_length =
      static_cast<std::int32_t>(std::min(limit, options_.max_length > 0 ? options_.max_length : model_.max_length()));
  options.add_special_tokens = !rows.is_rendered;
  const Tokenizer& tokenizer = model_.tokenizer();
  auto found =
      rows.pairs.empty() ? tokenizer.encode(rows.texts[i], options) : tokenizer.encode_pair(rows.texts[i], rows.pairs[i], options);
  if (!found.ok()) return found;
  Encoding& encoding = found.value();
  if (encoding.size() == 0) return input_error("training: expected a text with tokens, found one without any");
  // A language model learns where a text ends.
  const std::int32_t eos = model_.special_ids().eos;
  if (is_lm() && !rows.is_rendered && eos >= 0 && encoding.ids.back() != eos && std::ssize(encoding.ids) < *options.max_length) {
    encoding.ids.push_back(eos);
    encoding.type_ids.push_back(0);
    encoding.offsets.emplace_back();
    encoding.special_tokens_mask.push_back(1);
  }
  return found;
}

Result<void> Trainer::encode(const TrainRows& rows, Batch& batch) const {
  const std::int64_t columns = columns_of(options_.loss);
  const std::int64_t texts = std::ssize(rows.texts),
                     numbers = compares_labels(options_.loss) ? std::ssize(rows.labels) : std::ssize(rows.scores);
  if (texts == 0) return input_error("training: expected texts, found none");
  const bool compares = compares_labels(options_.loss) || compares_scores(options_.loss);
  if ((columns > 0 && texts % columns != 0) || (compares && texts != columns * numbers)) {
    return input_error("training: expected " + std::to_string(columns) + " texts a row, found " + std::to_string(texts) +
                       " texts for " + std::to_string(numbers) + " labels or scores");
  }
  for (std::size_t i = 0; i < rows.texts.size(); ++i) {
    const auto encoding = encode_text(rows, i);
    if (!encoding.ok()) return encoding.error();
    model_.add_text(encoding.value(), batch);
  }
  return model_.transformer().check(batch);
}

Result<double> Trainer::loss_of(const TrainRows& rows, const std::vector<float>& vectors, std::vector<float>& d_vectors) const {
  const auto count = static_cast<std::int64_t>(rows.texts.size());
  const LossInput x{vectors.data(), count, static_cast<std::int64_t>(vectors.size()) / count};
  float* dx = d_vectors.data();
  switch (options_.loss) {
    case TrainLoss::kMultipleNegativesRanking: {
      const auto columns = static_cast<std::int64_t>(rows.scores.empty() ? 2 : rows.scores.front());
      return multiple_negatives_ranking_loss(x, count / columns, options_.loss_scale, dx);
    }
    case TrainLoss::kCosent:
      return cosent_loss(x, rows.scores, options_.loss_scale, dx);
    case TrainLoss::kCosineSimilarity:
      return cosine_similarity_loss(x, rows.scores, dx);
    case TrainLoss::kContrastive:
      return contrastive_loss(x, rows.scores, options_.margin, dx);
    case TrainLoss::kTriplet: {
      const std::int64_t n = count / 3, at = n * x.cols;
      return triplet_margin_loss({x.data, n, x.cols}, x.data + at, x.data + 2 * at, {.margin = static_cast<float>(options_.margin)},
                                 {dx, dx + at, dx + 2 * at});
    }
    case TrainLoss::kBatchAllTriplet:
      return batch_all_triplet_loss(x, rows.labels, options_.margin, dx);
    case TrainLoss::kSupCon:
      return sup_con_loss(x, rows.labels, options_.temperature, dx);
    default:
      return 0.0;
  }
}

Result<double> Trainer::sentence_loss(const TrainRows& rows, const Batch& batch, const float* states, float share,
                                      float* d_states) const {
  const SentenceConfig& sentence = model_.sentence();
  const std::span<const PoolingMode> pooling = sentence.pooling.empty() ? std::span<const PoolingMode>(kMean) : sentence.pooling;
  const Kernels& kernels = model_.kernels();
  const std::int64_t hidden = model_.transformer().config().hidden_size, count = batch.batch();
  const std::int64_t width = hidden * static_cast<std::int64_t>(pooling.size());
  const auto start = [&](std::int64_t i) { return batch.seq_start[size_of(i)] * hidden; };
  std::vector<float> vectors(size_of(count * width)), d_vectors(vectors.size()), lengths(size_of(count), 1.0f);
  for (std::int64_t i = 0; i < count; ++i) {
    float* vector = vectors.data() + i * width;
    pool(kernels, pooling, states + start(i), batch.length(i), hidden, 0, vector);
    if (!sentence.normalize) continue;
    const float length = std::max(std::sqrt(kernels.dot(vector, vector, width)), kLeastLength);
    for (std::int64_t k = 0; k < width; ++k) vector[k] /= length;
    lengths[size_of(i)] = length;
  }
  const auto loss = loss_of(rows, vectors, d_vectors);
  if (!loss.ok()) return loss;
  for (std::int64_t i = 0; i < count; ++i) {
    const float* vector = vectors.data() + i * width;
    float* d = d_vectors.data() + i * width;
    const float along = sentence.normalize ? kernels.dot(vector, d, width) : 0.0f;
    for (std::int64_t k = 0; k < width; ++k) d[k] = share * (d[k] - along * vector[k]) / lengths[size_of(i)];
    pool_backward(kernels, pooling, states + start(i), batch.length(i), hidden, 0, d, d_states + start(i));
  }
  return loss;
}

// The label of each token, kIgnored of those that are not learned.
Result<std::vector<std::int32_t>> Trainer::token_labels(const TrainRows& rows, const Batch& batch) const {
  constexpr std::int32_t kIgnored = CrossEntropy{}.ignore_index;
  std::vector<std::int32_t> out;
  std::size_t at = 0;
  for (std::size_t i = 0; i < rows.texts.size(); ++i) {
    const std::size_t words = at < rows.labels.size() ? static_cast<std::size_t>(rows.labels[at++]) : 0;
    if (at + 3 * words > rows.labels.size()) return input_error("training: expected begin, end and label of each word");
    const auto encoding = encode_text(rows, i);
    if (!encoding.ok()) return encoding.error();
    std::size_t word = 0;
    for (std::size_t t = 0; t < encoding.value().size(); ++t) {
      const auto [begin, end] = encoding.value().offsets[t];
      const bool special = encoding.value().special_tokens_mask[t] != 0;
      while (!special && word < words && rows.labels[at + 3 * word + 1] <= begin) ++word;
      const bool starts = !special && end > begin && word < words && end > rows.labels[at + 3 * word];
      out.push_back(starts ? rows.labels[at + 3 * word + 2] : kIgnored);
      if (starts) ++word;
    }
    at += 3 * words;
  }
  if (std::ssize(out) != batch.tokens()) return input_error("training: expected as many labels as tokens");
  return out;
}

Result<double> Trainer::head_loss(const TrainRows& rows, const Batch& batch, const float* states, float share, float* d_states) {
  const Head& head = *model_.head();
  const Kernels& kernels = model_.kernels();
  const std::int64_t hidden = model_.transformer().config().hidden_size, labels = head.labels();
  const HeadReading reading = head_reading(model_);
  const bool is_sequence = options_.head == HeadKind::kSequence, averages = is_sequence && reading.input == HeadInput::kEach;
  std::vector<float> read, logits;
  std::vector<std::int32_t> counts;
  head_rows(kernels, reading, batch, states, hidden, read, counts);
  const std::int64_t count = std::ssize(read) / hidden;
  const Embedding& words = model_.transformer().word_embeddings();
  const HeadDropout dropout = head_dropout(head, dropout_.head, options_.seed, dropout_step());
  logits.resize(size_of(count * labels));
  auto headed = training_run({kernels, model_.team()}, head, words, read.data(), count, dropout, logits.data());
  if (!headed.ok()) return headed.error();
  if (averages) average_logits(kernels, 0, labels, counts, logits);
  const LossInput x{logits.data(), std::ssize(logits) / labels, labels};
  std::vector<float> d_logits(logits.size());
  double loss = 0;
  if (options_.loss == TrainLoss::kCrossEntropy) {
    auto targets = is_sequence ? Result<std::vector<std::int32_t>>(rows.labels) : token_labels(rows, batch);
    if (!targets.ok()) return targets.error();
    const auto wrong = [&](std::int32_t label) { return label != CrossEntropy{}.ignore_index && (label < 0 || label >= labels); };
    const auto& all = targets.value();
    const auto found = std::find_if(all.begin(), all.end(), wrong);
    if (std::ssize(all) != x.rows || found != all.end()) {
      return input_error("training: expected " + std::to_string(x.rows) + " labels from 0 to " + std::to_string(labels - 1) +
                         ", found " + (found == all.end() ? std::to_string(all.size()) + " labels" : std::to_string(*found)));
    }
    if (std::all_of(all.begin(), all.end(), [](std::int32_t label) { return label == CrossEntropy{}.ignore_index; })) {
      return input_error("training: expected a token with a label, found none");
    }
    loss = cross_entropy(x, all, {}, d_logits.data());
  } else {
    if (rows.scores.size() != logits.size()) {
      return input_error("training: expected " + std::to_string(logits.size()) + " scores, found " +
                         std::to_string(rows.scores.size()));
    }
    loss = options_.loss == TrainLoss::kBinaryCrossEntropy
               ? binary_cross_entropy_with_logits(x, rows.scores.data(), {}, d_logits.data())
               : mse_loss(x, rows.scores.data(), Reduction::kMean, d_logits.data());
  }
  for (float& d : d_logits) d *= share;
  if (averages) {
    std::vector<std::int32_t> each;
    each.reserve(size_of(batch.batch()));
    for (std::int64_t i = 0; i < batch.batch(); ++i) each.push_back(static_cast<std::int32_t>(batch.length(i)));
    std::vector<float> d_rows(size_of(count * labels));
    average_logits_backward(kernels, each, labels, d_logits.data(), d_rows.data());
    d_logits = std::move(d_rows);
  }
  std::vector<float> d_read(read.size());
  auto arena = Arena::with_bytes(head_backward_bytes(head, words, count, model_.team().most_threads()), "training");
  if (!arena.ok()) return arena.error();
  const bool goes_on = options_.method != TrainMethod::kHead;
  head_backward({kernels, model_.team()}, head, words,
                {.rows = read.data(),
                 .count = count,
                 .d_logits = d_logits.data(),
                 .d_rows = goes_on ? d_read.data() : nullptr,
                 .gradients = &*head_gradients_,
                 .dropout = dropout},
                arena.value());
  if (goes_on) head_rows_backward(kernels, reading, batch, d_read.data(), hidden, d_states);
  return loss;
}

Result<Trainer::LossSum> Trainer::lm_loss(const TrainRows& rows, const Batch& batch, const float* states, float share,
                                          float* d_states) const {
  constexpr std::int64_t kRows = 64;  // logits of so many tokens at a time
  struct Token {
    std::int64_t row;
    std::int32_t next;
  };
  const Transformer& transformer = model_.transformer();
  const std::int64_t hidden = transformer.config().hidden_size, vocab = transformer.config().vocab_size;
  std::vector<Token> tokens;
  std::size_t at = 0;
  for (std::size_t i = 0; i < rows.texts.size(); ++i) {
    const std::size_t parts = at < rows.labels.size() ? size_of(rows.labels[at++]) : 0;
    if (at + 3 * parts > rows.labels.size()) return input_error("training: expected begin, end and label of each part");
    const auto encoding = encode_text(rows, i);
    if (!encoding.ok()) return encoding.error();
    for (std::size_t t = 1; t < encoding.value().size(); ++t) {
      const std::int32_t begin = encoding.value().offsets[t].begin;
      bool learned = parts == 0;
      for (std::size_t part = 0; part < parts; ++part) {
        learned = learned || (begin >= rows.labels[at + 3 * part] && begin < rows.labels[at + 3 * part + 1]);
      }
      const auto row = batch.seq_start[i] + static_cast<std::int64_t>(t) - 1;
      if (learned) tokens.push_back({row, encoding.value().ids[t]});
    }
    at += 3 * parts;
  }
  if (tokens.empty()) return input_error("training: expected a text with a token to learn, found none (is max_length too short?)");
  const std::uint64_t bytes =
      transformer.lm_head_bytes(kRows) + lm_head_backward_bytes(transformer, kRows, model_.team().most_threads());
  auto arena = Arena::with_bytes(bytes, "training");
  if (!arena.ok()) return arena.error();
  std::vector<float> read(size_of(kRows * hidden)), d_read(read.size()), logits(size_of(kRows * vocab)), d_logits(logits.size());
  LossSum loss{.tokens = std::ssize(tokens)};
  const float factor = share / static_cast<float>(loss.tokens);
  for (std::int64_t first = 0; first < loss.tokens; first += kRows) {
    const auto chunk = std::span(tokens).subspan(size_of(first)).first(size_of(std::min(kRows, loss.tokens - first)));
    const std::int64_t count = std::ssize(chunk);
    std::vector<std::int32_t> targets;
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      std::copy_n(states + chunk[i].row * hidden, hidden, read.data() + static_cast<std::int64_t>(i) * hidden);
      targets.push_back(chunk[i].next);
    }
    arena.value().reset();
    transformer.lm_head(model_.team(), read.data(), count, arena.value(), logits.data());
    loss.sum +=
        cross_entropy({logits.data(), count, vocab}, targets, {.reduction = Reduction::kSum}, d_states ? d_logits.data() : nullptr);
    if (!d_states) continue;
    for (std::int64_t k = 0; k < count * vocab; ++k) d_logits[size_of(k)] *= factor;
    arena.value().reset();
    lm_head_backward(transformer, model_.team(),
                     {.hidden = read.data(), .rows = count, .d_logits = d_logits.data(), .d_hidden = d_read.data()}, arena.value());
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      model_.kernels().axpy(1.0f, d_read.data() + static_cast<std::int64_t>(i) * hidden, d_states + chunk[i].row * hidden, hidden);
    }
  }
  return loss;
}

Result<Trainer::Forward> Trainer::forward(const TrainRows& rows, const TapeOptions& options) {
  Forward out{};
  if (auto encoded = encode(rows, out.batch); !encoded.ok()) return encoded.error();
  const Transformer& transformer = model_.transformer();
  const TransformerConfig& config = transformer.config();
  const std::int64_t tokens = out.batch.tokens();
  const std::uint64_t needed = activation_bytes(tokens, longest(out.batch));
  if (arena_.bytes() < needed) {
    arena_ = Arena();
    auto arena = Arena::with_bytes(needed, "training");
    if (!arena.ok()) return arena.error();
    arena_ = std::move(arena).value();
  }
  arena_.reset();
  out.tape = arena_.take<float>(tape_size(config, tokens, options));
  out.states = arena_.take<float>(tokens * config.hidden_size);
  out.d_states = arena_.take<float>(tokens * config.hidden_size);
  const std::uint64_t mark = arena_.used();
  training_forward(transformer, model_.team(), out.batch, out.tape, out.states, arena_, options);
  arena_.rewind(mark);
  return out;
}

Result<Trainer::LossSum> Trainer::evaluate(const TrainRows& rows) {
  if (!is_lm()) return input_error("training: expected a language model");
  TapeOptions options = tape_options();
  options.dropout = {};
  const auto ran = forward(rows, options);
  if (!ran.ok()) return ran.error();
  return lm_loss(rows, ran.value().batch, ran.value().states, 1, nullptr);
}

Result<double> Trainer::accumulate(const TrainRows& rows, std::int64_t parts) {
  if (accumulated_ == 0) clear_gradients();
  const auto drop = [&](const Error& error) {
    clear_gradients();
    return error;
  };
  const auto ran = forward(rows, tape_options());
  if (!ran.ok()) return drop(ran.error());
  const auto& [batch, tape, states, d_states] = ran.value();
  const Transformer& transformer = model_.transformer();
  std::fill_n(d_states, batch.tokens() * transformer.config().hidden_size, 0.0f);
  const float share = 1.0f / static_cast<float>(parts);
  Result<double> loss = 0.0;
  if (is_lm()) {
    const auto sum = lm_loss(rows, batch, states, share, d_states);
    loss = sum.ok() ? Result<double>(sum.value().sum / static_cast<double>(sum.value().tokens)) : Result<double>(sum.error());
  } else {
    loss = uses_head() ? head_loss(rows, batch, states, share, d_states) : sentence_loss(rows, batch, states, share, d_states);
  }
  if (!loss.ok()) return drop(loss.error());
  if (!std::isfinite(loss.value())) return drop(not_finite("loss"));
  if (options_.method != TrainMethod::kHead) {
    backward(transformer, model_.team(), batch, tape, d_states, arena_, *gradients_, scope(), tape_options());
  }
  ++accumulated_;
  loss_ += loss.value() / static_cast<double>(parts);
  tokens_ += batch.tokens();
  return loss.value();
}

Result<TrainReport> Trainer::update() {
  if (accumulated_ == 0) return input_error("training: expected accumulate() before update()");
  for (std::size_t i = 0; i < lora_.size(); ++i) {
    for (const std::size_t part : {2 * i, 2 * i + 1}) std::fill(lora_gradients_[part].begin(), lora_gradients_[part].end(), 0.0f);
    lora_[i].add_gradients(gradients_->layer_at(targets_[i].layer).*targets_[i].linear, lora_gradients_[2 * i],
                           lora_gradients_[2 * i + 1]);
  }
  std::vector<std::span<float>> all;
  all.reserve(parameters_.size());
  for (const Parameter& parameter : parameters_) all.push_back(parameter.gradient);
  TrainReport report{.step = step_ + 1, .loss = loss_, .tokens = tokens_};
  report.grad_norm = clip_grad_norm(all, options_.max_grad_norm > 0 ? options_.max_grad_norm : HUGE_VAL);
  accumulated_ = 0;
  if (!std::isfinite(report.grad_norm)) return not_finite("gradient");
  Adam adam = options_.adam;
  adam.lr = static_cast<float>(options_.adam.lr *
                               schedule_factor(options_.schedule, step_, options_.warmup_steps, options_.training_steps));
  adam.decoupled = true;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    adam.weight_decay = parameters_[i].decays ? options_.adam.weight_decay : 0;
    adam_step(adam, report.step, parameters_[i].value, parameters_[i].gradient.data(), moments_[i].first.data(),
              moments_[i].second.data());
  }
  for (const LoraMatrix& matrix : lora_) matrix.merge();
  step_ = report.step;
  report.learning_rate = adam.lr;
  return report;
}

std::vector<float> Trainer::state() const {
  std::vector<float> out;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    out.insert(out.end(), parameters_[i].value.begin(), parameters_[i].value.end());
    for (const auto* moment : {&moments_[i].first, &moments_[i].second}) out.insert(out.end(), moment->begin(), moment->end());
  }
  return out;
}

Result<void> Trainer::set_state(std::span<const float> state, std::int64_t step) {
  std::size_t size = 0;
  for (const Parameter& parameter : parameters_) size += 3 * parameter.value.size();
  if (state.size() != size) {
    return input_error("training: expected a state of " + std::to_string(size) + " numbers, found " + std::to_string(state.size()));
  }
  const float* from = state.data();
  const auto take = [&](std::span<float> into) {
    std::copy_n(from, into.size(), into.begin());
    from += into.size();
  };
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    take(parameters_[i].value);
    take(moments_[i].first);
    take(moments_[i].second);
  }
  for (const LoraMatrix& matrix : lora_) matrix.merge();
  step_ = step;
  accumulated_ = 0;
  return {};
}

std::vector<NamedTensor> Trainer::adapter() {
  std::vector<NamedTensor> out;
  for (std::size_t i = 0; i < lora_.size(); ++i) {
    const std::string name = kPeftPrefix + module_prefix() + targets_[i].module;
    const auto copy = [](std::span<float> values) { return std::vector<float>(values.begin(), values.end()); };
    const WeightRows& rows = targets_[i].rows;
    out.push_back({name + ".lora_A.weight", {lora_[i].r(), rows.layer.in}, copy(lora_[i].a())});
    out.push_back({name + ".lora_B.weight", {rows.out, lora_[i].r()}, copy(lora_[i].b())});
  }
  if (!model_.head()) return out;
  for (NamedTensor& tensor : head_tensors(model_)) {
    const char* pooler = model_.arch().names.pooler;
    if (pooler && tensor.name.starts_with(pooler)) continue;
    tensor.name.insert(0, kPeftPrefix);
    out.push_back(std::move(tensor));
  }
  return out;
}

}  // namespace wattn
