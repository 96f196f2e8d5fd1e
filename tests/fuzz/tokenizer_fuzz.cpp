// libFuzzer: a tokenizer.json of any bytes loads or is refused, and what loads tokenizes and decodes any text. Input: the JSON, a
// NUL, then options (three bytes) and text as UTF-16 units. Without a NUL the whole input is JSON; an input that begins with the
// NUL is text for a fixed tokenizer, so that the stages are reached without luck.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/json.h"
#include "tokenizer/tokenizer.h"

namespace {

using namespace wattn;

constexpr std::string_view kFixed = R"({"version": "1.0",
  "added_tokens": [
    {"id": 0, "content": "[SEP]", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true},
    {"id": 0, "content": " x", "single_word": false, "lstrip": true, "rstrip": true, "normalized": false, "special": false},
    {"id": 0, "content": "É", "single_word": true, "lstrip": true, "rstrip": true, "normalized": true, "special": false}],
  "normalizer": {"type": "Sequence", "normalizers": [
    {"type": "NFKC"},
    {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
    {"type": "Replace", "pattern": {"String": "aa"}, "content": "b c"}, {"type": "NFC"}, {"type": "Prepend", "prepend": "_"}]},
  "pre_tokenizer": {"type": "BertPreTokenizer"},
  "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 1], "cls": ["[CLS]", 2]},
  "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
  "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 20,
    "vocab": {"[UNK]": 0, "[SEP]": 1, "[CLS]": 2, "a": 3, "##a": 4, "b": 5, "##b": 6, "ab": 7, "##ba": 8, ".": 9, "_": 10}}})";

void check(const Tokenizer& tokenizer, const Encoding& encoding, std::size_t text_size) {
  for (std::size_t i = 0; i < encoding.size(); ++i) {
    const TextSpan span = encoding.offsets[i];
    if (span.begin < 0 || span.begin > span.end || span.end > static_cast<std::int32_t>(text_size)) __builtin_trap();
    (void)tokenizer.id_to_token(encoding.ids[i]);
  }
  (void)tokenizer.decode(encoding.ids, true, true);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t nul = std::min(input.find('\0'), size);
  const Result<Json> json = Json::parse(nul == 0 ? kFixed : input.substr(0, nul), "tokenizer.json");
  if (!json.ok()) return 0;
  const Result<Tokenizer> tokenizer = Tokenizer::from_json(json.value().root(), JsonRef());
  if (!tokenizer.ok()) return 0;

  std::string_view rest = nul < size ? input.substr(nul + 1) : std::string_view();
  EncodeOptions options;
  if (rest.size() >= 3) {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(rest[i]); };
    options.add_special_tokens = byte(0) & 1;
    options.split_special_tokens = byte(0) & 2;
    options.return_overflowing = byte(0) & 4;
    options.truncation_side = byte(0) & 8 ? Side::kLeft : Side::kRight;
    options.strategy = static_cast<TruncationStrategy>((byte(0) >> 4) % 3);
    if (byte(0) & 128) options.max_length = byte(1) % 16;
    options.overlap = byte(2) % 8;
    rest.remove_prefix(3);
  }
  std::u16string text(rest.size() / 2, u'\0');
  for (std::size_t i = 0; i < text.size(); ++i) {
    text[i] = static_cast<char16_t>(static_cast<std::uint8_t>(rest[2 * i]) << 8 | static_cast<std::uint8_t>(rest[2 * i + 1]));
  }
  const Result<Encoding> single = tokenizer.value().encode(text, options);
  if (single.ok()) check(tokenizer.value(), single.value(), text.size());
  const std::u16string_view half = std::u16string_view(text).substr(text.size() / 2);
  const Result<Encoding> pair = tokenizer.value().encode_pair(text, half, options);
  if (pair.ok()) check(tokenizer.value(), pair.value(), text.size());
  return 0;
}
