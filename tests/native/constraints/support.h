// Constraints over a vocabulary of all single bytes and a few longer tokens.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "constraints/constraint.h"

namespace wattn {

inline Vocabulary small_vocabulary() {
  std::vector<std::int32_t> lengths(256, 1);
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  for (const std::string_view token : {"\"name\"", "\":\"", "\",\"", "the", "name", "12", "\"}", "{\"", "th", "\xC3\xA9", "the",
                                       "name\":\"the name", "the name of the", "\",\"name\":\"name\""}) {
    lengths.push_back(static_cast<std::int32_t>(token.size()));
    bytes += token;
  }
  lengths.push_back(0);  // a special token
  return {lengths, bytes};
}

class Constrained {
 public:
  explicit Constrained(ConstraintKind kind, std::string_view text, const ConstraintOptions& options = {}) {
    auto made = Constraint::make(kind, text, options, vocabulary_);
    if (made.ok())
      constraint_ = std::move(made).value();
    else
      error_ = made.error();
  }

  const Error& error() const { return error_; }
  bool ok() const { return constraint_ != nullptr; }
  Grammar& grammar() { return constraint_->grammar(); }
  Masks& masks() { return constraint_->masks(); }
  const Vocabulary& vocabulary() const { return vocabulary_; }
  StateId after(std::string_view text) { return grammar().after(grammar().start(), text); }
  bool begins(std::string_view text) { return after(text) != Grammar::kDead; }
  bool accepts(std::string_view text) {
    const StateId state = after(text);
    return state != Grammar::kDead && grammar().may_end(state);
  }
  bool allows(StateId state, std::int32_t token) {
    const auto mask = masks().mask(state);
    return (mask[static_cast<std::size_t>(token) / 32] >> token % 32 & 1) != 0;
  }

 private:
  Vocabulary vocabulary_ = small_vocabulary();
  std::unique_ptr<Constraint> constraint_;
  Error error_;
};

inline Constrained schema(std::string_view text, bool spaces = false) {
  return Constrained(ConstraintKind::kJsonSchema, text, {.spaces = spaces});
}
inline Constrained regex(std::string_view text) { return Constrained(ConstraintKind::kRegex, text); }
inline Constrained gbnf(std::string_view text) { return Constrained(ConstraintKind::kGbnf, text); }

}  // namespace wattn
