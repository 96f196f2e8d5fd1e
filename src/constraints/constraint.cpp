#include "constraints/constraint.h"

#include <string>
#include <utility>
#include <vector>

#include "constraints/gbnf.h"
#include "constraints/json_schema.h"
#include "constraints/parts.h"
#include "constraints/pattern.h"
#include "core/json.h"

namespace wattn {
namespace {

Result<RegexId> read_choices(Regexes& regexes, std::string_view text) {
  const auto json = Json::parse(text, "choice");
  if (!json.ok()) return input_error(json.error().message);
  const JsonRef list = json.value().root();
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list[i].is_string()) return input_error("choice: expected texts, found " + list[i].describe());
    texts.emplace_back(list[i].as_string().value());
  }
  if (texts.empty()) return input_error("choice: expected at least one text, found none");
  return regexes.one_of(std::move(texts));
}

}  // namespace

Result<std::unique_ptr<Constraint>> Constraint::make(ConstraintKind kind, std::string_view text, const ConstraintOptions& options,
                                                     const Vocabulary& vocabulary) {
  std::unique_ptr<Constraint> out(new Constraint());
  Grammar& grammar = out->grammar_;
  Result<void> made;
  const JsonSchemaOptions writing{.in_order = options.in_order, .spaces = options.spaces};
  if (kind == ConstraintKind::kJsonSchema) {
    made = read_json_schema(grammar, text, writing);
  } else if (kind == ConstraintKind::kParts) {
    made = read_parts(grammar, text, writing);
  } else if (kind == ConstraintKind::kGbnf) {
    made = read_gbnf(grammar, text);
  } else {
    const auto read = kind == ConstraintKind::kRegex ? read_pattern(out->regexes_, text, true, Writing::kPlain)
                                                     : read_choices(out->regexes_, text);
    if (!read.ok()) return read.error();
    made = grammar.finish(grammar.regex(read.value()), {});
    if (!made.ok())
      made = Error{made.error().code, (kind == ConstraintKind::kRegex ? "regex: " : "choice: ") + made.error().message};
  }
  if (!made.ok()) return made.error();
  if (!options.after.empty()) grammar.begin_after(options.after);
  if (options.leading_space) grammar.allow_leading_space();
  out->masks_ = std::make_unique<Masks>(grammar, vocabulary);
  return out;
}

}  // namespace wattn
