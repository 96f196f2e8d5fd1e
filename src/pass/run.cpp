#include "pass/run.h"

#include <algorithm>
#include <utility>

#include "pass/layer_taps.h"

namespace wattn {
namespace {

// The sections of one pass, one after the other, in the same memory of an arena.
class Pass {
 public:
  Pass(const Plan& plan, const PassInput& pass, Arena* arena, const Places& places)
      : plan_(plan), pass_(pass), arena_(arena), begin_(arena ? arena->used() : 0), places_(places) {}
  ~Pass() {
    if (arena_) take(most_);
  }
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;

  void run(const SectionUse& use, std::int64_t layer = -1) {
    if (use.section < 0) return;
    if (use.section != laid_out_) {
      layout_ = lay_out(plan_, use, pass_);
      most_ = std::max(most_, layout_.bytes);
      if (arena_) take(layout_.bytes);
    }
    laid_out_ = use.section;
    run_section(plan_, use, pass_, layout_, places_, layer);
  }

 private:
  void take(std::uint64_t bytes) {
    arena_->rewind(begin_);
    places_.arena = arena_->take<std::byte>(static_cast<std::int64_t>(bytes));
  }

  const Plan& plan_;
  const PassInput& pass_;
  Arena* arena_;  // null: no section needs any
  std::uint64_t begin_, most_ = 0;
  Places places_;
  Layout layout_;
  std::int32_t laid_out_ = -1;
};

std::uint64_t bytes_of(const Plan& plan, const SectionUse& use, const PassInput& pass) {
  return use.section < 0 ? 0 : lay_out(plan, use, pass).bytes;
}

// The relative embeddings, which all layers read.
float* take_relative(Arena& arena, const Plan& plan, std::int64_t buckets) {
  return arena.take<float>(buckets * plan.values[kRelativeValue].width);
}

void show_taps(const Value* values, std::int64_t num_values, PlanId out, float* data, const LayerTaps& taps) {
  if (const char* name = values[out].name) taps.rows(name, data, values[out].width);
  for (const Value* view = values; view < values + num_values; ++view) {
    if (view->of == out && view->name) taps.columns(view->name, data, values[out].width, view->column, view->width);
  }
}

}  // namespace

Disentangled relative_terms(const Plan& plan, std::int64_t tokens) {
  Disentangled out{.distances = plan.distances};
  if (!plan.distances || tokens == 0) return out;
  const std::int64_t longest = std::min(tokens, plan.distances->span);
  out.first = plan.distances->of(1 - longest);
  out.count = plan.distances->of(longest - 1) + 1 - out.first;
  return out;
}

void run_section(const Plan& plan, const SectionUse& use, const PassInput& pass, const Layout& layout, const Places& places,
                 std::int64_t layer) {
  const Section& section = plan.sections[static_cast<std::size_t>(use.section)];
  const Value* values = plan.values.data() + section.first_value;
  const auto data_of = [&](PlanId id) -> float* {
    if (id < 0) return nullptr;
    const Layout::Home& home = layout.of(id);
    if (home.place == Place::kTape) return places.tape[layout.home[static_cast<std::size_t>(id)]];
    float* const of_place[] = {reinterpret_cast<float*>(places.arena + home.offset), places.stream, places.relative, places.output,
                               places.sources};
    return of_place[static_cast<int>(home.place)];
  };
  for (int s = 0; s < section.num_steps; ++s) {
    const Step& step = plan.steps[static_cast<std::size_t>(section.first_step + s)];
    if (kPoisonsMemory) poison_free(layout, places.arena, s, true);
    const Layout::Scratch& scratch = layout.scratch[static_cast<std::size_t>(s)];
    Arena arena = Arena::inside(places.arena + scratch.offset, scratch.bytes);
    OpCall call = call_of(plan, use, step, pass);
    call.x = data_of(step.x);
    call.other = data_of(step.other);
    call.out = data_of(step.out);
    call.scratch = &arena;
    run_step(plan, use, step, layer, call);
    if (pass.taps && step.out >= 0) {
      show_taps(values, section.num_values, step.out, call.out, {pass.taps, static_cast<int>(layer), call.rows});
    }
    if (kPoisonsMemory) poison_free(layout, places.arena, s, false);
  }
}

void run_step(const Plan& plan, const SectionUse& use, const Step& step, std::int64_t layer, OpCall& call) {
  call.layer = layer;
  if (layer >= 0) {
    call.score_divisor = plan.layers[static_cast<std::size_t>(layer)].score_divisor;
    call.state = plan.layers[static_cast<std::size_t>(layer)].state;
  }
  call.pass.rows(step.op).forward(call);
  if (!call.pass.drop || step.out < 0) return;
  const Section& section = plan.sections[static_cast<std::size_t>(use.section)];
  call.pass.drop(call, plan.values[static_cast<std::size_t>(section.first_value + step.out)].drop);
}

std::uint64_t forward_bytes(const Plan& plan, const PassSizes& limits) {
  PassInput pass{.sizes = limits};
  if (plan.keys_values.q8) pass.sizes.q8_keys = limits.keys;
  pass.sizes.buckets = relative_terms(plan, limits.own_keys).count;
  std::uint64_t most = std::max(bytes_of(plan, plan.embeddings, pass), bytes_of(plan, plan.final_norm, pass));
  std::int32_t last = -1;  // layers of one kind often follow each other
  for (const Layer& layer : plan.layers) {
    if (std::exchange(last, layer.steps.section) != layer.steps.section) most = std::max(most, bytes_of(plan, layer.steps, pass));
  }
  Arena measure;
  take_relative(measure, plan, pass.sizes.buckets);
  return measure.used() + most;
}

void forward(const Plan& plan, const Compute& compute, const Batch& batch, const PassStates& states, Arena& arena, float* hidden,
             Taps* taps, std::size_t layers) {
  const ThreadTeam::Awake awake(compute.team);
  const std::int64_t own_keys = states.cache ? 0 : batch.longest(), sources = states.cross_kv ? states.cross_kv->cache.length : 0;
  const Disentangled relative = relative_terms(plan, own_keys);
  const PassInput input{.compute = &compute,
                        .batch = &batch,
                        .sizes = {.tokens = batch.tokens(),
                                  .buckets = relative.count,
                                  .keys = std::max(states.cache ? states.cache->length : own_keys, sources),
                                  .own_keys = own_keys,
                                  .q8_keys = states.cache && states.cache->q8 ? states.cache->length : 0,
                                  .threads = compute.team.threads()},
                        .states = states,
                        .taps = taps,
                        .relative = relative};
  float* const relative_rows = take_relative(arena, plan, relative.count);
  Pass pass(plan, input, &arena, {.stream = hidden, .relative = relative_rows});
  pass.run(plan.embeddings);
  for (std::size_t layer = 0; layer < std::min(layers, plan.layers.size()); ++layer) {
    pass.run(plan.layers[layer].steps, static_cast<std::int64_t>(layer));
  }
  pass.run(plan.final_norm);
}

std::uint64_t read_source_bytes(const Plan& plan, std::int64_t tokens, int threads) {
  return bytes_of(plan, plan.layers.front().source, {.sizes = {.tokens = tokens, .threads = threads}});
}

void read_source(const Plan& plan, const Compute& compute, const float* states, std::int64_t tokens, std::int64_t slot,
                 CrossKv& cross_kv, Arena& arena, Taps* taps) {
  const ThreadTeam::Awake awake(compute.team);
  const PassInput input{.compute = &compute,
                        .sizes = {.tokens = tokens, .threads = compute.team.threads()},
                        .states = {.cross_kv = &cross_kv},
                        .source = slot,
                        .taps = taps};
  Pass pass(plan, input, &arena, {.stream = const_cast<float*>(states)});
  for (std::size_t layer = 0; layer < plan.layers.size(); ++layer) {
    pass.run(plan.layers[layer].source, static_cast<std::int64_t>(layer));
  }
  cross_kv.lengths[static_cast<std::size_t>(slot)] = static_cast<std::int32_t>(tokens);
}

void final_norm(const Plan& plan, const Compute& compute, float* rows, std::int64_t count) {
  const PassInput input{.compute = &compute, .sizes = {.tokens = count}};
  Pass(plan, input, nullptr, {.stream = rows}).run(plan.final_norm);
}

std::uint64_t lm_head_bytes(const Plan& plan, std::int64_t rows, int threads) {
  return bytes_of(plan, plan.head, {.sizes = {.tokens = rows, .threads = threads}});
}

void lm_head(const Plan& plan, const Compute& compute, float* hidden, std::int64_t rows, Arena& arena, float* logits) {
  const ThreadTeam::Awake awake(compute.team);
  const PassInput input{.compute = &compute, .sizes = {.tokens = rows, .threads = compute.team.threads()}};
  Pass(plan, input, &arena, {.stream = hidden, .output = logits}).run(plan.head);
}

KvCache take_kv_cache(Arena& arena, const Plan& plan, std::int64_t slots, std::int64_t length, bool states) {
  const State& state = plan.keys_values;
  KvCache cache = take_kv_cache(arena, state.shape, state.layers, slots, length, state.q8);
  cache.product_width = state.product_width;
  cache.product_layers = state.product_layers;
  cache.products = arena.take<float>(slots * state.product_layers * cache.length * state.product_width);
  cache.state_size = state.state_size;
  cache.state_layers = states ? state.state_layers : 0;
  cache.states = arena.take<float>(slots * cache.state_layers * state.state_size);
  return cache;
}

CrossKv take_cross_kv(Arena& arena, const Plan& plan, std::int64_t slots, std::int64_t length) {
  return {take_kv_cache(arena, plan.cross_keys_values.shape, plan.cross_keys_values.layers, slots, length),
          std::vector<std::int32_t>(static_cast<std::size_t>(slots))};
}

}  // namespace wattn
