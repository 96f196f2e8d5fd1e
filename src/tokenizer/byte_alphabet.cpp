#include "tokenizer/byte_alphabet.h"

#include "core/utf.h"

namespace wattn {

void append_byte_chars(const NormalizedText& text, std::size_t begin, std::size_t end, NormalizedText& out) {
  std::size_t size = out.size();
  out.resize(size + 4 * (end - begin));
  for (std::size_t i = begin; i < end; ++i) {
    char bytes[4];
    const std::size_t num_bytes = write_utf8(text.chars[i], bytes);
    for (std::size_t k = 0; k < num_bytes; ++k, ++size) {
      out.chars[size] = kByteChars[static_cast<unsigned char>(bytes[k])];
      out.spans[size] = text.spans[i];
    }
  }
  out.resize(size);
}

}  // namespace wattn
