// The memory of a section's values while it runs: a value has memory from the instruction that writes it to the last that reads
// it.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "plan/plan.h"

namespace wattn {

// The limits of a section, and of its derivative, which has a gradient for each value too.
constexpr std::size_t kMostValues = 80, kMostSteps = 72;

// What one instruction of a pass reads and writes.
struct Access {
  std::array<PlanId, 4> reads{-1, -1, -1, -1};
  std::array<PlanId, 2> writes{-1, -1};
  // Values whose memory the first result may take over if nothing reads them later, in this order; -1: none.
  std::array<PlanId, 2> over{-1, -1};
  // A result that is another name for the first value read and shares its memory; -1: none.
  std::array<PlanId, 2> renames{-1, -1};
  std::uint64_t scratch = 0;
};

struct Extent {
  std::uint64_t bytes = 0;
  Place place = Place::kArena;
  PlanId of = -1;      // a view
  bool stays = false;  // it is read by what follows
};

struct Layout {
  // Memory that several values may use in turn, at the index of its home: the first of them.
  struct Home {
    Place place = Place::kArena;
    std::int8_t first = -1, last = -1;  // instructions; -1: before the first one
    std::uint64_t offset = 0, bytes = 0;
  };
  std::array<PlanId, kMostValues> home{};
  std::array<Home, kMostValues> homes{};
  struct Scratch {
    std::uint64_t offset = 0, bytes = 0;
  };
  std::array<Scratch, kMostSteps> scratch{};
  std::uint64_t bytes = 0;  // of all
  int values = 0;

  const Home& of(PlanId value) const { return homes[static_cast<std::size_t>(home[static_cast<std::size_t>(value)])]; }
};

// fills_gaps: takes less, but not always less for smaller sizes, as what fits into a gap for some may not fit for others.
Layout lay_out(std::span<const Access> accesses, std::span<const Extent> extents, bool fills_gaps);

// The steps of a section. Bytes grow with each of the sizes: what was measured for limits is enough for everything within them.
// kept: the values that lie on a tape, and stay; or none.
Layout lay_out(const Plan& plan, const SectionUse& use, const PassInput& pass, std::span<const PlanId> kept = {});

// Fills memory that an instruction is about to write, or that nothing reads after it, so that a layout with overlapping values
// gives NaN.
void poison_free(const Layout& layout, std::byte* arena, int instruction, bool before);

// The call of a step, without data.
OpCall call_of(const Plan& plan, const SectionUse& use, const Step& step, const PassInput& pass);

// Rows of a value.
std::int64_t rows_of(Rows rows, const PassSizes& sizes);
// Bytes that a step takes beside its values.
std::uint64_t scratch_of(void (*scratch)(const OpCall& call), OpCall call);

}  // namespace wattn
