#include "tokenizer/ascii_words.h"

#include "core/utf.h"

namespace wattn {

std::unique_ptr<AsciiWords> AsciiWords::make(const Normalizer* normalizer, const PreTokenizer* pre_tokenizer,
                                             const AddedTokens& added_tokens, const TokenModel& model) {
  const AsciiMap* map = normalizer ? normalizer->ascii_map() : nullptr;
  const AsciiClasses* classes = pre_tokenizer ? pre_tokenizer->ascii_classes() : nullptr;
  if (!map || !classes || !added_tokens.are_all_raw()) return nullptr;
  return std::unique_ptr<AsciiWords>(new AsciiWords(*map, *classes, added_tokens, model));
}

AsciiWords::AsciiWords(const AsciiMap& map, const AsciiClasses& classes, const AddedTokens& added_tokens, const TokenModel& model)
    : added_(added_tokens.raw_trie()), model_(model) {
  for (std::size_t c = 0; c < plain_.size(); ++c) {
    if (map[c] == kAsciiRemoved) continue;
    const CharClass kind = classes[map[c]];
    plain_[c] = kind == CharClass::kSpace    ? kSpace
                : kind == CharClass::kLetter ? map[c]
                                             : static_cast<Plain>(map[c] | kPunctuation);
    fast_[c] = added_.may_begin(static_cast<char32_t>(c)) ? kSlowPath : plain_[c];
  }
}

AsciiWords::Plain AsciiWords::classify(std::u16string_view text, std::size_t position) const {
  const char16_t c = text[position];
  return c >= plain_.size() || (added_.may_begin(c) && added_.any_at(text, position)) ? kSlowPath : plain_[c];
}

void AsciiWords::Slot::put(const Word& of, const std::vector<Token>& tokens) {
  word = of;
  num_tokens = 0;
  for (const Token& token : tokens) {
    const std::size_t begin = num_tokens == 0 ? 0 : ends[num_tokens - 1u];
    if (num_tokens == kMaxTokens || token.begin != begin) {
      word = {};
      return;
    }
    ids[num_tokens] = token.id;
    ends[num_tokens++] = static_cast<std::uint8_t>(token.end);
  }
}

bool AsciiWords::run_model(std::u16string_view word) const {
  letters_.clear();
  for (const char16_t c : word) letters_ += static_cast<char32_t>(plain_[c] & ~kPunctuation);
  tokens_.clear();
  return model_.tokenize(letters_, tokens_);
}

std::size_t AsciiWords::tokenize(std::u16string_view text, std::size_t begin, TextTokens& out) const {
  if (slots_.empty()) slots_.resize(kNumSlots);
  for (std::size_t end = begin; begin < text.size(); begin = end) {
    Plain c = plain_at(text, end++);
    if (c == kSpace) continue;
    if (c == kSlowPath) return begin;
    Word word{.low = c};
    if (c < kPunctuation) {
      for (; end < text.size() && is_letter(c = plain_at(text, end)); ++end) {
        const std::size_t place = end - begin;
        (place < 8 ? word.low : word.high) |= std::uint64_t{c} << 8 * (place % 8);
      }
      if (c == kSlowPath) return begin;
    }
    const bool is_short = end - begin <= kMaxLetters;
    if (is_short) word.high |= static_cast<std::uint64_t>(end - begin) << 56;
    Slot& slot = slots_[slot_of(word)];
    std::int32_t at = static_cast<std::int32_t>(begin);
    if (!is_short || slot.word != word) {
      if (!run_model(text.substr(begin, end - begin))) return begin;  // the slow path reports the error
      for (const Token& token : tokens_) {
        out.push(token.id, {at + static_cast<std::int32_t>(token.begin), at + static_cast<std::int32_t>(token.end)});
      }
      if (is_short) slot.put(word, tokens_);
    } else {
      for (std::size_t i = 0, from = 0; i < slot.num_tokens; from = slot.ends[i++]) {
        out.push(slot.ids[i], {at + static_cast<std::int32_t>(from), at + slot.ends[i]});
      }
    }
    ++out.num_words;
  }
  return text.size();
}

std::optional<std::size_t> AsciiWords::slow_path_end(std::u16string_view text, std::size_t begin) const {
  constexpr std::size_t kMinGap = 16;  // starting the slow path costs about as much as this many characters on it
  std::size_t last = begin;
  for (std::size_t next = begin; next < text.size();) {
    const std::size_t position = next;
    const char32_t c = next_code_point(text, next);
    if (added_.may_begin(c) && added_.any_at(text, position)) return std::nullopt;
    const Plain plain = c < plain_.size() ? plain_[c] : kSlowPath;
    if (plain == kSlowPath) last = position;
    if (plain == kSpace && position - last > kMinGap) return position;
  }
  return text.size();
}

}  // namespace wattn
