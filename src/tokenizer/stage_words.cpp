#include "tokenizer/stage_words.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/utf.h"
#include "tokenizer/models/word_ids.h"
#include "tokenizer/unicode.h"

namespace wattn {
namespace {

constexpr char32_t kLetter = U'a';  // stands for the neighbours of a part
constexpr std::string_view kSpaces = " \t\n\r";
constexpr std::u32string_view kRuns[] = {U"\t", U"\n", U"\r", U"  ", U"   ", U"\r\n", U"\n\n", U" \n", U"\n "};

bool is_graphic(char c) { return c >= '!' && c <= '~'; }
bool is_blank(char32_t c) { return c == 0x2581 || has_flag(c, kCharWhitespace); }

// The stages before the model, of one tokenizer.
struct Stages {
  const Normalizer* normalizer;
  const PreTokenizer* pre_tokenizer;
  const AddedTokens& added;

  // Nothing if there is an added token.
  std::optional<PreTokenizedText> cut(const std::u32string& text) const {
    NormalizedText raw;
    raw.chars = text;
    raw.spans.resize(text.size());
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(text.size()); ++i) raw.spans[static_cast<std::size_t>(i)] = {i, i + 1};
    raw.most = std::max(raw.most, 2 * text.size());
    PreTokenizedText out = added.extract(std::move(raw), normalizer, false);
    if (pre_tokenizer && !out.text.is_too_long) pre_tokenizer->pre_tokenize(out);
    if (out.text.is_too_long) return std::nullopt;
    for (const Split& split : out.splits) {
      if (split.token != Split::kNoToken) return std::nullopt;
    }
    return out;
  }
};

// How a tokenizer's texts are cut. Its words are known by a trial of the stages.
class Cuts {
 public:
  enum Kind : std::uint8_t { kWord, kSpace, kAlone, kMayBeChinese };

  explicit Cuts(const Stages& stages, const TokenModel& model);

  bool ok() const { return is_ok_; }
  bool drops_spaces() const { return drops_spaces_; }
  bool begins_alike() const { return first_prefix_ == prefix_; }  // whether the first word is as others are
  // Whether a character at the end of a part may be dropped where the text ends, or may join the characters that follow.
  bool may_change(char32_t end) const { return is_blank(end) && (!keeps_ends_ || end == U' ' || end == 0x2581); }
  bool spaces_are_alike() const { return spaces_are_alike_; }  // whether any run of them is as one space
  // The characters before the letters of the first word, and of a word after a space.
  std::u32string_view prefix(bool is_first) const { return is_first ? first_prefix_ : prefix_; }
  // What a character of ASCII becomes in a word, whatever is beside it; 0 if that is not so simple.
  char32_t plain(char c) const { return static_cast<unsigned char>(c) < plain_.size() ? plain_[static_cast<std::size_t>(c)] : 0; }

  bool is_plain(std::string_view part) const {
    return std::all_of(part.begin(), part.end(), [this](char c) { return plain(c) != 0; });
  }

  // The end of the part at `at`: spaces and a word, or, where spaces are dropped, a word or a character that is one.
  const char* part_end(const char* at, const char* end) const {
    if (!drops_spaces_) {
      while (at < end && kind(at) == kSpace) ++at;
    } else if (kind(at) == kAlone) {
      return at + 1;
    } else if (is_chinese(at, end)) {
      return at + 3;
    }
    while (at < end && (kind(at) == kWord || (kind(at) == kMayBeChinese && !is_chinese(at, end)))) ++at;
    return at;
  }
  const char* spaces_end(const char* at, const char* end) const {
    while (at < end && kind(at) == kSpace) ++at;
    return at;
  }

 private:
  Kind kind(const char* at) const { return kinds_[static_cast<unsigned char>(*at)]; }
  // U+4E00 to U+9FFF, where they are words by themselves.
  bool is_chinese(const char* at, const char* end) const {
    return kind(at) == kMayBeChinese && end - at >= 3 &&
           static_cast<std::uint16_t>(static_cast<unsigned char>(at[0]) << 8 | static_cast<unsigned char>(at[1])) >= 0xE4B8;
  }
  bool is_like_a_space(const Stages& stages, std::u32string_view run) const;
  void find_words_of_bert(const Stages& stages);
  void find_plain(const Stages& stages, const AsciiSet& tied);

  bool is_ok_ = false;
  bool drops_spaces_ = false, spaces_are_alike_ = false, keeps_ends_ = false;
  std::u32string first_prefix_, prefix_;
  std::array<char32_t, 128> plain_{};
  std::array<Kind, 256> kinds_{};
};

Cuts::Cuts(const Stages& stages, const TokenModel& model) {
  AsciiSet tied;
  const SpaceCuts cuts = stages.pre_tokenizer ? stages.pre_tokenizer->space_cuts() : SpaceCuts::kLocal;
  if (cuts == SpaceCuts::kNone || (stages.normalizer && !stages.normalizer->is_local(tied))) return;
  drops_spaces_ = stages.normalizer && stages.normalizer->ascii_map() && stages.pre_tokenizer->ascii_classes();
  if (drops_spaces_ ? !stages.added.are_all_raw() : stages.added.has_inner_spaces()) return;
  const auto one = stages.cut(U"a"), two = stages.cut(U"a a");
  if (!one || !two || one->splits.size() != 1 || one->text.chars.back() != kLetter || two->text.chars.back() != kLetter) return;
  first_prefix_ = one->text.chars.substr(0, one->text.size() - 1);
  if (!two->text.chars.starts_with(one->text.chars)) return;
  const std::size_t size = one->text.size();
  prefix_ = two->text.chars.substr(size, two->text.size() - size - 1);
  if (cuts == SpaceCuts::kDivide) {
    if (two->splits.size() != 2) return;
    prefix_ = two->chars_of(two->splits[1]);
    prefix_.pop_back();
  } else if (two->splits.size() != 1 || prefix_.size() != 1 || !model.divides_before(prefix_[0])) {
    return;
  }
  for (const char space : kSpaces) {
    const auto spaced = stages.cut({kLetter, static_cast<char32_t>(space), kLetter});
    if (space == ' ' || (cuts == SpaceCuts::kDivide && spaced && spaced->splits.size() == 2))
      kinds_[static_cast<unsigned char>(space)] = kSpace;
  }
  const auto is_alike = [&](std::u32string_view run) { return is_like_a_space(stages, run); };
  spaces_are_alike_ = std::all_of(std::begin(kRuns), std::end(kRuns), is_alike);
  const auto ended = stages.cut(U"a\n");
  keeps_ends_ = ended && ended->text.chars == first_prefix_ + U"a\n";
  if (drops_spaces_) find_words_of_bert(stages);
  find_plain(stages, tied);
  is_ok_ = true;
}

bool Cuts::is_like_a_space(const Stages& stages, std::u32string_view run) const {
  const auto found = stages.cut(std::u32string(1, kLetter).append(run) + kLetter);
  return found && found->splits.size() == 2 && found->chars_of(found->splits[0]) == first_prefix_ + kLetter &&
         found->chars_of(found->splits[1]) == prefix_ + kLetter;
}

void Cuts::find_words_of_bert(const Stages& stages) {
  const AsciiMap& map = *stages.normalizer->ascii_map();
  const AsciiClasses& classes = *stages.pre_tokenizer->ascii_classes();
  for (std::size_t c = 0; c < map.size(); ++c) {
    if (map[c] != kAsciiRemoved && classes[map[c]] == CharClass::kPunctuation) kinds_[c] = kAlone;
  }
  const auto chinese = stages.cut(U"a一a");
  if (!chinese || chinese->splits.size() != 3) return;
  for (std::size_t byte = 0xE4; byte <= 0xE9; ++byte) kinds_[byte] = kMayBeChinese;
}

void Cuts::find_plain(const Stages& stages, const AsciiSet& tied) {
  for (char32_t c = '!'; c <= '~'; ++c) {
    const char32_t lower = c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
    const bool is_alone = kinds_[c] == kAlone;
    const auto found = tied[c] ? std::nullopt : stages.cut(is_alone ? std::u32string{c} : std::u32string{'a', ' ', 'a', c, 'a'});
    if (!found || found->splits.empty()) continue;
    const std::u32string_view last = found->chars_of(found->splits.back());
    const char32_t became = is_alone ? last.back() : last.size() > 1 ? last[last.size() - 2] : 0;
    std::u32string expected = found->splits.size() == 1 && !is_alone ? first_prefix_ + kLetter : U"";
    is_alone ? expected = became : expected.append(prefix_).append({kLetter, became, kLetter});
    if ((became == c || became == lower) && last == expected) plain_[c] = became;
  }
}

class WordsOfStages final : public ByteWords {
 public:
  WordsOfStages(const Stages& stages, const TokenModel& model) : stages_(stages), model_(model) {}

  bool tokenize(std::string_view text, bool leave_special, Wanted wanted, TextTokens& out) const override;

 private:
  using Ids = std::vector<std::int32_t>;
  enum Mark : unsigned { kFirst = 1, kLast = 2 };  // of a part, where that may matter

  // What is made for the first text.
  struct Learned {
    explicit Learned(const WordsOfStages& of);

    Cuts cuts;
    bool is_ok;
    Ids before, after;  // the ids of the letters that stand for neighbours
    WordIds known;
    Ids ids;  // scratch, as are the others
    std::vector<Token> tokens;
    std::u32string letters;
    std::string last;
  };

  // Puts the ids of a word into Learned::ids; false if the model has none.
  bool run_model(Learned& state, std::u32string_view word) const;
  // The same for a part of plain ASCII; false for others. A part that begins with a graphic character has a space before it, unless
  // it is marked as the first.
  bool run_plain(Learned& state, std::string_view part, unsigned mark) const;
  // The same for any part; false if the whole text needs the stages.
  bool run_stages(Learned& state, std::string_view part, unsigned mark) const;
  bool run(Learned& state, std::string_view part, unsigned mark) const;

  Stages stages_;
  const TokenModel& model_;
  mutable std::unique_ptr<Learned> learned_;
};

WordsOfStages::Learned::Learned(const WordsOfStages& of) : cuts(of.stages_, of.model_), is_ok(cuts.ok()) {
  if (!is_ok || cuts.drops_spaces()) return;
  const auto ids_of = [&](std::u32string_view prefix) {
    is_ok = of.run_model(*this, std::u32string(prefix) + kLetter) && is_ok;
    return std::exchange(ids, {});
  };
  before = ids_of(cuts.prefix(true));
  after = ids_of(cuts.prefix(false));
}

bool WordsOfStages::run_model(Learned& state, std::u32string_view word) const {
  state.tokens.clear();
  if (!model_.tokenize(word, state.tokens)) return false;
  for (const Token& token : state.tokens) state.ids.push_back(token.id);
  return true;
}

bool WordsOfStages::run_plain(Learned& state, std::string_view part, unsigned mark) const {
  const std::u32string_view prefix = state.cuts.prefix((mark & kFirst) != 0);
  const TokenTrie& raw = stages_.added.raw_trie();
  state.letters = prefix;
  for (const char c : part) {
    const char32_t letter = state.cuts.plain(c);
    if (letter == 0 || (!state.cuts.drops_spaces() && raw.may_begin(static_cast<unsigned char>(c)))) return false;
    state.letters += letter;
  }
  const TokenTrie& added = stages_.added.normalized_trie();
  for (std::size_t i = 0; !added.empty() && i < state.letters.size(); ++i) {
    if (added.may_begin(state.letters[i]) && added.longest_at(state.letters, i).value != TokenTrie::kNone) return false;
  }
  return run_model(state, state.letters);
}

bool WordsOfStages::run_stages(Learned& state, std::string_view part, unsigned mark) const {
  const bool has_neighbours = !state.cuts.drops_spaces();
  const bool has_before = has_neighbours && !(mark & kFirst), has_after = has_neighbours && !(mark & kLast);
  std::u32string text = !has_before ? U"" : is_graphic(part[0]) ? U"a " : U"a";
  text += to_utf32(part);
  const auto end = static_cast<std::int32_t>(text.size());
  if (has_after) text += U" a";
  const std::optional<PreTokenizedText> cut = stages_.cut(text);
  if (!cut) return false;
  if (has_after) {  // whitespace at the end may be more than its neighbours show, as that of the whole text goes
    std::size_t size = cut->text.size();
    while (size > 0 && cut->text.spans[size - 1].end > end) --size;
    if (size == 0 || state.cuts.may_change(cut->text.chars[size - 1])) return false;
  }
  for (const Split& split : cut->splits) {
    if (!run_model(state, cut->chars_of(split))) return false;
  }
  Ids& ids = state.ids;
  const Ids none, &before = has_before ? state.before : none, &after = has_after ? state.after : none;
  if (ids.size() < before.size() + after.size() || !std::equal(before.begin(), before.end(), ids.begin()) ||
      !std::equal(after.rbegin(), after.rend(), ids.rbegin())) {
    return false;
  }
  ids.resize(ids.size() - after.size());
  ids.erase(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(before.size()));
  return true;
}

bool WordsOfStages::run(Learned& state, std::string_view part, unsigned mark) const {
  state.ids.clear();
  if (run_plain(state, part, mark)) return true;
  state.ids.clear();
  return run_stages(state, part, mark);
}

bool WordsOfStages::tokenize(std::string_view text, bool, Wanted wanted, TextTokens& out) const {
  if (wanted != Wanted::kIds || text.empty()) return false;
  if (!learned_) learned_ = std::make_unique<Learned>(*this);
  Learned& state = *learned_;
  const Cuts& cuts = state.cuts;
  if (!state.is_ok || (cuts.drops_spaces() && stages_.added.raw_trie().any_in(text))) return false;
  const char* const end = text.data() + text.size();
  std::size_t size = 0;
  Ids& ids = out.ids;
  ids.resize(text.size() / 4 + WordIds::kRoom);
  for (const char *at = text.data(), *next; at < end; at = next) {
    if (cuts.drops_spaces()) at = cuts.spaces_end(at, end);
    if (at == end) break;
    next = cuts.part_end(at, end);
    unsigned mark = 0;
    if (!cuts.drops_spaces()) {
      if (at == text.data()) {
        if (!cuts.begins_alike() || !cuts.is_plain({at, next})) mark = kFirst;
      } else {
        const char* const word = cuts.spaces_end(at, next);
        // The single space before most words is not part of their key.
        if (word < next && is_graphic(*word) && (cuts.spaces_are_alike() || word - at == (*at == ' '))) at = word;
      }
      if (next == end && !is_graphic(end[-1])) mark |= kLast;
    }
    const auto bytes = static_cast<std::size_t>(next - at);
    const char* key = at;
    if (static_cast<std::size_t>(end - next) < WordIds::kBytesRead)
      key = state.last.assign(at, bytes).append(WordIds::kBytesRead, '\0').data();
    if (ids.size() - size < WordIds::kRoom) ids.resize(2 * ids.size());
    std::size_t count = state.known.get(key, bytes, mark, ids.data() + size);
    if (count == WordIds::kAbsent) {
      if (!run(state, {at, bytes}, mark)) {
        ids.clear();
        return false;
      }
      count = state.ids.size();
      if (ids.size() - size < count + WordIds::kRoom) ids.resize(2 * (size + count + WordIds::kRoom));
      std::copy(state.ids.begin(), state.ids.end(), ids.begin() + static_cast<std::ptrdiff_t>(size));
      state.known.put(key, bytes, mark, state.ids.data(), count);
    }
    size += count;
  }
  ids.resize(size);
  return true;
}

std::unique_ptr<ByteWords> make_stage_words(const Normalizer* normalizer, const PreTokenizer* pre_tokenizer,
                                            const AddedTokens& added_tokens, const TokenModel& model) {
  return std::make_unique<WordsOfStages>(Stages{normalizer, pre_tokenizer, added_tokens}, model);
}

}  // namespace

const StageWordsMaker kStageWords{make_stage_words};

}  // namespace wattn
