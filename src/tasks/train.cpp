#include "tasks/train.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

#include "models/heads_backward.h"

namespace wattn {
namespace {

constexpr const char* kPeftPrefix = "base_model.model.";

bool ends_with_module(const std::string& name, const std::string& module) {
  if (name == module) return true;
  return name.size() > module.size() && name.ends_with(module) && name[name.size() - module.size() - 1] == '.';
}

std::string last_part(const std::string& name) { return name.substr(name.rfind('.') + 1); }

std::size_t size_of(std::int64_t size) { return static_cast<std::size_t>(size); }

// FNV-1a of the words; 0 and -0 are one, since adding nothing makes one of the other.
std::string fingerprint_of(std::span<const float> first, std::span<const float> second) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const std::span<const float> weights : {first, second}) {
    for (const float weight : weights) hash = (hash ^ std::bit_cast<std::uint32_t>(weight + 0.0f)) * 0x100000001B3u;
  }
  std::string out;
  for (int shift = 60; shift >= 0; shift -= 4) out += kDigits[hash >> shift & 15];
  return out;
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
  if (transformer.config().experts.count > 0) return unsupported_error("training: a model with experts cannot be trained yet");
  if (transformer.config().attn_logit_softcapping != 0 || transformer.config().final_logit_softcapping != 0) {
    return unsupported_error(
        "training: a model with soft caps (attn_logit_softcapping, final_logit_softcapping) cannot be trained yet");
  }
  if (!model_.sentence().dense.empty()) {
    return unsupported_error("training: a sentence-transformers model with Dense modules cannot be trained yet");
  }
  if (model_.decoder() && !model_.has_lm_head()) {
    return unsupported_error("training: an encoder-decoder is trained with task 'text2text-generation'");
  }
  stacks_.push_back({&model_.transformer(), &model_.arch().names});
  if (model_.decoder()) {
    stacks_.push_back({model_.decoder(), &model_.arch().decoder_names});
    if (model_.special_ids().decoder_start < 0)
      return model_format_error("config.json: expected a decoder_start_token_id, found none");
  }
  fingerprint_ = fingerprint_of(stacks_.front().model->weights_f32(), stacks_.back().model->weights_f32());
  if (options_.method == TrainMethod::kLora) {
    if (auto prepared = prepare_lora(); !prepared.ok()) return prepared;
  } else if (trains_layers()) {
    if (auto prepared = prepare_layers(); !prepared.ok()) return prepared;
  } else if (!uses_head()) {
    return input_error("method: expected a loss over a head's logits with method 'head'");
  }
  if (auto prepared = prepare_head(); !prepared.ok()) return prepared;
  if (options_.dropout) {
    const auto config = Json::parse(options_.config, "config.json");
    if (!config.ok()) return config.error();
    dropout_ = read_dropout_rates(config.value().root());
  }
  dropout_.lora = options_.lora_dropout;
  for (const Parameter& parameter : parameters_) {
    moments_.push_back({std::vector<float>(parameter.value.size()), std::vector<float>(parameter.value.size())});
  }
  return {};
}

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
  const auto is_pooler = [&](const HeadLayers& layers) {
    return layers.dense && arch.names.pooler && std::string_view(layers.dense) == arch.names.pooler;
  };
  if (options_.head != HeadKind::kNone || !model_.head()) {
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
    parameters_.push_back({weights_f32(value), weights_f32(gradient), true, value.in * value.out});
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

std::string Trainer::module_prefix() const {
  if (!uses_head()) return "";
  return model_.decoder() ? model_.arch().seq2seq_prefix : model_.arch().base_prefix;
}

std::vector<Trainer::LoraTarget> Trainer::lora_targets() const {
  using Layer = TransformerLayer;
  struct Role {
    const char* name;
    Linear Layer::* linear;
    std::int64_t first, out;
  };
  std::vector<LoraTarget> out;
  for (const Stack& stack : stacks_) {
    const TransformerConfig& config = stack.model->config();
    const TransformerNames& names = *stack.names;
    const std::int64_t queries = config.query_width(), keys = config.kv_width(), ffn = config.intermediate_size;
    const char* up = !config.gated() && names.plain_up ? names.plain_up : names.up;
    const Role roles[] = {
        {names.query, &Layer::qkv, 0, queries},
        {names.key, &Layer::qkv, queries, keys},
        {names.value, &Layer::qkv, queries + keys, keys},
        {names.query_key_value, &Layer::qkv, 0, config.qkv_width()},
        {names.attention_output, &Layer::attention_output, 0, config.hidden_size},
        {names.cross_query, &Layer::cross_query, 0, queries},
        {names.cross_key, &Layer::cross_keys_values, 0, queries},
        {names.cross_value, &Layer::cross_keys_values, queries, queries},
        {names.cross_output, &Layer::cross_output, 0, config.hidden_size},
        {config.gated() ? names.gate : nullptr, &Layer::up, 0, ffn},
        {up, &Layer::up, config.gated() ? ffn : 0, ffn},
        {config.gated() ? names.gate_up : nullptr, &Layer::up, 0, 2 * ffn},
        {names.down, &Layer::down, 0, config.hidden_size},
    };
    const std::int64_t layers = config.share_layers ? 1 : config.num_hidden_layers;
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      for (const Role& role : roles) {
        if (!role.name || (role.name == names.up && role.name != up)) continue;
        out.push_back(
            {layer_name(role.name, size_of(layer)), {stack.model->layer_at(layer).*role.linear, role.first, role.out}, layer == 0});
      }
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
      const std::string name = "'" + last_part(one.module) + "'";
      if (one.is_first && known.find(name) == std::string::npos) known += (known.empty() ? "" : ", ") + name;
    }
    return input_error("target_modules: expected some of " + known + ", found '" + *unknown + "'");
  }
  Generator generator(options_.seed);
  for (LoraTarget& one : all) {
    const auto is_it = [&](const std::string& module) { return ends_with_module(one.module, module); };
    if (!every && std::none_of(wanted.begin(), wanted.end(), is_it)) continue;
    lora_.add(one.rows, options_.lora, generator);
    targets_.push_back(std::move(one));
  }
  if (auto begun = lora_.begin(); !begun.ok()) return begun;
  for (LoraMatrix& matrix : lora_.matrices()) {
    for (const std::span<float> values : {matrix.a(), matrix.b()}) lora_gradients_.emplace_back(values.size());
  }
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    parameters_.push_back({lora_.matrices()[i].a(), lora_gradients_[2 * i]});
    parameters_.push_back({lora_.matrices()[i].b(), lora_gradients_[2 * i + 1]});
  }
  prepare_biases();
  return {};
}

void Trainer::add_bias(float* bias, std::int64_t size, std::int64_t first, std::int64_t count) {
  auto found = std::ranges::find(biases_, static_cast<const float*>(bias), &BiasGradient::bias);
  if (found == biases_.end()) {
    bias_gradients_.emplace_back(size_of(size));
    found = biases_.insert(biases_.end(), {bias, bias_gradients_.back().data()});
  }
  parameters_.push_back({{bias + first, size_of(count)}, {found->gradient + first, size_of(count)}, false});
}

void Trainer::add_bias(const Linear& layer, std::int64_t first, std::int64_t count) {
  if (layer.bias) add_bias(layer.bias, layer.out, first, count);
}

void Trainer::prepare_biases() {
  using Layer = TransformerLayer;
  if (options_.bias == LoraBias::kLoraOnly) {
    for (const LoraTarget& target : targets_) add_bias(target.rows.layer, target.rows.first, target.rows.out);
  }
  if (options_.bias != LoraBias::kAll) return;
  for (const Stack& stack : stacks_) {
    const TransformerConfig& config = stack.model->config();
    const auto add_norm = [&](const LayerNorm& norm) {
      const bool has_bias = norm.hidden > 0 && config.norm == NormKind::kLayer && config.biases.norms;
      if (has_bias) add_bias(norm.beta, norm.hidden, 0, norm.hidden);
    };
    for (std::int64_t i = 0; i < (config.share_layers ? 1 : config.num_hidden_layers); ++i) {
      const Layer& layer = stack.model->layer_at(i);
      for (const auto part : {&Layer::qkv, &Layer::attention_output, &Layer::cross_query, &Layer::cross_keys_values,
                              &Layer::cross_output, &Layer::up, &Layer::down}) {
        add_bias(layer.*part, 0, (layer.*part).out);
      }
      if (config.norm_placement == NormPlacement::kPost || i > 0 || config.first_attention_norm) add_norm(layer.attention_norm);
      if (config.cross_attention) add_norm(layer.cross_norm);
      add_norm(layer.ffn_norm);
    }
    add_norm(stack.model->last_norm());
  }
}

Result<void> Trainer::prepare_layers() {
  const TransformerConfig& last = stacks_.back().model->config();
  if (options_.method == TrainMethod::kLastLayers) {
    if (options_.last_layers < 1 || options_.last_layers > last.num_hidden_layers) {
      return input_error("last_layers: expected a number from 1 to " + std::to_string(last.num_hidden_layers) + ", found " +
                         std::to_string(options_.last_layers));
    }
    if (last.share_layers && options_.last_layers < last.num_hidden_layers) {
      return unsupported_error("last_layers: this model's layers share their weights; train all of them");
    }
  }
  for (std::size_t i = 0; i < stacks_.size(); ++i) {
    Stack& stack = stacks_[i];
    TransformerConfig config = stack.model->config();
    if (first_layer(i) == config.num_hidden_layers) continue;
    // Only layers get gradients.
    config.vocab_size = 1;
    config.max_position_embeddings = 1;
    config.type_vocab_size = std::min<std::int64_t>(config.type_vocab_size, 1);
    config.pooler = false;
    config.lm_head = false;
    auto gradients = Transformer::with_config(config, 1, stack.model->kernels(), WeightType::kF32);
    if (!gradients.ok()) return gradients.error();
    stack.gradients = std::make_unique<Transformer>(std::move(gradients).value());
    prepare_stack(stack, first_layer(i));
  }
  return {};
}

void Trainer::prepare_stack(const Stack& stack, std::int64_t first_layer) {
  const Transformer &transformer = *stack.model, &gradients = *stack.gradients;
  const TransformerConfig& config = transformer.config();
  const auto add_matrix = [&](const Linear& value, const Linear& gradient) {
    if (value.out == 0) return;
    parameters_.push_back({weights_f32(value), weights_f32(gradient), true, value.in * value.out});
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
    const TransformerLayer &value = transformer.layer_at(i), &gradient = gradients.layer_at(i);
    using Layer = TransformerLayer;
    for (const auto matrix : {&Layer::qkv, &Layer::attention_output, &Layer::up, &Layer::down, &Layer::cross_query,
                              &Layer::cross_keys_values, &Layer::cross_output}) {
      add_matrix(value.*matrix, gradient.*matrix);
    }
    for (const auto norm : {&Layer::query_norm, &Layer::key_norm}) {
      const auto size = static_cast<std::size_t>((value.*norm).hidden);
      if (size > 0) parameters_.push_back({{(value.*norm).gamma, size}, {(gradient.*norm).gamma, size}, false});
    }
    if (config.norm_placement == NormPlacement::kPost || i > 0 || config.first_attention_norm) {
      add_norm(value.attention_norm, gradient.attention_norm);
    }
    if (config.cross_attention) add_norm(value.cross_norm, gradient.cross_norm);
    add_norm(value.ffn_norm, gradient.ffn_norm);
    for (const auto norm : {&Layer::attention_output_norm, &Layer::ffn_output_norm}) add_norm(value.*norm, gradient.*norm);
  }
  add_norm(transformer.last_norm(), gradients.last_norm());
}

// Of an encoder-decoder, the last layers are the decoder's.
std::int64_t Trainer::first_layer(std::size_t stack) const {
  const std::int64_t layers = stacks_[stack].model->config().num_hidden_layers;
  if (options_.method != TrainMethod::kLastLayers) return 0;
  return stack + 1 < stacks_.size() ? layers : layers - options_.last_layers;
}

TapeOptions Trainer::tape_options(std::size_t stack) const {
  return {.kept_layers = options_.checkpointing ? 0 : stacks_[stack].model->config().num_hidden_layers - first_layer(stack),
          .dropout = dropout_,
          .seed = options_.seed ^ (static_cast<std::uint64_t>(stack) << 32),
          .step = dropout_step(),
          .lora = lora_.factors()};
}

TrainPlan Trainer::plan(std::int64_t tokens, std::int64_t max_seq) const {
  TrainPlan out{.weights = lora_.bytes() / 2, .gradients = lora_.bytes() / 2};
  for (const Stack& stack : stacks_) {
    out.weights += stack.model->weight_bytes();
    out.all += static_cast<std::int64_t>(stack.model->weight_bytes() / sizeof(float));
    if (stack.gradients) out.gradients += stack.gradients->weight_bytes();
  }
  for (const Parameter& parameter : parameters_) {
    out.trainable += parameter.weights > 0 ? parameter.weights : std::ssize(parameter.value);
    out.optimizer += 2 * parameter.value.size_bytes();
    if (options_.method == TrainMethod::kLora) out.gradients += parameter.gradient.size_bytes();
  }
  for (const LoraTarget& one : targets_)
    out.weights += static_cast<std::uint64_t>(one.rows.out * one.rows.layer.in) * sizeof(float);
  if (head_gradients_) out.gradients += head_gradients_->weight_bytes();
  out.activations = activation_bytes(tokens, max_seq);
  return out;
}

// Sources and targets are each within the limits.
std::uint64_t Trainer::activation_bytes(std::int64_t tokens, std::int64_t max_seq) const {
  Arena measure;
  std::uint64_t of_pass = 0;
  for (std::size_t i = 0; i < stacks_.size(); ++i) {
    const Transformer& stack = *stacks_[i].model;
    const TapeOptions options = tape_options(i);
    measure.take<float>(tape_size(stack.config(), tokens, options));
    measure.take<float>(tokens * stack.config().hidden_size);
    measure.take<float>(tokens * stack.config().hidden_size);
    const SourceLimits sources = i > 0 ? SourceLimits{tokens, max_seq} : SourceLimits{};
    of_pass = std::max(of_pass, backward_bytes(stack, tokens, max_seq, model_.team().most_threads(), sources, options));
  }
  return measure.used() + of_pass;
}

void Trainer::clear_gradients() {
  for (const Stack& stack : stacks_) {
    if (stack.gradients) std::ranges::fill(stack.gradients->weights_f32(), 0.0f);
  }
  lora_.clear_gradients();
  for (std::vector<float>& gradient : bias_gradients_) std::ranges::fill(gradient, 0.0f);
  if (head_gradients_) std::ranges::fill(head_gradients_->weights_f32(), 0.0f);
  accumulated_ = 0;
  loss_ = 0;
  tokens_ = 0;
}

CrossSources Trainer::sources_of(const Forward& ran) { return {ran.states[0], ran.batches[0].seq_start, ran.d_states[0]}; }

Result<Trainer::Forward> Trainer::forward(const TrainRows& rows, bool drops) {
  Forward out{};
  const std::span<Batch> batches = std::span(out.batches).first(stacks_.size());
  if (auto encoded = encode(rows, batches); !encoded.ok()) return encoded.error();
  std::int64_t tokens = 0, longest = 0;
  for (const Batch& batch : batches) {
    tokens = std::max(tokens, batch.tokens());
    longest = std::max(longest, batch.longest());
  }
  const std::uint64_t needed = activation_bytes(tokens, longest);
  if (arena_.bytes() < needed) {
    arena_ = Arena();
    auto arena = Arena::with_bytes(needed, "training");
    if (!arena.ok()) return arena.error();
    arena_ = std::move(arena).value();
  }
  arena_.reset();
  for (std::size_t i = 0; i < stacks_.size(); ++i) {
    const TransformerConfig& config = stacks_[i].model->config();
    const std::int64_t size = batches[i].tokens() * config.hidden_size;
    out.tapes[i] = arena_.take<float>(tape_size(config, batches[i].tokens(), tape_options(i)));
    out.states[i] = arena_.take<float>(size);
    out.d_states[i] = arena_.take<float>(size);
    std::fill_n(out.d_states[i], size, 0.0f);
  }
  const std::uint64_t mark = arena_.used();
  for (std::size_t i = 0; i < stacks_.size(); ++i) {
    TapeOptions options = tape_options(i);
    if (!drops) options.dropout = {};
    training_forward(*stacks_[i].model, model_.team(), batches[i], out.tapes[i], out.states[i], arena_, options,
                     i > 0 ? sources_of(out) : CrossSources{});
    arena_.rewind(mark);
  }
  return out;
}

void Trainer::backward_stacks(const Forward& ran) {
  const std::uint64_t mark = arena_.used();
  for (std::size_t i = stacks_.size(); i-- > 0;) {
    if (first_layer(i) == stacks_[i].model->config().num_hidden_layers) continue;
    CrossSources sources = i > 0 ? sources_of(ran) : CrossSources{};
    if (options_.method == TrainMethod::kLastLayers) sources.d_states = nullptr;
    backward(*stacks_[i].model, model_.team(), ran.batches[i], ran.tapes[i], ran.d_states[i], arena_, stacks_[i].gradients.get(),
             {.first_layer = first_layer(i), .embeddings = false, .layers = trains_layers(), .biases = biases_}, tape_options(i),
             sources);
    arena_.rewind(mark);
  }
}

Result<Trainer::LossSum> Trainer::evaluate(const TrainRows& rows) {
  if (!is_lm()) return input_error("training: expected a language model");
  const auto ran = forward(rows, false);
  if (!ran.ok()) return ran.error();
  const std::size_t last = stacks_.size() - 1;
  return lm_loss(rows, ran.value().batches[last], ran.value().states[last], 1, nullptr);
}

Result<double> Trainer::accumulate(const TrainRows& rows, std::int64_t parts) {
  if (accumulated_ == 0) clear_gradients();
  const auto drop = [&](const Error& error) {
    clear_gradients();
    return error;
  };
  const auto ran = forward(rows, true);
  if (!ran.ok()) return drop(ran.error());
  const std::size_t last = stacks_.size() - 1;
  const Batch& batch = ran.value().batches[last];
  float *states = ran.value().states[last], *d_states = ran.value().d_states[last];
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
  if (options_.method != TrainMethod::kHead) backward_stacks(ran.value());
  ++accumulated_;
  loss_ += loss.value() / static_cast<double>(parts);
  for (std::size_t i = 0; i <= last; ++i) tokens_ += ran.value().batches[i].tokens();
  return loss.value();
}

Result<TrainReport> Trainer::update() {
  if (accumulated_ == 0) return input_error("training: expected accumulate() before update()");
  for (std::size_t i = 0; i < targets_.size(); ++i) lora_.read_gradients(i, lora_gradients_[2 * i], lora_gradients_[2 * i + 1]);
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
  lora_.merge();
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
  lora_.merge();
  step_ = step;
  accumulated_ = 0;
  return {};
}

// PEFT's name of a module that has matrices of LoRA is that of its base layer.
void Trainer::add_bias_tensors(std::vector<NamedTensor>& out) const {
  for (const Stack& stack : stacks_) {
    for (const WeightSlot& slot : stack.model->weight_slots(*stack.names, false)) {
      const bool trained = slot.values && slot.name.ends_with(".bias") &&
                           std::ranges::find(biases_, static_cast<const float*>(slot.values), &BiasGradient::bias) != biases_.end();
      if (!trained) continue;
      std::string module = slot.name.substr(0, slot.name.rfind('.'));
      const bool is_target = std::ranges::find(targets_, module, &LoraTarget::module) != targets_.end();
      if (options_.bias == LoraBias::kLoraOnly && !is_target) continue;
      std::vector<float> values;
      values.reserve(size_of(slot.shape[0]));
      for (std::int64_t i = 0; i < slot.shape[0]; ++i) values.push_back(slot.values[(slot.first + i) % slot.of]);
      module.insert(0, kPeftPrefix + module_prefix()).append(is_target ? ".base_layer.bias" : ".bias");
      out.push_back({std::move(module), slot.shape, std::move(values)});
    }
  }
}

std::vector<NamedTensor> Trainer::adapter() {
  std::vector<NamedTensor> out;
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    LoraMatrix& matrix = lora_.matrices()[i];
    const std::string name = kPeftPrefix + module_prefix() + targets_[i].module;
    const auto copy = [](std::span<float> values) { return std::vector<float>(values.begin(), values.end()); };
    const WeightRows& rows = targets_[i].rows;
    out.push_back({name + ".lora_A.weight", {matrix.r(), rows.layer.in}, copy(matrix.a())});
    out.push_back({name + ".lora_B.weight", {rows.out, matrix.r()}, copy(matrix.b())});
  }
  add_bias_tensors(out);
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
