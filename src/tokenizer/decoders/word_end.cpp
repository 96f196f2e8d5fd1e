// build: -Oz
// What transformers' CLIPTokenizer does after its ByteLevel decoder, written by formats/merges_txt.cpp (no tokenizer.json has it).
// The suffix that ends words becomes a space, and white space at both ends of the text is removed.
#include "core/utf.h"
#include "tokenizer/component.h"
#include "tokenizer/decoders/clean_up.h"
#include "tokenizer/decoders/decoder.h"
#include "tokenizer/unicode.h"

namespace wattn {
namespace {

// As Python's str.strip counts it.
bool is_space(char32_t c) { return has_flag(c, kCharWhitespace) || (c >= 0x1C && c <= 0x1F); }

class WordEnd : public Decoder {
 public:
  explicit WordEnd(std::string suffix) : suffix_(std::move(suffix)) {}

  bool decode(std::vector<std::string>& tokens) const override {
    std::string all;
    for (const std::string& token : tokens) all += token;
    replace_all(all, suffix_, " ");
    const std::u32string text = to_utf32(all);
    std::size_t begin = 0, end = text.size();
    while (begin < end && is_space(text[begin])) ++begin;
    while (begin < end && is_space(text[end - 1])) --end;
    tokens = {to_utf8(std::u32string_view(text).substr(begin, end - begin))};
    return true;
  }

 private:
  std::string suffix_;
};

}  // namespace

std::unique_ptr<Decoder> make_word_end(std::string suffix) { return std::make_unique<WordEnd>(std::move(suffix)); }

DecoderResult read_word_end(JsonRef json, int) {
  Fields fields(json, {"suffix"});
  const std::string_view suffix = fields.string("suffix");
  if (fields.ok() && suffix.empty()) fields.mismatch("suffix", "a non-empty string");
  return make_component<Decoder, WordEnd>(fields, std::string(suffix));
}

}  // namespace wattn
