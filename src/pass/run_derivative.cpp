// build: -Os
// Runs the instructions of a derivative.
#include <algorithm>

#include "pass/run.h"
#include "pass/section_view.h"

namespace wattn {

float* data_of(const Derivative& derivative, const DerivativePlaces& places, PlanId id) {
  if (id < 0) return nullptr;
  const bool d = id >= kGradients;
  const Layout::Home& home = derivative.layout.of(id);
  if (home.place == Place::kTape) return places.known[derivative.layout.home[static_cast<std::size_t>(id)]];
  float* const of_place[] = {reinterpret_cast<float*>(places.arena + home.offset), places.stream,
                             d ? places.d_relative : places.relative, places.output, d ? places.d_sources : places.sources};
  return of_place[static_cast<int>(home.place)];
}

namespace {

class Runner {
 public:
  Runner(const Plan& plan, const PassInput& pass, const Wanted& wanted, const Derivative& derivative, const Plan* gradients,
         const DerivativePlaces& places, std::int64_t layer)
      : plan_(plan),
        pass_(pass),
        wanted_(wanted),
        derivative_(derivative),
        gradients_(gradients),
        places_(places),
        layer_(layer),
        view_(plan, wanted.use) {}

  void run() {
    for (int i = 0; i < static_cast<int>(derivative_.instructions.size()); ++i) {
      const Instruction& one = derivative_.instructions[static_cast<std::size_t>(i)];
      if (kPoisonsMemory) poison_free(derivative_.layout, places_.arena, i, true);
      const Layout::Scratch& scratch = derivative_.layout.scratch[static_cast<std::size_t>(i)];
      Arena arena = Arena::inside(places_.arena + scratch.offset, scratch.bytes);
      const Step& step = view_.step(one.step);
      OpCall call = call_of(plan_, wanted_.use, step, pass_);
      call.scratch = &arena;
      if (one.backward) {
        backward(one, step, call);
      } else {
        call.x = data(step.x);
        call.other = data(step.other);
        call.out = data(step.out);
        run_step(plan_, wanted_.use, step, layer_, call);
      }
      if (kPoisonsMemory) poison_free(derivative_.layout, places_.arena, i, false);
    }
    if (derivative_.copies_back) std::copy_n(d(kStreamValue), floats(kStreamValue), places_.stream);
  }

 private:
  float* data(PlanId id) const { return data_of(derivative_, places_, id); }
  float* d(PlanId id) const { return id < 0 ? nullptr : data(gradient(id)); }
  std::int64_t floats(PlanId id) const { return rows_of(view_.value(id).rows, pass_.sizes) * view_.value(id).width; }

  void backward(const Instruction& one, const Step& step, OpCall& call) {
    const GradientRow& row = gradient_row(step.op);
    call.layer = layer_;
    if (layer_ >= 0) call.score_divisor = plan_.layers[static_cast<std::size_t>(layer_)].score_divisor;
    each_read(step, one.reads, [&](PlanId id) {
      if (id == step.x) call.x = data(id);
      if (id == step.other) call.other = data(id);
      if (id == step.out) call.out = data(id);
    });
    GradientCall gradient{.forward = call, .d_out = d(step.out), .d_x = d(one.d_x), .d_other = d(one.d_other)};
    drop_gradient(step, gradient.d_out);
    if (one.learns) gradient.gradient = gradient_of(step);
    if (step.op == Op::kAdd) return add(one, gradient);
    // The first contribution to a gradient is written, the others are added.
    float *const to_x = gradient.d_x, *const to_other = gradient.d_other;
    const auto prepare = [&](PlanId id, bool more, float*& at) {
      if (id < 0) return;
      if (row.adds && !more) std::fill_n(at, floats(id), 0.0f);
      if (!row.adds && more) at = call.scratch->take<float>(floats(id));
    };
    prepare(one.d_x, one.more_x, gradient.d_x);
    prepare(one.d_other, one.more_other, gradient.d_other);
    row.backward(gradient);
    if (gradient.d_x != to_x) add_to(gradient.d_x, floats(one.d_x), to_x);
    if (gradient.d_other != to_other) add_to(gradient.d_other, floats(one.d_other), to_other);
  }

  // The gradient of a sum is that of both summands.
  void add(const Instruction& one, GradientCall gradient) const {
    if (one.more_other) add_to(gradient.d_out, floats(one.d_other), gradient.d_other);
    if (one.d_x < 0 || gradient.d_x == gradient.d_out) return;
    float* const to_x = gradient.d_x;
    if (one.more_x) gradient.d_x = gradient.forward.scratch->take<float>(floats(one.d_x));
    gradient_row(Op::kAdd).backward(gradient);
    if (gradient.d_x != to_x) add_to(gradient.d_x, floats(one.d_x), to_x);
  }

  void drop_gradient(const Step& step, float* d_out) const {
    const DropPlace place = view_.value(step.out).drop;
    if (pass_.training->dropout.at(place) > 0) drop(*pass_.compute, pass_.training->at(place, layer_), d_out, floats(step.out));
  }

  const void* gradient_of(const Step& step) const {
    if (const WeightGradient* own = gradient_in(wanted_.weights, view_.weight(step)->at)) return own->gradient;
    return gradients_->weights[static_cast<std::size_t>(wanted_.use.first_weight + step.weight)].at;
  }

  static void add_to(const float* from, std::int64_t count, float* to) {
    for (std::int64_t i = 0; i < count; ++i) to[i] += from[i];
  }

  const Plan& plan_;
  const PassInput& pass_;
  const Wanted& wanted_;
  const Derivative& derivative_;
  const Plan* gradients_;
  const DerivativePlaces& places_;
  std::int64_t layer_;
  SectionView view_;
};

}  // namespace

void run(const Plan& plan, const PassInput& pass, const Wanted& wanted, const Derivative& derivative, const Plan* gradients,
         const DerivativePlaces& places, std::int64_t layer) {
  Runner(plan, pass, wanted, derivative, gradients, places, layer).run();
}

}  // namespace wattn
