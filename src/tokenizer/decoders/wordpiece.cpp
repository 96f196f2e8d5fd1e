// WordPiece: a token that begins with the prefix continues the word; any other except the first gets a space before it.
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
  Fields fields(json, {"prefix", "cleanup"});
  const std::string_view prefix = fields.string("prefix");
  const bool cleanup = fields.boolean("cleanup");
  if (!fields.ok()) return fields.error();
  return DecoderResult(std::make_unique<WordPieceDecoder>(std::string(prefix), cleanup));
}

}  // namespace wattn
