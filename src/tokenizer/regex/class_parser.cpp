// build: -Oz
#include "tokenizer/regex/class_parser.h"

#include <utility>

#include "core/utf.h"
#include "tokenizer/scripts.h"
#include "tokenizer/unicode.h"

namespace wattn {
namespace {

constexpr int kDeepestClass = 16;

constexpr std::uint32_t bit(CharCategory category) { return std::uint32_t{1} << static_cast<unsigned>(category); }

// \p{L}: all categories that begin with this letter; \p{Lu}: that one. 0 if there is no such category.
std::uint32_t category_mask(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kLongNames[] = {
      {"L", "Letter"}, {"M", "Mark"}, {"N", "Number"}, {"P", "Punctuation"}, {"S", "Symbol"}, {"Z", "Separator"}, {"C", "Other"}};
  for (const auto& [letter, long_name] : kLongNames) {
    if (same_property_name(name, long_name)) name = letter;
  }
  std::uint32_t mask = 0;
  for (std::size_t i = 0; i < kCategoryNames.size(); i += 2) {
    if (same_property_name(kCategoryNames.substr(i, 2), name) || same_property_name(kCategoryNames.substr(i, 1), name)) {
      mask |= std::uint32_t{1} << (i / 2);
    }
  }
  return mask;
}

// After \p or \P: {name} or {^name}.
void read_property(PatternReader& in, bool negated, CharSet& set) {
  const std::size_t begin = in.position + 1;
  if (!in.take(U'{')) return in.unsupported("\\p without {..}");
  if (in.take(U'^')) negated = !negated;
  std::string name;
  while (!in.done() && in.peek() != U'}') append_utf8(in.pattern[in.position++], name);
  if (!in.take(U'}')) return in.unsupported("\\p{ without }");
  if (const std::uint32_t mask = category_mask(name)) return set.add_categories(mask, negated);
  if (const std::uint8_t script = Scripts::by_name(name)) return set.add_script(script, negated);
  if (same_property_name(name, "Any")) return set.add_categories(~std::uint32_t{0}, negated);
  in.position = begin;
  in.unsupported("the character property \"" + name + "\"");
}

// \xHH, \x{H...}, \uHHHH
char32_t read_hex(PatternReader& in, std::size_t digits) {
  const bool braces = digits == 2 && in.take(U'{');
  char32_t value = 0;
  std::size_t count = 0;
  for (const std::size_t most = braces ? 8 : digits; count < most && hex_digit(in.peek()) >= 0; ++count) {
    value = value << 4 | static_cast<char32_t>(hex_digit(in.pattern[in.position++]));
  }
  if (count == 0 || (!braces && count < digits) || (braces && !in.take(U'}')) || value > 0x10FFFF) {
    in.unsupported("an invalid character number");
  }
  return value;
}

// The single character that an escape stands for, if it is such an escape.
std::optional<char32_t> read_escaped_char(PatternReader& in, bool in_class) {
  constexpr std::pair<char32_t, char32_t> kNamed[] = {{U't', 9},  {U'n', 10}, {U'v', 11}, {U'f', 12},
                                                      {U'r', 13}, {U'a', 7},  {U'e', 27}};
  const char32_t c = in.peek();
  for (const auto& [name, value] : kNamed) {
    if (in.take(name)) return value;
  }
  if (in_class && in.take(U'b')) return 8;
  if (in.take(U'x')) return read_hex(in, 2);
  if (in.take(U'u')) return read_hex(in, 4);
  const bool named = (c >= U'0' && c <= U'9') || ((c | 0x20) >= U'a' && (c | 0x20) <= U'z');
  if (named || in.done()) return std::nullopt;
  ++in.position;
  return c;
}

// One end of a range, or a character; nothing at a class escape or a bracket.
std::optional<char32_t> read_class_char(PatternReader& in) {
  const char32_t c = in.peek();
  if (in.done() || c == U'[') return std::nullopt;
  ++in.position;
  if (c != U'\\') return c;
  const std::optional<char32_t> escaped = read_escaped_char(in, true);
  if (!escaped) --in.position;
  return escaped;
}

// One item of a class: a nested class, an escape, a character or a range.
void read_item(PatternReader& in, int depth, CharSet& set) {
  if (in.peek() == U'[' && in.peek(1) == U':') return in.unsupported("a POSIX class like [:alpha:]");
  if (in.take(U'[')) return set.add(read_class(in, depth + 1));
  const std::optional<char32_t> first = read_class_char(in);
  if (!first) {
    if (in.take(U'\\')) set.add(read_escape(in, true));
    return;
  }
  if (in.peek() != U'-' || in.peek(1) == U']') return set.add(*first);
  ++in.position;
  const std::optional<char32_t> last = read_class_char(in);
  if (!last || *last < *first) return in.unsupported("a range of characters that lacks an end or is out of order");
  set.add(*first, *last);
}

}  // namespace

void PatternReader::unsupported(const std::string& what) {
  if (!ok()) return;
  error = unsupported_error("regular expression \"" + to_utf8(pattern) + "\", at character " + std::to_string(position) + ": " +
                            what + " is not supported");
}

CharSet read_escape(PatternReader& in, bool in_class) {
  CharSet set;
  const char32_t c = in.peek();
  const bool negated = c >= U'A' && c <= U'Z';
  switch (c | 0x20) {
    case U's':
      set.add_space(negated);
      break;
    case U'w':
      set.add_word(negated);
      break;
    case U'd':
      set.add_categories(bit(CharCategory::kNd), negated);
      break;
    case U'h':
      set.add(U'0', U'9');
      set.add(U'a', U'f');
      set.add(U'A', U'F');
      if (negated) set.negate();
      break;
    case U'p':
      ++in.position;
      read_property(in, negated, set);
      return set;
    default:
      if (const std::optional<char32_t> one = read_escaped_char(in, in_class)) {
        set.add(*one);
      } else {
        in.unsupported(in.done() ? "a backslash at the end" : "\\" + to_utf8(std::u32string(1, c)));
      }
      return set;
  }
  ++in.position;
  return set;
}

CharSet read_class(PatternReader& in, int depth) {
  CharSet set, all;
  if (depth > kDeepestClass) in.unsupported("a class nested too deeply");
  const bool negated = in.take(U'^');
  if (in.peek() == U']') in.unsupported("a class that is empty or begins with ]");
  bool intersects = false;
  while (!in.done() && in.peek() != U']') {
    if (in.take(U"&&")) {
      if (intersects) {
        all.intersect(std::exchange(set, {}));
      } else {
        all.add(std::exchange(set, {}));
      }
      intersects = true;
      continue;
    }
    read_item(in, depth, set);
  }
  if (!in.take(U']')) in.unsupported("a class without ]");
  if (intersects) {
    all.intersect(std::move(set));
  } else {
    all = std::move(set);
  }
  if (negated) all.negate();
  return all;
}

}  // namespace wattn
