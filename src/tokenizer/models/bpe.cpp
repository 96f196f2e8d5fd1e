// build: -Os
// BPE: a word begins as its characters, and neighbours merge by rank. Characters that are not in the vocabulary become their bytes
// (byte_fallback), the unknown token, or nothing.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "core/part.h"
#include "core/utf.h"
#include "tokenizer/component.h"
#include "tokenizer/models/byte_tokens.h"
#include "tokenizer/models/merges.h"
#include "tokenizer/models/model.h"
#include "tokenizer/models/vocabulary_model.h"
#include "tokenizer/models/word_cache.h"

namespace wattn {
namespace {

struct BpeSettings {
  std::string prefix;  // of all characters of a word except the first; empty in nearly all models
  std::string suffix;  // of the last character
  std::int32_t unk_id = Vocabulary::kAbsent;
  bool fuse_unk = false;
  bool byte_fallback = false;
  bool ignore_merges = false;  // a word in the vocabulary becomes that token, whatever the merges are
};

class Bpe : public VocabularyModel {
 public:
  Bpe(Vocabulary vocabulary, Merges merges, BpeSettings settings)
      : VocabularyModel(std::move(vocabulary)),
        merges_(std::move(merges)),
        settings_(std::move(settings)),
        bytes_(VocabularyModel::vocabulary()) {
    for (char32_t c = 0; c < ids_.size(); ++c) ids_[c] = find(c);
  }

  std::int32_t unknown_id() const override { return settings_.unk_id; }
  bool tokenize(std::u32string_view word, std::vector<Token>& out) const override {
    if (seen_.get(word, out)) return true;
    const std::size_t from = out.size();
    const bool known = compute(word, out);
    if (known) seen_.put(word, out, from);
    return known;
  }
  ByteModel byte_model() const override {
    if (!settings_.prefix.empty() || !settings_.suffix.empty()) return {};
    return {&vocabulary(), &merges_, settings_.ignore_merges};
  }
  bool divides_before(char32_t c) const override {
    if (!settings_.prefix.empty() || !settings_.suffix.empty() || settings_.ignore_merges || find(c) == Vocabulary::kAbsent)
      return false;
    char utf8[4];
    const std::string_view mark(utf8, write_utf8(c, utf8));
    bool divides = true;
    merges_.for_each([&](std::int32_t, std::int32_t, Merges::Merge merge) {
      std::string_view token = vocabulary().token(merge.id).value_or("");
      while (token.starts_with(mark)) token.remove_prefix(mark.size());
      divides = divides && token.find(mark) == token.npos;
    });
    return divides;
  }

 private:
  bool compute(std::u32string_view word, std::vector<Token>& out) const {
    if (settings_.ignore_merges && word.size() <= vocabulary().longest_token()) {
      const std::int32_t id = vocabulary().find(to_utf8(word));
      if (id != Vocabulary::kAbsent) {
        out.push_back({id, 0, static_cast<std::uint32_t>(word.size())});
        return true;
      }
    }
    std::vector<BpeSymbol>& symbols = symbols_;
    symbols.clear();
    const bool plain = settings_.prefix.empty() && settings_.suffix.empty();
    if (!(plain && put_known(word, symbols))) return tokenize_bytes(word, out);
    merge_all(merges_, symbols);
    std::uint32_t begin = 0;
    for (const BpeSymbol& symbol : symbols) {
      out.push_back({symbol.id, begin, begin + symbol.length});
      begin += symbol.length;
    }
    return true;
  }

  std::int32_t find(char32_t c) const {
    char bytes[4];
    return vocabulary().find({bytes, write_utf8(c, bytes)});
  }

  // The common case: every character is a token.
  bool put_known(std::u32string_view word, std::vector<BpeSymbol>& symbols) const {
    for (const char32_t c : word) {
      const std::int32_t id = c < ids_.size() ? ids_[c] : find(c);
      if (id == Vocabulary::kAbsent) return false;
      symbols.push_back({id, 1});
    }
    return true;
  }

  // Lengths of symbols are in bytes here, as in the reference, because a symbol can be one byte of a character; an omitted
  // character shifts all symbols after it forward.
  bool tokenize_bytes(std::u32string_view word, std::vector<Token>& out) const {
    std::vector<BpeSymbol>& symbols = symbols_;
    symbols.clear();
    std::optional<BpeSymbol> unknown;
    std::vector<std::uint32_t> char_of;  // [bytes of the word]
    std::string name;
    for (std::size_t i = 0; i < word.size(); ++i) {
      char bytes[4];
      const std::uint32_t size = static_cast<std::uint32_t>(write_utf8(word[i], bytes));
      char_of.insert(char_of.end(), size, static_cast<std::uint32_t>(i));
      name.assign(i > 0 ? settings_.prefix : "").append(bytes, size);
      if (i + 1 == word.size()) name += settings_.suffix;
      const std::int32_t id = vocabulary().find(name);
      if (id != Vocabulary::kAbsent) {
        if (unknown) symbols.push_back(*std::exchange(unknown, std::nullopt));
        symbols.push_back({id, size});
      } else if (!put_bytes(name, symbols)) {
        put_unknown(size, unknown, symbols);
      }
    }
    if (unknown) symbols.push_back(*unknown);
    merge_all(merges_, symbols);
    std::size_t begin = 0;
    for (const BpeSymbol& symbol : symbols) {
      const std::size_t last = char_of.size() - 1;  // with a prefix or suffix there can be more symbols than bytes in the word
      out.push_back({symbol.id, char_of[std::min(begin, last)], char_of[std::min(begin + symbol.length - 1, last)] + 1});
      begin += symbol.length;
    }
    return true;
  }

  bool put_bytes(std::string_view name, std::vector<BpeSymbol>& symbols) const {
    if (!settings_.byte_fallback) return false;
    const std::size_t size = symbols.size();
    for (const char byte : name) {
      symbols.push_back({bytes_.of(byte), 1});
      if (symbols.back().id != Vocabulary::kAbsent) continue;
      symbols.resize(size);
      return false;
    }
    return true;
  }

  void put_unknown(std::uint32_t size, std::optional<BpeSymbol>& unknown, std::vector<BpeSymbol>& symbols) const {
    if (settings_.unk_id == Vocabulary::kAbsent) return;
    if (unknown && settings_.fuse_unk) {
      unknown->length += size;
      return;
    }
    if (unknown) symbols.push_back(*unknown);
    unknown = BpeSymbol{settings_.unk_id, size};
  }

  Merges merges_;
  BpeSettings settings_;
  ByteTokens bytes_;
  std::array<std::int32_t, 0x400> ids_;  // [code point] the token of this character alone, or kAbsent
  mutable WordCache seen_;
  mutable std::vector<BpeSymbol> symbols_;  // scratch
};

struct MergeIds {
  std::int32_t left = Vocabulary::kAbsent, right = Vocabulary::kAbsent, id = Vocabulary::kAbsent;
  bool ok() const { return left != Vocabulary::kAbsent && right != Vocabulary::kAbsent && id != Vocabulary::kAbsent; }
};

MergeIds find_merge(const Vocabulary& vocabulary, std::string_view prefix, std::string_view left, std::string_view right) {
  const std::string_view rest = right.substr(std::min(prefix.size(), right.size()));
  return {vocabulary.find(left), vocabulary.find(right),
          vocabulary.find(Vocabulary::hash_of(rest, Vocabulary::hash_of(left)), left, rest)};
}

// "left right" or ["left", "right"]. As in the reference, a string has one space; tokens with spaces need the array.
MergeIds read_merge(JsonRef json, const Vocabulary& vocabulary, std::string_view prefix) {
  if (json.is_array() && json.size() == 2 && json[0].is_string() && json[1].is_string()) {
    return find_merge(vocabulary, prefix, json[0].as_string().value(), json[1].as_string().value());
  }
  const std::string_view both = json.is_string() ? json.as_string().value() : std::string_view();
  const std::size_t space = both.find(' ');
  if (space == std::string_view::npos || both.find(' ', space + 1) != std::string_view::npos) return {};
  return find_merge(vocabulary, prefix, both.substr(0, space), both.substr(space + 1));
}

Result<Merges> read_merges(JsonRef json, const Vocabulary& vocabulary, std::string_view prefix) {
  if (!json.is_array()) return json.mismatch("an array of merges");
  const std::size_t count = json.size();
  Merges merges(count);
  std::uint32_t rank = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const JsonRef entry = json[i];
    if (entry.is_string() && entry.as_string().value().starts_with("#version")) continue;
    const MergeIds merge = read_merge(entry, vocabulary, prefix);
    if (!merge.ok())
      return entry.mismatch("two tokens of model.vocab that make a third, with one space between them or in an array");
    merges.add(merge.left, merge.right, {rank++, merge.id});
  }
  return merges;
}

}  // namespace

ModelResult read_bpe(JsonRef json, JsonRef options) {
  const auto option = [&](std::string_view key) { return option_of(json, options, key); };
  // "num_known" is our own, for models from .model files (formats/pieces.cpp).
  Fields fields(json, {"vocab", "merges", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
                       "byte_fallback", "ignore_merges", "num_known"});
  const JsonRef dropout = option("dropout");
  if (!dropout.is_null() && fields.take(dropout.as_number()) != 0) {
    fields.fail(unsupported_error(dropout.where() + ": expected null (dropout is for training), found " + dropout.describe()));
  }
  BpeSettings settings;
  settings.prefix = fields.take(option("continuing_subword_prefix").as_string_or(""));
  settings.suffix = fields.take(option("end_of_word_suffix").as_string_or(""));
  settings.fuse_unk = fields.take(option("fuse_unk").as_bool_or(false));
  settings.byte_fallback = fields.take(option("byte_fallback").as_bool_or(false));
  settings.ignore_merges = fields.take(option("ignore_merges").as_bool_or(false));
  const JsonRef unk_token = option("unk_token");
  const std::string_view unk = fields.take(unk_token.as_string_or(""));
  if (!fields.ok()) return fields.error();
  Result<Vocabulary> vocabulary = Vocabulary::from_json(json["vocab"]);
  if (!vocabulary.ok()) return vocabulary.error();
  if (!unk_token.is_null()) {
    settings.unk_id = vocabulary.value().find(unk);
    if (settings.unk_id == Vocabulary::kAbsent) return unk_token.mismatch("a token of model.vocab");
  }
  Result<Merges> merges = read_merges(json["merges"], vocabulary.value(), settings.prefix);
  if (!merges.ok()) return merges.error();
  auto model = std::make_unique<Bpe>(std::move(vocabulary).value(), std::move(merges).value(), std::move(settings));
  if (!fields.has("num_known")) return ModelResult(std::move(model));
  const auto* known = Part<KnownTokenModels>::get();
  return known
             ? known->read(std::move(model), json)
             : ModelResult(unsupported_error("tokenizer: expected wattn-full-simd.wasm or wattn-full-relaxed.wasm, found another"));
}

}  // namespace wattn
