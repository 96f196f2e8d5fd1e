// Tokenizer: text to Encoding, built from a tokenizer.json. Stages and field names are those of Hugging Face's file:
// added tokens, normalizer, pre-tokenizer, model, post-processor, decoder.
// Not thread-safe: words and states of regular expressions are cached from one text to the next.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "tokenizer/encoding.h"

namespace wattn {

enum class TruncationStrategy { kLongestFirst, kOnlyFirst, kOnlySecond };
enum class Side { kLeft, kRight };

struct EncodeOptions {
  bool add_special_tokens = true;
  bool split_special_tokens = false;         // true: strings of special tokens in the text are ordinary text
  std::optional<std::int32_t> max_length{};  // tokens, including special tokens; none: no truncation
  TruncationStrategy strategy = TruncationStrategy::kLongestFirst;
  Side truncation_side = Side::kRight;
  std::int32_t overlap = 0;         // tokens shared by consecutive windows ("stride" in Python)
  bool return_overflowing = false;  // fill Encoding::overflowing
  // Fill Encoding::tokens: the strings of the ids, but of added tokens what they cover, and of Unigram's unknown token the text.
  bool return_tokens = false;
  bool without_spans = false;  // leave offsets and word_ids empty
  bool ids_only = false;       // leave the other vectors of tokens empty
};

// What the files of a repository said of its tokenizer.
struct TokenizerOrigin {
  std::string name;          // the class of transformers; empty: none is known
  std::string from;          // the file and field that named it
  std::string vocabulary;    // the file with the vocabulary
  std::string added_tokens;  // the files with added tokens besides tokenizer.json, with commas between them
  bool is_of_class = false;  // the class's own rules count, not the stages of a tokenizer.json
  bool pads_left = false;    // the class's side
  // The tokens of the roles bos_token, eos_token, unk_token, sep_token, pad_token, cls_token and mask_token, which may be empty,
  // and those without a role.
  std::vector<std::string> roles{}, extra{};
};

class Tokenizer {
 public:
  // tokenizer_json: the root of a tokenizer.json. parts: members that take precedence over its own, and those of "model" over the
  // model's; also "model_max_length", as in tokenizer_config.json; may be absent. An unknown component, field or field value is an
  // UnsupportedError that names it; a missing or malformed one is a ModelFormatError. Neither document is needed afterwards.
  // vocab: the tokens of a WordPiece by id, in place of model.vocab. Files of a repository: formats.h.
  static Result<Tokenizer> from_json(JsonRef tokenizer_json, JsonRef parts = {}, const std::vector<std::string_view>& vocab = {});

  // Replaces the post-processor, as in a tokenizer.json.
  Result<void> set_post_processor(JsonRef json);

  // Adds special tokens as transformers' add_tokens(contents, special_tokens=True) does.
  Result<void> add_tokens(const std::vector<std::string>& contents);

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // A max_length too small for the special tokens is an InputError; so is an overlap that leaves no room for text.
  // A normalizer or pre-tokenizer that lets the text grow beyond 2^26 characters (and twice its length) is an OutOfMemoryError.
  Result<Encoding> encode(std::u16string_view text, const EncodeOptions& options) const;
  Result<Encoding> encode_pair(std::u16string_view first, std::u16string_view second, const EncodeOptions& options) const;

  // The same of valid UTF-8, which is fastest read for ids alone.
  Result<Encoding> encode_utf8(std::string_view text, const EncodeOptions& options) const;

  // Skips unknown ids. clean_up_spaces is transformers' clean_up_tokenization_spaces.
  // An OutOfMemoryError if the text has more than 2^28 bytes, as that of a decoder that replaces little by much.
  Result<std::string> decode(std::span<const std::int32_t> ids, bool skip_special_tokens, bool clean_up_spaces) const;
  Result<std::string> decode(std::initializer_list<std::int32_t> ids, bool skip_special_tokens, bool clean_up_spaces) const {
    return decode(std::span(ids.begin(), ids.size()), skip_special_tokens, clean_up_spaces);
  }

  // What one token adds to a decoded text before spaces are cleaned up, where that depends on nothing but whether it is the first.
  enum class Piece { kText, kSkipped, kNotAlone };
  // text: receives what a kText token adds. A token of more than kMostPieceBytes is kNotAlone.
  static constexpr std::size_t kMostPieceBytes = 64;
  Piece decode_piece(std::int32_t id, bool is_first, bool skip_special_tokens, std::string& text) const;

  // Converts tokens' strings to text: transformers' convert_tokens_to_string.
  Result<std::string> tokens_to_string(std::vector<std::string> tokens) const;

  std::int32_t vocab_size() const;  // tokens, including added ones
  std::int32_t num_ids() const;     // 1 + the largest id; more than vocab_size() if ids have gaps
  std::int32_t unknown_id() const;  // of the unknown token, or -1
  std::optional<std::int32_t> token_to_id(std::string_view token) const;
  std::string_view id_to_token(std::int32_t id) const;  // empty for an id outside the vocabulary
  std::int32_t num_special_tokens(bool is_pair) const;  // how many tokens add_special_tokens adds

  // From tokenizer_config.json; nothing if it is not set or beyond 10^9, Python's "no limit".
  std::optional<std::int32_t> model_max_length() const;
  bool is_bpe() const;               // whether decoded text is never cleaned up
  bool decodes_first_alike() const;  // whether a text's first token adds to it what it adds elsewhere
  bool decodes_by_table() const;     // then decode() takes little time for each token of a long text
  const TokenizerOrigin& origin() const;
  void set_origin(TokenizerOrigin origin);

  // max_length of tokenizer.json's "truncation", which encode does not apply by itself.
  std::optional<std::int32_t> truncation_max_length() const;

 private:
  struct Parts;
  explicit Tokenizer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

// The words of a text by the regular expression \w+(?:[-_]\w+)*|\S of Python: what GLiNER calls words.
std::vector<TextSpan> split_words(std::u16string_view text);
// The same with marks in words, and URLs, mail addresses and "@name" as words: what GLiNER2 calls words.
std::vector<TextSpan> split_words_and_addresses(std::u16string_view text);
// As Python's str.lower().
std::u16string lower_case(std::u16string_view text);

}  // namespace wattn
