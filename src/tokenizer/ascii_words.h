// The fast path for plain ASCII text, in place of the normalizer, the pre-tokenizer and, mostly, the model. One pass lowercases,
// splits words and looks up their tokens in a cache. It has no rules of its own: each stage tells once how it treats ASCII
// characters (Normalizer::ascii_map, PreTokenizer::ascii_classes), and only stages that can do so have a fast path. The rest of a
// text takes the slow path, stretch by stretch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/added_tokens.h"
#include "tokenizer/models/model.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/pre_tokenizers/pre_tokenizer.h"
#include "tokenizer/text_tokens.h"

namespace wattn {

class AsciiWords {
 public:
  // nullptr if these stages have no fast path. The added tokens and the model must outlive it.
  static std::unique_ptr<AsciiWords> make(const Normalizer* normalizer, const PreTokenizer* pre_tokenizer,
                                          const AddedTokens& added_tokens, const TokenModel& model);

  // Appends the tokens of the words from text[begin], up to the first one that needs the slow path; returns where that begins
  // (text.size() if there is none).
  std::size_t tokenize(std::u16string_view text, std::size_t begin, TextTokens& out) const;

  // Where the slow path from text[begin] may end: before whitespace, a little after the last character that needs it. Nothing if
  // there is an added token, whose effects have no limit.
  std::optional<std::size_t> slow_path_end(std::u16string_view text, std::size_t begin) const;

 private:
  // What an ASCII character becomes: 0 if it needs the slow path, kSpace, a normalized letter, or normalized punctuation combined
  // with kPunctuation.
  using Plain = std::uint8_t;
  static constexpr Plain kSlowPath = 0, kSpace = ' ', kPunctuation = 0x80;
  static bool is_letter(Plain c) { return c != kSlowPath && c != kSpace && c < kPunctuation; }

  // Up to 15 letters, and their number in the last byte.
  struct Word {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    friend bool operator==(const Word&, const Word&) = default;
  };
  static constexpr std::size_t kMaxLetters = 15, kMaxTokens = 3, kSlotBits = 14, kNumSlots = 1 << kSlotBits;
  struct Slot {
    Word word;  // all zero: free
    std::array<std::int32_t, kMaxTokens> ids;
    std::array<std::uint8_t, kMaxTokens> ends;  // in letters; each token begins where the one before it ends
    std::uint8_t num_tokens;
    void put(const Word& of, const std::vector<Token>& tokens);
  };

  AsciiWords(const AsciiMap& map, const AsciiClasses& classes, const AddedTokens& added_tokens, const TokenModel& model);
  Plain plain_at(std::u16string_view text, std::size_t position) const {
    const char16_t c = text[position];
    const Plain fast = c < fast_.size() ? fast_[c] : kSlowPath;
    return fast != kSlowPath ? fast : classify(text, position);
  }
  Plain classify(std::u16string_view text, std::size_t position) const;
  static std::size_t slot_of(const Word& word) {
    return static_cast<std::size_t>((word.low ^ word.high * 0x9E3779B97F4A7C15) * 0xD6E8FEB86659FD93 >> (64 - kSlotBits));
  }
  bool run_model(std::u16string_view word) const;  // the result is in tokens_

  std::array<Plain, 128> plain_{};
  std::array<Plain, 128> fast_{};  // the same, but kSlowPath for characters that an added token may begin with
  const TokenTrie& added_;
  const TokenModel& model_;
  mutable std::vector<Slot> slots_;  // 512 kB, allocated for the first word; a new word replaces the one in its slot
  mutable std::u32string letters_;   // the normalized word that the model tokenizes
  mutable std::vector<Token> tokens_;
};

}  // namespace wattn
