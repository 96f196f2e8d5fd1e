#include "pass/memory.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace wattn {
namespace {

class Planner {
 public:
  Planner(std::span<const Access> accesses, std::span<const Extent> extents, bool fills_gaps)
      : accesses_(accesses), extents_(extents), fills_gaps_(fills_gaps) {
    assert(extents.size() <= kMostValues && accesses.size() <= kMostSteps);
    out_.values = static_cast<int>(extents.size());
  }

  Layout run() {
    find_lifetimes();
    for (int i = 0; i < count(); ++i) join(i);
    for (int i = 0; i < count(); ++i) place(i);
    for (int i = 0; i < count(); ++i) {
      const std::uint64_t bytes = at(i).scratch, offset = place_for(bytes, i, i);
      out_.scratch[static_cast<std::size_t>(i)] = {offset, bytes};
      out_.bytes = std::max(out_.bytes, offset + bytes);
    }
    return out_;
  }

 private:
  int count() const { return static_cast<int>(accesses_.size()); }
  const Access& at(int i) const { return accesses_[static_cast<std::size_t>(i)]; }
  const Extent& extent(PlanId id) const { return extents_[static_cast<std::size_t>(id)]; }
  PlanId root(PlanId id) const { return out_.home[static_cast<std::size_t>(id)]; }
  Layout::Home& home(PlanId id) { return out_.homes[static_cast<std::size_t>(root(id))]; }

  void find_lifetimes() {
    for (int v = 0; v < out_.values; ++v) {
      const auto id = static_cast<PlanId>(v);
      out_.home[static_cast<std::size_t>(v)] = extent(id).of < 0 ? id : extent(id).of;
      out_.homes[static_cast<std::size_t>(v)].place = extent(id).place;
    }
    const auto touch = [&](PlanId id, int i) {
      if (id >= 0) home(id).last = static_cast<std::int8_t>(i);
    };
    for (int i = 0; i < count(); ++i) {
      for (const PlanId id : at(i).reads) touch(id, i);
      for (const PlanId id : at(i).writes) touch(id, i);
    }
    for (int v = 0; v < out_.values; ++v) {
      if (extent(static_cast<PlanId>(v)).stays) home(static_cast<PlanId>(v)).last = static_cast<std::int8_t>(count());
    }
  }

  // A result takes over the memory of a value that the instruction reads, if it may be written there and nothing reads the value
  // later.
  void join(int i) {
    for (const PlanId name : at(i).renames) {
      if (name >= 0 && root(name) != root(at(i).reads[0])) unite(name, at(i).reads[0]);
    }
    const PlanId out = at(i).writes[0];
    if (out < 0 || root(out) != out) return;
    for (const PlanId id : at(i).over) {
      if (id >= 0 && home(id).last == i) return unite(out, id);
    }
  }

  void unite(PlanId value, PlanId with) {
    const PlanId from = root(value), to = root(with);
    Layout::Home &shared = home(with), &own = home(value);
    shared.last = std::max(shared.last, own.last);
    if (own.place != Place::kArena) shared.place = own.place;
    std::replace(out_.home.begin(), out_.home.begin() + out_.values, from, to);
  }

  void place(int i) {
    for (const PlanId out : at(i).writes) {
      if (out < 0 || root(out) != out) continue;
      Layout::Home& own = home(out);
      if (own.first >= 0) continue;  // it is added to
      own.first = static_cast<std::int8_t>(i);
      if (own.place != Place::kArena) continue;
      const std::uint64_t bytes = extent(out).bytes;
      own.offset = place_for(bytes, own.first, own.last);
      own.bytes = bytes;
      out_.bytes = std::max(out_.bytes, own.offset + bytes);
    }
  }

  // Beside everything in the arena that is needed at one of these instructions: behind all of it, or in the first gap.
  std::uint64_t place_for(std::uint64_t bytes, int first, int last) const {
    const auto is_needed = [&](const Layout::Home& other) { return other.bytes > 0 && other.first <= last && other.last >= first; };
    std::uint64_t offset = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (int v = 0; v < out_.values; ++v) {
        const Layout::Home& other = out_.homes[static_cast<std::size_t>(v)];
        const bool overlaps = !fills_gaps_ || offset + bytes > other.offset;
        if (!is_needed(other) || !overlaps || offset >= other.offset + other.bytes) continue;
        offset = other.offset + other.bytes;
        moved = true;
      }
    }
    return offset;
  }

  std::span<const Access> accesses_;
  std::span<const Extent> extents_;
  bool fills_gaps_;
  Layout out_;
};

std::uint64_t bytes_of(const Value& value, const PassSizes& sizes) {
  Arena measure;
  measure.take<float>(rows_of(value.rows, sizes) * value.width);
  return measure.used();
}

}  // namespace

Layout lay_out(std::span<const Access> accesses, std::span<const Extent> extents, bool fills_gaps) {
  return Planner(accesses, extents, fills_gaps).run();
}

Layout lay_out(const Plan& plan, const SectionUse& use, const PassInput& pass, std::span<const PlanId> kept) {
  const Section& section = plan.sections[static_cast<std::size_t>(use.section)];
  std::array<Access, kMostSteps> accesses;
  std::array<Extent, kMostValues> extents;
  for (int v = 0; v < section.num_values; ++v) {
    const Value& value = plan.values[static_cast<std::size_t>(section.first_value + v)];
    // The relative embeddings outlast the section; the stream is over when its result takes its place.
    extents[static_cast<std::size_t>(v)] = {bytes_of(value, pass.sizes), value.place, value.of, v == kRelativeValue};
  }
  for (const PlanId id : kept) {
    Extent& extent = extents[static_cast<std::size_t>(id)];
    extent.place = Place::kTape;
    extent.stays = true;
  }
  for (int s = 0; s < section.num_steps; ++s) {
    const Step& step = plan.steps[static_cast<std::size_t>(section.first_step + s)];
    const OpRow& row = pass.rows(step.op);
    Access& access = accesses[static_cast<std::size_t>(s)];
    access.reads = {step.x, step.other, -1, -1};
    access.writes[0] = step.out;
    access.over = {row.over_other ? step.other : PlanId{-1}, row.over_x ? step.x : PlanId{-1}};
    access.scratch = scratch_of(row.scratch, call_of(plan, use, step, pass));
  }
  return lay_out(std::span(accesses).first(static_cast<std::size_t>(section.num_steps)),
                 std::span(extents).first(static_cast<std::size_t>(section.num_values)), false);
}

void poison_free(const Layout& layout, std::byte* arena, int instruction, bool before) {
  const auto poison = [&](std::uint64_t offset, std::uint64_t bytes) {
    if (bytes > 0) std::memset(arena + offset, 0xFF, static_cast<std::size_t>(bytes));  // NaN as floats
  };
  for (int v = 0; v < layout.values; ++v) {
    const Layout::Home& home = layout.homes[static_cast<std::size_t>(v)];
    if (before ? home.first == instruction : home.last == instruction) poison(home.offset, home.bytes);
  }
  const Layout::Scratch& scratch = layout.scratch[static_cast<std::size_t>(instruction)];
  poison(scratch.offset, scratch.bytes);
}

std::int64_t rows_of(Rows rows, const PassSizes& sizes) {
  const std::int64_t of_kind[] = {sizes.tokens, sizes.buckets, sizes.sources};
  return of_kind[static_cast<int>(rows)];
}

std::uint64_t scratch_of(void (*scratch)(const OpCall& call), OpCall call) {
  if (!scratch) return 0;
  Arena measure;
  call.scratch = &measure;
  scratch(call);
  return measure.used();
}

OpCall call_of(const Plan& plan, const SectionUse& use, const Step& step, const PassInput& pass) {
  const Value* values = plan.values.data() + plan.sections[static_cast<std::size_t>(use.section)].first_value;
  const PlanId rows_id = step.out >= 0 ? step.out : step.x;
  OpCall call{.pass = pass};
  if (step.weight >= 0) {
    const Weight& weight = plan.weights[static_cast<std::size_t>(use.first_weight + step.weight)];
    call.weight = weight.at;
    call.weight_name = weight.name;
    call.has_bias = weight.bias;
  }
  if (step.attention >= 0) call.attention = &plan.attentions[static_cast<std::size_t>(step.attention)];
  call.variant = step.variant;
  call.factor = step.factor;
  call.rows = rows_of(values[rows_id].rows, pass.sizes);
  if (step.x >= 0) call.x_width = values[step.x].width;
  if (step.other >= 0) call.other_width = values[step.other].width;
  if (step.out >= 0) call.width = values[step.out].width;
  return call;
}

}  // namespace wattn
