#include "constraints/pattern.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "constraints/text_cursor.h"
#include "core/json.h"
#include "core/utf.h"

namespace wattn {
namespace {

// Facts of Unicode: the same in every constraint.
constinit std::vector<std::pair<std::string, CodePoints>> properties;

struct Part {
  // kBound: \b; kNotBound: \B.
  enum Kind { kSet, kAll, kAny, kRepeat, kBegin, kEnd, kAhead, kNotAhead, kBound, kNotBound } kind;
  CodePoints set{};
  std::vector<Part> parts{};  // kAll: one after the other, kAny: one of them; else one
  std::int32_t min = 0, max = 0;
};

CodePoints word() {
  CodePoints out('a', 'z');
  out.add('A', 'Z');
  out.add('0', '9');
  out.add('_', '_');
  return out;
}

class PatternParser : private TextCursor {
 public:
  explicit PatternParser(std::string_view text) : TextCursor(text) {}

  Result<Part> parse() {
    Part out = any_of(0);
    if (!error_ && at_ < text_.size()) fail("unmatched ')'");
    if (error_) return *error_;
    return out;
  }

 private:
  bool ended() const { return at_ >= text_.size() || error_; }
  char32_t next() {
    if (at_ >= text_.size()) {
      fail("unexpected end");
      return 0;
    }
    return next_code_point(text_, at_);
  }
  void expected(std::string_view what) override { fail("expected " + std::string(what)); }
  void too_many_repeats() override { refuse("a count above " + std::to_string(kMostRepeats)); }
  void fail(std::string_view what) {
    if (!error_) error_ = input_error("pattern " + shown_text(text_) + ": " + std::string(what) + " at " + std::to_string(at_));
  }
  void refuse(std::string_view what) {
    if (!error_) error_ = unsupported_error("pattern " + shown_text(text_) + ": " + std::string(what) + " is not supported");
  }

  Part any_of(int depth) {
    Part out{Part::kAny};
    if (depth > kMostDepth) refuse("a group nested this deeply");
    do out.parts.push_back(sequence(depth));
    while (!error_ && take("|"));
    return out;
  }
  Part sequence(int depth) {
    Part out{Part::kAll};
    while (!ended() && peek() != '|' && peek() != ')') {
      Part each = atom(depth);
      while (!error_ && repeat(each)) {
      }
      out.parts.push_back(std::move(each));
    }
    return out;
  }
  // Wraps a part in the quantifier after it. Laziness changes which part of a text is matched, never whether one is.
  bool repeat(Part& each) {
    const auto found = repeats();
    if (!found) return false;
    take("?");
    if (each.kind >= Part::kBegin || each.kind == Part::kRepeat) fail("nothing to repeat");
    Part inner = std::move(each);
    each = Part{Part::kRepeat};
    each.min = found->min;
    each.max = found->max;
    each.parts.push_back(std::move(inner));
    return true;
  }
  Part atom(int depth) {
    if (take("(?:")) return group(any_of(depth + 1));
    if (take("(?=")) return wrap(Part::kAhead, group(any_of(depth + 1)));
    if (take("(?!")) return wrap(Part::kNotAhead, group(any_of(depth + 1)));
    if (take("(?<=") || take("(?<!")) refuse("a lookbehind");
    if (take("(?<")) {
      while (!ended() && peek() != '>') ++at_;
      if (!take(">")) fail("expected '>'");
      return group(any_of(depth + 1));
    }
    if (take("(?")) fail("unknown group");
    if (take("(")) return group(any_of(depth + 1));
    if (take("^")) return {Part::kBegin};
    if (take("$")) return {Part::kEnd};
    if (take("[")) return of_set(set());
    if (take(".")) return of_set(line_ends().inverse());
    if (take("\\")) return escape();
    const char c = peek();
    if (c == '*' || c == '+' || c == '?' || c == '{') fail("nothing to repeat");
    const char32_t one = next();
    return of_set(CodePoints(one, one));
  }
  static CodePoints line_ends() {
    CodePoints out = CodePoints::of("\n\r");
    out.add(0x2028, 0x2029);
    return out;
  }
  Part group(Part part) {
    if (!take(")")) fail("expected ')'");
    return part;
  }
  static Part wrap(Part::Kind kind, Part inner) {
    Part out{kind};
    out.parts.push_back(std::move(inner));
    return out;
  }
  static Part of_set(CodePoints set) {
    Part out{Part::kSet};
    out.set = std::move(set);
    return out;
  }
  Part escape() {
    if (take("b")) return {Part::kBound};
    if (take("B")) return {Part::kNotBound};
    const char c = peek();
    if (c == 'k' || (c >= '1' && c <= '9')) refuse("a backreference");
    return of_set(escaped());
  }
  // Everything that begins with a backslash, except assertions.
  CodePoints escaped() {
    const char32_t c = next();
    const auto one = [](char32_t each) { return CodePoints(each, each); };
    switch (c) {
      case 'd':
        return {'0', '9'};
      case 'D':
        return CodePoints('0', '9').inverse();
      case 'w':
        return word();
      case 'W':
        return word().inverse();
      case 's':
        return space();
      case 'S':
        return space().inverse();
      case 'n':
        return one('\n');
      case 'r':
        return one('\r');
      case 't':
        return one('\t');
      case 'v':
        return one('\v');
      case 'f':
        return one('\f');
      case '0':
        return one(0);
      case 'c': {
        const char32_t letter = next();
        if ((letter | 32) < 'a' || (letter | 32) > 'z') fail("expected a letter after \\c");
        return one(letter & 31);
      }
      case 'x':
        return one(hex(2));
      case 'u': {
        if (!take("{")) {
          const char32_t high = hex(4);
          if (high < 0xD800 || high > 0xDBFF || !text_.substr(at_).starts_with("\\u")) return one(high);
          at_ += 2;
          return one(0x10000 + ((high - 0xD800) << 10) + ((hex(4) - 0xDC00) & 0x3FF));
        }
        char32_t out = 0;
        while (hex_digit(static_cast<unsigned char>(peek())) >= 0 && out <= 0x10FFFF)
          out = 16 * out + static_cast<char32_t>(hex_digit(next()));
        if (out > 0x10FFFF || !take("}")) fail("expected a code point in \\u{}");
        return one(out);
      }
      case 'p':
      case 'P':
        return property(c == 'P');
      default:
        // Outside u-mode any other character stands for itself, which patterns in the wild rely on.
        if ((c | 32) >= 'a' && (c | 32) <= 'z') fail("unknown escape");
        return one(c);
    }
  }
  CodePoints property(bool is_not) {
    const std::size_t begin = at_;
    while (!ended() && peek() != '}') ++at_;
    const std::string_view name = text_.substr(begin, at_ - begin);
    if (!take("}")) fail("expected '}'");
    for (const auto& [known, set] : properties)
      if (name.substr(name.empty() ? 0 : 1) == known) return is_not ? set.inverse() : set;
    refuse("the Unicode property \\p" + std::string(name) + "}");
    return {};
  }
  static CodePoints space() {
    CodePoints out = CodePoints::of("\t\n\v\f\r ");
    for (const char32_t c : {0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF}) out.add(c, c);
    out.add(0x2000, 0x200A);
    return out;
  }
  char32_t hex(int digits) {
    char32_t out = 0;
    while (digits-- > 0) {
      const int digit = hex_digit(next());
      if (digit < 0) fail("expected a hexadecimal digit");
      out = 16 * out + static_cast<char32_t>(digit);
    }
    return out;
  }
  // After "[".
  CodePoints set() {
    const bool is_not = take("^");
    CodePoints out;
    while (!ended() && peek() != ']') {
      const CodePoints first = set_item();
      if (peek() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
        ++at_;
        const CodePoints last = set_item();
        if (error_) break;
        if (!is_one(first) || !is_one(last) || first.ranges()[0].first > last.ranges()[0].first)
          fail("range out of order");
        else
          out.add(first.ranges()[0].first, last.ranges()[0].first);
      } else {
        out.add(first);
      }
    }
    if (!take("]")) fail("expected ']'");
    return is_not ? out.inverse() : out;
  }
  static bool is_one(const CodePoints& set) { return set.ranges().size() == 1 && set.ranges()[0].first == set.ranges()[0].second; }
  CodePoints set_item() {
    if (!take("\\")) {
      const char32_t c = next();
      return {c, c};
    }
    if (take("b")) return {'\b', '\b'};
    if (take("-")) return {'-', '-'};
    return escaped();
  }

  std::optional<Error> error_;
};

// A part followed by what comes after it, so that lookaheads and the end see the rest of the text.
class PatternCompiler {
 public:
  PatternCompiler(Regexes& regexes, Writing writing)
      : regexes_(regexes),
        writing_(writing),
        letter_(to_regex(regexes, word(), writing)),
        mark_(to_regex(regexes, word().inverse(), writing)) {}

  // What follows a place: after a letter, digit or _, and elsewhere. These differ where a boundary of words comes next.
  struct Rest {
    RegexId letter, other;
    bool is_same() const { return letter == other; }
  };

  RegexId any() { return regexes_.repeat(any_character(regexes_, writing_), 0, Regexes::kNoLimit); }
  Rest same(RegexId id) const { return {id, id}; }
  // Texts before which there is at least one character.
  RegexId after_some(Rest rest) {
    if (rest.is_same()) return regexes_.concat({any_character(regexes_, writing_), any(), rest.other});
    return regexes_.either({regexes_.concat({any(), letter_, rest.letter}), regexes_.concat({any(), mark_, rest.other})});
  }
  // begins: nothing of the text is before the part.
  Rest compile(const Part& part, Rest rest, bool begins) {
    switch (part.kind) {
      case Part::kSet: {
        const RegexId set = to_regex(regexes_, part.set, writing_);
        if (rest.is_same()) return same(regexes_.concat(set, rest.other));
        return same(regexes_.either({regexes_.concat(regexes_.both({set, letter_}), rest.letter),
                                     regexes_.concat(regexes_.both({set, mark_}), rest.other)}));
      }
      case Part::kAll:
        return compile_all(part.parts, 0, rest, begins);
      case Part::kAny: {
        std::vector<RegexId> letter, other;
        for (const Part& each : part.parts) {
          const Rest way = compile(each, rest, begins);
          letter.push_back(way.letter);
          other.push_back(way.other);
        }
        return {regexes_.either(std::move(letter)), regexes_.either(std::move(other))};
      }
      case Part::kRepeat:
        return compile_repeat(part, rest, begins);
      case Part::kBegin:
        return begins ? rest : same(Regexes::kNothing);
      case Part::kEnd:
        return {end(rest.letter), end(rest.other)};
      case Part::kAhead:
      case Part::kNotAhead: {
        const Rest ahead = compile(part.parts[0], same(any()), begins);
        const auto seen = [&](RegexId id) { return part.kind == Part::kAhead ? id : regexes_.no(id); };
        return {regexes_.both({seen(ahead.letter), rest.letter}), regexes_.both({seen(ahead.other), rest.other})};
      }
      case Part::kBound:
      case Part::kNotBound: {
        const RegexId goes_on = regexes_.concat(letter_, any()), ends = regexes_.no(goes_on);
        const bool is_bound = part.kind == Part::kBound;
        return {regexes_.both({rest.letter, is_bound ? ends : goes_on}), regexes_.both({rest.other, is_bound ? goes_on : ends})};
      }
    }
    return same(Regexes::kNothing);
  }
  const char* refused() const { return refused_; }

 private:
  static bool has_look(const Part& part) {
    if (part.kind >= Part::kBegin) return true;
    for (const Part& each : part.parts)
      if (has_look(each)) return true;
    return false;
  }
  // Whether a part may match nothing.
  static bool may_be_empty(const Part& part) {
    if (part.kind == Part::kSet) return false;
    if (part.kind == Part::kRepeat) return part.min == 0 || may_be_empty(part.parts[0]);
    if (part.kind >= Part::kBegin) return true;
    bool all = true, any = false;
    for (const Part& each : part.parts) {
      all = all && may_be_empty(each);
      any = any || may_be_empty(each);
    }
    return part.kind == Part::kAll ? all : any;
  }
  static bool has_begin(const Part& part) {
    if (part.kind == Part::kBegin) return true;
    for (const Part& each : part.parts)
      if (has_begin(each)) return true;
    return false;
  }
  RegexId end(RegexId rest) const { return regexes_.may_end(rest) ? Regexes::kEmpty : Regexes::kNothing; }
  Rest compile_repeat(const Part& part, Rest rest, bool begins) {
    if (part.max == 1) {
      const Rest once = compile(part.parts[0], rest, begins);
      if (part.min == 1) return once;
      return {regexes_.either({once.letter, rest.letter}), regexes_.either({once.other, rest.other})};
    }
    const bool looks = has_look(part.parts[0]);
    if (looks) refused_ = "an anchor, a word boundary or a lookahead inside a repetition";
    const RegexId each = looks ? Regexes::kNothing : compile(part.parts[0], same(Regexes::kEmpty), false).other;
    const RegexId all = regexes_.repeat(each, part.min, part.max);
    if (rest.is_same()) return same(regexes_.concat(all, rest.other));
    const auto ending = [&](RegexId last, RegexId next) {
      return regexes_.concat(regexes_.both({all, regexes_.concat(any(), last)}), next);
    };
    const RegexId some = regexes_.either({ending(letter_, rest.letter), ending(mark_, rest.other)});
    if (!regexes_.may_end(all)) return same(some);
    return {regexes_.either({some, rest.letter}), regexes_.either({some, rest.other})};
  }
  Rest compile_all(const std::vector<Part>& parts, std::size_t at, Rest rest, bool begins) {
    if (at == parts.size()) return rest;
    bool still = begins;
    if (begins && parts[at].kind < Part::kBegin) {
      still = false;
      if (may_be_empty(parts[at])) {
        for (std::size_t i = at + 1; i < parts.size(); ++i)
          if (has_begin(parts[i])) refused_ = "'^' after a part that may be empty";
      }
    }
    return compile(parts[at], compile_all(parts, at + 1, rest, still), begins);
  }

  Regexes& regexes_;
  Writing writing_;
  RegexId letter_, mark_;  // one character: a letter, digit or _; any other
  const char* refused_ = nullptr;
};

}  // namespace

void define_property(std::string_view name, std::span<const std::int32_t> ranges) {
  CodePoints set;
  for (std::size_t i = 0; i + 1 < ranges.size(); i += 2)
    set.add(static_cast<char32_t>(ranges[i]), static_cast<char32_t>(ranges[i + 1]));
  properties.emplace_back(name, std::move(set));
}

Result<RegexId> read_pattern(Regexes& regexes, std::string_view pattern, bool whole, Writing writing) {
  auto part = PatternParser(pattern).parse();
  if (!part.ok()) return part.error();
  PatternCompiler compiler(regexes, writing);
  const auto after = compiler.same(whole ? Regexes::kEmpty : compiler.any());
  RegexId out = compiler.compile(part.value(), after, true).other;
  if (!whole) out = regexes.either({out, compiler.after_some(compiler.compile(part.value(), after, false))});
  if (compiler.refused())
    return unsupported_error("pattern " + shown_text(pattern) + ": " + compiler.refused() + " is not supported");
  return out;
}

}  // namespace wattn
