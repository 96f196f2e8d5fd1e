// The native side of tools/parity.py: encodes and decodes requests from standard input, and writes results to
// standard output, in binary. A request is seven i32 (flags, max_length or -1, stride, strategy, left side, units of
// the first text, of the second or -1) and the texts in UTF-16. An answer is the number of windows, or -1 and the
// length and bytes of a message. Then, for every window, come the number of tokens and for each array its values
// (ids, type ids, offsets, special tokens mask, word ids, sequence ids). Last is the text of the first window's ids
// with and without special tokens, each with its length.
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "core/json.h"
#include "native/support/files.h"
#include "tokenizer/formats/formats.h"
#include "tokenizer/tokenizer.h"

namespace {

using namespace wattn;

std::string answer_bytes;

void put(std::int32_t value) { answer_bytes.append(reinterpret_cast<const char*>(&value), sizeof(value)); }
void put(const std::string& text) {
  put(static_cast<std::int32_t>(text.size()));
  answer_bytes += text;
}

void put(const Encoding& encoding) {
  put(static_cast<std::int32_t>(encoding.size()));
  for (const auto id : encoding.ids) put(id);
  for (const auto id : encoding.type_ids) put(id);
  for (const TextSpan& span : encoding.offsets) {
    put(span.begin);
    put(span.end);
  }
  for (const auto mask : encoding.special_tokens_mask) put(static_cast<std::int32_t>(mask));
  for (const auto id : encoding.word_ids) put(id);
  for (const auto id : encoding.sequence_ids) put(id);
}

bool read(void* to, std::size_t bytes) { return std::fread(to, 1, bytes, stdin) == bytes; }

bool answer(const Tokenizer& tokenizer) {
  std::int32_t head[7];
  if (!read(head, sizeof(head))) return false;
  std::u16string first(static_cast<std::size_t>(head[5]), u'\0'), second(static_cast<std::size_t>(head[6] < 0 ? 0 : head[6]), u'\0');
  if (!read(first.data(), 2 * first.size()) || !read(second.data(), 2 * second.size())) return false;
  EncodeOptions options;
  options.add_special_tokens = head[0] & 1;
  options.split_special_tokens = head[0] & 2;
  if (head[1] >= 0) options.max_length = head[1];
  options.overlap = head[2];
  options.strategy = static_cast<TruncationStrategy>(head[3]);
  options.truncation_side = head[4] ? Side::kLeft : Side::kRight;
  options.return_overflowing = head[1] >= 0;
  const Result<Encoding> encoding =
      head[6] < 0 ? tokenizer.encode(first, options) : tokenizer.encode_pair(first, second, options);
  if (!encoding.ok()) {
    put(-1);
    put(encoding.error().message);
    return true;
  }
  put(1 + static_cast<std::int32_t>(encoding.value().overflowing.size()));
  put(encoding.value());
  for (const Encoding& window : encoding.value().overflowing) put(window);
  put(tokenizer.decode(encoding.value().ids, false, false).value());
  put(tokenizer.decode(encoding.value().ids, true, false).value());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> bytes;
  for (int i = 2; i < argc; i += 2) bytes.push_back(test::read_file(argv[i]));
  std::vector<TokenizerFile> files;
  for (std::size_t i = 0; i < bytes.size(); ++i) files.push_back({argv[2 * i + 1], bytes[i]});
  const Result<Tokenizer> tokenizer = load_tokenizer(files);
  if (!tokenizer.ok()) {
    std::fprintf(stderr, "%s\n", tokenizer.error().message.c_str());
    return 1;
  }
  while (answer(tokenizer.value())) {
    std::fwrite(answer_bytes.data(), 1, answer_bytes.size(), stdout);
    answer_bytes.clear();
    std::fflush(stdout);
  }
  return 0;
}
