#include "pass/differentiate.h"

#include <algorithm>

#include "pass/section_view.h"

namespace wattn {
namespace {

// Whether an op costs about what a pass does.
bool is_product(Op op) { return op == Op::kLinear || op == Op::kExperts; }

// Whether an op may leave out the gradient of x; the others compute it in any case.
bool may_leave_out(Op op) { return op == Op::kLinear || op == Op::kAdd || op == Op::kAddRows; }

class Differentiator {
 public:
  Differentiator(const Plan& plan, const PassInput& pass, const Wanted& wanted)
      : plan_(plan), pass_(pass), wanted_(wanted), view_(plan, wanted.use) {}

  Derivative run() {
    for (const PlanId id : wanted_.known) is_there_[static_cast<std::size_t>(id)] = true;
    for (const PlanId id : wanted_.again) ensure(id);
    if (wanted_.result >= 0) backward();
    out_.layout = lay_out(accesses(), extents(true), true);
    if (wanted_.result >= 0 && wanted_.of_result == Place::kStream && overlaps()) {
      out_.copies_back = wanted_.input;
      out_.layout = lay_out(accesses(), extents(false), true);
    }
    return std::move(out_);
  }

 private:
  bool has(PlanId id) const { return has_[static_cast<std::size_t>(id)]; }

  bool is_base(PlanId id) const { return view_.writer(id) < 0; }

  // Runs steps again until the value is there.
  void ensure(PlanId id) {
    if (is_base(id) || is_there_[static_cast<std::size_t>(id)]) return;
    const auto s = static_cast<std::int8_t>(view_.writer(id));
    const Step& step = view_.step(s);
    if (step.x >= 0) ensure(step.x);
    if (step.other >= 0) ensure(step.other);
    out_.instructions.push_back({.step = s});
    is_there_[static_cast<std::size_t>(id)] = true;
  }

  OpCall call(const Step& step) const { return call_of(plan_, wanted_.use, step, pass_); }

  bool learns_whole(const Step& step) const {
    const Weight* weight = view_.weight(step);
    if (!weight || weight->learned == Learned::kNever) return false;
    if (gradient_in(wanted_.weights, weight->at)) return true;
    return weight->learned == Learned::kWithEmbeddings ? wanted_.embeddings : wanted_.layers;
  }
  Learns learns(const Step& step) const {
    if (learns_whole(step)) return Learns::kWhole;
    const GradientRow& row = gradient_row(step.op);
    return row.learns && view_.weight(step) ? row.learns(call(step)) : Learns::kNothing;
  }

  void backward() {
    std::array<bool, kMostValues> flows{};  // whether a gradient of the value leads to something that is wanted
    const auto flows_to = [&](PlanId id) { return id >= 0 && flows[static_cast<std::size_t>(id)]; };
    for (int v = 0; v < view_.values(); ++v) {
      const auto id = static_cast<PlanId>(v);
      if (is_base(id)) flows[static_cast<std::size_t>(v)] = base_is_wanted(id);
    }
    for (int s = 0; s < view_.steps(); ++s) {
      const Step& step = view_.step(s);
      if (step.out < 0) continue;
      flows[static_cast<std::size_t>(step.out)] = learns(step) != Learns::kNothing || flows_to(step.x) || flows_to(step.other);
    }
    has_[static_cast<std::size_t>(wanted_.result)] = true;
    if (wanted_.relative >= 0) has_[static_cast<std::size_t>(wanted_.relative)] = true;
    for (int s = view_.steps() - 1; s >= 0; --s) {
      const Step& step = view_.step(s);
      if (step.out < 0 || !has(step.out) || !flows_to(step.out)) continue;
      Instruction one{.step = static_cast<std::int8_t>(s),
                      .backward = true,
                      .learns = learns_whole(step),
                      .reads = learns(step) == Learns::kWhole};
      each_read(step, one.reads, [&](PlanId id) { ensure(id); });
      if (step.x >= 0 && (!may_leave_out(step.op) || flows_to(step.x))) one.d_x = step.x;
      const bool is_cross = step.op == Op::kAttention && plan_.attentions[static_cast<std::size_t>(step.attention)].cross;
      if (flows_to(step.other) || is_cross) one.d_other = step.other;
      for (const auto& [id, more] : {std::pair{one.d_x, &one.more_x}, {one.d_other, &one.more_other}}) {
        if (id < 0) continue;
        *more = has(id);
        has_[static_cast<std::size_t>(id)] = true;
      }
      out_.instructions.push_back(one);
    }
  }

  // What a section reads: its stream, the relative embeddings, and an encoder's states, whose gradients have something.
  bool base_is_wanted(PlanId id) {
    if (id == kStreamValue) return wanted_.input;
    const bool sources = view_.value(id).place == Place::kSources;
    const bool is_wanted = sources ? wanted_.sources : id == kRelativeValue && wanted_.relative_input;
    if (is_wanted) has_[static_cast<std::size_t>(id)] = true;
    return is_wanted;
  }

  std::uint64_t bytes(PlanId id) const {
    Arena measure;
    measure.take<float>(rows_of(view_.value(id).rows, pass_.sizes) * view_.value(id).width);
    return measure.used();
  }

  std::vector<Extent> extents(bool in_stream) const {
    std::vector<Extent> out(kMostValues);
    for (int v = 0; v < view_.values(); ++v) {
      const auto id = static_cast<PlanId>(v);
      const Value& value = view_.value(id);
      Extent &own = out[static_cast<std::size_t>(v)], &d = out[static_cast<std::size_t>(gradient(id))];
      own = {.bytes = bytes(id), .of = value.of, .stays = is_base(id) && value.of < 0};
      d.bytes = own.bytes;
      if (own.stays) own.place = d.place = value.place;
      if (id == kStreamValue) d.place = in_stream ? Place::kStream : Place::kArena;
      if (id == kStreamValue) d.stays = !in_stream;
      if (id == wanted_.result) d.place = wanted_.of_result;
      if (id == wanted_.relative) d.place = Place::kRelative;
    }
    for (const PlanId id : wanted_.known) out[static_cast<std::size_t>(id)] = {.place = Place::kTape, .stays = true};
    for (const PlanId id : wanted_.again) out[static_cast<std::size_t>(id)].stays = true;
    return out;
  }

  std::vector<Access> accesses() const {
    std::vector<Access> out;
    out.reserve(out_.instructions.size());
    for (const Instruction& one : out_.instructions) out.push_back(one.backward ? backward_access(one) : forward_access(one));
    return out;
  }

  Access forward_access(const Instruction& one) const {
    const Step& step = view_.step(one.step);
    const OpRow& row = pass_.rows(step.op);
    Access out;
    out.reads = {step.x, step.other, -1, -1};
    out.writes[0] = step.out;
    out.over = {row.over_other ? step.other : PlanId{-1}, row.over_x ? step.x : PlanId{-1}};
    out.scratch = scratch_of(row.scratch, call(step));
    return out;
  }

  Access backward_access(const Instruction& one) const {
    const Step& step = view_.step(one.step);
    const GradientRow& row = gradient_row(step.op);
    Access out;
    out.reads[0] = gradient(step.out);
    std::size_t reads = 1;
    each_read(step, one.reads, [&](PlanId id) { out.reads[reads++] = id; });
    if (one.d_x >= 0) out.writes[0] = gradient(one.d_x);
    if (one.d_other >= 0) out.writes[1] = gradient(one.d_other);
    if (step.op == Op::kAdd) {
      if (one.d_other >= 0 && !one.more_other) out.renames[0] = gradient(one.d_other);
      if (one.d_x >= 0 && shares(one)) out.renames[1] = gradient(one.d_x);
    } else if (row.in_place && one.d_x >= 0 && !one.more_x) {
      out.over[0] = gradient(step.out);
    }
    Arena measure;
    const auto if_added = [&](PlanId id, bool more) {
      if (id >= 0 && more && !row.adds) measure.take<std::byte>(static_cast<std::int64_t>(bytes(id)));
    };
    if_added(one.d_x, one.more_x);
    if_added(one.d_other, one.more_other && step.op != Op::kAdd);
    if (row.scratch) {
      OpCall forward = call(step);
      forward.scratch = &measure;
      row.scratch({.forward = forward});
    }
    out.scratch = measure.used();
    return out;
  }

  // The summand of an add has the gradient of the sum. It may be one memory with that of the other summand, to which later
  // instructions add, if the instruction after it is the last one that reads it.
  bool shares(const Instruction& one) const {
    const Step& step = view_.step(one.step);
    if (one.more_x || step.factor != 1) return false;
    if (one.d_other < 0) return true;
    const bool is_dropped = pass_.training->dropout.at(view_.value(step.x).drop) > 0;
    return !is_dropped && !one.more_other && view_.writer(step.x) == one.step - 1 && view_.step(one.step - 1).op != Op::kAdd &&
           !gradient_row(view_.step(one.step - 1).op).in_place;
  }

  bool overlaps() const {
    const Layout& layout = out_.layout;
    const auto of = [&](PlanId id) { return layout.home[static_cast<std::size_t>(gradient(id))]; };
    if (of(kStreamValue) == of(wanted_.result)) return false;
    const Layout::Home &input = layout.of(gradient(kStreamValue)), &result = layout.of(gradient(wanted_.result));
    return input.first >= 0 && input.first <= result.last;
  }

  const Plan& plan_;
  const PassInput& pass_;
  const Wanted& wanted_;
  SectionView view_;
  std::array<bool, kMostValues> is_there_{}, has_{};
  Derivative out_;
};

// Which values a section's derivative needs, and how it comes by them.
class Keeper {
 public:
  Keeper(const Plan& plan, const SectionUse& use, PlanId result) : view_(plan, use), result_(result) {
    for (int s = 0; s < view_.steps(); ++s) {
      each_read(view_.step(s), true, [&](PlanId id) { needed_[static_cast<std::size_t>(id)] = true; });
    }
  }

  std::vector<PlanId> run() {
    for (int v = 0; v < view_.values(); ++v) {
      const auto id = static_cast<PlanId>(v);
      if (view_.writer(id) < 0) continue;
      const bool keeps = needed_[static_cast<std::size_t>(v)] && !view_.value(id).again && !follows(id, true);
      if (keeps || (id == result_ && !follows(id, false))) kept_.push_back(id);
    }
    return kept_;
  }

  void use(std::span<const PlanId> kept) { kept_.assign(kept.begin(), kept.end()); }

  // The kept values from which the value follows.
  void collect(PlanId id, std::vector<PlanId>& out) const {
    if (std::ranges::find(kept_, id) != kept_.end()) {
      if (std::ranges::find(out, id) == out.end()) out.push_back(id);
    } else if (view_.writer(id) >= 0) {
      const Step& step = view_.step(view_.writer(id));
      if (step.x >= 0) collect(step.x, out);
      if (step.other >= 0) collect(step.other, out);
    }
  }

 private:
  // Whether the value is there, or follows from others without a product, besides those that are computed again in any case.
  bool follows(PlanId id, bool with_products) const {
    if (view_.writer(id) < 0) return with_products || view_.value(id).of >= 0;
    if (std::ranges::find(kept_, id) != kept_.end()) return true;
    const Step& step = view_.step(view_.writer(id));
    if (is_product(step.op) && !(with_products && view_.value(id).again)) return false;
    return (step.x < 0 || follows(step.x, with_products)) && (step.other < 0 || follows(step.other, with_products));
  }

  SectionView view_;
  PlanId result_;
  std::array<bool, kMostValues> needed_{};
  std::vector<PlanId> kept_;
};

}  // namespace

Derivative differentiate(const Plan& plan, const PassInput& pass, const Wanted& wanted) {
  return Differentiator(plan, pass, wanted).run();
}

std::vector<PlanId> values_to_keep(const Plan& plan, const SectionUse& use, PlanId result) {
  return Keeper(plan, use, result).run();
}

std::vector<PlanId> values_of_result(const Plan& plan, const SectionUse& use, PlanId result, std::span<const PlanId> kept) {
  Keeper keeper(plan, use, result);
  keeper.use(kept);
  std::vector<PlanId> out;
  keeper.collect(result, out);
  return out;
}

PlanId result_of(const Plan& plan, const SectionUse& use) {
  const Section& section = plan.sections[static_cast<std::size_t>(use.section)];
  return plan.steps[static_cast<std::size_t>(section.first_step + section.num_steps - 1)].out;
}

}  // namespace wattn
