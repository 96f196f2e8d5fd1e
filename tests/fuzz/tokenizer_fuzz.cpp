// libFuzzer: a tokenizer.json of any bytes loads or is rejected, and a loaded one tokenizes and decodes any text.
// Input: the JSON, a NUL, then options (three bytes) and text as UTF-16 units. Without a NUL the whole input is
// JSON. So that the stages are reached without luck, an input that begins with a NUL is a number, options and text
// for one of some fixed tokenizers. One that begins with the byte 1 to 4 is a SentencePiece model, a GGUF file, a
// vocab.txt, or a merges.txt for a fixed vocabulary. With 5 it is a regular expression, a NUL, and text, both in
// UTF-8.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/utf.h"
#include "tokenizer/formats/formats.h"
#include "tokenizer/regex/regex.h"
#include "tokenizer/tokenizer.h"

namespace {

using namespace wattn;

constexpr std::string_view kWordPiece = R"({"version": "1.0",
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

constexpr std::string_view kByteLevel = R"({"version": "1.0",
  "added_tokens": [
    {"id": 0, "content": "<s>", "single_word": false, "lstrip": true, "rstrip": true, "normalized": false, "special": true},
    {"id": 0, "content": "  ", "single_word": false, "lstrip": false, "rstrip": true, "normalized": true, "special": false}],
  "normalizer": {"type": "Sequence", "normalizers": [{"type": "Nmt"}, {"type": "Strip", "strip_left": true, "strip_right": false},
    {"type": "Replace", "pattern": {"Regex": "(?<=a)b|^x+$|\\s{3,}"}, "content": "ab"}]},
  "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
    {"type": "Split", "behavior": "Isolated", "invert": false, "pattern": {"Regex":
      "(?i:'s|'ll)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}++|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
    {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true}]},
  "post_processor": {"type": "Sequence", "processors": [{"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true},
    {"type": "RobertaProcessing", "sep": ["</s>", 1], "cls": ["<s>", 0], "trim_offsets": true, "add_prefix_space": false}]},
  "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
  "model": {"type": "BPE", "unk_token": null, "vocab": {"<s>": 0, "</s>": 1, "a": 2, "b": 3, "\u0120": 4, "ab": 5, "\u0120a": 6, "aa": 7,
    "\u00e2": 8, "\u00c3": 9, "aaaa": 10}, "merges": ["a a", "a b", "\u0120 a", "aa aa"]}})";

constexpr std::string_view kUnigram = R"({"version": "1.0",
  "added_tokens": [
    {"id": 0, "content": "<x>", "single_word": true, "lstrip": false, "rstrip": false, "normalized": true, "special": false}],
  "normalizer": {"type": "SentencePiece", "add_dummy_prefix": true, "remove_extra_whitespaces": true, "user_defined": ["ab", "<"]},
  "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "UnicodeScripts"},
    {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": true},
    {"type": "Digits", "individual_digits": false}, {"type": "Punctuation", "behavior": "MergedWithNext"},
    {"type": "CharDelimiterSplit", "delimiter": "|"}, {"type": "FixedLength", "length": 9}]},
  "post_processor": null,
  "decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Replace", "pattern": {"String": "\u2581"},
    "content": " "}, {"type": "CTC", "pad_token": "<x>", "word_delimiter_token": "|", "cleanup": true}, {"type": "Fuse"},
    {"type": "Strip", "content": " ", "start": 1, "stop": 1}, {"type": "BPEDecoder", "suffix": "b"},
    {"type": "Metaspace", "replacement": "a", "prepend_scheme": "never"}]},
  "model": {"type": "Unigram", "unk_id": 0, "byte_fallback": true, "vocab": [["<unk>", 0], ["\u2581", -1], ["a", -2], ["ab", -2.5],
    ["\u2581a", -1.5], ["<0xE4>", -9], ["<0xB8>", -9], ["<0xAD>", -9], ["b", -3]]}})";

constexpr std::string_view kBytes = R"({"version": "1.0", "added_tokens": [], "normalizer": {"type": "Sequence", "normalizers": [
    {"type": "Precompiled", "precompiled_charsmap": null}, {"type": "ByteLevel"}, {"type": "StripAccents"}, {"type": "Lowercase"}]},
  "pre_tokenizer": {"type": "Split", "behavior": "Contiguous", "invert": true, "pattern": {"String": "a"}}, "post_processor": null,
  "decoder": null, "model": {"type": "BPE", "unk_token": "u", "fuse_unk": true, "byte_fallback": true, "continuing_subword_prefix": "#",
    "end_of_word_suffix": "$", "ignore_merges": true, "vocab": {"u": 0, "a": 1, "#a": 2, "#a$": 3, "<0x41>": 4, "aa": 5, "b$": 6},
    "merges": [["a", "#a"]]}})";

constexpr std::string_view kFixed[] = {kWordPiece, kByteLevel, kUnigram, kBytes};

void check(const Tokenizer& tokenizer, const Encoding& encoding, std::size_t text_size) {
  for (std::size_t i = 0; i < encoding.size(); ++i) {
    const TextSpan span = encoding.offsets[i];
    if (span.begin < 0 || span.begin > span.end || span.end > static_cast<std::int32_t>(text_size)) __builtin_trap();
    (void)tokenizer.id_to_token(encoding.ids[i]);
  }
  (void)tokenizer.decode(encoding.ids, true, true);
}

void find_all(std::string_view input) {
  const std::size_t nul = std::min(input.find('\0'), input.size());
  const Result<Regex> regex = Regex::compile(to_utf32(input.substr(0, nul)));
  if (!regex.ok()) return;
  const std::u32string text = to_utf32(input.substr(std::min(nul + 1, input.size())));
  std::vector<TextMatch> found;
  regex.value().find_all(text, found);
  std::uint32_t end = 0;
  for (const TextMatch& match : found) {
    if (match.begin < end || match.end < match.begin || match.end > text.size()) __builtin_trap();
    end = match.end;
  }
}

void tokenize(const Tokenizer& tokenizer, std::string_view rest) {
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
  const Result<Encoding> single = tokenizer.encode(text, options);
  if (single.ok()) check(tokenizer, single.value(), text.size());
  const std::u16string_view half = std::u16string_view(text).substr(text.size() / 2);
  const Result<Encoding> pair = tokenizer.encode_pair(text, half, options);
  if (pair.ok()) check(tokenizer, pair.value(), text.size());
}

// A vocabulary of another format and a text for it.
void convert(std::uint8_t kind, std::string_view bytes) {
  constexpr std::string_view kNames[] = {"m.model", "m.gguf", "vocab.txt", "merges.txt"};
  std::vector<TokenizerFile> files = {{kNames[kind - 1], bytes}};
  if (kind == 4) files.push_back({"vocab.json", R"({"a": 0, "b": 1, "ab": 2, "aba": 3, "b</w>": 4})"});
  const Result<Tokenizer> tokenizer = load_tokenizer(files);
  if (tokenizer.ok()) tokenize(tokenizer.value(), bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (size > 0 && data[0] == 5) find_all(input.substr(1));
  if (size > 0 && data[0] > 0 && data[0] < 5) convert(data[0], input.substr(1));
  const bool is_fixed = size > 1 && data[0] == 0;
  const std::size_t nul = std::min(input.find('\0'), size);
  const Result<Json> json = Json::parse(is_fixed ? kFixed[data[1] % std::size(kFixed)] : input.substr(0, nul), "tokenizer.json");
  if (!json.ok()) return 0;
  const Result<Tokenizer> tokenizer = Tokenizer::from_json(json.value().root(), JsonRef());
  if (!tokenizer.ok()) {
    if (is_fixed) __builtin_trap();
    return 0;
  }
  tokenize(tokenizer.value(), is_fixed ? input.substr(2) : nul < size ? input.substr(nul + 1) : std::string_view());
  return 0;
}
