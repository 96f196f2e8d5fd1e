// build: -Oz
// The decoder of MarianTokenizer, written by formats/pieces.cpp (no tokenizer.json has it). Consecutive pieces form one text, which
// loses its first mark; each special token is followed by a space, or by nothing (M2M100Tokenizer); spaces at both ends
// are removed.
#include <algorithm>

#include "tokenizer/component.h"
#include "tokenizer/decoders/clean_up.h"
#include "tokenizer/decoders/decoder.h"

namespace wattn {
namespace {

constexpr std::string_view kMark = "\xE2\x96\x81";

class MarianDecoder : public Decoder {
 public:
  MarianDecoder(std::vector<std::string> special, bool separates) : special_(std::move(special)), separates_(separates) {}

  bool decode(std::vector<std::string>& tokens) const override {
    std::string all;
    bool begins = true;
    for (const std::string& token : tokens) {
      const bool is_special = std::find(special_.begin(), special_.end(), token) != special_.end();
      std::string_view piece = token;
      while (begins && !is_special && piece.starts_with(kMark)) piece.remove_prefix(kMark.size());
      begins = is_special || (begins && piece.empty());
      all += piece;
      if (is_special && separates_) all += ' ';
    }
    replace_all(all, kMark, " ");
    const std::size_t first = std::min(all.find_first_not_of(' '), all.size());
    tokens = {all.substr(first, all.find_last_not_of(' ') + 1 - first)};
    return true;
  }

 private:
  std::vector<std::string> special_;
  bool separates_;
};

}  // namespace

DecoderResult read_marian_decoder(JsonRef json, int) {
  Fields fields(json, {"special", "separates"});
  const bool separates = fields.boolean_or("separates", true);
  std::vector<std::string> special;
  fields.each(fields.array("special"), [&](JsonRef token) { special.emplace_back(fields.take(token.as_string())); });
  return make_component<Decoder, MarianDecoder>(fields, std::move(special), separates);
}

}  // namespace wattn
