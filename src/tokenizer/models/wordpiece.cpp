// WordPiece: from the left, always the longest token that matches; a word that cannot be covered becomes one unknown token.
#include <algorithm>
#include <array>
#include <string>

#include "core/utf.h"
#include "tokenizer/component.h"
#include "tokenizer/models/model.h"
#include "tokenizer/models/vocabulary_model.h"
#include "tokenizer/token_prefixes.h"

namespace wattn {
namespace {

constexpr std::size_t kMaxTokenBytes = 1024;  // real vocabularies stay below 128

class WordPiece : public VocabularyModel {
 public:
  WordPiece(Vocabulary vocabulary, std::int32_t unk_id, std::string prefix, std::size_t max_input_chars)
      : VocabularyModel(std::move(vocabulary)),
        prefixes_(VocabularyModel::vocabulary()),
        unk_id_(unk_id),
        prefix_(std::move(prefix)),
        prefix_hash_(Vocabulary::hash_of(prefix_)),
        max_input_chars_(max_input_chars) {}

  std::int32_t unknown_id() const override { return unk_id_; }
  bool tokenize(std::u32string_view word, std::vector<Token>& out) const override {
    const std::size_t out_begin = out.size();
    if (word.size() <= max_input_chars_ && (is_token(word, out) || cover(word, out))) return true;
    out.resize(out_begin);
    out.push_back({unk_id_, 0, static_cast<std::uint32_t>(word.size())});
    return true;
  }

 private:
  struct Match {
    std::int32_t id = Vocabulary::kAbsent;
    std::size_t length = 0;  // characters
  };

  // A shortcut: most words are tokens, and need no search for prefixes.
  bool is_token(std::u32string_view word, std::vector<Token>& out) const {
    std::array<char, kMaxTokenBytes + 4> bytes;
    std::size_t num_bytes = 0;
    Vocabulary::Hash hash = Vocabulary::kEmptyHash;
    for (const char32_t c : word) {
      if (num_bytes >= vocabulary().longest_token()) return false;
      const std::size_t from = num_bytes;
      num_bytes += put_utf8(c, bytes.data() + num_bytes);
      for (std::size_t i = from; i < num_bytes; ++i) hash = Vocabulary::extend(hash, bytes[i]);
    }
    const std::int32_t id = vocabulary().find(hash, {}, {bytes.data(), num_bytes});
    if (id == Vocabulary::kAbsent) return false;
    out.push_back({id, 0, static_cast<std::uint32_t>(word.size())});
    return true;
  }

  static std::size_t put_utf8(char32_t c, char* out) {
    if (c >= 0x80) return write_utf8(c, out);
    *out = static_cast<char>(c);
    return 1;
  }

  bool cover(std::u32string_view word, std::vector<Token>& out) const {
    for (std::size_t begin = 0; begin < word.size();) {
      const Match match = longest_match(word.substr(begin), begin > 0);
      if (match.id == Vocabulary::kAbsent) return false;
      out.push_back({match.id, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(begin + match.length)});
      begin += match.length;
    }
    return true;
  }

  // Reads on while some token begins with what it has read, and keeps the hash at every character; then looks up the longest prefix
  // first. Nothing longer than the longest token can match, so the buffers fit on the stack.
  Match longest_match(std::u32string_view rest, bool continues) const {
    std::array<char, kMaxTokenBytes + 4> bytes;
    std::array<std::uint16_t, kMaxTokenBytes + 1> ends;       // [chars] bytes up to and including the character
    std::array<Vocabulary::Hash, kMaxTokenBytes + 1> hashes;  // [chars] of prefix and bytes up to and including the character
    Vocabulary::Hash hash = continues ? prefix_hash_ : Vocabulary::kEmptyHash;
    std::size_t num_chars = 0;
    for (std::size_t num_bytes = 0; num_chars < rest.size() && num_bytes < vocabulary().longest_token(); ++num_chars) {
      const std::size_t from = num_bytes;
      num_bytes += put_utf8(rest[num_chars], bytes.data() + num_bytes);
      for (std::size_t i = from; i < num_bytes; ++i) hash = Vocabulary::extend(hash, bytes[i]);
      if (!prefixes_.may_begin_token(hash)) break;
      ends[num_chars] = static_cast<std::uint16_t>(num_bytes);
      hashes[num_chars] = hash;
    }
    const std::string_view prefix = continues ? std::string_view(prefix_) : std::string_view();
    for (std::size_t length = num_chars; length > 0; --length) {
      const std::int32_t id = vocabulary().find(hashes[length - 1], prefix, {bytes.data(), ends[length - 1]});
      if (id != Vocabulary::kAbsent) return {id, length};
    }
    return {};
  }

  TokenPrefixes prefixes_;
  std::int32_t unk_id_;
  std::string prefix_;
  Vocabulary::Hash prefix_hash_;
  std::size_t max_input_chars_;
};

}  // namespace

namespace {

// The last of equal tokens counts, and the others become gaps, as in Python's dict.
Result<Vocabulary> vocabulary_of(std::vector<std::string_view> tokens) {
  Result<Vocabulary> all = Vocabulary::from_list(tokens);
  if (!all.ok()) return all;
  bool repeats = false;
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    if (all.value().find(tokens[id]) == static_cast<std::int32_t>(id)) continue;
    tokens[id] = {};
    repeats = true;
  }
  return repeats ? Vocabulary::from_list(tokens) : all;
}

ModelResult make_wordpiece(JsonRef json, JsonRef options, const std::vector<std::string_view>* tokens) {
  Fields fields(json, {"vocab", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word"});
  const JsonRef unk = option_of(json, options, "unk_token");
  const std::string_view unk_token = fields.take(unk.as_string());
  const std::string_view prefix = fields.take(option_of(json, options, "continuing_subword_prefix").as_string());
  const std::int32_t max_input_chars = fields.id(option_of(json, options, "max_input_chars_per_word"));
  if (!fields.ok()) return fields.error();
  Result<Vocabulary> vocabulary = tokens ? vocabulary_of(*tokens) : Vocabulary::from_json(json["vocab"]);
  if (!vocabulary.ok()) return vocabulary.error();
  if (vocabulary.value().longest_token() > kMaxTokenBytes) {
    return unsupported_error(json["vocab"].where() + ": expected tokens of at most " + std::to_string(kMaxTokenBytes) +
                             " bytes, found one of " + std::to_string(vocabulary.value().longest_token()));
  }
  const std::int32_t unk_id = vocabulary.value().find(unk_token);
  if (unk_id == Vocabulary::kAbsent) return unk.mismatch("a token of model.vocab");
  return ModelResult(std::make_unique<WordPiece>(std::move(vocabulary).value(), unk_id, std::string(prefix),
                                                 static_cast<std::size_t>(max_input_chars)));
}

}  // namespace

ModelResult read_wordpiece(JsonRef json, JsonRef options) { return make_wordpiece(json, options, nullptr); }

ModelResult wordpiece_with_tokens(JsonRef json, JsonRef options, const std::vector<std::string_view>& tokens) {
  return make_wordpiece(json, options, &tokens);
}

}  // namespace wattn
