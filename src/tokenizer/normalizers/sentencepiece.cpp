// SentencePiece's own normalizer (normalizer.cc), written by formats/pieces.cpp (no tokenizer.json has it). Unlike Precompiled it
// uses the longest entry of the table at every position, and then handles whitespace.
#include <string>

#include "core/utf.h"
#include "tokenizer/component.h"
#include "tokenizer/language.h"
#include "tokenizer/normalizers/charsmap.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/token_trie.h"

namespace wattn {
namespace {

constexpr char32_t kMark = 0x2581;

class SentencePieceNormalizer : public Normalizer {
 public:
  SentencePieceNormalizer(Charsmap charsmap, TokenTrie user_defined, bool add_dummy_prefix, bool remove_extra_whitespaces,
                          bool language_first, bool each_part)
      : charsmap_(std::move(charsmap)),
        user_defined_(std::move(user_defined)),
        add_dummy_prefix_(add_dummy_prefix),
        remove_extra_whitespaces_(remove_extra_whitespaces),
        language_first_(language_first),
        each_part_(each_part) {}

  void normalize(NormalizedText& text) const override {
    NormalizedText out = text.next();
    out.reserve(text.size() + 1);
    bool after_space = remove_extra_whitespaces_;  // further spaces are extra
    bool begun = false;
    const std::size_t language = language_first_ ? language_length(text.chars) : 0;
    for (std::size_t i = 0; i < language; ++i) out.push(text.chars[i], text.span_of(i, i + 1));
    for (std::size_t i = language; i < text.size() && !out.is_too_long;) {
      std::size_t length = 0;
      const std::u32string part = normalized_at(text.chars, i, length);
      const TextSpan span = text.span_of(i, i + length);
      i += length;
      for (const char32_t c : part) {
        if (c == U' ' && after_space) continue;
        if (!begun && add_dummy_prefix_ && (text.origin == 0 || each_part_)) out.push(kMark, span);
        begun = true;
        out.push(c == U' ' ? kMark : c, span);
        after_space = false;
      }
      if (!part.empty() && part.back() == U' ' && remove_extra_whitespaces_) after_space = true;
    }
    while (remove_extra_whitespaces_ && out.size() > language && out.chars.back() == kMark) out.resize(out.size() - 1);
    text = std::move(out);
  }

 private:
  // The normalized text at a position, and the number of characters that it replaces.
  std::u32string normalized_at(std::u32string_view chars, std::size_t at, std::size_t& length) const {
    if (!user_defined_.empty() && user_defined_.may_begin(chars[at])) {
      length = user_defined_.longest_at(chars, at).length;
      if (length > 0) return std::u32string(chars.substr(at, length));
    }
    std::string bytes;
    std::vector<std::size_t> ends;
    for (std::size_t i = at; i < chars.size() && ends.size() < kLongestEntry; ++i) {
      append_utf8(chars[i], bytes);
      ends.push_back(bytes.size());
    }
    const std::optional<Charsmap::Match> match = charsmap_.find(bytes, true);
    length = 1;
    if (!match) return std::u32string(1, chars[at]);
    while (length < ends.size() && ends[length - 1] < match->length) ++length;
    return to_utf32(match->replacement);
  }

  static constexpr std::size_t kLongestEntry = 16;  // characters; the longest of SentencePiece's own tables has 4

  Charsmap charsmap_;
  TokenTrie user_defined_;  // strings that stay unchanged: user-defined symbols
  bool add_dummy_prefix_, remove_extra_whitespaces_;
  bool language_first_;  // for Marian, see language.h
  bool each_part_;       // every part of a text between special tokens is a beginning
};

}  // namespace

NormalizerResult read_sentencepiece_normalizer(JsonRef json, int) {
  Fields fields(json, {"precompiled_charsmap", "add_dummy_prefix", "remove_extra_whitespaces", "language_first", "each_part",
                       "user_defined"});
  std::vector<std::pair<std::u32string, std::int32_t>> user_defined;
  fields.each(fields.array("user_defined"),
              [&](JsonRef text) { user_defined.emplace_back(to_utf32(fields.take(text.as_string())), 0); });
  Charsmap charsmap = fields.take(read_charsmap(fields["precompiled_charsmap"]));
  const bool add_dummy_prefix = fields.boolean("add_dummy_prefix");
  const bool remove_extra_whitespaces = fields.boolean("remove_extra_whitespaces");
  const bool language_first = fields.boolean_or("language_first", false);
  const bool each_part = fields.boolean_or("each_part", false);
  return make_component<Normalizer, SentencePieceNormalizer>(fields, std::move(charsmap), TokenTrie(user_defined), add_dummy_prefix,
                                                             remove_extra_whitespaces, language_first, each_part);
}

}  // namespace wattn
