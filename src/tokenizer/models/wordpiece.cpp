// WordPiece: from the left, always the longest token that fits; a word that cannot be covered is one unknown token.
#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "core/utf.h"
#include "tokenizer/component.h"
#include "tokenizer/models/readers.h"
#include "tokenizer/vocabulary.h"

namespace wattn {

namespace {

constexpr std::size_t kMostTokenBytes = 1024;  // real vocabularies stay below 128

class WordPiece : public Model {
 public:
  WordPiece(Vocabulary vocabulary, std::int32_t unk_id, std::string prefix, std::size_t max_input_chars)
      : vocabulary_(std::move(vocabulary)),
        unk_id_(unk_id),
        prefix_(std::move(prefix)),
        prefix_hash_(Vocabulary::hash_of(prefix_)),
        max_input_chars_(max_input_chars) {
    collect_beginnings();
  }

  void tokenize(std::u32string_view word, std::vector<Token>& out) const override {
    const std::size_t out_begin = out.size();
    if (word.size() <= max_input_chars_ && cover(word, out)) return;
    out.resize(out_begin);
    out.push_back({unk_id_, 0, static_cast<std::uint32_t>(word.size())});
  }

  std::optional<std::int32_t> token_to_id(std::string_view token) const override {
    const std::int32_t id = vocabulary_.find(token);
    return id == Vocabulary::kAbsent ? std::nullopt : std::optional<std::int32_t>(id);
  }
  std::optional<std::string_view> id_to_token(std::int32_t id) const override { return vocabulary_.token(id); }
  std::int32_t num_tokens() const override { return vocabulary_.num_tokens(); }
  std::int32_t num_ids() const override { return vocabulary_.num_ids(); }

 private:
  struct Match {
    std::int32_t id = Vocabulary::kAbsent;
    std::size_t length = 0;  // characters
  };

  bool cover(std::u32string_view word, std::vector<Token>& out) const {
    for (std::size_t begin = 0; begin < word.size();) {
      const Match match = longest_match(word.substr(begin), begin > 0);
      if (match.id == Vocabulary::kAbsent) return false;
      out.push_back({match.id, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(begin + match.length)});
      begin += match.length;
    }
    return true;
  }

  // Goes on as long as some token begins with what it has read, keeping the hash at every character, then looks the longest up
  // first. Nothing longer than the longest token can match, which bounds the pass and keeps it on the stack.
  Match longest_match(std::u32string_view rest, bool continues) const {
    std::array<char, kMostTokenBytes + 4> bytes;
    std::array<std::uint16_t, kMostTokenBytes + 1> ends;       // [chars] bytes up to and with the character
    std::array<Vocabulary::Hash, kMostTokenBytes + 1> hashes;  // [chars] of prefix and bytes up to and with the character
    Vocabulary::Hash hash = continues ? prefix_hash_ : Vocabulary::kEmptyHash;
    std::size_t num_chars = 0;
    for (std::size_t num_bytes = 0; num_chars < rest.size() && num_bytes < vocabulary_.longest_token(); ++num_chars) {
      const std::size_t from = num_bytes;
      num_bytes += write_utf8(rest[num_chars], bytes.data() + num_bytes);
      for (std::size_t i = from; i < num_bytes; ++i) hash = Vocabulary::extend(hash, bytes[i]);
      if (!may_begin_token(hash)) break;
      ends[num_chars] = static_cast<std::uint16_t>(num_bytes);
      hashes[num_chars] = hash;
    }
    const std::string_view prefix = continues ? std::string_view(prefix_) : std::string_view();
    for (std::size_t length = num_chars; length > 0; --length) {
      const std::int32_t id = vocabulary_.find(hashes[length - 1], prefix, {bytes.data(), ends[length - 1]});
      if (id != Vocabulary::kAbsent) return {id, length};
    }
    return {};
  }

  // A Bloom filter of one bit per hash: a wrong yes costs a look-up, a wrong no cannot happen.
  bool may_begin_token(Vocabulary::Hash hash) const { return (beginnings_[word_of(hash)] >> bit_of(hash)) & 1; }
  std::size_t word_of(Vocabulary::Hash hash) const { return (hash >> 6 ^ hash >> 32) & (beginnings_.size() - 1); }
  static unsigned bit_of(Vocabulary::Hash hash) { return hash & 63; }

  void collect_beginnings() {
    constexpr std::size_t kBitsPerByte = 4;  // of the vocabulary; about one wrong yes in ten
    std::size_t num_bytes = 0;
    for (std::int32_t id = 0; id < vocabulary_.num_ids(); ++id) num_bytes += vocabulary_.token(id).value_or("").size();
    beginnings_.assign(std::bit_ceil(num_bytes * kBitsPerByte / 64 + 1), 0);
    for (std::int32_t id = 0; id < vocabulary_.num_ids(); ++id) {
      Vocabulary::Hash hash = Vocabulary::kEmptyHash;
      for (const char byte : vocabulary_.token(id).value_or("")) {
        hash = Vocabulary::extend(hash, byte);
        beginnings_[word_of(hash)] |= std::uint64_t{1} << bit_of(hash);
      }
    }
  }

  Vocabulary vocabulary_;
  std::int32_t unk_id_;
  std::string prefix_;
  Vocabulary::Hash prefix_hash_;
  std::size_t max_input_chars_;
  std::vector<std::uint64_t> beginnings_;  // a power of two; hashes of all beginnings of tokens
};

}  // namespace

ModelResult read_wordpiece(JsonRef json, int) {
  Fields fields(json, {"vocab", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word"});
  const std::string_view unk_token = fields.string("unk_token");
  const std::string_view prefix = fields.string("continuing_subword_prefix");
  const std::int32_t max_input_chars = fields.id("max_input_chars_per_word");
  if (!fields.ok()) return fields.error();
  Result<Vocabulary> vocabulary = Vocabulary::from_json(json["vocab"]);
  if (!vocabulary.ok()) return vocabulary.error();
  if (vocabulary.value().longest_token() > kMostTokenBytes) {
    return unsupported_error(json["vocab"].where() + ": expected tokens of at most " + std::to_string(kMostTokenBytes) +
                             " bytes, found one of " + std::to_string(vocabulary.value().longest_token()));
  }
  const std::int32_t unk_id = vocabulary.value().find(unk_token);
  if (unk_id == Vocabulary::kAbsent) return json["unk_token"].mismatch("a token of model.vocab");
  return ModelResult(std::make_unique<WordPiece>(std::move(vocabulary).value(), unk_id, std::string(prefix),
                                                 static_cast<std::size_t>(max_input_chars)));
}

}  // namespace wattn
