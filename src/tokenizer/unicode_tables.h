// The layout of unicode_tables.cpp and unicode_type_tables.cpp, which tools/make_unicode_tables.py generates.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wattn {

struct CharProperties {
  std::uint16_t flags;           // CharFlag bits
  std::uint8_t combining_class;  // canonical combining class; 0 for starters
};

namespace unicode_tables {

// Code points first, first + step, ... (length of them) have code point + distance as their lowercase.
struct LowercaseRun {
  std::uint32_t first;
  std::uint16_t length;
  std::uint16_t step;
  std::int32_t distance;
};

// Two stages: kRecords[kStage2[kStage1[cp / 128] * 128 + cp % 128]]. The last entry of kStage1 also serves all further blocks.
extern const CharProperties kRecords[];
extern const std::uint8_t kStage1[];
extern const std::size_t kNumStage1;
extern const std::uint8_t kStage2[];

extern const LowercaseRun kLowercaseRuns[];  // sorted by first
extern const std::size_t kNumLowercaseRuns;

// Canonical decomposition, one step: key -> first [second, or 0]. Hangul is computed instead.
extern const char32_t kCanonicalKeys[];  // [kNumCanonicalKeys] sorted
extern const std::size_t kNumCanonicalKeys;
extern const char32_t kCanonicalFirst[];   // [kNumCanonicalKeys]
extern const char32_t kCanonicalSecond[];  // [kNumCanonicalKeys]

// Indices into the canonical arrays, sorted by (first, second): the pairs that NFC composes.
extern const std::uint16_t kCompositionOrder[];
extern const std::size_t kNumCompositionOrder;

// Compatibility decomposition, all steps, where it differs from the canonical one:
// kCompatKeys[i] -> kCompatData[kCompatEnds[i - 1] .. kCompatEnds[i]).
extern const char32_t kCompatKeys[];  // [kNumCompatKeys] sorted
extern const std::size_t kNumCompatKeys;
extern const std::uint16_t kCompatEnds[];  // [kNumCompatKeys]
extern const char16_t kCompatData[];

// Two stages of blocks of 256: CharCategory in the low five bits, GraphemeKind in the high three.
extern const std::uint8_t kTypeStage1[];
extern const std::size_t kNumTypeStage1;
extern const std::uint8_t kTypeStage2[];

// Scripts of all code points in order, as runs. A run has its length (7 bits per byte, low bits first, the high bit set if more
// follow), its script in Unicode 16.0, script in Unicode 9.0. A script is 1 + its index in kScriptNames; 0 is no script.
extern const std::uint8_t kScriptRuns[];
extern const std::size_t kNumScriptRuns;  // bytes
extern const char kScriptNames[];         // each followed by a space

}  // namespace unicode_tables
}  // namespace wattn
