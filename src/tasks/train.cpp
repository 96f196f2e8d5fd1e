#include "tasks/train.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

#include "models/dropout_rates.h"
#include "tasks/head_logits.h"

namespace wattn {
namespace {

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
  if (transformer.config().is_static()) return unsupported_error("training: expected a model with layers, found static embeddings");
  if (model_.decoder() && !model_.has_lm_head()) {
    return unsupported_error("training: expected the task 'text2text-generation' for an encoder-decoder, found another");
  }
  if (options_.method != TrainMethod::kHead && transformer.config().in_groups())
    return unsupported_error("method: expected 'head', the only method for matrices in groups (SqueezeBERT's), found another");
  if (options_.method != TrainMethod::kHead && transformer.config().learns_nothing())
    return unsupported_error(
        "method: expected 'head', the only method for layers with a Gated DeltaNet (Qwen3.5's), found another");
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
  if (auto known = check_saved(); !known.ok()) return known;
  if (options_.dropout) {
    const auto config = Json::parse(options_.config, "config.json");
    if (!config.ok()) return config.error();
    dropout_ = read_dropout_rates(config.value().root());
  }
  dropout_.lora = options_.lora_dropout;
  double moments = 0;
  for (const Parameter& parameter : parameters_) moments += 2 * static_cast<double>(parameter.gradient.size_bytes());
  if (auto room = Arena::fits(moments, "moments of the optimizer"); !room.ok()) return room;
  for (const Parameter& parameter : parameters_) {
    moments_.push_back({std::vector<float>(parameter.gradient.size()), std::vector<float>(parameter.gradient.size())});
  }
  return {};
}

// The last layers of an encoder-decoder are the decoder's.
std::int64_t Trainer::first_layer(std::size_t stack) const {
  const std::int64_t layers = stacks_[stack].model->config().num_hidden_layers;
  if (options_.method != TrainMethod::kLastLayers) return 0;
  return stack + 1 < stacks_.size() ? layers : layers - options_.last_layers;
}

TapeOptions Trainer::tape_options(std::size_t stack, bool is_whole) const {
  return {.kept_layers = options_.checkpointing ? 0 : stacks_[stack].model->config().num_hidden_layers - first_layer(stack),
          .dropout = dropout_,
          .seed = options_.seed ^ (static_cast<std::uint64_t>(stack) << 32),
          .step = dropout_step(),
          .lora = lora_.factors(),
          .spare = is_whole && stacks_[stack].gradients ? &stacks_[stack].gradients->training_plan() : nullptr};
}

TrainPlan Trainer::plan(std::int64_t tokens, std::int64_t max_seq, std::int64_t parts, std::int64_t words) const {
  TrainPlan out{.weights = lora_.bytes() / 2, .gradients = lora_.bytes() / 2};
  for (const Stack& stack : stacks_) {
    out.weights += stack.model->weight_bytes();
    out.all += static_cast<std::int64_t>(stack.model->weight_bytes() / sizeof(float));
    if (stack.gradients) out.gradients += stack.gradients->weight_bytes();
  }
  for (const Parameter& parameter : parameters_) {
    out.trainable += parameter.weights > 0 ? parameter.weights : std::ssize(parameter.value);
    out.optimizer += 2 * parameter.gradient.size_bytes();
    if (options_.method == TrainMethod::kLora) out.gradients += parameter.gradient.size_bytes();
  }
  for (const SavedRows& one : saved_rows_) out.weights += one.values.size() * sizeof(float);
  for (const LoraTarget& one : targets_)
    out.weights += static_cast<std::uint64_t>(one.rows.out * one.rows.layer.in) * sizeof(float);
  if (head_gradients_) out.gradients += head_gradients_->weight_bytes();
  if (trains_word_table()) {
    const std::int64_t of_update = tokens * parts * std::ssize(stacks_);
    out.gradients += word_gradients_.bytes_of(of_update);
    out.optimizer += word_moments_.bytes_of(words > 0 ? words : of_update);
  }
  out.activations = activation_bytes(tokens, max_seq, parts == 1);
  return out;
}

// Sources and targets are each within the limits.
std::uint64_t Trainer::activation_bytes(std::int64_t tokens, std::int64_t max_seq, bool is_whole) const {
  Arena measure;
  std::uint64_t of_pass = 0;
  for (std::size_t i = 0; i < stacks_.size(); ++i) {
    const Transformer& stack = *stacks_[i].model;
    const TapeOptions options = tape_options(i, is_whole);
    measure.take<float>(tape_size(stack.training_plan(), tokens, options));
    measure.take<float>(tokens * stack.config().hidden_size);
    measure.take<float>(tokens * stack.config().hidden_size);
    TrainingLimits limits{.tokens = tokens, .max_seq = max_seq, .threads = model_.team().most_threads()};
    if (i > 0) limits.source_tokens = tokens, limits.longest_source = max_seq;
    of_pass = std::max(of_pass, backward_bytes(stack.training_plan(), limits, options, scope_of(i)));
  }
  return measure.used() + of_pass;
}

void Trainer::clear_gradients() {
  part_.reset();
  for (const Stack& stack : stacks_) {
    if (stack.gradients) std::ranges::fill(stack.gradients->weights_f32(), 0.0f);
  }
  lora_.clear_gradients();
  for (std::vector<float>& gradient : bias_gradients_) std::ranges::fill(gradient, 0.0f);
  for (const WholeGradient& one : whole_gradients_) std::ranges::fill(one.memory.taken(), std::byte{0});
  for (Buckets& one : buckets_) std::ranges::fill(one.gradients, 0.0f);
  if (head_gradients_) std::ranges::fill(head_gradients_->weights_f32(), 0.0f);
  word_gradients_.clear();
  accumulated_ = 0;
  loss_ = 0;
  tokens_ = 0;
}

CrossSources Trainer::sources_of(const Forward& ran) { return {ran.states[0], ran.batches[0].seq_start, ran.d_states[0]}; }

Result<Trainer::Forward> Trainer::forward(const TrainRows& rows, bool drops, bool is_whole) {
  Forward out{};
  out.is_whole = is_whole;
  const std::span<Batch> batches = std::span(out.batches).first(stacks_.size());
  if (auto encoded = encode(rows, batches); !encoded.ok()) return encoded.error();
  std::int64_t tokens = 0, longest = 0;
  for (const Batch& batch : batches) {
    tokens = std::max(tokens, batch.tokens());
    longest = std::max(longest, batch.longest());
  }
  const std::uint64_t needed = activation_bytes(tokens, longest, is_whole);
  if (arena_.bytes() < needed) {
    arena_ = Arena();
    auto arena = Arena::with_bytes(needed, "training");
    if (!arena.ok()) return arena.error();
    arena_ = std::move(arena).value();
  }
  arena_.reset();
  for (std::size_t i = 0; i < stacks_.size(); ++i) {
    const Transformer& stack = *stacks_[i].model;
    const std::int64_t size = batches[i].tokens() * stack.config().hidden_size;
    out.tapes[i] = arena_.take<float>(tape_size(stack.training_plan(), batches[i].tokens(), tape_options(i, is_whole)));
    out.states[i] = arena_.take<float>(size);
    out.d_states[i] = arena_.take<float>(size);
    std::fill_n(out.d_states[i], size, 0.0f);
  }
  const std::uint64_t mark = arena_.used();
  for (std::size_t i = 0; i < stacks_.size(); ++i) {
    TapeOptions options = tape_options(i, is_whole);
    if (!drops) options.dropout = {};
    training_forward(stacks_[i].model->training_plan(), {model_.kernels(), model_.team()}, batches[i], out.tapes[i], out.states[i],
                     arena_, options, i > 0 ? sources_of(out) : CrossSources{});
    arena_.rewind(mark);
  }
  return out;
}

BackwardScope Trainer::scope_of(std::size_t stack) const {
  return {.first_layer = first_layer(stack),
          .embeddings = trains_embeddings(),
          .embedding_biases = options_.bias == LoraBias::kAll,
          .layers = trains_layers(),
          .words = shares_words() ? &stacks_.back().gradients->ends().word_table : nullptr,
          .word_rows = trains_word_table() ? &word_gradients_ : nullptr,
          .biases = biases_,
          .weights = whole_};
}

void Trainer::backward_stacks(const Forward& ran) {
  const std::uint64_t mark = arena_.used();
  for (std::size_t i = stacks_.size(); i-- > 0;) {
    if (first_layer(i) == stacks_[i].model->config().num_hidden_layers) continue;
    CrossSources sources = i > 0 ? sources_of(ran) : CrossSources{};
    if (options_.method == TrainMethod::kLastLayers) sources.d_states = nullptr;
    const Transformer* gradients = stacks_[i].gradients.get();
    backward(stacks_[i].model->training_plan(), {model_.kernels(), model_.team()}, ran.batches[i], ran.tapes[i], ran.d_states[i],
             arena_, gradients ? &gradients->training_plan() : nullptr, scope_of(i), tape_options(i, ran.is_whole), sources);
    arena_.rewind(mark);
  }
  collect_buckets();
}

bool Trainer::averages_logits() const {
  return options_.head == HeadKind::kSequence && head_reading(model_).input == HeadInput::kEach;
}

Result<Trainer::LossSum> Trainer::evaluate(const TrainRows& rows) {
  if (!is_lm()) return input_error("training: expected a language model");
  const auto ran = forward(rows, false, false);
  if (!ran.ok()) return ran.error();
  const std::size_t last = stacks_.size() - 1;
  return lm_loss(rows, ran.value().batches[last], ran.value().states[last], 1, nullptr);
}

Result<std::int64_t> Trainer::count_words(const TrainRows& rows) const {
  Batch batches[2];
  if (auto encoded = encode(rows, std::span(batches).first(stacks_.size())); !encoded.ok()) return encoded.error();
  std::vector<std::int32_t> ids = std::move(batches[0].input_ids);
  ids.insert(ids.end(), batches[1].input_ids.begin(), batches[1].input_ids.end());
  std::ranges::sort(ids);
  return std::unique(ids.begin(), ids.end()) - ids.begin();
}

Error Trainer::drop(const Error& error) {
  clear_gradients();
  return error;
}

Result<Trainer::Part> Trainer::begin_part(const TrainRows& rows, bool is_whole) {
  if (accumulated_ == 0) clear_gradients();
  auto ran = forward(rows, true, is_whole && accumulated_ == 0);
  if (!ran.ok()) return drop(ran.error());
  Part out{std::move(ran).value(), {}};
  for (std::size_t i = 0; trains_word_table() && i < stacks_.size(); ++i) {
    if (auto added = word_gradients_.add(out.ran.batches[i].input_ids); !added.ok()) return drop(added.error());
  }
  if (is_lm() && !has_own_loss()) return out;  // whose logits are not kept
  const std::size_t last = stacks_.size() - 1;
  auto given = outputs_of(rows, out.ran.batches[last], out.ran.states[last], true, out.outputs);
  if (!given.ok()) return drop(given.error());
  out.outputs.d_values.resize(out.outputs.values.size());
  return out;
}

Result<void> Trainer::end_part(Part& part, double loss, double share, bool has_d_states) {
  if (!std::isfinite(loss)) return drop(not_finite("loss"));
  const std::size_t last = stacks_.size() - 1;
  if (!has_d_states) {
    auto done = outputs_backward(part.ran.batches[last], part.ran.states[last], static_cast<float>(share), part.outputs,
                                 part.ran.d_states[last]);
    if (!done.ok()) return drop(done.error());
  }
  if (options_.method != TrainMethod::kHead) backward_stacks(part.ran);
  ++accumulated_;
  loss_ += loss * share;
  for (std::size_t i = 0; i <= last; ++i) tokens_ += part.ran.batches[i].tokens();
  return {};
}

Result<double> Trainer::accumulate(const TrainRows& rows, double share) {
  if (has_own_loss())
    return drop(input_error("training: expected outputs() and accumulate_gradient() with a custom loss, found accumulate()"));
  auto begun = begin_part(rows, share == 1);
  if (!begun.ok()) return begun.error();
  Part& part = begun.value();
  Result<double> loss = 0.0;
  if (is_lm()) {
    const std::size_t last = stacks_.size() - 1;
    const auto sum =
        lm_loss(rows, part.ran.batches[last], part.ran.states[last], static_cast<float>(share), part.ran.d_states[last]);
    loss = sum.ok() ? Result<double>(sum.value().sum / static_cast<double>(sum.value().tokens)) : Result<double>(sum.error());
  } else {
    loss = uses_head() ? head_loss(rows, part.outputs) : sentence_loss(rows, part.outputs);
  }
  if (!loss.ok()) return drop(loss.error());
  if (auto ended = end_part(part, loss.value(), share, is_lm()); !ended.ok()) return ended.error();
  return loss;
}

Result<TrainOutputs> Trainer::outputs(const TrainRows& rows, bool is_whole, bool learns) {
  part_.reset();
  if (!has_own_loss()) return drop(input_error("training: expected a custom loss with outputs(), found none"));
  if (learns) {
    auto begun = begin_part(rows, is_whole);
    if (!begun.ok()) return begun.error();
    part_ = std::move(begun).value();
  } else {
    auto ran = forward(rows, false, false);
    if (!ran.ok()) return ran.error();
    part_ = Part{std::move(ran).value(), {}};
    const std::size_t last = stacks_.size() - 1;
    auto given = outputs_of(rows, part_->ran.batches[last], part_->ran.states[last], false, part_->outputs);
    if (!given.ok()) return given.error();
  }
  return TrainOutputs{part_->outputs.values, part_->outputs.width, part_->outputs.labels};
}

Result<void> Trainer::accumulate_gradient(std::span<const float> d_values, double loss) {
  if (!part_ || d_values.size() != part_->outputs.d_values.size()) {
    return drop(input_error("training: expected one gradient for each number from outputs()"));
  }
  std::ranges::copy(d_values, part_->outputs.d_values.begin());
  auto ended = end_part(*part_, loss, 1, false);
  part_.reset();
  return ended;
}

Result<TrainReport> Trainer::update() {
  if (accumulated_ == 0) return input_error("training: expected accumulate() before update()");
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    lora_.read_gradients(i, lora_gradients_[3 * i], lora_gradients_[3 * i + 1], lora_gradients_[3 * i + 2]);
  }
  read_saved_gradients();
  // The norm is one sum, in the order of the table.
  std::vector<std::int32_t> words(word_gradients_.ids().begin(), word_gradients_.ids().end());
  std::ranges::sort(words);
  std::vector<std::span<float>> all;
  all.reserve(parameters_.size() + words.size());
  for (const Parameter& parameter : parameters_) {
    if (!parameter.is_words()) {
      all.push_back(parameter.gradient);
      continue;
    }
    for (const std::int32_t id : words)
      all.emplace_back(word_gradients_.find(id), static_cast<std::size_t>(word_gradients_.width()));
  }
  TrainReport report{.step = step_ + 1, .loss = loss_, .tokens = tokens_};
  report.grad_norm = clip_grad_norm(all, options_.max_grad_norm > 0 ? options_.max_grad_norm : HUGE_VAL);
  accumulated_ = 0;
  if (!std::isfinite(report.grad_norm)) return not_finite("gradient");
  if (auto added = word_moments_.add(words); !added.ok()) return added.error();
  Adam adam = options_.adam;
  adam.lr = static_cast<float>(options_.adam.lr *
                               schedule_factor(options_.schedule, step_, options_.warmup_steps, options_.training_steps));
  adam.decoupled = true;
  const AdamStep with_decay(adam, report.step);
  adam.weight_decay = 0;
  const AdamStep without_decay(adam, report.step);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    if (parameter.is_words()) {
      update_words(with_decay, parameter.value);
    } else {
      (parameter.decays ? with_decay : without_decay)
          .run(parameter.value, parameter.gradient.data(), moments_[i].first.data(), moments_[i].second.data());
    }
  }
  spread_weights();
  step_ = report.step;
  report.learning_rate = adam.lr;
  return report;
}

// As with gradients and moments of all words, which are zeros where a word has not occurred.
void Trainer::update_words(const AdamStep& adam, std::span<float> table) {
  const auto width = static_cast<std::size_t>(word_gradients_.width());
  const std::vector<float> zeros(width);
  for (std::int32_t id = 0; id < static_cast<std::int32_t>(word_moments_.rows()); ++id) {
    const std::span<float> row = table.subspan(static_cast<std::size_t>(id) * width, width);
    float* moments = word_moments_.find(id);
    const float* gradient = word_gradients_.find(id);
    if (moments) {
      adam.run(row, gradient ? gradient : zeros.data(), moments, moments + width);
    } else {
      adam.decay(row);
    }
  }
}

std::size_t Trainer::state_size() const {
  std::size_t size = 0;
  for (const Parameter& parameter : parameters_) size += 3 * parameter.value.size();
  return size;
}

// The moments of all words, so that a state does not depend on what has occurred.
std::vector<float> Trainer::state() const {
  std::vector<float> out;
  out.reserve(state_size());
  const auto add = [&](std::span<const float> values) { out.insert(out.end(), values.begin(), values.end()); };
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    add(parameters_[i].value);
    add(moments_[i].first);
    add(moments_[i].second);
    const auto width = static_cast<std::size_t>(word_gradients_.width());
    for (const std::size_t from : {std::size_t{0}, width}) {
      for (std::int32_t id = 0; parameters_[i].is_words() && id < static_cast<std::int32_t>(word_moments_.rows()); ++id) {
        const float* moments = word_moments_.find(id);
        if (moments) {
          add({moments + from, width});
        } else {
          out.resize(out.size() + width);
        }
      }
    }
  }
  return out;
}

Result<void> Trainer::set_state(std::span<const float> state, std::int64_t step) {
  if (const std::size_t size = state_size(); state.size() != size) {
    return input_error("training: expected a state of " + std::to_string(size) + " numbers, found " + std::to_string(state.size()));
  }
  model_.slots().forget_prefixes();  // an error below leaves some weights changed
  const float* from = state.data();
  const auto take = [&](std::span<float> into) {
    std::copy_n(from, into.size(), into.begin());
    from += into.size();
  };
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    take(parameters_[i].value);
    take(moments_[i].first);
    take(moments_[i].second);
    if (!parameters_[i].is_words()) continue;
    if (auto taken = take_word_moments(from); !taken.ok()) return taken;
    from += 2 * parameters_[i].value.size();
  }
  spread_weights();
  step_ = step;
  accumulated_ = 0;
  return {};
}

// from: [2, vocab, width]
Result<void> Trainer::take_word_moments(const float* from) {
  const std::int64_t width = word_gradients_.width(), size = word_moments_.rows() * width;
  word_moments_.clear();
  for (std::int32_t id = 0; id < static_cast<std::int32_t>(word_moments_.rows()); ++id) {
    const float *first = from + id * width, *second = first + size;
    const auto is_zero = [](float x) { return x == 0; };
    if (std::all_of(first, first + width, is_zero) && std::all_of(second, second + width, is_zero)) continue;
    if (auto added = word_moments_.add({&id, 1}); !added.ok()) return added;
    std::copy_n(second, width, std::copy_n(first, width, word_moments_.find(id)));
  }
  return {};
}

}  // namespace wattn
