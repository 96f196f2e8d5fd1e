#include "constraints/gbnf.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "constraints/code_points.h"
#include "constraints/text_cursor.h"
#include "core/json.h"
#include "core/utf.h"

namespace wattn {
namespace {

struct Term {
  enum Kind { kSet, kRule, kAll, kAny, kRepeat } kind;
  CodePoints set{};
  std::int32_t rule = 0, min = 0, max = 0;
  std::vector<Term> terms{};
};

class GbnfReader : private TextCursor {
 public:
  GbnfReader(Grammar& grammar, std::string_view text) : TextCursor(text), grammar_(grammar) {}

  Result<void> read() {
    skip(true);
    while (!error_ && at_ < text_.size()) read_rule();
    if (error_) return *error_;
    const auto root = rules_.find("root");
    if (root == rules_.end()) return input_error("grammar: expected a rule 'root', found none");
    for (const auto& [name, number] : rules_) {
      if (!bodies_[static_cast<std::size_t>(number)]) return input_error("grammar: rule '" + name + "' is used but not defined");
    }
    exprs_.resize(bodies_.size());
    states_.resize(bodies_.size());
    for (std::size_t i = 0; i < bodies_.size(); ++i) rule_ids_.push_back(grammar_.add_rule());
    for (std::size_t i = 0; i < bodies_.size(); ++i) body(static_cast<std::int32_t>(i));
    auto finished = grammar_.finish(grammar_.rule(rule_ids_[static_cast<std::size_t>(root->second)]), names_);
    if (!finished.ok()) return Error{finished.error().code, "grammar: " + finished.error().message};
    return {};
  }

 private:
  void expected(std::string_view what) override {
    if (error_) return;
    const auto before = text_.substr(0, std::min(at_, text_.size()));
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const auto found = at_ < text_.size() ? shown_text(text_.substr(at_, 12)) : std::string("the end");
    error_ = input_error("grammar, line " + std::to_string(line) + ": expected " + std::string(what) + ", found " + found);
  }
  void too_many_repeats() override { expected("a count of at most " + std::to_string(kMostRepeats)); }
  void skip_spaces() override { skip(false); }
  // Skips spaces and comments, and line breaks where a rule continues after them.
  void skip(bool lines) {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#')
        while (at_ < text_.size() && text_[at_] != '\n' && text_[at_] != '\r') ++at_;
      else if (c == ' ' || c == '\t' || (lines && (c == '\n' || c == '\r')))
        ++at_;
      else
        return;
    }
  }
  static bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  }
  std::int32_t rule_number(const std::string& name) {
    const auto [found, is_new] = rules_.emplace(name, static_cast<std::int32_t>(names_.size()));
    if (is_new) {
      names_.push_back(name);
      bodies_.emplace_back();
    }
    return found->second;
  }
  std::string name() {
    const std::size_t begin = at_;
    while (is_name(peek())) ++at_;
    if (at_ == begin) expected("the name of a rule");
    return std::string(text_.substr(begin, at_ - begin));
  }
  void read_rule() {
    const std::string own = name();
    skip(false);
    if (!error_ && !take("::=")) expected("'::=' after '" + own + "'");
    if (error_) return;
    skip(true);
    const auto number = static_cast<std::size_t>(rule_number(own));
    Term term = any_of(0, false);
    bodies_[number] = std::move(term);
    if (!error_ && at_ < text_.size() && peek() != '\n' && peek() != '\r') expected("the end of the rule");
    skip(true);
  }
  Term any_of(int depth, bool nested) {
    Term out{Term::kAny};
    if (depth > kMostDepth) expected("fewer nested groups");
    do {
      skip(true);
      out.terms.push_back(sequence(depth, nested));
    } while (!error_ && take("|"));
    return out;
  }
  Term sequence(int depth, bool nested) {
    Term out{Term::kAll};
    while (!error_ && at_ < text_.size()) {
      skip(nested);
      const char c = peek();
      if (c == '\n' || c == '\r' || c == '|' || c == ')' || c == '\0') break;
      Term each = item(depth);
      if (error_) break;
      for (;;) {
        skip(nested);
        if (!repeat(each)) break;
      }
      out.terms.push_back(std::move(each));
    }
    return out;
  }
  // In GBNF a quantifier applies to the whole literal, not to its last character alone.
  bool repeat(Term& each) {
    const auto found = repeats();
    if (!found) return false;
    Term out{Term::kRepeat};
    out.min = found->min;
    out.max = found->max;
    out.terms.push_back(std::move(each));
    each = std::move(out);
    return !error_;
  }
  Term item(int depth) {
    Term out{Term::kAll};
    if (take("\"")) {
      while (!error_ && peek() != '"') {
        if (at_ >= text_.size() || peek() == '\n')
          expected("'\"'");
        else {
          const char32_t c = character();
          out.terms.push_back({Term::kSet, CodePoints(c, c)});
        }
      }
      take("\"");
      return out;
    }
    if (take("[")) {
      const bool is_not = take("^");
      out.kind = Term::kSet;
      while (!error_ && peek() != ']') {
        if (at_ >= text_.size() || peek() == '\n') {
          expected("']'");
          break;
        }
        const char32_t first = character();
        char32_t last = first;
        if (peek() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
          ++at_;
          last = character();
          if (last < first) expected("a range in ascending order");
        }
        out.set.add(first, last);
      }
      take("]");
      if (is_not) out.set = out.set.inverse();
      return out;
    }
    if (take(".")) return {Term::kSet, CodePoints::all()};
    if (take("(")) {
      out = any_of(depth + 1, true);
      if (!take(")")) expected("')'");
      return out;
    }
    if (peek() == '<' || peek() == '!') {
      if (!error_) error_ = unsupported_error("grammar: tokens in a grammar ('<..>') are not supported");
      return out;
    }
    out.kind = Term::kRule;
    const std::string own = name();
    if (!error_) out.rule = rule_number(own);
    return out;
  }
  char32_t character() {
    if (!take("\\")) return next_code_point(text_, at_);
    const char c = peek();
    if (at_ < text_.size()) ++at_;
    switch (c) {
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 't':
        return '\t';
      case 'x':
        return hex(2);
      case 'u':
        return hex(4);
      case 'U':
        return hex(8);
      case '\\':
      case '"':
      case '[':
      case ']':
        return static_cast<unsigned char>(c);
      default:
        --at_;
        expected("an escape sequence of GBNF");
        return 0;
    }
  }
  char32_t hex(int digits) {
    char32_t out = 0;
    while (digits-- > 0) {
      const int digit = hex_digit(static_cast<unsigned char>(peek()));
      if (digit < 0) {
        expected("a hexadecimal digit");
        return 0;
      }
      ++at_;
      out = 16 * out + static_cast<char32_t>(digit);
    }
    if (out > 0x10FFFF) expected("a code point");
    return out;
  }

  // Inlines rules that do not lead back to themselves, so that regular parts become one expression.
  ExprId body(std::int32_t number) {
    const auto at = static_cast<std::size_t>(number);
    if (states_[at] == 2) return exprs_[at];
    if (states_[at] == 1) {
      is_recursive_ = true;
      return grammar_.rule(rule_ids_[at]);
    }
    states_[at] = 1;
    const bool outer = std::exchange(is_recursive_, false);
    const ExprId own = compile(*bodies_[at]);
    // A rule that leads to one still being compiled is only referred to, as it may be large.
    exprs_[at] = is_recursive_ ? grammar_.rule(rule_ids_[at]) : own;
    grammar_.set_rule(rule_ids_[at], own);
    states_[at] = 2;
    is_recursive_ = outer || is_recursive_;
    return exprs_[at];
  }
  ExprId compile(const Term& term) {
    switch (term.kind) {
      case Term::kSet:
        return grammar_.regex(to_regex(grammar_.regexes(), term.set, Writing::kPlain));
      case Term::kRule:
        return body(term.rule);
      case Term::kRepeat:
        return grammar_.repeat(compile(term.terms[0]), term.min, term.max);
      case Term::kAny: {
        std::vector<ExprId> all;
        all.reserve(term.terms.size());
        for (const Term& each : term.terms) all.push_back(compile(each));
        return grammar_.either(std::move(all));
      }
      case Term::kAll: {
        std::vector<ExprId> all;
        all.reserve(term.terms.size());
        for (const Term& each : term.terms) all.push_back(compile(each));
        ExprId out = grammar_.regex(Regexes::kEmpty);
        for (std::size_t i = all.size(); i-- > 0;) out = grammar_.sequence(all[i], out);
        return out;
      }
    }
    return Grammar::kNever;
  }

  Grammar& grammar_;
  std::optional<Error> error_;
  std::map<std::string, std::int32_t> rules_;
  std::vector<std::string> names_;
  std::vector<std::optional<Term>> bodies_;
  std::vector<RuleId> rule_ids_;
  std::vector<ExprId> exprs_;
  std::vector<char> states_;  // 1: on the way, 2: done
  bool is_recursive_ = false;
};

}  // namespace

Result<void> read_gbnf(Grammar& grammar, std::string_view text) { return GbnfReader(grammar, text).read(); }

}  // namespace wattn
