// The pieces that unigram training starts with: every character, and frequent substrings of words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wattn {

// Words as code points, concatenated.
struct WordTexts {
  std::u32string chars;
  std::vector<std::uint32_t> begins = {0};  // [words + 1]

  std::size_t size() const { return begins.size() - 1; }
};

struct SeedPiece {
  std::uint32_t begin = 0;  // of one occurrence in WordTexts::chars
  std::uint32_t length = 0;
  double score = 0;
};

struct Seeds {
  std::vector<SeedPiece> pieces;           // score: count (for characters), or count times length
  std::vector<std::uint32_t> match_begin;  // [chars + 1] into matches
  std::vector<std::uint32_t> matches;      // the pieces at each position
};

// Substrings of 2 to max_length characters that occur at least twice and cannot be extended without becoming rarer: the inner nodes
// of the suffix tree, as in SentencePiece. The best are taken by count times length: num_pieces with the characters, but as in
// `tokenizers` at least one. word_counts: [words].
Seeds find_seeds(const WordTexts& words, const std::vector<std::uint64_t>& word_counts, std::size_t max_length,
                 std::size_t num_pieces);

}  // namespace wattn
