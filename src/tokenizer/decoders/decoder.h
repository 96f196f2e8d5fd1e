// Decoders convert tokens to readable text.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/result.h"

namespace wattn {

inline constexpr std::size_t kMostDecodedBytes = std::size_t{1} << 28;

class Decoder {
 public:
  virtual ~Decoder() = default;
  // Changes the tokens so that the text is their concatenation; may merge tokens. Returns false if that would have more than
  // kMostDecodedBytes: the Replace of a file can let a text grow without end.
  virtual bool decode(std::vector<std::string>& tokens) const = 0;
  // The same one token at a time, if the decoder can do that; otherwise null.
  virtual const class TokenDecoder* by_token() const { return nullptr; }

  // What the text of a token depends on, for decode_table.h.
  enum class Sees : std::uint8_t {
    kToken,      // the token alone, and on whether it is the first
    kBeginning,  // the same, but all tokens up to the one that has text are first ones
    kByteRuns,   // neighbours that stand for bytes, as in ByteFallback
    kText,       // the tokens become one text
    kAll,        // anything else
  };
  virtual Sees sees() const { return Sees::kAll; }
  // The decoders that run one after the other in place of this one; none: it is one.
  virtual std::span<const std::unique_ptr<Decoder>> steps() const { return {}; }
};

// A decoder that needs one token at a time, so that decoding a text makes no list of strings.
class TokenDecoder : public Decoder {
 public:
  // Writes the text of a token, of at most token.size() + 1 bytes, and returns its end. is_first: it is the first of its text.
  virtual char* write(std::string_view token, bool is_first, char* out) const = 0;
  // Completes a text of all tokens.
  virtual void end(std::string&) const {}

  bool decode(std::vector<std::string>& tokens) const override;
  const TokenDecoder* by_token() const override { return this; }
  Sees sees() const override { return Sees::kToken; }
};

using DecoderResult = Result<std::unique_ptr<Decoder>>;

// json: the "decoder" of a tokenizer.json, not null. depth counts enclosing Sequences.
DecoderResult read_decoder(JsonRef json, int depth = 0);

// One reader per decoder; decoder.cpp lists them by "type".
DecoderResult read_byte_level_decoder(JsonRef json, int depth);  // bytes.cpp
DecoderResult read_byte_fallback(JsonRef json, int depth);
int byte_of_fallback(std::string_view token);                   // that <0x41> stands for, or -1
DecoderResult read_wordpiece_decoder(JsonRef json, int depth);  // simple.cpp
DecoderResult read_metaspace_decoder(JsonRef json, int depth);
DecoderResult read_bpe_decoder(JsonRef json, int depth);
DecoderResult read_fuse(JsonRef json, int depth);
DecoderResult read_strip_decoder(JsonRef json, int depth);
DecoderResult read_replace_decoder(JsonRef json, int depth);
DecoderResult read_ctc(JsonRef json, int depth);
DecoderResult read_marian_decoder(JsonRef json, int depth);         // marian.cpp
DecoderResult read_sentencepiece_decoder(JsonRef json, int depth);  // sentencepiece.cpp
DecoderResult read_word_end(JsonRef json, int depth);               // word_end.cpp
std::unique_ptr<Decoder> make_word_end(std::string suffix);

}  // namespace wattn
