// Splitting at delimiters, with five behaviors for the delimiters themselves.
#pragma once

#include <cstdint>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "tokenizer/pre_tokenized_text.h"
#include "tokenizer/regex/regex.h"

namespace wattn {

// "the-final--countdown" at "-":
enum class DelimiterBehavior {
  kRemoved,             // the final countdown
  kIsolated,            // the - final - - countdown
  kMergedWithPrevious,  // the- final- - countdown
  kMergedWithNext,      // the -final - -countdown
  kContiguous,          // the - final -- countdown
};

Result<DelimiterBehavior> read_delimiter_behavior(JsonRef json);

struct DelimiterMatch {
  std::uint32_t begin;
  std::uint32_t end;
  bool is_delimiter;
};

// matches: consecutive ranges that cover one split. Appends the splits that the behavior makes of them.
void apply_delimiters(const std::vector<DelimiterMatch>& matches, DelimiterBehavior behavior, std::vector<Split>& out);

// Splits at every character for which is_delimiter(c) holds.
template <class IsDelimiter>
void split_at_chars(PreTokenizedText& text, DelimiterBehavior behavior, IsDelimiter is_delimiter) {
  std::vector<DelimiterMatch> matches;
  resplit(text, [&](const Split& split, std::vector<Split>& out) {
    matches.clear();
    std::uint32_t begin = split.begin;
    for (std::uint32_t i = split.begin; i < split.end; ++i) {
      if (!is_delimiter(text.text.chars[i])) continue;
      if (begin < i) matches.push_back({begin, i, false});
      matches.push_back({i, i + 1, true});
      begin = i + 1;
    }
    if (begin < split.end) matches.push_back({begin, split.end, false});
    apply_delimiters(matches, behavior, out);
  });
}

// Splits at the matches that find(chars, out) appends for the characters of a split, or with invert at the text between them.
template <class Find>
void split_at_matches(PreTokenizedText& text, DelimiterBehavior behavior, bool invert, Find find) {
  std::vector<TextMatch> found;
  std::vector<DelimiterMatch> matches;
  resplit(text, [&](const Split& split, std::vector<Split>& out) {
    found.clear();
    matches.clear();
    find(text.chars_of(split), found);
    std::uint32_t begin = split.begin;
    for (const TextMatch& match : found) {
      if (begin < split.begin + match.begin) matches.push_back({begin, split.begin + match.begin, invert});
      begin = split.begin + match.end;
      matches.push_back({split.begin + match.begin, begin, !invert});
    }
    if (begin < split.end) matches.push_back({begin, split.end, invert});
    apply_delimiters(matches, behavior, out);
  });
}

}  // namespace wattn
