// The fast path of decoding: a table of each token's text by its id, filled when the id is first seen, so that decoding copies
// from the table. It has no rules of its own: decoders say what a token's text depends on (Decoder::sees), and those that decode
// one token at a time fill the table. It is a part (core/part.h): without it the decoders give the same texts.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tokenizer/added_tokens.h"
#include "tokenizer/decoders/decoder.h"
#include "tokenizer/models/model.h"

namespace wattn {

// The tokens that decode() shows.
struct ShownTokens {
  const AddedTokens& added;
  const TokenModel& model;

  std::optional<std::string_view> token(std::int32_t id) const {
    if (const AddedToken* one = added.by_id(id)) return one->shown;
    return model.id_to_token(id);
  }
  // By its id, as in transformers: `tokenizers` goes by the string alone, and misses a token whose string is normalized. The string
  // serves where a vocabulary has it twice.
  bool is_special(std::int32_t id, std::string_view token) const {
    const AddedToken* one = added.by_id(id);
    if (!one) one = added.by_content(token);
    return one && one->special;
  }
};

class DecodeTable {
 public:
  virtual ~DecodeTable() = default;
  // Writes the text of ids to `text`, which is empty, before spaces are cleaned up; false if the decoders have to do it.
  virtual bool decode(std::span<const std::int32_t> ids, bool skip_special_tokens, std::string& text) const = 0;
};

struct DecodeTableMaker {
  // nullptr if these decoders have no fast path. What is given must outlive the result.
  std::unique_ptr<DecodeTable> (*make)(const Decoder& decoder, const ShownTokens& tokens);
};
extern const DecodeTableMaker kDecodeTable;

}  // namespace wattn
