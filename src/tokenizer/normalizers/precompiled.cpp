// Precompiled: SentencePiece's table of replacements (charsmap.h), applied to grapheme clusters or, if none matches, to characters.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/utf.h"
#include "tokenizer/component.h"
#include "tokenizer/graphemes.h"
#include "tokenizer/normalizers/charsmap.h"
#include "tokenizer/normalizers/normalizer.h"

namespace wattn {
namespace {

// Clusters of this many bytes or more are looked up character by character, as in the reference.
constexpr std::size_t kShortCluster = 6;

class Precompiled : public Normalizer {
 public:
  explicit Precompiled(Charsmap charsmap) : charsmap_(std::move(charsmap)) {}

  void normalize(NormalizedText& text) const override {
    std::vector<Change> changes;
    changes.reserve(text.size());
    bool modified = false;
    for (std::size_t begin = 0; begin < text.size() && changes.size() <= text.most;) {
      const std::size_t end = grapheme_end(text.chars, begin);
      if (end - begin > 1 && replace(std::u32string_view(text.chars).substr(begin, end - begin), changes)) {
        modified = true;
        begin = end;
        continue;
      }
      for (; begin < end; ++begin) {
        if (replace(std::u32string_view(&text.chars[begin], 1), changes)) {
          modified = true;
        } else {
          changes.push_back({text.chars[begin], 0});
        }
      }
    }
    if (!modified) return;
    TextRewriter rewriter(text);
    for (const Change& change : changes) rewriter.put(change.c, change.change);
    rewriter.finish();
  }
  // Clusters of several ASCII characters: "\r\n".
  bool is_local(AsciiSet& tied) const override {
    tied.set('\r');
    return true;
  }

 private:
  struct Change {
    char32_t c;
    int change;  // as TextRewriter takes it
  };

  // As in the reference, removed characters are counted with the character before them, whichever it is, or not at all.
  bool replace(std::u32string_view part, std::vector<Change>& changes) const {
    char bytes[kShortCluster];
    std::size_t size = 0;
    for (const char32_t c : part) {
      const std::size_t needed = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
      if (size + needed >= kShortCluster) return false;
      size += write_utf8(c, bytes + size);
    }
    const std::optional<Charsmap::Match> found = charsmap_.find({bytes, size}, false);
    if (!found) return false;
    const std::u32string replacement = to_utf32(found->replacement);
    for (const char32_t c : replacement) changes.push_back({c, 0});
    for (std::size_t i = part.size(); i < replacement.size(); ++i) changes[changes.size() - 1 - (i - part.size())].change = 1;
    if (replacement.size() < part.size() && !changes.empty()) {
      changes.back().change -= static_cast<int>(part.size() - replacement.size());
    }
    return true;
  }

  Charsmap charsmap_;
};

}  // namespace

NormalizerResult read_precompiled(JsonRef json, int) {
  Fields fields(json, {"precompiled_charsmap"});
  Charsmap charsmap = fields.take(read_charsmap(fields["precompiled_charsmap"]));
  return make_component<Normalizer, Precompiled>(fields, std::move(charsmap));
}

}  // namespace wattn
