#include "pass/training.h"

#include <vector>

#include "pass/differentiate.h"
#include "pass/run.h"
#include "pass/section_view.h"

namespace wattn {
namespace {

// The tape: the values that each layer's derivative reads. TapeOptions::spare is filled back to front, as the last layer's memory
// is needed first.
class Tape {
 public:
  Tape(const Plan& plan, std::int64_t tokens, const TapeOptions& options, float* tape) : plan_(plan), tape_(tape) {
    const std::int64_t layers = std::ssize(plan.layers), first_kept = std::max<std::int64_t>(layers - options.kept_layers, 0);
    layers_.resize(plan.layers.size());
    const Plan* spare = options.spare && !shares_weights(*options.spare) ? options.spare : nullptr;
    begin_ = spare ? *spare->layers.front().weights : nullptr;
    end_ = spare ? *spare->layers.back().weights : nullptr;
    for (std::int64_t i = layers - 1; i >= 0; --i) {
      if (spare) end_ = std::min(end_, *spare->layers[static_cast<std::size_t>(i)].weights);
      Layer& own = layers_[static_cast<std::size_t>(i)];
      const SectionUse& use = plan.layers[static_cast<std::size_t>(i)].steps;
      own.result = result_of(plan, use);
      const std::vector<PlanId> kept = values_to_keep(plan, use, own.result);
      own.of_result = values_of_result(plan, use, own.result, kept);
      own.known = i >= first_kept ? kept : own.of_result;
      own.data.resize(kMostValues);
      for (const PlanId id : own.known) own.data[static_cast<std::size_t>(id)] = take(tokens * value(use, id).width);
      own.known.insert(own.known.begin(), kStreamValue);
    }
    end_ = begin_;
    first_ = take(tokens * plan.values[kStreamValue].width);
  }

  struct Layer {
    PlanId result = -1;
    std::vector<PlanId> of_result;  // the values from which it follows
    std::vector<PlanId> known;      // those on the tape, and the stream
    std::vector<float*> data;       // [values]
  };
  std::int64_t size() const { return size_; }
  float* first() const { return first_; }  // what the first layer reads
  const Layer& layer(std::size_t i) const { return layers_[i]; }
  Layer& layer(std::size_t i) { return layers_[i]; }
  // The result of a layer; null: it is not on the tape.
  float* result(std::size_t i) const {
    const Layer& layer = layers_[i];
    return layer.of_result.front() == layer.result ? layer.data[static_cast<std::size_t>(layer.result)] : nullptr;
  }
  static bool shares_weights(const Plan& plan) {
    return std::ranges::adjacent_find(plan.layers, std::greater_equal<>(), &wattn::Layer::weights) != plan.layers.end();
  }

 private:
  const Value& value(const SectionUse& use, PlanId id) const {
    return plan_.values[static_cast<std::size_t>(plan_.sections[static_cast<std::size_t>(use.section)].first_value + id)];
  }

  float* take(std::int64_t count) {
    constexpr std::int64_t kAligned = 16;  // floats
    const std::int64_t size = (count + kAligned - 1) / kAligned * kAligned;
    if (end_ - begin_ >= size) return end_ -= size;
    float* const at = tape_ ? tape_ + size_ : nullptr;
    size_ += size;
    return at;
  }

  const Plan& plan_;
  std::int64_t size_ = 0;
  float *tape_, *begin_, *end_, *first_ = nullptr;
  std::vector<Layer> layers_;
};

// Both directions of one pass.
class TrainingPass {
 public:
  TrainingPass(const Plan& plan, const Compute* compute, const Batch* batch, const PassSizes& sizes, const TapeOptions& options,
               const BackwardScope& scope, const CrossSources& sources)
      : plan_(plan),
        scope_(scope),
        sources_(sources),
        options_(options),
        training_{options.dropout, options.seed, options.step, options.lora, scope.biases, scope.word_rows, scope.words},
        input_{.compute = compute,
               .batch = batch,
               .sizes = sizes,
               .relative = relative_terms(plan, sizes.own_keys),
               .rows = training_row,
               .training = &training_,
               .drop = drop_in_training,
               .source_start = sources.seq_start},
        relative_(relative_of(plan)),
        embeddings_learn_(learns_in(plan, plan.embeddings, scope.weights)) {
    input_.sizes.buckets = input_.relative.count;
  }
  TrainingPass(const TrainingPass&) = delete;
  TrainingPass& operator=(const TrainingPass&) = delete;

  // Bytes of either direction.
  std::uint64_t bytes(Tape& tape) {
    std::uint64_t most = lay_out(plan_, plan_.embeddings, input_).bytes;
    const auto needs = [&](const Wanted& wanted) { most = std::max(most, differentiate(plan_, input_, wanted).layout.bytes); };
    for (std::size_t i = 0; i < plan_.layers.size(); ++i) {
      most = std::max(most, lay_out(plan_, plan_.layers[i].steps, input_, tape.layer(i).known).bytes);
      if (static_cast<std::int64_t>(i) >= scope_.first_layer) needs(of_layer(tape, i));
      needs(result_of_layer(tape, i));
    }
    if (reaches_embeddings()) needs(of_embeddings());
    needs(of_relative());
    if (plan_.final_norm.section >= 0) needs(of_final_norm());
    Arena measure;
    take_relative(measure);
    take_input(measure);
    measure.take<std::byte>(static_cast<std::int64_t>(most));
    return measure.used();
  }

  void forward(Tape& tape, float* hidden, Arena& arena) {
    Places places{.stream = tape.first(), .relative = take_relative(arena).rows, .sources = const_cast<float*>(sources_.states)};
    run_forward(plan_.embeddings, {}, -1, places, arena);
    const std::int64_t size = input_.sizes.tokens * plan_.values[kStreamValue].width;
    if (options_.input) std::copy_n(options_.input, size, tape.first());
    for (std::size_t i = 0; i < plan_.layers.size(); ++i) {
      Tape::Layer& layer = tape.layer(i);
      layer.data[kStreamValue] = i == 0 ? tape.first() : tape.result(i - 1) ? tape.result(i - 1) : hidden;
      places.stream = hidden;
      places.tape = layer.data.data();
      run_forward(plan_.layers[i].steps, layer.known, static_cast<std::int64_t>(i), places, arena);
    }
    if (const float* last = tape.result(plan_.layers.size() - 1)) std::copy_n(last, size, hidden);
    places.stream = hidden;
    if (plan_.final_norm.section >= 0) run_forward(plan_.final_norm, {}, -1, places, arena);
    drop(*input_.compute, training_.at(DropPlace::kOutput, -1), hidden, size);
  }

  void backward(Tape& tape, float* d, const Plan* gradients, Arena& arena) {
    const std::int64_t size = input_.sizes.tokens * plan_.values[kStreamValue].width;
    const Relative relative = take_relative(arena);
    DerivativePlaces places{.stream = d,
                            .relative = relative.rows,
                            .d_relative = relative.d_rows,
                            .sources = const_cast<float*>(sources_.states),
                            .d_sources = sources_.d_states};
    if (relative.rows) {
      std::fill_n(relative.d_rows, input_.sizes.buckets * plan_.values[kRelativeValue].width, 0.0f);
      run_again(of_relative(), -1, places, arena, relative.rows, input_.sizes.buckets * plan_.values[kRelativeValue].width);
    }
    drop(*input_.compute, training_.at(DropPlace::kOutput, -1), d, size);
    float* const input = take_input(arena);
    const std::size_t last = plan_.layers.size() - 1;
    if (plan_.final_norm.section >= 0) {
      float* const known[] = {layer_result(tape, last, places, arena, input)};
      places.known = known;
      run_backward(of_final_norm(), gradients, -1, places, arena);
    }
    for (std::size_t i = last + 1; i-- > static_cast<std::size_t>(scope_.first_layer);) {
      Tape::Layer& layer = tape.layer(i);
      layer.data[kStreamValue] = i == 0 ? tape.first() : layer_result(tape, i - 1, places, arena, input);
      if (options_.spare) clear_gradients(i);
      places.known = layer.data.data();
      run_backward(of_layer(tape, i), gradients, static_cast<std::int64_t>(i), places, arena);
    }
    if (!reaches_embeddings()) return;
    places.known = nullptr;
    run_backward(of_embeddings(), gradients, -1, places, arena);
  }

 private:
  bool reaches_embeddings() const {
    return (scope_.embeddings || scope_.embedding_biases || embeddings_learn_) && scope_.first_layer == 0;
  }
  bool wants_embeddings() const { return scope_.embeddings && scope_.first_layer == 0; }

  struct Relative {
    float *rows = nullptr, *d_rows = nullptr;  // [buckets, hidden]
  };
  Relative take_relative(Arena& arena) const {
    if (!plan_.distances) return {};
    const std::int64_t size = input_.sizes.buckets * plan_.values[kRelativeValue].width;
    float* const rows = arena.take<float>(size);
    return {rows, arena.take<float>(size)};
  }
  // What a layer reads, if it is not on the tape.
  float* take_input(Arena& arena) const { return arena.take<float>(input_.sizes.tokens * plan_.values[kStreamValue].width); }

  void run_forward(const SectionUse& use, std::span<const PlanId> kept, std::int64_t layer, Places places, Arena& arena) {
    const std::uint64_t mark = arena.used();
    const Layout layout = lay_out(plan_, use, input_, kept);
    float* tape[kMostValues] = {};
    for (const PlanId id : kept) tape[layout.home[static_cast<std::size_t>(id)]] = places.tape[id];
    places.tape = tape;
    places.arena = arena.take<std::byte>(static_cast<std::int64_t>(layout.bytes));
    run_section(plan_, use, input_, layout, places, layer);
    arena.rewind(mark);
  }

  Wanted of_layer(const Tape& tape, std::size_t i) const {
    return {.use = plan_.layers[i].steps,
            .result = tape.layer(i).result,
            .known = tape.layer(i).known,
            .input = static_cast<std::int64_t>(i) > scope_.first_layer || reaches_embeddings() || scope_.input,
            .relative_input = plan_.distances && reaches_embeddings(),
            .sources = sources_.d_states != nullptr,
            .layers = scope_.layers,
            .embeddings = wants_embeddings(),
            .weights = scope_.weights};
  }
  Wanted result_of_layer(const Tape& tape, std::size_t i) const {
    const Tape::Layer& layer = tape.layer(i);
    return {.use = plan_.layers[i].steps, .known = layer.of_result, .again = {&layer.result, 1}};
  }
  Wanted of_final_norm() const {
    constexpr static PlanId kKnown[] = {kStreamValue};
    return {.use = plan_.final_norm,
            .result = result_of(plan_, plan_.final_norm),
            .known = kKnown,
            .layers = scope_.layers,
            .weights = scope_.weights};
  }
  Wanted of_embeddings() const {
    return {.use = plan_.embeddings,
            .result = result_of(plan_, plan_.embeddings),
            .relative = relative_,
            .input = false,
            .layers = wants_embeddings(),
            .embeddings = wants_embeddings(),
            .weights = scope_.weights};
  }
  // The relative embeddings themselves.
  Wanted of_relative() const { return {.use = plan_.embeddings, .again = {&relative_, relative_ < 0 ? 0U : 1U}, .input = false}; }
  static bool learns_in(const Plan& plan, const SectionUse& use, std::span<const WeightGradient> weights) {
    const SectionView view(plan, use);
    for (int s = 0; s < view.steps(); ++s) {
      const Weight* weight = view.weight(view.step(s));
      if (weight && gradient_in(weights, weight->at)) return true;
    }
    return false;
  }
  static PlanId relative_of(const Plan& plan) {
    const Section& section = plan.sections[static_cast<std::size_t>(plan.embeddings.section)];
    for (int s = 0; s < section.num_steps && plan.distances; ++s) {
      const PlanId out = plan.steps[static_cast<std::size_t>(section.first_step + s)].out;
      if (plan.values[static_cast<std::size_t>(section.first_value + out)].place == Place::kRelative) return out;
    }
    return -1;
  }

  // What a layer has left in the stream; computed again in `to`.
  float* layer_result(const Tape& tape, std::size_t i, DerivativePlaces places, Arena& arena, float* to) {
    if (float* const kept = tape.result(i)) return kept;
    places.known = tape.layer(i).data.data();
    run_again(result_of_layer(tape, i), static_cast<std::int64_t>(i), places, arena, to,
              input_.sizes.tokens * plan_.values[kStreamValue].width);
    return to;
  }

  void run_again(const Wanted& wanted, std::int64_t layer, DerivativePlaces places, Arena& arena, float* to, std::int64_t floats) {
    const Derivative derivative = differentiate(plan_, input_, wanted);
    const std::uint64_t mark = arena.used();
    places.arena = arena.take<std::byte>(static_cast<std::int64_t>(derivative.layout.bytes));
    run(plan_, input_, wanted, derivative, nullptr, places, layer);
    std::copy_n(data_of(derivative, places, wanted.again.front()), floats, to);
    arena.rewind(mark);
  }

  void run_backward(const Wanted& wanted, const Plan* gradients, std::int64_t layer, DerivativePlaces places, Arena& arena) {
    const Derivative derivative = differentiate(plan_, input_, wanted);
    const std::uint64_t mark = arena.used();
    places.arena = arena.take<std::byte>(static_cast<std::int64_t>(derivative.layout.bytes));
    run(plan_, input_, wanted, derivative, gradients, places, layer);
    arena.rewind(mark);
  }

  // Clears the gradients of a layer whose memory the tape has used. The last layer's memory was not used.
  void clear_gradients(std::size_t i) const {
    const Plan& spare = *options_.spare;
    if (Tape::shares_weights(spare) || i + 1 == spare.layers.size()) return;
    std::fill(*spare.layers[i].weights, *spare.layers[i + 1].weights, 0.0f);
  }

  const Plan& plan_;
  BackwardScope scope_;
  CrossSources sources_;
  TapeOptions options_;
  Training training_;
  PassInput input_;
  PlanId relative_;        // the relative embeddings, of the section of the embeddings; -1: none
  bool embeddings_learn_;  // some of scope_.weights are theirs
};

PassSizes sizes_of(const Batch& batch, const CrossSources& sources, const Compute& compute) {
  return {.tokens = batch.tokens(),
          .sources = sources.tokens(),
          .keys = std::max(batch.longest(), sources.longest()),
          .own_keys = batch.longest(),
          .threads = compute.team.threads()};
}

}  // namespace

std::int64_t tape_size(const Plan& plan, std::int64_t tokens, const TapeOptions& options) {
  return Tape(plan, tokens, options, nullptr).size();
}

std::uint64_t backward_bytes(const Plan& plan, const TrainingLimits& limits, const TapeOptions& options,
                             const BackwardScope& scope) {
  Tape tape(plan, limits.tokens, options, nullptr);
  const PassSizes sizes{.tokens = limits.tokens,
                        .sources = limits.source_tokens,
                        .keys = std::max(limits.max_seq, limits.longest_source),
                        .own_keys = limits.max_seq,
                        .threads = limits.threads};
  const auto bytes = [&](float* d_states) {
    return TrainingPass(plan, nullptr, nullptr, sizes, options, scope, {.d_states = d_states}).bytes(tape);
  };
  float d_states = 0;
  return std::max(bytes(nullptr), limits.source_tokens > 0 ? bytes(&d_states) : 0);
}

void training_forward(const Plan& plan, const Compute& compute, const Batch& batch, float* tape, float* hidden, Arena& arena,
                      const TapeOptions& options, const CrossSources& sources) {
  const ThreadTeam::Awake awake(compute.team);
  Tape at(plan, batch.tokens(), options, tape);
  TrainingPass(plan, &compute, &batch, sizes_of(batch, sources, compute), options, {}, sources).forward(at, hidden, arena);
}

void backward(const Plan& plan, const Compute& compute, const Batch& batch, float* tape, float* d_hidden, Arena& arena,
              const Plan* gradients, const BackwardScope& scope, const TapeOptions& options, const CrossSources& sources) {
  const ThreadTeam::Awake awake(compute.team);
  Tape at(plan, batch.tokens(), options, tape);
  TrainingPass(plan, &compute, &batch, sizes_of(batch, sources, compute), options, scope, sources)
      .backward(at, d_hidden, gradients, arena);
}

namespace {

// The value that the matrix of the head reads, and its logits.
struct HeadValues {
  PlanId read = kStreamValue, logits = -1;
};
HeadValues head_values(const Plan& plan) {
  const Section& section = plan.sections[static_cast<std::size_t>(plan.head.section)];
  HeadValues out{.logits = result_of(plan, plan.head)};
  for (int s = 0; s < section.num_steps; ++s) {
    const Step& step = plan.steps[static_cast<std::size_t>(section.first_step + s)];
    if (step.op == Op::kLinear) out.read = step.x;
  }
  return out;
}

}  // namespace

void lm_head_backward(const Plan& plan, const Compute& compute, const LmHeadGradient& g, Arena& arena) {
  const ThreadTeam::Awake awake(compute.team);
  const Training training{.biases = g.biases};
  const PassInput input{.compute = &compute,
                        .sizes = {.tokens = g.rows, .threads = compute.team.threads()},
                        .rows = training_row,
                        .training = &training};
  const HeadValues values = head_values(plan);
  const PlanId known[] = {values.read, values.logits};
  float* data[kMostValues] = {};
  data[values.read] = const_cast<float*>(g.hidden);
  data[values.logits] = const_cast<float*>(g.logits);
  const Wanted wanted{.use = plan.head,
                      .result = values.logits,
                      .known = known,
                      .input = g.d_hidden != nullptr,
                      .layers = g.gradients != nullptr,
                      .weights = g.weights,
                      .of_result = Place::kOutput};
  const Derivative derivative = differentiate(plan, input, wanted);
  const DerivativePlaces places{.stream = g.d_hidden,
                                .output = g.d_logits,
                                .known = data,
                                .arena = arena.take<std::byte>(static_cast<std::int64_t>(derivative.layout.bytes))};
  run(plan, input, wanted, derivative, g.gradients, places);
}

std::uint64_t lm_head_backward_bytes(const Plan& plan, std::int64_t most_rows, int threads) {
  const Training training;
  const PassInput input{.sizes = {.tokens = most_rows, .threads = threads}, .rows = training_row, .training = &training};
  const HeadValues values = head_values(plan);
  const PlanId known[] = {values.read, values.logits};
  Arena measure;
  const Wanted wanted{.use = plan.head, .result = values.logits, .known = known, .of_result = Place::kOutput};
  measure.take<std::byte>(static_cast<std::int64_t>(differentiate(plan, input, wanted).layout.bytes));
  return measure.used();
}

}  // namespace wattn
