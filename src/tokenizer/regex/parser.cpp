// build: -Oz
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "tokenizer/regex/class_parser.h"
#include "tokenizer/regex/syntax.h"

namespace wattn {
namespace {

constexpr int kDeepestGroup = 32;
constexpr int kMaxRepeats = 1000;

using Kind = RegexNode::Kind;

RegexNode node_of(Kind kind, std::vector<RegexNode> children = {}, bool negated = false) {
  RegexNode node;
  node.kind = kind;
  node.children = std::move(children);
  node.negated = negated;
  return node;
}

class Parser {
 public:
  explicit Parser(std::u32string_view pattern) : in_{pattern} {}

  Result<RegexSyntax> parse() {
    RegexSyntax out;
    out.root = read_alternatives(0);
    if (!in_.done()) in_.unsupported("an unmatched )");
    if (!in_.ok()) return in_.error;
    out.sets = std::move(sets_);
    return out;
  }

 private:
  RegexNode read_alternatives(int depth) {
    if (depth > kDeepestGroup) in_.unsupported("a group nested too deeply");
    const bool outside = ignore_case_;
    RegexNode alternatives = node_of(Kind::kAlternatives);
    do {
      alternatives.children.push_back(read_sequence(depth));
    } while (in_.take(U'|'));
    ignore_case_ = outside;
    return alternatives.children.size() == 1 ? std::move(alternatives.children[0]) : alternatives;
  }

  RegexNode read_sequence(int depth) {
    RegexNode sequence;
    char32_t before = 0;  // the literal just before, in lower case
    while (!in_.done() && in_.peek() != U'|' && in_.peek() != U')') {
      const char32_t c = in_.peek();
      RegexNode atom = read_atom(depth);
      check_ligature(ignore_case_ && atom.kind == Kind::kChar ? before : 0, c | 0x20);
      before = atom.kind == Kind::kChar ? c | 0x20 : 0;
      sequence.children.push_back(read_quantifier(std::move(atom)));
    }
    return sequence.children.size() == 1 ? std::move(sequence.children[0]) : sequence;
  }

  // Without regard to case "ss" also matches one character, as do "ff" and others. No tokenizer intends that.
  void check_ligature(char32_t first, char32_t second) {
    const bool joins = (first == U's' && (second == U's' || second == U't')) ||
                       (first == U'f' && (second == U'f' || second == U'i' || second == U'l'));
    if (joins) in_.unsupported("matching a ligature's letters without regard to case");
  }

  RegexNode read_atom(int depth) {
    if (in_.take(U'(')) return read_group(depth);
    if (in_.take(U'\\')) return read_escaped();
    CharSet set;
    if (in_.take(U'[')) {
      set = read_class(in_);
    } else if (in_.take(U'.')) {
      set.add(U'\n');
      set.negate();
      return char_node(std::move(set));
    } else if (in_.take(U'^')) {
      return line_begin();
    } else if (in_.take(U'$')) {
      return line_end();
    } else if (in_.peek() == U'*' || in_.peek() == U'+' || in_.peek() == U'?') {
      in_.unsupported("a quantifier without an operand");
    } else {
      set.add(in_.pattern[in_.position++]);
    }
    return with_case(std::move(set));
  }

  RegexNode with_case(CharSet set) {
    if (ignore_case_) {
      if (!set.is_plain_ascii()) in_.unsupported("matching without regard to case beyond ASCII letters");
      set.ignore_case();
    }
    return char_node(std::move(set));
  }

  RegexNode char_node(CharSet set) {
    RegexNode node = node_of(Kind::kChar);
    node.set = add_set(std::move(set));
    return node;
  }

  std::uint16_t add_set(CharSet set) {
    for (char32_t c = 0; c < 0x80; ++c) {  // the same characters often occur several times
      for (std::size_t i = 0; i < sets_.size() && set.is_char(c, ignore_case_); ++i) {
        if (sets_[i].is_char(c, ignore_case_)) return static_cast<std::uint16_t>(i);
      }
    }
    if (sets_.size() == RegexSyntax::kMaxSets) in_.unsupported("more than 64 classes of characters");
    if (in_.ok()) sets_.push_back(std::move(set));
    return static_cast<std::uint16_t>(sets_.empty() ? 0 : sets_.size() - 1);
  }

  RegexNode behind(CharSet set, bool negated) {
    RegexNode node = node_of(Kind::kLookbehind, {}, negated);
    node.set = add_set(std::move(set));
    return node;
  }

  static CharSet newline() {
    CharSet set;
    set.add(U'\n');
    return set;
  }
  // No line begins after a newline that ends the text.
  RegexNode line_begin() {
    CharSet any;
    any.negate();
    const RegexNode more = node_of(Kind::kLookahead, {char_node(std::move(any))});
    return node_of(Kind::kAlternatives, {node_of(Kind::kTextBegin), node_of(Kind::kSequence, {behind(newline(), false), more})});
  }
  RegexNode line_end() {
    return node_of(Kind::kAlternatives, {node_of(Kind::kTextEnd), node_of(Kind::kLookahead, {char_node(newline())})});
  }

  // \b: a word character on exactly one side.
  RegexNode word_boundary(bool negated) {
    CharSet word;
    word.add_word(false);
    const RegexNode next = char_node(word);
    const auto both = [&](bool before, bool after) {
      return node_of(Kind::kSequence, {behind(word, !before), node_of(Kind::kLookahead, {next}, !after)});
    };
    return node_of(Kind::kAlternatives, {both(true, negated), both(false, !negated)});
  }

  RegexNode read_escaped() {
    if (in_.take(U'A')) return node_of(Kind::kTextBegin);
    if (in_.take(U'z')) return node_of(Kind::kTextEnd);
    if (in_.take(U'Z')) {
      return node_of(Kind::kAlternatives,
                     {node_of(Kind::kTextEnd),
                      node_of(Kind::kLookahead, {node_of(Kind::kSequence, {char_node(newline()), node_of(Kind::kTextEnd)})})});
    }
    if (in_.peek() == U'b' || in_.peek() == U'B') return word_boundary(in_.pattern[in_.position++] == U'B');
    CharSet set = read_escape(in_, false);
    return set.is_plain_ascii() ? with_case(std::move(set)) : char_node(std::move(set));
  }

  // After a '('.
  RegexNode read_group(int depth) {
    RegexNode node;
    if (in_.take(U"?:") || !in_.take(U'?')) {
      node = read_alternatives(depth + 1);
    } else if (in_.take(U"i:") || in_.take(U"-i:")) {
      const bool outside = std::exchange(ignore_case_, in_.pattern[in_.position - 3] != U'-');
      node = read_alternatives(depth + 1);
      ignore_case_ = outside;
    } else if (in_.take(U"i)")) {
      if (in_.position != 4) in_.unsupported("(?i) that is not at the beginning");
      ignore_case_ = true;
      return read_alternatives(depth + 1);
    } else if (in_.take(U'=') || in_.take(U'!')) {
      const bool negated = in_.pattern[in_.position - 1] == U'!';
      node = node_of(Kind::kLookahead, {}, negated);
      node.children.push_back(read_alternatives(depth + 1));
    } else if (in_.take(U"<=") || in_.take(U"<!")) {
      const bool negated = in_.pattern[in_.position - 1] == U'!';
      node = read_alternatives(depth + 1);
      if (node.kind != Kind::kChar) in_.unsupported("a lookbehind for anything but one character");
      node.kind = Kind::kLookbehind;
      node.negated = negated;
    } else {
      in_.unsupported("the group (?" + std::string(1, in_.peek() < 0x80 ? static_cast<char>(in_.peek()) : '.'));
    }
    if (!in_.take(U')')) in_.unsupported("a group without )");
    return node;
  }

  // After an atom. A "{" that does not begin an interval is an ordinary character.
  RegexNode read_quantifier(RegexNode atom) {
    for (bool first = true;; first = false) {
      RegexNode repeat = node_of(Kind::kRepeat);
      const std::size_t begin = in_.position;
      bool interval = false;
      if (in_.take(U'*')) {
        repeat.max = RegexNode::kNoLimit;
      } else if (in_.take(U'+')) {
        repeat.min = 1;
        repeat.max = RegexNode::kNoLimit;
      } else if (in_.take(U'?')) {
        repeat.max = 1;
      } else if (in_.peek() == U'{' && read_interval(repeat)) {
        interval = true;
      } else {
        return atom;
      }
      // "{1,3}+" is a quantifier applied to another here, not a possessive one.
      const bool plus_on_interval = !first && atom.kind == Kind::kRepeat && repeat.max == RegexNode::kNoLimit;
      if (!first && !plus_on_interval) {
        in_.position = begin;
        in_.unsupported("a quantifier on a quantifier");
      }
      const bool repeats = repeat.max == RegexNode::kNoLimit || repeat.max > 1;
      if (repeats && atom.can_be_empty()) in_.unsupported("repeating something that can be empty");
      if (in_.take(U'?')) {
        if (interval && repeat.min == repeat.max) in_.unsupported("a lazy {n}");
        repeat.lazy = true;
      }
      const bool possessive = !interval && !repeat.lazy && in_.take(U'+');
      if (!in_.ok()) return atom;
      if (possessive && atom.kind != Kind::kChar) {
        in_.unsupported("a possessive quantifier on anything but one character");
        return atom;
      }
      repeat.children.push_back(std::move(atom));
      atom = possessive ? make_possessive(std::move(repeat)) : std::move(repeat);
      if (!interval) return atom;
    }
  }

  // As many as possible, and never fewer: the repeat stops at its limit, or where the next character does not match.
  static RegexNode make_possessive(RegexNode repeat) {
    RegexNode rest = node_of(Kind::kLookahead, {repeat.children[0]}, true);
    if (repeat.max == RegexNode::kNoLimit) return node_of(Kind::kSequence, {std::move(repeat), std::move(rest)});
    return node_of(Kind::kAlternatives, {repeat.children[0], std::move(rest)});  // ?+
  }

  bool read_interval(RegexNode& repeat) {
    const std::size_t begin = in_.position++;
    const std::optional<int> low = read_number();
    const bool comma = in_.take(U',');
    const std::optional<int> high = comma ? read_number() : low;
    if (!in_.take(U'}') || (!low && !high)) {
      in_.position = begin;
      return false;
    }
    repeat.min = low.value_or(0);
    repeat.max = high.value_or(RegexNode::kNoLimit);
    if (repeat.min > kMaxRepeats || repeat.max > kMaxRepeats) in_.unsupported("more than 1000 repeats");
    if (repeat.max != RegexNode::kNoLimit && repeat.max < repeat.min) in_.unsupported("an interval whose ends are out of order");
    return true;
  }

  std::optional<int> read_number() {
    std::optional<int> value;
    for (; in_.peek() >= U'0' && in_.peek() <= U'9'; ++in_.position) {
      value = std::min(value.value_or(0) * 10 + static_cast<int>(in_.peek() - U'0'), kMaxRepeats + 1);
    }
    return value;
  }

  PatternReader in_;
  std::vector<CharSet> sets_;
  bool ignore_case_ = false;
};

}  // namespace

bool RegexNode::can_be_empty() const {
  const auto empty = [](const RegexNode& child) { return child.can_be_empty(); };
  switch (kind) {
    case Kind::kChar:
      return false;
    case Kind::kSequence:
      return std::all_of(children.begin(), children.end(), empty);
    case Kind::kAlternatives:
      return std::any_of(children.begin(), children.end(), empty);
    case Kind::kRepeat:
      return min == 0 || children[0].can_be_empty();
    default:
      return true;
  }
}

Result<RegexSyntax> parse_regex(std::u32string_view pattern) { return Parser(pattern).parse(); }

}  // namespace wattn
