// Where the values of a section lie while it runs: each from the step that writes it to the last one that reads it.
#pragma once

#include <array>
#include <cstdint>

#include "plan/plan.h"

namespace wattn {

constexpr std::size_t kMostValues = 40, kMostSteps = 32;  // of a section

struct Layout {
  // What belongs to a value that others may follow in the same memory, at the number of its home: the first of them.
  struct Home {
    Place place = Place::kArena;
    std::int8_t first = -1, last = -1;  // steps; -1: before the first one
    std::uint64_t offset = 0, bytes = 0;
  };
  std::array<PlanId, kMostValues> home{};
  std::array<Home, kMostValues> homes{};
  struct Scratch {
    std::uint64_t offset = 0, bytes = 0;
  };
  std::array<Scratch, kMostSteps> scratch{};
  std::uint64_t bytes = 0;  // of all
};

// Bytes grow with each of the sizes: what was measured for limits is enough for everything within them.
Layout lay_out(const Plan& plan, const SectionUse& use, const PassInput& pass);

// Fills what a step is about to write, or after it what nothing reads any more, so that a layout whose values overlap gives NaN.
void poison_free(const Section& section, const Layout& layout, std::byte* arena, int step, bool before);

// The call of a step, without data.
OpCall call_of(const Plan& plan, const SectionUse& use, const Step& step, const PassInput& pass);

}  // namespace wattn
