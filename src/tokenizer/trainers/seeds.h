// The pieces that unigram training starts from: every character, and the substrings of words that come often.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wattn {

// Words one after the other, as code points.
struct WordTexts {
  std::u32string chars;
  std::vector<std::uint32_t> begins = {0};  // [words + 1]

  std::size_t size() const { return begins.size() - 1; }
};

struct Piece {
  std::uint32_t begin = 0;  // somewhere it stands in WordTexts::chars
  std::uint32_t length = 0;
  double score = 0;
};

struct Seeds {
  std::vector<Piece> pieces;               // score: how often (characters), or how often times length
  std::vector<std::uint32_t> match_begin;  // [chars + 1] into matches
  std::vector<std::uint32_t> matches;      // for each position the pieces that stand there
};

// Substrings of 2 to max_length characters that come at least twice and are as long as they can be without coming more rarely
// (the inner nodes of the suffix tree, as in SentencePiece), the best num_pieces by count times length. char_counts: how often
// the characters of each word count, [words].
Seeds find_seeds(const WordTexts& words, const std::vector<std::uint64_t>& word_counts, std::size_t max_length,
                 std::size_t num_pieces);

}  // namespace wattn
