#include "pass/memory.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace wattn {
namespace {

std::uint64_t measured(const OpRow& row, OpCall call) {
  if (!row.scratch) return 0;
  Arena measure;
  call.scratch = &measure;
  row.scratch(call);
  return measure.used();
}

class Planner {
 public:
  Planner(const Plan& plan, const SectionUse& use, const PassInput& pass)
      : plan_(plan), use_(use), pass_(pass), section_(plan.sections[static_cast<std::size_t>(use.section)]) {
    assert(static_cast<std::size_t>(section_.num_values) <= kMostValues &&
           static_cast<std::size_t>(section_.num_steps) <= kMostSteps);
  }

  Layout run() {
    find_lifetimes();
    for (int s = 0; s < section_.num_steps; ++s) join(s);
    for (int s = 0; s < section_.num_steps; ++s) place(s);
    for (int s = 0; s < section_.num_steps; ++s) {
      const std::uint64_t bytes = measured(op_row(step(s).op), call_of(plan_, use_, step(s), pass_));
      const std::uint64_t offset = end_of_live(s, s);
      out_.scratch[static_cast<std::size_t>(s)] = {offset, bytes};
      out_.bytes = std::max(out_.bytes, offset + bytes);
    }
    return out_;
  }

 private:
  const Step& step(int s) const { return plan_.steps[static_cast<std::size_t>(section_.first_step + s)]; }
  const Value& value(PlanId id) const { return plan_.values[static_cast<std::size_t>(section_.first_value + id)]; }
  Layout::Home& home(PlanId id) { return out_.homes[static_cast<std::size_t>(out_.home[static_cast<std::size_t>(id)])]; }

  void find_lifetimes() {
    for (int v = 0; v < section_.num_values; ++v) {
      const auto id = static_cast<PlanId>(v);
      out_.home[static_cast<std::size_t>(v)] = value(id).of < 0 ? id : value(id).of;
      out_.homes[static_cast<std::size_t>(v)].place = value(id).place;
    }
    for (int s = 0; s < section_.num_steps; ++s) {
      for (const PlanId id : {step(s).x, step(s).other, step(s).out}) {
        if (id >= 0) home(id).last = static_cast<std::int8_t>(s);
      }
    }
    // The relative embeddings outlast the section; the stream is over when its result takes its place.
    out_.homes[kRelativeValue].last = static_cast<std::int8_t>(section_.num_steps);
  }

  // The result takes the memory of what the step reads, where the op may write there and nothing reads it afterwards.
  void join(int s) {
    const OpRow& row = op_row(step(s).op);
    const auto is_over = [&](PlanId id) { return id >= 0 && home(id).last == s && home(id).place != Place::kRelative; };
    const bool over_other = row.over_other && is_over(step(s).other);
    if (step(s).out < 0 || !(over_other || (row.over_x && is_over(step(s).x)))) return;
    const PlanId out = step(s).out, root = out_.home[static_cast<std::size_t>(over_other ? step(s).other : step(s).x)];
    Layout::Home &shared = home(root), &own = home(out);
    shared.last = std::max(shared.last, own.last);
    if (own.place != Place::kArena) shared.place = own.place;
    std::replace(out_.home.begin(), out_.home.end(), out, root);
  }

  void place(int s) {
    const PlanId out = step(s).out;
    if (out < 0 || out_.home[static_cast<std::size_t>(out)] != out) return;
    Layout::Home& own = home(out);
    own.first = static_cast<std::int8_t>(s);
    if (own.place != Place::kArena) return;
    Arena measure;
    measure.take<float>((value(out).rows == Rows::kTokens ? pass_.sizes.tokens : pass_.sizes.buckets) * value(out).width);
    own.offset = end_of_live(own.first, own.last);
    own.bytes = measure.used();
  }

  // Behind everything in the arena that is needed at one of these steps. No gap is filled: what fits into one for some sizes may
  // not fit for smaller ones.
  std::uint64_t end_of_live(int first, int last) const {
    std::uint64_t end = 0;
    for (int v = 0; v < section_.num_values; ++v) {
      const Layout::Home& other = out_.homes[static_cast<std::size_t>(v)];
      if (other.bytes > 0 && other.first <= last && other.last >= first) end = std::max(end, other.offset + other.bytes);
    }
    return end;
  }

  const Plan& plan_;
  const SectionUse& use_;
  const PassInput& pass_;
  const Section& section_;
  Layout out_;
};

}  // namespace

Layout lay_out(const Plan& plan, const SectionUse& use, const PassInput& pass) { return Planner(plan, use, pass).run(); }

void poison_free(const Section& section, const Layout& layout, std::byte* arena, int step, bool before) {
  const auto poison = [&](std::uint64_t offset, std::uint64_t bytes) {
    if (bytes > 0) std::memset(arena + offset, 0xFF, static_cast<std::size_t>(bytes));  // NaN as floats
  };
  for (int v = 0; v < section.num_values; ++v) {
    const Layout::Home& home = layout.homes[static_cast<std::size_t>(v)];
    if (before ? home.first == step : home.last == step) poison(home.offset, home.bytes);
  }
  const Layout::Scratch& scratch = layout.scratch[static_cast<std::size_t>(step)];
  poison(scratch.offset, scratch.bytes);
}

OpCall call_of(const Plan& plan, const SectionUse& use, const Step& step, const PassInput& pass) {
  const Value* values = plan.values.data() + plan.sections[static_cast<std::size_t>(use.section)].first_value;
  const PlanId rows_of = step.out >= 0 ? step.out : step.x;
  OpCall call{.pass = pass};
  if (step.weight >= 0) call.weight = plan.weights[static_cast<std::size_t>(use.first_weight + step.weight)].at;
  if (step.attention >= 0) call.attention = &plan.attentions[static_cast<std::size_t>(step.attention)];
  call.variant = step.variant;
  call.factor = step.factor;
  call.rows = values[rows_of].rows == Rows::kTokens ? pass.sizes.tokens : pass.sizes.buckets;
  if (step.x >= 0) call.x_width = values[step.x].width;
  if (step.out >= 0) call.width = values[step.out].width;
  return call;
}

}  // namespace wattn
