#include "tokenizer/byte_words.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/utf.h"
#include "tokenizer/models/byte_bpe.h"
#include "tokenizer/word_pattern.h"

namespace wattn {
namespace {

// Positions in UTF-16 units of positions in UTF-8, which must not decrease.
class Units {
 public:
  explicit Units(std::string_view text) : text_(text) {}

  // The span of the characters that have a byte of [begin, end), which is not empty.
  TextSpan span_of(std::size_t begin, std::size_t end) {
    go_to(begin);
    const std::int32_t first = unit_;
    go_to(end - 1);
    return {first, unit_ + width()};
  }

 private:
  void go_to(std::size_t byte) {
    for (std::size_t size; byte_ + (size = bytes()) <= byte; byte_ += size) unit_ += width();
  }
  std::size_t bytes() const {
    const auto first = static_cast<unsigned char>(text_[byte_]);
    return first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  }
  std::int32_t width() const { return bytes() == 4 ? 2 : 1; }

  std::string_view text_;
  std::size_t byte_ = 0;   // where a character begins
  std::int32_t unit_ = 0;  // the same in units
};

class WordsOfBytes final : public ByteWords {
 public:
  WordsOfBytes(const Normalizer* normalizer, const AddedTokens& added_tokens, const TokenModel& tokens, const ByteModel& model,
               const WordPattern& pattern)
      : normalizer_(normalizer),
        added_(added_tokens),
        tokens_(tokens),
        model_(*model.vocabulary, *model.merges, model.whole_words),
        pattern_(pattern) {}

  bool is_complete() const { return model_.is_complete(); }
  bool tokenize(std::string_view text, bool leave_special, Wanted wanted, TextTokens& out) const override;

 private:
  bool has_added(std::string_view text) const;
  // Appends the ids of text without added tokens. ends: receives the number of ids after each word; may be null.
  void put_words(std::string_view text, std::vector<std::int32_t>& ids, std::vector<std::uint32_t>* ends) const;
  // Fills the rest of out for the words that end there. place: of this text in the whole one.
  void put_spans(std::string_view text, const std::vector<std::uint32_t>& ends, Wanted wanted, TextSpan place,
                 TextTokens& out) const;

  const Normalizer* normalizer_;
  const AddedTokens& added_;
  const TokenModel& tokens_;
  ByteBpe model_;
  WordPattern pattern_;
};

bool WordsOfBytes::has_added(std::string_view text) const {
  return added_.raw_trie().any_in(text) || added_.normalized_trie().any_in(text);
}

void WordsOfBytes::put_words(std::string_view text, std::vector<std::int32_t>& ids, std::vector<std::uint32_t>* ends) const {
  std::array<const char*, 128> found;  // where words end. Looking up many after another hides how long memory takes
  std::string last;                    // a word near the end, with bytes after it
  const char* const end = text.data() + text.size();
  std::size_t size = ids.size();
  ids.resize(size + text.size() / 3 + ByteBpe::kRoom);
  for (const char* word = text.data(); word < end;) {
    std::size_t count = 0;
    for (const char* next = word; count < found.size() && next < end; found[count++] = next) next = pattern_.word_end(next, end);
    const std::size_t most = size + static_cast<std::size_t>(found[count - 1] - word) + ByteBpe::kRoom;
    if (most > ids.size()) ids.resize(most + most / 2);
    std::int32_t* out = ids.data() + size;
    for (std::size_t i = 0; i < count; word = found[i++]) {
      const auto bytes = static_cast<std::size_t>(found[i] - word);
      const char* from = word;
      if (static_cast<std::size_t>(end - found[i]) < ByteBpe::kBytesAhead) {
        from = last.assign(word, bytes).append(ByteBpe::kBytesAhead, '\0').data();
      }
      out = model_.tokenize(from, bytes, out);
      if (ends) ends->push_back(static_cast<std::uint32_t>(out - ids.data()));
    }
    size = static_cast<std::size_t>(out - ids.data());
  }
  ids.resize(size);
}

void WordsOfBytes::put_spans(std::string_view text, const std::vector<std::uint32_t>& ends, Wanted wanted, TextSpan place,
                             TextTokens& out) const {
  Units units(text);
  std::size_t byte = 0;
  for (const std::uint32_t end : ends) {
    while (out.offsets.size() < end) {
      const std::int32_t id = out.ids[out.offsets.size()];
      const std::size_t next = byte + model_.bytes_of(id);
      const TextSpan span = units.span_of(byte, next);
      out.offsets.push_back({place.begin + span.begin, place.begin + span.end});
      out.word_ids.push_back(out.num_words);
      if (wanted == Wanted::kSpaces) out.spaces.push_back(spaces_around(tokens_.id_to_token(id).value_or("")));
      byte = next;
    }
    ++out.num_words;
  }
}

bool WordsOfBytes::tokenize(std::string_view text, bool leave_special, Wanted wanted, TextTokens& out) const {
  if (normalizer_ && !normalizer_->keeps(text)) return false;
  std::vector<std::uint32_t> ends;
  const auto put = [&](std::string_view part, TextSpan place) {
    ends.clear();
    put_words(part, out.ids, wanted == Wanted::kIds ? nullptr : &ends);
    if (wanted != Wanted::kIds) put_spans(part, ends, wanted, place, out);
  };
  if (!has_added(text)) {
    put(text, {});
    return true;
  }
  std::u32string chars;
  std::vector<std::size_t> bytes;   // [chars + 1] where each begins
  std::vector<std::int32_t> units;  // the same in UTF-16 units
  std::int32_t unit = 0;
  for (std::size_t at = 0; at < text.size();) {
    bytes.push_back(at);
    units.push_back(unit);
    chars.push_back(next_code_point(text, at));
    unit += chars.back() > 0xFFFF ? 2 : 1;
  }
  bytes.push_back(text.size());
  units.push_back(unit);
  for (const AddedTokens::Part& part : added_.divide(chars, leave_special)) {
    const TextSpan place{units[part.begin], units[part.end]};
    if (!part.token) {
      put(text.substr(bytes[part.begin], bytes[part.end] - bytes[part.begin]), place);
      continue;
    }
    out.ids.push_back(part.token->id);
    if (wanted == Wanted::kIds) continue;
    out.offsets.push_back(place);
    out.word_ids.push_back(out.num_words++);
    if (wanted == Wanted::kSpaces) out.spaces.push_back(part.spaces);
  }
  return true;
}

std::unique_ptr<ByteWords> make_byte_words(const Normalizer* normalizer, const PreTokenizer* pre_tokenizer,
                                           const AddedTokens& added_tokens, const TokenModel& model) {
  ByteSplit split;
  const ByteModel bytes = model.byte_model();
  if ((normalizer && !normalizer->keeps("")) || !pre_tokenizer || !pre_tokenizer->describe(split) || !split.writes_bytes ||
      !bytes.vocabulary) {
    return nullptr;
  }
  std::optional<WordPattern> pattern = WordPattern::read(split.regex);
  if (!pattern) return nullptr;
  pattern->digits_first = split.digits_first;
  auto words = std::make_unique<WordsOfBytes>(normalizer, added_tokens, model, bytes, *pattern);
  return words->is_complete() ? std::move(words) : nullptr;
}

}  // namespace

const ByteWordsMaker kByteWords{make_byte_words};

}  // namespace wattn
