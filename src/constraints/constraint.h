// A constraint of texts: how its description becomes a grammar, and the masks of its states.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "constraints/grammar.h"
#include "constraints/masks.h"
#include "constraints/vocabulary.h"
#include "core/result.h"

namespace wattn {

enum class ConstraintKind : std::uint8_t { kJsonSchema, kRegex, kGbnf, kChoice, kParts };

struct ConstraintOptions {
  bool in_order = false;       // keys of JSON come in the order of the schema
  bool spaces = false;         // JSON may have spaces and line ends between its marks
  std::string_view after{};    // any text may come first, up to this one
  bool leading_space = false;  // a space may come first, which the decoder of a text's first token removes
};

class Constraint {
 public:
  // text: a JSON Schema, a regular expression of the whole text, a grammar, a JSON list of texts, or parts (parts.h).
  // vocabulary must outlive it.
  static Result<std::unique_ptr<Constraint>> make(ConstraintKind kind, std::string_view text, const ConstraintOptions& options,
                                                  const Vocabulary& vocabulary);

  Grammar& grammar() { return grammar_; }
  Masks& masks() { return *masks_; }

 private:
  Constraint() : grammar_(regexes_) {}

  Regexes regexes_;
  Grammar grammar_;
  std::unique_ptr<Masks> masks_;
};

}  // namespace wattn
