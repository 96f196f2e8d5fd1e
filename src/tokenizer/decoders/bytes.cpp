// build: -Oz
// ByteLevel and ByteFallback: tokens that stand for bytes become text.
#include <algorithm>

#include "core/utf.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/component.h"
#include "tokenizer/decoders/decoder.h"

namespace wattn {
namespace {

// Converts tokens of the byte alphabet to their bytes and keeps all others; invalid UTF-8 in the result becomes U+FFFD.
class ByteLevelDecoder : public TokenDecoder {
 public:
  char* write(std::string_view token, bool, char* out) const override {
    char* const begin = out;
    for (std::size_t position = 0; position < token.size();) {
      const int byte = byte_of_char(next_code_point(token, position));
      if (byte < 0) return std::copy(token.begin(), token.end(), begin);
      *out++ = static_cast<char>(byte);
    }
    return out;
  }
  void end(std::string& bytes) const override {
    if (!is_utf8(bytes)) bytes = replace_invalid_utf8(bytes);
  }
  // Here the tokens become one: a character may have bytes of two.
  bool decode(std::vector<std::string>& tokens) const override {
    TokenDecoder::decode(tokens);
    std::string bytes;
    for (const std::string& token : tokens) bytes += token;
    end(bytes);
    tokens = {std::move(bytes)};
    return true;
  }
  Sees sees() const override { return Sees::kText; }
};

// <0x41> is the byte 0x41. A run of such tokens becomes text if it is valid UTF-8, else one U+FFFD per byte.
class ByteFallback : public Decoder {
 public:
  bool decode(std::vector<std::string>& tokens) const override {
    std::vector<std::string> out;
    std::string bytes;
    for (std::string& token : tokens) {
      if (const int byte = byte_of_fallback(token); byte >= 0) {
        bytes.push_back(static_cast<char>(byte));
        continue;
      }
      flush(bytes, out);
      out.push_back(std::move(token));
    }
    flush(bytes, out);
    tokens = std::move(out);
    return true;
  }
  Sees sees() const override { return Sees::kByteRuns; }

 private:
  static void flush(std::string& bytes, std::vector<std::string>& out) {
    if (bytes.empty()) return;
    if (is_utf8(bytes)) {
      out.push_back(bytes);
    } else {
      out.insert(out.end(), bytes.size(), "\xEF\xBF\xBD");
    }
    bytes.clear();
  }
};

}  // namespace

int byte_of_fallback(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || !token.ends_with('>')) return -1;
  const int high = hex_digit(static_cast<unsigned char>(token[3])), low = hex_digit(static_cast<unsigned char>(token[4]));
  return high < 0 || low < 0 ? -1 : 16 * high + low;
}

DecoderResult read_byte_level_decoder(JsonRef json, int) {
  Fields fields(json, {"add_prefix_space", "trim_offsets", "use_regex"});  // settings of the pre-tokenizer of this name
  return make_component<Decoder, ByteLevelDecoder>(fields);
}

DecoderResult read_byte_fallback(JsonRef json, int depth) { return read_plain<Decoder, ByteFallback>(json, depth); }

}  // namespace wattn
