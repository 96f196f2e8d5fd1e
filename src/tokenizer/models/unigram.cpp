// build: -Os
// Unigram: the split of a pre-token into pieces with the largest sum of scores (Viterbi).
#include <algorithm>
#include <iterator>
#include <limits>
#include <string>

#include "core/utf.h"
#include "tokenizer/component.h"
#include "tokenizer/language.h"
#include "tokenizer/models/byte_tokens.h"
#include "tokenizer/models/model.h"
#include "tokenizer/models/piece_trie.h"
#include "tokenizer/models/vocabulary_model.h"
#include "tokenizer/models/word_cache.h"

namespace wattn {
namespace {

constexpr std::size_t kMaxPieceBytes = 1024;  // real vocabularies stay below 128
constexpr double kUnknownPenalty = 10;        // SentencePiece's kUnkPenalty
constexpr double kNotInText = 1e300;          // the score of a piece that never occurs in text, written as null

struct UnigramSettings {
  std::int32_t unk_id = Vocabulary::kAbsent;  // without one, an unknown character is an error, as in the reference
  std::int32_t num_known = 0;                 // later pieces only affect how text is split and become the unknown token
  bool byte_fallback = false;
  bool single_precision = false;  // sums in float, as in SentencePiece's own library
  bool language_first = false;    // a word may begin with a language tag, which is one token (language.h)
};

class Unigram : public VocabularyModel {
 public:
  Unigram(Vocabulary vocabulary, std::vector<double> scores, const UnigramSettings& settings)
      : VocabularyModel(std::move(vocabulary)),
        pieces_(VocabularyModel::vocabulary()),
        bytes_(VocabularyModel::vocabulary()),
        scores_(std::move(scores)),
        settings_(settings) {
    double least = std::numeric_limits<double>::infinity();
    for (const double score : scores_) least = score == kNotInText ? least : std::min(least, score);
    unknown_score_ = rounded(least - kUnknownPenalty);
  }

  std::int32_t unknown_id() const override { return settings_.unk_id; }
  bool tokenize(std::u32string_view word, std::vector<Token>& out) const override {
    if (seen_.get(word, out)) return true;
    const std::size_t from = out.size();
    const std::size_t language = settings_.language_first ? language_length(word) : 0;
    if (language > 0) {
      const std::int32_t id = known(vocabulary().find(to_utf8(word.substr(0, language))));
      put(id == Vocabulary::kAbsent ? settings_.unk_id : id, 0, language, out);
    }
    const std::size_t rest = out.size();
    if (!cover(word.substr(language), out)) return false;
    const bool changes = language > 0 || settings_.num_known < vocabulary().num_ids();
    for (std::size_t i = rest; changes && i < out.size(); ++i) {
      out[i].id = known(out[i].id);
      out[i].begin += static_cast<std::uint32_t>(language);
      out[i].end += static_cast<std::uint32_t>(language);
    }
    seen_.put(word, out, from);
    return true;
  }

  std::optional<std::int32_t> token_to_id(std::string_view token) const override {
    const std::optional<std::int32_t> id = VocabularyModel::token_to_id(token);
    return id && *id < settings_.num_known ? id : std::nullopt;
  }
  std::optional<std::string_view> id_to_token(std::int32_t id) const override {
    return id < settings_.num_known ? VocabularyModel::id_to_token(id) : std::nullopt;
  }
  std::int32_t num_tokens() const override { return settings_.num_known; }
  std::int32_t num_ids() const override { return settings_.num_known; }

 private:
  std::int32_t known(std::int32_t id) const { return id < settings_.num_known ? id : settings_.unk_id; }

  bool cover(std::u32string_view word, std::vector<Token>& out) const {
    utf8_.clear();
    ends_.clear();
    for (const char32_t c : word) {
      append_utf8(c, utf8_);
      ends_.push_back(static_cast<std::uint32_t>(utf8_.size()));
    }
    std::vector<Step>& best = best_;
    best.assign(word.size() + 1, {});
    for (std::size_t begin = 0; begin < word.size(); ++begin) {
      if (!extend(begin)) return false;
    }

    const std::size_t out_begin = out.size();  // tokens come last to first
    for (std::size_t end = word.size(); end > 0;) {
      const Step& step = best[end];
      std::size_t begin = step.begin;
      const bool is_unknown = step.id == settings_.unk_id;
      while (is_unknown && begin > 0 && best[begin].id == settings_.unk_id)
        begin = best[begin].begin;  // neighbours become one token
      if (is_unknown) {
        put_unknown(word, begin, end, out);
      } else {
        put(step.id, begin, end, out);
      }
      end = begin;
    }
    std::reverse(out.begin() + static_cast<std::ptrdiff_t>(out_begin), out.end());
    if (word.size() > kKept) best_ = {};
    return true;
  }

  struct Step {
    double score = 0;
    std::uint32_t begin = 0;
    std::int32_t id = kNotReached;
  };
  static constexpr std::size_t kKept = 1 << 14;    // characters of words whose memory is kept for the next one
  static constexpr std::int32_t kNotReached = -2;  // neither an id nor Vocabulary::kAbsent

  // Tries all pieces that begin at a character, and the character alone as unknown if no piece is just that character. Without an
  // unknown token this is an error, even if another split would have avoided it, as in the reference.
  bool extend(std::size_t begin) const {
    const double score = best_[begin].score;
    std::size_t byte = begin == 0 ? 0 : ends_[begin - 1];
    std::uint32_t node = PieceTrie::kRoot;
    bool has_single = false;
    for (std::size_t end = begin; end < ends_.size(); ++end) {
      while (byte < ends_[end] && node != PieceTrie::kNone) node = pieces_.child(node, utf8_[byte++]);
      if (node == PieceTrie::kNone) break;
      const std::int32_t id = pieces_.id(node);
      if (id == Vocabulary::kAbsent || scores_[static_cast<std::size_t>(id)] == kNotInText) continue;
      has_single = has_single || end == begin;
      offer(best_[end + 1], rounded(score + scores_[static_cast<std::size_t>(id)]), begin, id);
    }
    return has_single || !offer(best_[begin + 1], rounded(score + unknown_score_), begin, settings_.unk_id) ||
           settings_.unk_id != Vocabulary::kAbsent;
  }

  double rounded(double score) const { return settings_.single_precision ? static_cast<float>(score) : score; }

  static bool offer(Step& step, double score, std::size_t begin, std::int32_t id) {
    if (step.id != kNotReached && !(score > step.score)) return false;
    step = {score, static_cast<std::uint32_t>(begin), id};
    return true;
  }

  static void put(std::int32_t id, std::size_t begin, std::size_t end, std::vector<Token>& out, bool shows_text = false) {
    out.push_back({id, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end), shows_text});
  }

  // Consecutive unknown characters: a piece if together they form one, else their bytes, else the unknown token.
  void put_unknown(std::u32string_view word, std::size_t begin, std::size_t end, std::vector<Token>& out) const {
    const bool may_be_piece = end - begin <= vocabulary().longest_token();
    if (!may_be_piece && !settings_.byte_fallback) return put(settings_.unk_id, begin, end, out, true);
    const std::string text = to_utf8(word.substr(begin, end - begin));
    if (const std::int32_t id = vocabulary().find(text); id != Vocabulary::kAbsent) return put(id, begin, end, out);
    const bool has_bytes = settings_.byte_fallback && std::all_of(text.begin(), text.end(), [this](char byte) {
                             return bytes_.of(byte) != Vocabulary::kAbsent;
                           });
    if (!has_bytes) return put(settings_.unk_id, begin, end, out, true);
    for (std::size_t i = text.size(); i-- > 0;) put(bytes_.of(text[i]), begin, end, out);
  }

  PieceTrie pieces_;
  ByteTokens bytes_;
  std::vector<double> scores_;  // [pieces]
  UnigramSettings settings_;
  double unknown_score_ = 0;
  mutable WordCache seen_;
  // Scratch: the word in UTF-8, where its characters end there, and the best way to each of them.
  mutable std::string utf8_;
  mutable std::vector<std::uint32_t> ends_;
  mutable std::vector<Step> best_;
};

// A score as the reference's JSON reader (serde_json) takes it: the digits as an integer, rounded, times or by a power of ten,
// rounded again. The difference from the nearest number, in the last bit, decides between splits that would be equal.
double twice_rounded(std::string_view text, double nearest) {
  constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10,
                                1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21};
  std::uint64_t digits = 0;
  std::size_t decimals = 0;
  bool after_point = false;
  for (const char c : text) {
    if (c == '-') continue;
    if (c == '.') {
      after_point = true;
      continue;
    }
    if (c < '0' || c > '9' || digits > (UINT64_MAX - 9) / 10) return nearest;  // an exponent, or more than 19 digits: no real file
    digits = 10 * digits + static_cast<std::uint64_t>(c - '0');
    decimals += after_point;
  }
  if (decimals >= std::size(kPowers)) return nearest;
  const double size = static_cast<double>(digits) / kPowers[decimals];
  return text.starts_with('-') ? -size : size;
}

}  // namespace

ModelResult read_unigram(JsonRef json, JsonRef options) {
  // "sentencepiece", "language_first" and "num_known" are our own, for models from .model and .spm files (formats/pieces.cpp).
  Fields fields(json, {"vocab", "unk_id", "byte_fallback", "sentencepiece", "language_first", "num_known"});
  const JsonRef list = fields.array("vocab");
  UnigramSettings settings;
  settings.single_precision = fields.boolean_or("sentencepiece", false);
  settings.language_first = fields.boolean_or("language_first", false);
  const JsonRef unk_id = option_of(json, options, "unk_id");
  settings.byte_fallback = fields.take(option_of(json, options, "byte_fallback").as_bool_or(false));
  settings.unk_id = unk_id.is_null() ? Vocabulary::kAbsent : fields.id(unk_id);
  settings.num_known = fields["num_known"].is_null() ? static_cast<std::int32_t>(list.size()) : fields.id("num_known");
  std::vector<std::string_view> pieces(list.size());
  std::vector<double> scores(list.size());
  for (std::size_t i = 0; i < list.size() && fields.ok(); ++i) {
    const JsonRef entry = list[i];
    if (!entry.is_array() || entry.size() != 2) fields.fail(entry.mismatch("[piece, score]"));
    pieces[i] = fields.take(entry[0].as_string());
    scores[i] = settings.single_precision && entry[1].is_null() ? kNotInText : fields.take(entry[1].as_number());
    if (!settings.single_precision) scores[i] = twice_rounded(entry[1].number_text(), scores[i]);
  }
  if (fields.ok() && static_cast<std::size_t>(settings.num_known) > list.size()) {
    fields.fail(fields["num_known"].mismatch("at most the number of pieces in model.vocab"));
  }
  if (fields.ok() && settings.unk_id >= settings.num_known) {
    fields.fail(unk_id.mismatch("the index of a piece in model.vocab"));
  }
  if (!fields.ok()) return fields.error();
  Result<Vocabulary> vocabulary = Vocabulary::from_list(pieces);
  if (!vocabulary.ok()) return vocabulary.error();
  std::size_t num_bytes = 0;
  for (const std::string_view piece : pieces) num_bytes += piece.size();
  if (num_bytes > PieceTrie::kMostBytes) return unsupported_error(list.where() + ": expected pieces of less than 16 MiB together");
  if (vocabulary.value().longest_token() > kMaxPieceBytes) {
    return unsupported_error(list.where() + ": expected pieces of at most " + std::to_string(kMaxPieceBytes) +
                             " bytes, found one of " + std::to_string(vocabulary.value().longest_token()));
  }
  return ModelResult(std::make_unique<Unigram>(std::move(vocabulary).value(), std::move(scores), settings));
}

}  // namespace wattn
