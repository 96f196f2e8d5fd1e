// wattn-constraints: the vocabulary of one tokenizer and the constraints of its texts, by plain exports
// (web/host/constraints_host.ts). The host writes what a call reads to room(), and reads what it says at answer(). Numbers name
// constraints and states.
#include <emscripten/emscripten.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "constraints/constraint.h"
#include "constraints/pattern.h"

namespace {

using wattn::Constraint;
using wattn::StateId;

constinit std::vector<char> written;
constinit std::string answered;
constinit std::unique_ptr<wattn::Vocabulary> vocabulary;
constinit std::vector<std::unique_ptr<Constraint>> constraints;

Constraint& at(int constraint) { return *constraints[static_cast<std::size_t>(constraint)]; }

}  // namespace

extern "C" {

EMSCRIPTEN_KEEPALIVE const char* build_id() { return WATTN_BUILD_ID; }

EMSCRIPTEN_KEEPALIVE char* room(unsigned bytes) {
  if (written.size() < bytes) written.resize(bytes);
  return written.data();
}
EMSCRIPTEN_KEEPALIVE const char* answer() { return answered.data(); }
EMSCRIPTEN_KEEPALIVE unsigned answer_bytes() { return static_cast<unsigned>(answered.size()); }

// In the room: so many lengths (int32), then the bytes of all tokens.
EMSCRIPTEN_KEEPALIVE void set_vocabulary(int tokens, unsigned bytes) {
  const auto* lengths = reinterpret_cast<const std::int32_t*>(written.data());
  const std::size_t count = static_cast<std::size_t>(tokens);
  vocabulary = std::make_unique<wattn::Vocabulary>(std::span(lengths, count), std::string_view(written.data() + 4 * count, bytes));
  written = {};
}

// In the room: so many numbers (int32), the ranges of a property's characters, then its name.
EMSCRIPTEN_KEEPALIVE void define_property(int numbers, unsigned name_bytes) {
  const auto* ranges = reinterpret_cast<const std::int32_t*>(written.data());
  const std::size_t count = static_cast<std::size_t>(numbers);
  wattn::define_property(std::string_view(written.data() + 4 * count, name_bytes), std::span(ranges, count));
}

// In the room: the description, and the mark that it begins after. Returns the constraint's number, or -1 minus an error's code,
// whose message is the answer.
EMSCRIPTEN_KEEPALIVE int compile(int kind, unsigned bytes, unsigned mark_bytes, int flags) {
  auto made = Constraint::make(static_cast<wattn::ConstraintKind>(kind), std::string_view(written.data(), bytes),
                               {.in_order = (flags & 4) != 0,
                                .spaces = (flags & 1) != 0,
                                .after = std::string_view(written.data() + bytes, mark_bytes),
                                .leading_space = (flags & 2) != 0},
                               *vocabulary);
  if (!made.ok()) {
    answered = made.error().message;
    return -1 - static_cast<int>(made.error().code);
  }
  std::size_t number = 0;
  while (number < constraints.size() && constraints[number]) ++number;
  if (number == constraints.size()) constraints.emplace_back();
  constraints[number] = std::move(made).value();
  return static_cast<int>(number);
}
EMSCRIPTEN_KEEPALIVE void release(int constraint) { constraints[static_cast<std::size_t>(constraint)].reset(); }

EMSCRIPTEN_KEEPALIVE int start(int constraint) { return at(constraint).grammar().start(); }
// 0: the token is not allowed.
EMSCRIPTEN_KEEPALIVE int after(int constraint, int state, int token) { return at(constraint).masks().after(state, token); }
// The same for bytes in the room.
EMSCRIPTEN_KEEPALIVE int after_bytes(int constraint, int state, unsigned bytes) {
  return at(constraint).grammar().after(state, std::string_view(written.data(), bytes));
}
EMSCRIPTEN_KEEPALIVE int may_end(int constraint, int state) { return at(constraint).grammar().may_end(state) ? 1 : 0; }
// A bit for each token.
EMSCRIPTEN_KEEPALIVE const std::uint32_t* mask(int constraint, int state) { return at(constraint).masks().mask(state).data(); }
// The answer is the bytes that must follow.
EMSCRIPTEN_KEEPALIVE unsigned forced(int constraint, int state, unsigned most) {
  answered = at(constraint).grammar().forced(state, most);
  return static_cast<unsigned>(answered.size());
}
// In the room: tokens (int32) that spell the beginning of the last answer of forced(). Returns how many of them leave no choice.
EMSCRIPTEN_KEEPALIVE int fitting(int constraint, int state, int tokens) {
  const auto* ids = reinterpret_cast<const std::int32_t*>(written.data());
  return static_cast<int>(at(constraint).masks().fitting(state, answered, std::span(ids, static_cast<std::size_t>(tokens))));
}
}
