// Which weights a Trainer changes: their values and gradients, and the names under which an adapter is saved.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "models/heads_backward.h"
#include "ops/experts.h"
#include "tasks/train.h"

namespace wattn {
namespace {

bool ends_with_module(const std::string& name, const std::string& module) {
  if (name == module) return true;
  return name.size() > module.size() && name.ends_with(module) && name[name.size() - module.size() - 1] == '.';
}

bool reads_pooler(const Arch& arch, const HeadLayers& layers) {
  return layers.dense && arch.names.pooler && std::string_view(layers.dense) == arch.names.pooler;
}

std::string last_part(const std::string& name) { return name.substr(name.rfind('.') + 1); }

std::size_t size_of(std::int64_t size) { return static_cast<std::size_t>(size); }

bool is_linear(Hold hold) { return hold == Hold::kMatrix || hold == Hold::kSensitive || hold == Hold::kFilter; }

bool has_norm_biases(const TransformerConfig& config) { return config.norm == NormKind::kLayer && config.biases.norms; }

std::span<float> all_of(const EmbeddingTable& table) {
  return {static_cast<float*>(table.table), size_of(table.rows * table.hidden)};
}

}  // namespace

Result<void> Trainer::prepare_head() {
  if (!uses_head()) return {};
  if (model_.has_lm_head()) {
    options_.head = model_.head_kind();
    if (options_.method == TrainMethod::kHead)
      return unsupported_error("method: 'head' cannot train the head of a language model yet");
    return {};
  }
  const Arch& arch = model_.arch();
  const Transformer& transformer = model_.transformer();
  const auto is_pooler = [&](const HeadLayers& layers) { return reads_pooler(arch, layers); };
  const bool is_new = options_.head == HeadKind::kSequence || options_.head == HeadKind::kToken;
  if (!is_new && (options_.head != HeadKind::kNone || !model_.head())) {
    return input_error("loss: expected a model with a head, or a new one over sequences or tokens, found neither");
  }
  if (is_new) {
    const auto config = Json::parse(options_.config, "config.json");
    if (!config.ok()) return config.error();
    const auto layers = Head::find_layers(options_.head, arch.heads, config.value().root());
    if (!layers.ok()) return layers.error();
    const auto labels = Head::num_labels(config.value().root());
    if (!labels.ok()) return labels.error();
    const TransformerConfig& stack = transformer.config();
    if (stack.global_tokens != layers.value().global_tokens) {
      return unsupported_error(
          "loss: expected one over a head's logits among the options of from_pretrained, because the first token is global below "
          "this model's heads over texts, found none");
    }
    auto head =
        Head::with_layers(layers.value(), {stack.hidden_size, stack.hidden_size, labels.value(), stack.norm_eps}, model_.kernels());
    if (!head.ok()) return head.error();
    init_head(head.value(), options_.seed);
    if (is_pooler(layers.value()) && transformer.has_pooler()) {
      const LinearWeights &from = transformer.pooler_layer(), &to = head.value().dense();
      std::copy_n(weights_f32(from).data(), weights_f32(from).size(), weights_f32(to).data());
      std::copy_n(from.bias, from.out, to.bias);
    }
    model_.set_head(std::move(head).value(), options_.head);
  }
  options_.head = model_.head_kind();
  const Head& head = *model_.head();
  if (head.bias()) return unsupported_error("training: a head that is tied to the word embeddings cannot be trained yet");
  auto gradients = Head::with_layers(head.layers(), head.shape(), model_.kernels());
  if (!gradients.ok()) return gradients.error();
  head_gradients_ = std::move(gradients).value();
  const auto add = [&](std::span<float> value, std::span<float> gradient, bool decays) {
    parameters_.push_back({value, gradient, decays});
  };
  const auto add_linear = [&](const LinearWeights& value, const LinearWeights& gradient) {
    parameters_.push_back({weights_f32(value), weights_f32(gradient), true, value.in * value.out});
    if (value.bias) add({value.bias, size_of(value.out)}, {gradient.bias, size_of(value.out)}, false);
  };
  // With LoRA the pooler's matrix stays as it is, unless it is named: PEFT does not save it.
  const bool is_kept =
      options_.method == TrainMethod::kLora && is_pooler(head.layers()) && !is_saved(module_prefix() + arch.names.pooler);
  if (head.layers().dense && !is_kept) add_linear(head.dense(), head_gradients_->dense());
  if (head.layers().dense && is_kept && options_.bias == LoraBias::kAll) {
    add({head.dense().bias, size_of(head.dense().out)}, {head_gradients_->dense().bias, size_of(head.dense().out)}, false);
  }
  if (head.layers().dense && head.layers().norm) {
    const auto width = size_of(head.width());
    add({head.norm().gamma, width}, {head_gradients_->norm().gamma, width}, false);
    if (head.layers().norm_bias) add({head.norm().beta, width}, {head_gradients_->norm().beta, width}, false);
  }
  add_linear(head.output(), head_gradients_->output());
  return {};
}

std::string Trainer::module_prefix() const {
  if (!uses_head()) return "";
  return model_.decoder() ? model_.arch().seq2seq_prefix : model_.arch().base_prefix;
}

// The matrices of layers whose products are separate steps: not those of relative embeddings, nor an expert's.
std::vector<Trainer::LoraTarget> Trainer::lora_targets() const {
  constexpr std::string_view kWeight = ".weight";
  std::vector<LoraTarget> out;
  for (const Stack& stack : stacks_) {
    for (const WeightTarget& weight : stack.model->weight_targets(*stack.names, false)) {
      const auto* layer = static_cast<const LinearWeights*>(weight.layer);
      const std::int64_t own = weight.values || !weight.name.ends_with(kWeight) ? -1 : stack.model->own_layer_of(layer);
      if (own < 0) continue;
      const TransformerLayer& of = stack.model->own_layer(own);
      if (layer == &of.relative_qk || layer == &of.convolution_filter) continue;
      const std::int64_t rows = weight.shape[weight.transposed ? 1 : 0], first = rows == layer->out ? 0 : weight.first;
      const auto place = [=](std::int64_t row) { return weight.place(row) - first; };
      out.push_back(
          {weight.name.substr(0, weight.name.size() - kWeight.size()), {*layer, first, rows}, own == 0, weight.transposed, place});
    }
  }
  return out;
}

Result<void> Trainer::prepare_lora() {
  std::vector<std::string>& wanted = options_.target_modules;
  const TransformerNames& names = model_.arch().names;
  if (options_.lora.r < 1) return input_error("r: expected a number from 1 on, found " + std::to_string(options_.lora.r));
  if (wanted.empty() && names.query) {
    for (const Stack& stack : stacks_) {
      for (const char* name : {stack.names->query, stack.names->value}) {
        if (std::ranges::find(wanted, last_part(name)) == wanted.end()) wanted.push_back(last_part(name));
      }
    }
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
      const std::string name = "'" + last_part(one.module) + "'";
      if (one.is_first && known.find(name) == std::string::npos) known += (known.empty() ? "" : ", ") + name;
    }
    return input_error("target_modules: expected some of " + known + ", found '" + *unknown + "'");
  }
  if (auto prepared = prepare_saved(); !prepared.ok()) return prepared;
  const auto is_wanted = [&](const LoraTarget& one) {
    return every || std::ranges::any_of(wanted, [&](const std::string& module) { return ends_with_module(one.module, module); });
  };
  std::erase_if(all, [&](const LoraTarget& one) { return !is_wanted(one); });
  // As in PEFT, what is saved whole has no matrices.
  std::erase_if(all, [&](const LoraTarget& one) { return is_saved(module_prefix() + one.module, true); });
  const auto is_both = [&](const LoraTarget& one) { return is_saved(module_prefix() + one.module); };
  if (const auto both = std::ranges::find_if(all, is_both); all.empty() || both != all.end()) {
    return input_error("modules_to_save: expected modules that target_modules does not have, found " +
                       (all.empty() ? "all of them" : "a part of the name of " + both->module));
  }
  // W; A and B with their gradients and two moments, and once more with gradients in the layout of a pass (LoraFactors).
  double floats = 0;
  for (const LoraTarget& one : all) {
    const auto in = static_cast<double>(one.rows.layer.in), out = static_cast<double>(one.rows.out);
    floats += in * out + 6 * static_cast<double>(options_.lora.r) * (in + static_cast<double>(one.rows.layer.out));
  }
  if (auto room = Arena::fits(floats * sizeof(float), "matrices of LoRA"); !room.ok()) return room;
  Generator generator(options_.seed);
  for (LoraTarget& one : all) {
    lora_.add(one.rows, options_.lora, generator);
    targets_.push_back(std::move(one));
  }
  if (auto begun = lora_.begin(); !begun.ok()) return begun;
  for (LoraMatrix& matrix : lora_.matrices()) {
    for (const std::span<float> values : {matrix.a(), matrix.b(), matrix.magnitude()}) lora_gradients_.emplace_back(values.size());
  }
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    LoraMatrix& matrix = lora_.matrices()[i];
    parameters_.push_back({matrix.a(), lora_gradients_[3 * i]});
    parameters_.push_back({matrix.b(), lora_gradients_[3 * i + 1]});
    if (options_.lora.use_dora) parameters_.push_back({matrix.magnitude(), lora_gradients_[3 * i + 2]});
    if (std::ranges::find(matrix.magnitude(), 0.0f) != matrix.magnitude().end()) {
      return unsupported_error("use_dora: expected weights without rows of zeros, found one in " + targets_[i].module);
    }
  }
  prepare_biases();
  return {};
}

std::vector<std::string> Trainer::excluded_modules() const {
  const Arch& arch = model_.arch();
  if (options_.method != TrainMethod::kLora || !arch.names.pooler || !model_.transformer().config().pooler) return {};
  // A class with a head has a pooler only where the head reads it.
  if (uses_head() && !(model_.head() && reads_pooler(arch, model_.head()->layers()))) return {};
  const std::string pooler = arch.names.pooler;
  const auto finds = [&](const std::string& module) { return module == "all-linear" || ends_with_module(pooler, module); };
  return std::ranges::any_of(options_.target_modules, finds) ? std::vector{pooler} : std::vector<std::string>{};
}

void Trainer::add_bias(float* bias, std::int64_t size, std::int64_t first, std::int64_t count) {
  auto found = std::ranges::find(biases_, static_cast<const float*>(bias), &BiasGradient::bias);
  if (found == biases_.end()) {
    bias_gradients_.emplace_back(size_of(size));
    found = biases_.insert(biases_.end(), {bias, bias_gradients_.back().data()});
  }
  parameters_.push_back({{bias + first, size_of(count)}, {found->gradient + first, size_of(count)}, false});
}

void Trainer::add_bias(const LinearWeights& layer, std::int64_t first, std::int64_t count) {
  if (layer.bias) add_bias(layer.bias, layer.out, first, count);
}

void Trainer::prepare_biases() {
  if (options_.bias == LoraBias::kLoraOnly) {
    for (const LoraTarget& target : targets_) add_bias(target.rows.layer, target.rows.first, target.rows.out);
  }
  if (options_.bias != LoraBias::kAll) return;
  for (const Stack& stack : stacks_) {
    const TransformerConfig& config = stack.model->config();
    const auto add_norm_bias = [&](const LayerNorm& norm) {
      if (norm.hidden > 0) add_bias(norm.beta, norm.hidden, 0, norm.hidden);
    };
    const auto add_biases = [&](const std::vector<Weight>& weights) {
      for (const Weight& weight : weights) {
        if (is_linear(weight.hold)) {
          const auto& linear = *static_cast<const LinearWeights*>(weight.at);
          add_bias(linear, 0, linear.out);
        } else if (weight.hold == Hold::kExperts) {
          add_bias((*static_cast<const std::shared_ptr<Experts>*>(weight.at))->bias, config.hidden_size, 0, config.hidden_size);
        } else if (weight.hold == Hold::kNorm && weight.bias) {
          add_norm_bias(*static_cast<const LayerNorm*>(weight.at));
        }
      }
    };
    add_biases(stack.model->embedding_weights());
    for (std::int64_t i = 0; i < config.own_layers(); ++i) add_biases(stack.model->own_weights(i));
    const Transformer::Ends& ends = stack.model->ends();
    add_bias(ends.convolution.layer, 0, ends.convolution.layer.out);
    add_norm_bias(ends.convolution.norm);
    if (has_norm_biases(config)) add_norm_bias(stack.model->last_norm());
    // Others are constants, or belong to heads that are saved whole.
    if (uses_head() && model_.has_lm_head() && config.lm_head_bias && !stack.names->lm_head_bias)
      add_bias(ends.lm_head, 0, ends.lm_head.out);
  }
}

Result<void> Trainer::prepare_layers() {
  const TransformerConfig& last = stacks_.back().model->config();
  if (options_.method == TrainMethod::kLastLayers) {
    if (options_.last_layers < 1 || options_.last_layers > last.num_hidden_layers) {
      return input_error("last_layers: expected a number from 1 to " + std::to_string(last.num_hidden_layers) + ", found " +
                         std::to_string(options_.last_layers));
    }
    if (last.shares_layers() && options_.last_layers < last.num_hidden_layers) {
      return unsupported_error("last_layers: this model's layers share their weights; train all of them");
    }
  }
  for (std::size_t i = 0; i < stacks_.size(); ++i) {
    Stack& stack = stacks_[i];
    TransformerConfig config = stack.model->config();
    if (first_layer(i) == config.num_hidden_layers) continue;
    config.pooler = false;
    if (!trains_embeddings()) {
      config.max_position_embeddings = 1;
      config.type_vocab_size = std::min<std::int64_t>(config.type_vocab_size, 1);
      config.lm_head = false;
    }
    // Stacks that share their words have one gradient of them; that of a table is elsewhere.
    const bool has_head = config.lm_head;
    if (!trains_embeddings() || i + 1 < stacks_.size() || !has_head) config.vocab_size = 1;
    if (has_head && trains_word_table()) config.table_rows = 1;
    auto gradients = Transformer::with_config(config, trains_embeddings() ? stack.model->positions() : 1, stack.model->kernels(),
                                              WeightType::kF32);
    if (!gradients.ok()) return gradients.error();
    stack.gradients = std::make_unique<Transformer>(std::move(gradients).value());
    if (trains_embeddings()) prepare_embeddings(i);
    for (std::int64_t layer = first_layer(i); layer < config.own_layers(); ++layer)
      add_weights(*stack.model, stack.model->own_weights(layer), stack.gradients->own_weights(layer));
    const Transformer::Ends &value = stack.model->ends(), &gradient = stack.gradients->ends();
    if (first_layer(i) == 0) {
      add_linear(value.convolution.layer, gradient.convolution.layer);
      add_norm(value.convolution.norm, gradient.convolution.norm, true);
    }
    if (config.learned_norms) add_norm(value.final_norm, gradient.final_norm, has_norm_biases(config));
  }
  return {};
}

void Trainer::prepare_embeddings(std::size_t i) {
  const Stack& stack = stacks_[i];
  const Transformer::Ends &value = stack.model->ends(), &gradient = stack.gradients->ends();
  if (i + 1 == stacks_.size()) {
    if (trains_word_table()) {
      const EmbeddingTable& words = value.words;
      word_gradients_ = RowTable(words.rows, words.hidden);
      word_moments_ = RowTable(words.rows, 2 * words.hidden);
      parameters_.push_back({all_of(words), {}});
    }
    // BART's final_logits_bias is a constant.
    const char* bias = stack.names->lm_head_bias;
    LinearWeights head = value.lm_head;
    if (!stack.model->config().lm_head_bias || (bias && !std::string_view(bias).ends_with(".bias"))) head.bias = nullptr;
    add_linear(head, gradient.lm_head);
  }
  add_weights(*stack.model, stack.model->embedding_weights(), stack.gradients->embedding_weights());
}

void Trainer::add_vector(float* value, float* gradient, std::int64_t first, std::int64_t size) {
  if (size > 0) parameters_.push_back({{value + first, size_of(size)}, {gradient + first, size_of(size)}, false});
}

void Trainer::add_linear(const LinearWeights& value, const LinearWeights& gradient, std::int64_t first_unbiased,
                         std::int64_t unbiased) {
  if (value.out == 0) return;
  parameters_.push_back({weights_f32(value), weights_f32(gradient), true, value.in * value.out});
  if (!value.bias) return;
  if (unbiased > 0) add_vector(value.bias, gradient.bias, 0, first_unbiased);
  const std::int64_t next = unbiased > 0 ? first_unbiased + unbiased : 0;
  add_vector(value.bias, gradient.bias, next, value.out - next);
}

void Trainer::add_norm(const LayerNorm& value, const LayerNorm& gradient, bool has_bias) {
  if (value.hidden == 0) return;
  add_vector(value.gamma, gradient.gamma, 0, value.hidden);
  if (has_bias) add_vector(value.beta, gradient.beta, 0, value.hidden);
}

void Trainer::add_experts(const Experts& value, const Experts& gradient) {
  add_linear(value.router, gradient.router);
  for (std::size_t expert = 0; expert < value.up.size(); ++expert) {
    add_linear(value.up[expert], gradient.up[expert]);
    add_linear(value.down[expert], gradient.down[expert]);
  }
  add_vector(value.bias, gradient.bias, 0, value.down.front().out);
}

void Trainer::add_weights(const Transformer& stack, std::span<const Weight> values, std::span<const Weight> gradients) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Weight& weight = values[i];
    const auto both = [&]<class Held>(std::type_identity<Held>, const auto& add) {
      add(*static_cast<const Held*>(weight.at), *static_cast<const Held*>(gradients[i].at));
    };
    switch (weight.hold) {
      case Hold::kMatrix:
      case Hold::kSensitive:
      case Hold::kFilter:
        both(std::type_identity<LinearWeights>(), [&](const LinearWeights& value, const LinearWeights& gradient) {
          add_linear(value, gradient, weight.first_unbiased, weight.unbiased);
        });
        break;
      case Hold::kNorm:
        both(std::type_identity<LayerNorm>(),
             [&](const LayerNorm& value, const LayerNorm& gradient) { add_norm(value, gradient, weight.bias); });
        break;
      case Hold::kFineTable:
        both(std::type_identity<EmbeddingTable>(), [&](const EmbeddingTable& value, const EmbeddingTable& gradient) {
          parameters_.push_back({all_of(value), all_of(gradient)});
        });
        break;
      case Hold::kExperts:
        both(std::type_identity<std::shared_ptr<Experts>>(),
             [&](const auto& value, const auto& gradient) { add_experts(*value, *gradient); });
        break;
      case Hold::kDistances:
      case Hold::kConstant:
        both(std::type_identity<DistanceBias>(),
             [&](const DistanceBias& value, const DistanceBias& gradient) { prepare_buckets(stack.config(), value, gradient); });
        break;
      case Hold::kWords:       // prepare_embeddings() adds them
      case Hold::kGatedDelta:  // prepare() refuses models with one
        break;
    }
  }
}

void Trainer::prepare_buckets(const TransformerConfig& config, const DistanceBias& bias, const DistanceBias& gradient) {
  const std::int64_t heads = config.num_attention_heads, count = config.t5.buckets, both = config.causal ? 2 * count : count;
  const std::vector<float> zeros(size_of(count * heads));
  Buckets& one = buckets_.emplace_back(Buckets{heads, count, both, config.t5.max_distance, bias, gradient, zeros, zeros});
  for (std::int64_t d = 1 - one.bias.span; d < one.bias.span; ++d) {
    const std::int64_t bucket = t5_bucket(d, both, one.max_distance);
    for (std::int64_t head = 0; bucket < count && head < heads; ++head) {
      one.values[size_of(bucket * heads + head)] = std::as_const(one.bias).at(head)[d];
    }
  }
  parameters_.push_back({one.values, one.gradients});
}

void Trainer::collect_buckets() {
  for (Buckets& one : buckets_) {
    sum_t5_buckets(one.gradient, one.heads, one.of_both_directions, one.max_distance);
    std::vector<float> sums(one.gradients.size());  // each distance of a bucket has all of it
    for (std::int64_t d = 1 - one.gradient.span; d < one.gradient.span; ++d) {
      const std::int64_t bucket = t5_bucket(d, one.of_both_directions, one.max_distance);
      for (std::int64_t head = 0; head < one.heads; ++head) {
        float& at = one.gradient.at(head)[d];
        if (bucket < one.count) sums[size_of(bucket * one.heads + head)] = at;
        at = 0;
      }
    }
    for (std::size_t i = 0; i < sums.size(); ++i) one.gradients[i] += sums[i];
  }
}

void Trainer::spread_weights() {
  model_.slots().forget_prefixes();
  lora_.merge();
  spread_saved();
  for (Buckets& one : buckets_) {
    for (std::int64_t bucket = 0; bucket < one.count; ++bucket) {
      set_t5_bucket(one.bias, one.heads, bucket, one.of_both_directions, one.max_distance, one.values.data() + bucket * one.heads);
    }
  }
  if (!shares_words()) return;
  const Transformer& from = *stacks_.back().model;
  const Transformer::Ends& to = stacks_.front().model->ends();
  std::vector<float> row(size_of(to.words.hidden));
  for (std::int32_t id = 0; id < to.words.rows; ++id) {
    if (from.shared_weights().out > 0) {
      get_weight_row(from.shared_weights(), id, row.data());
    } else {
      from.word_rows({&id, 1}, row.data());
    }
    set_row(to.words, id, row.data());
  }
}

// PEFT's name of a module that has matrices of LoRA is that of its base layer.
void Trainer::add_bias_tensors(std::vector<NamedTensor>& out) const {
  if (options_.bias == LoraBias::kNone) return;
  for (const Stack& stack : stacks_) {
    for (const WeightTarget& weight : stack.model->weight_targets(*stack.names, false)) {
      const bool trained =
          weight.values && weight.name.ends_with(".bias") &&
          std::ranges::find(biases_, static_cast<const float*>(weight.values), &BiasGradient::bias) != biases_.end();
      if (!trained) continue;
      std::string module = weight.name.substr(0, weight.name.rfind('.'));
      const bool is_target = std::ranges::find(targets_, module, &LoraTarget::module) != targets_.end();
      if (options_.bias == LoraBias::kLoraOnly && !is_target) continue;
      std::vector<float> values;
      values.reserve(size_of(weight.shape[0]));
      for (std::int64_t i = 0; i < weight.shape[0]; ++i) values.push_back(weight.values[weight.place(i)]);
      if (is_saved(saved_name(stack, module))) continue;
      module = kPeftPrefix + saved_name(stack, module) + (is_target ? ".base_layer.bias" : ".bias");
      out.push_back({std::move(module), weight.shape, std::move(values)});
    }
  }
}

std::vector<float> Trainer::in_order_of_file(const LoraTarget& target, std::span<const float> rows, std::int64_t width) {
  std::vector<float> out(rows.size());
  for (std::int64_t i = 0; i * width < std::ssize(rows); ++i)
    std::copy_n(rows.data() + target.place(i) * width, width, out.data() + i * width);
  return out;
}

std::vector<NamedTensor> Trainer::adapter() {
  std::vector<NamedTensor> out;
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    LoraMatrix& matrix = lora_.matrices()[i];
    const std::string name = kPeftPrefix + module_prefix() + targets_[i].module;
    const auto copy = [](std::span<float> values) { return std::vector<float>(values.begin(), values.end()); };
    const WeightRows& rows = targets_[i].rows;
    out.push_back({name + ".lora_A.weight", {matrix.r(), rows.layer.in}, copy(matrix.a())});
    out.push_back({name + ".lora_B.weight", {rows.out, matrix.r()}, in_order_of_file(targets_[i], matrix.b(), matrix.r())});
    if (matrix.magnitude().empty()) continue;
    out.push_back({name + ".lora_magnitude_vector", {rows.out}, in_order_of_file(targets_[i], matrix.magnitude(), 1)});
  }
  add_bias_tensors(out);
  add_saved_tensors(out);
  if (!model_.head()) return out;
  for (NamedTensor& tensor : head_tensors(model_)) {
    const char* pooler = model_.arch().names.pooler;
    const bool is_pooler = pooler && tensor.name.starts_with(pooler);
    const bool is_kept = is_pooler && !is_saved(module_prefix() + pooler);
    if (is_kept && (options_.bias != LoraBias::kAll || !tensor.name.ends_with(".bias"))) continue;
    tensor.name.insert(0, kPeftPrefix + (is_pooler ? module_prefix() : ""));
    out.push_back(std::move(tensor));
  }
  return out;
}

}  // namespace wattn
