#include "tokenizer/regex/regex.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "tokenizer/regex/program.h"

namespace wattn {
namespace {

using Node = RegexProgram::Node;

// Characters that no set of the pattern distinguishes form a class. Class numbers are computed for blocks of 256 characters.
class CharClasses {
 public:
  static constexpr std::uint16_t kNone = 0;  // the class of no character: before the text

  explicit CharClasses(const std::vector<CharSet>& sets) : sets_(sets), members_{0}, pages_(0x1100) {
    pages_[0] = make_page(0);
    std::copy_n(pages_[0]->begin(), ascii_.size(), ascii_.begin());
  }

  std::uint16_t of(char32_t c) {
    if (c < ascii_.size()) return ascii_[c];
    std::unique_ptr<Page>& page = pages_[c >> 8];
    if (!page) page = make_page(c & ~char32_t{0xFF});
    return (*page)[c & 0xFF];
  }
  bool is_member(std::uint16_t char_class, std::uint16_t set) const { return (members_[char_class] >> set & 1) != 0; }

 private:
  using Page = std::array<std::uint16_t, 256>;

  std::unique_ptr<Page> make_page(char32_t first) {
    auto page = std::make_unique<Page>();
    for (char32_t c = 0; c < 256; ++c) {
      std::uint64_t members = 0;
      for (std::size_t set = 0; set < sets_.size(); ++set) members |= std::uint64_t{sets_[set].contains(first + c)} << set;
      std::size_t found = 1;
      while (found < members_.size() && members_[found] != members) ++found;
      if (found == members_.size()) members_.push_back(members);
      (*page)[c] = static_cast<std::uint16_t>(found);
    }
    return page;
  }

  const std::vector<CharSet>& sets_;
  std::vector<std::uint64_t> members_;  // [classes] one bit for each set that contains the class; [0] is kNone
  std::vector<std::unique_ptr<Page>> pages_;
  std::array<std::uint16_t, 128> ascii_{};
};

}  // namespace

// The state at a position in the text is the set of the pattern's characters (slots) that can match there and lead to a match.
class Regex::Matcher {
 public:
  explicit Matcher(RegexProgram program)
      : program_(std::move(program)), classes_(program_.sets), reachable_(program_.nodes.size()) {
    num_words_ = program_.chars.size() / 64 + 1;
    reset();
  }

  void find_all(std::u32string_view text, std::vector<TextMatch>& out) {
    if (states_.size() > kMaxStates) reset();
    read_backwards(text);
    std::size_t last_end = std::u32string_view::npos;
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = match_at(text, begin);
      if (end == kNoMatch || (end == begin && begin == last_end)) {
        ++begin;
        continue;
      }
      out.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)});
      last_end = begin = end;
    }
  }

 private:
  static constexpr std::size_t kNoMatch = std::u32string_view::npos;
  static constexpr std::size_t kMaxStates = 4096;  // kept from one text to the next
  static constexpr std::int32_t kUnknown = -1;
  static constexpr std::uint16_t kDead = 0xFFFF, kAccept = 0xFFFE, kNotComputed = 0xFFFD;  // above all slots

  struct State {
    std::vector<std::uint64_t> slots;       // one bit each
    std::vector<std::uint16_t> next_slots;  // [class before][last slot, or start] the next slot, kAccept..; filled as needed
  };

  void reset() {
    states_.clear();
    by_slots_.clear();
    before_.clear();
    find_state(std::vector<std::uint64_t>(num_words_), true);  // state 0 is the end of the text and no other position
  }

  std::int32_t find_state(std::vector<std::uint64_t> slots, bool at_end) {
    std::string key(reinterpret_cast<const char*>(slots.data()), slots.size() * sizeof(std::uint64_t));
    key += at_end ? 'e' : '-';
    const auto [found, is_new] = by_slots_.emplace(std::move(key), states_.size());
    if (is_new) {
      states_.push_back({std::move(slots), {}});
      before_.resize(states_.size() << class_bits_, kUnknown);
    }
    return static_cast<std::int32_t>(found->second);
  }

  void read_backwards(std::u32string_view text) {
    state_at_.resize(text.size() + 1);
    std::int32_t state = 0;
    for (std::size_t i = text.size();; --i) {
      state_at_[i] = state;
      if (i == 0) return;
      const std::uint16_t char_class = classes_.of(text[i - 1]);
      if (char_class >> class_bits_ != 0) make_room(char_class);
      state = before_[static_cast<std::size_t>(state) << class_bits_ | char_class];
      if (state == kUnknown) state = step_back(state_at_[i], char_class);
    }
  }

  // Widens the rows of before_ for a class that is beyond them.
  void make_room(std::uint16_t char_class) {
    const int bits = std::bit_width(char_class);
    std::vector<std::int32_t> wider(states_.size() << bits, kUnknown);
    for (std::size_t state = 0; state < states_.size(); ++state) {
      std::copy_n(before_.begin() + static_cast<std::ptrdiff_t>(state << class_bits_), std::size_t{1} << class_bits_,
                  wider.begin() + static_cast<std::ptrdiff_t>(state << bits));
    }
    before_ = std::move(wider);
    class_bits_ = bits;
  }

  std::int32_t step_back(std::int32_t from, std::uint16_t char_class) {
    find_reaching(from, char_class);
    std::vector<std::uint64_t> slots(num_words_);
    for (std::size_t slot = 0; slot < program_.chars.size(); ++slot) {
      const Node& node = program_.nodes[program_.chars[slot]];
      if (classes_.is_member(char_class, node.set) && reachable_[node.next]) slots[slot / 64] |= std::uint64_t{1} << (slot % 64);
    }
    const std::int32_t found = find_state(std::move(slots), false);
    return before_[static_cast<std::size_t>(from) << class_bits_ | char_class] = found;
  }

  bool has_slot(std::int32_t state, std::uint16_t slot) const {
    return (states_[static_cast<std::size_t>(state)].slots[slot / 64] >> (slot % 64) & 1) != 0;
  }

  // Which nodes can reach a match at a position with this state, after a character of this class.
  void find_reaching(std::int32_t state, std::uint16_t class_before) {
    for (const std::uint16_t i : program_.order) {
      const Node& node = program_.nodes[i];
      const bool next = reachable_[node.next];
      switch (node.kind) {
        case Node::Kind::kChar:
          reachable_[i] = has_slot(state, node.slot);
          break;
        case Node::Kind::kSplit:
          reachable_[i] = next || reachable_[node.other];
          break;
        case Node::Kind::kLookahead:
          reachable_[i] = next && reachable_[node.other] != node.negated;
          break;
        case Node::Kind::kLookbehind:
          reachable_[i] = next && classes_.is_member(class_before, node.set) != node.negated;
          break;
        case Node::Kind::kTextBegin:
          reachable_[i] = next && class_before == CharClasses::kNone;
          break;
        case Node::Kind::kTextEnd:
          reachable_[i] = next && state == 0;
          break;
        case Node::Kind::kMatch:
          reachable_[i] = true;
          break;
      }
    }
  }

  // The next slot at a position, after a given slot (or the number of slots at the start).
  std::uint16_t next_slot(std::int32_t state, std::uint16_t from, std::uint16_t class_before) {
    const std::size_t row = program_.chars.size() + 1;
    const std::size_t index = class_before * row + from;
    std::vector<std::uint16_t>& known = states_[static_cast<std::size_t>(state)].next_slots;
    if (index < known.size() && known[index] != kNotComputed) return known[index];
    if (index >= known.size()) known.resize((class_before + std::size_t{1}) * row, kNotComputed);
    return known[index] = choose(state, from, class_before);
  }

  std::uint16_t choose(std::int32_t state, std::uint16_t from, std::uint16_t class_before) {
    find_reaching(state, class_before);
    std::uint16_t at = from == program_.chars.size() ? program_.start : program_.nodes[program_.chars[from]].next;
    if (!reachable_[at]) return kDead;
    for (;;) {
      const Node& node = program_.nodes[at];
      if (node.kind == Node::Kind::kChar) return node.slot;
      if (node.kind == Node::Kind::kMatch) return kAccept;
      at = node.kind == Node::Kind::kSplit && !reachable_[node.next] ? node.other : node.next;
    }
  }

  std::size_t match_at(std::u32string_view text, std::size_t place) {
    const bool looks_behind = program_.looks_behind;
    std::uint16_t slot = static_cast<std::uint16_t>(program_.chars.size());
    for (;; ++place) {
      const std::uint16_t before = looks_behind && place > 0 ? classes_.of(text[place - 1]) : CharClasses::kNone;
      slot = next_slot(state_at_[place], slot, before);
      if (slot == kAccept) return place;
      if (slot == kDead) return kNoMatch;
    }
  }

  RegexProgram program_;
  CharClasses classes_;
  std::size_t num_words_ = 0;
  std::vector<State> states_;
  int class_bits_ = 4;
  std::vector<std::int32_t> before_;  // [states][1 << class_bits_] the state one position before, by the class of its character
  std::map<std::string, std::size_t, std::less<>> by_slots_;
  std::vector<std::uint8_t> reachable_;  // [nodes] scratch of find_reaching
  std::vector<std::int32_t> state_at_;   // [text + 1] scratch of find_all
};

Result<Regex> Regex::compile(std::u32string_view pattern) {
  Result<RegexSyntax> syntax = parse_regex(pattern);
  if (!syntax.ok()) return syntax.error();
  Result<RegexProgram> program = compile_regex(std::move(syntax).value());
  if (!program.ok()) return program.error();
  return Regex(std::make_unique<Matcher>(std::move(program).value()));
}

Regex::Regex(std::unique_ptr<Matcher> matcher) : matcher_(std::move(matcher)) {}
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

void Regex::find_all(std::u32string_view text, std::vector<TextMatch>& out) const { matcher_->find_all(text, out); }

}  // namespace wattn
