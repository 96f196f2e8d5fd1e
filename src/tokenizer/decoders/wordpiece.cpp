// WordPiece: a token that begins with the prefix continues the word, any other but the first gets a space before it.
#include <string>
#include <utility>

#include "tokenizer/component.h"
#include "tokenizer/decoders/clean_up.h"
#include "tokenizer/decoders/readers.h"

namespace wattn {

namespace {

class WordPieceDecoder : public Decoder {
 public:
  WordPieceDecoder(std::string prefix, bool cleanup) : prefix_(std::move(prefix)), cleanup_(cleanup) {}

  void decode(std::vector<std::string>& tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (i > 0) {
        if (tokens[i].starts_with(prefix_)) {
          tokens[i].erase(0, prefix_.size());
        } else {
          tokens[i].insert(0, 1, ' ');
        }
      }
      if (cleanup_) clean_up_wordpiece(tokens[i]);
    }
  }

 private:
  std::string prefix_;
  bool cleanup_;
};

}  // namespace

DecoderResult read_wordpiece_decoder(JsonRef json, int) {
  if (const Result<void> known = allow_only(json, {"type", "prefix", "cleanup"}); !known.ok()) return known.error();
  const Result<std::string_view> prefix = json["prefix"].as_string();
  if (!prefix.ok()) return prefix.error();
  const Result<bool> cleanup = json["cleanup"].as_bool();
  if (!cleanup.ok()) return cleanup.error();
  return DecoderResult(std::make_unique<WordPieceDecoder>(std::string(prefix.value()), cleanup.value()));
}

}  // namespace wattn
