// A cache of the tokens of short words, because prose repeats the same few thousand words. Each word has only one possible slot,
// where the newest word wins: bounded memory (850 kB), and nothing to evict.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizer/models/model.h"

namespace wattn {

class WordCache {
 public:
  // Appends the tokens of a word from the cache; returns false if it is not there.
  bool get(std::u32string_view word, std::vector<Token>& out) const {
    if (word.size() > kMaxChars || slots_.empty()) return false;
    const Slot& slot = slots_[slot_of(word)];
    if (slot.num_chars != word.size() || !std::equal(word.begin(), word.end(), slot.chars.begin())) return false;
    for (std::size_t i = 0; i < slot.num_tokens; ++i) {
      const SmallToken& token = slot.tokens[i];
      out.push_back({token.id, token.begin, token.end, token.shows_text});
    }
    return true;
  }

  // Stores tokens[from] and all after it as those of a word.
  void put(std::u32string_view word, const std::vector<Token>& tokens, std::size_t from) {
    if (word.empty() || word.size() > kMaxChars || tokens.size() - from > kMaxTokens) return;
    if (slots_.empty()) slots_.resize(kNumSlots);
    Slot& slot = slots_[slot_of(word)];
    std::copy(word.begin(), word.end(), slot.chars.begin());
    slot.num_chars = static_cast<std::uint8_t>(word.size());
    slot.num_tokens = static_cast<std::uint8_t>(tokens.size() - from);
    for (std::size_t i = from; i < tokens.size(); ++i) {
      const Token& token = tokens[i];
      slot.tokens[i - from] = {token.id, static_cast<std::uint8_t>(token.begin), static_cast<std::uint8_t>(token.end),
                               token.shows_text};
    }
  }

 private:
  static constexpr std::size_t kNumSlots = 1 << 13, kMaxChars = 15, kMaxTokens = 5;

  struct SmallToken {
    std::int32_t id;
    std::uint8_t begin, end;
    bool shows_text;
  };
  struct Slot {
    std::array<char32_t, kMaxChars> chars;
    std::uint8_t num_chars = 0;  // 0: free
    std::uint8_t num_tokens = 0;
    std::array<SmallToken, kMaxTokens> tokens;
  };

  static std::size_t slot_of(std::u32string_view word) {
    std::uint32_t hash = 0;
    for (const char32_t c : word) hash = (hash ^ c) * 0x9E3779B1;
    return (hash ^ hash >> 15) >> 7 & (kNumSlots - 1);
  }

  std::vector<Slot> slots_;  // allocated for the first word
};

}  // namespace wattn
