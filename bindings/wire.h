// How calls cross (core/wire.def): Arguments, which the host wrote to the room; Members of an object of options; the answers as
// types; and Handle, what JavaScript calls.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "bindings/plain_answer.h"
#include "core/json.h"
#include "core/result.h"
#include "core/utf.h"

namespace wattn {

// Reads the members of an object. The types of the variables say what is expected; an absent or null member leaves its variable
// unchanged. The first error is kept. Unread members and unknown words are errors too.
class Members {
 public:
  explicit Members(JsonRef object) : object_(object) {}

  template <class T>
  void operator()(std::string_view name, T& to) {
    if (const JsonRef value = find(name); !value.is_null()) read(value, to);
  }
  template <class T>
  void must(std::string_view name, T& to) {
    read(find(name), to);
  }
  // Call it after the last member.
  Result<void> end();

 private:
  JsonRef find(std::string_view name);

  void read(JsonRef value, bool& to) { take(value.as_bool(), to); }
  void read(JsonRef value, double& to) { take(value.as_number(), to); }
  void read(JsonRef value, std::int64_t& to) { take(value.as_int(), to); }
  void read(JsonRef value, std::string& to) { take(value.as_string(), to); }
  template <class T>
    requires std::is_arithmetic_v<T>
  void read(JsonRef value, T& to) {
    std::conditional_t<std::is_integral_v<T>, std::int64_t, double> wide{};
    read(value, wide);
    to = static_cast<T>(wide);
  }
  template <class T>
  void read(JsonRef value, std::optional<T>& to) {
    read(value, to.emplace());
  }
  template <class T>
  void read(JsonRef value, std::vector<T>& to) {
    if (!value.is_array()) return fail(value.mismatch("an array"));
    to.resize(value.size());
    for (std::size_t i = 0; i < to.size(); ++i) read(value[i], to[i]);
  }
  template <class E>
    requires std::is_enum_v<E>
  void read(JsonRef value, E& to) {
    to = static_cast<E>(read_word(value, Words<E>::all));
  }
  int read_word(JsonRef value, std::span<const Word> words);

  template <class From, class T>
  void take(const Result<From>& result, T& to) {
    if (result.ok()) {
      to = static_cast<T>(result.value());
    } else {
      fail(result.error());
    }
  }
  void fail(Error error) {
    if (error_.code == ErrorCode::kOk) error_ = std::move(error);
  }

  JsonRef object_;
  std::vector<std::string_view> names_;  // that were asked for
  std::size_t found_ = 0;
  Error error_;
};

Result<void> read_object(std::string_view json, void (*read)(Members& members, void* to), void* to);
// The members of a JSON text, as core/wire.def declares them for T. Absent members keep their values.
template <class T>
Result<void> read_options(std::string_view json, T& to) {
  return read_object(json, [](Members& read, void* any) { read_members(read, *static_cast<T*>(any)); }, &to);
}

// Texts arrive joined, with their lengths in UTF-16 units.
struct Texts {
  std::u16string joined;
  std::vector<std::u16string_view> views;

  Texts(std::string_view utf8, std::span<const std::int32_t> lengths);
};

// The arguments of a call, in order. Each is two words (its kind and a count), then values aligned to 8 bytes. Views stay valid
// until the call returns. An unexpected kind ends the program: both sides are generated from one declaration.
class Arguments {
 public:
  explicit Arguments(const std::int32_t* room) : at_(room) {}

  double number();
  template <class T = std::int64_t>
  T integer() {
    return static_cast<T>(number());
  }
  bool flag() { return number() != 0; }
  std::string_view text();
  std::string_view bytes() { return text(); }
  std::span<const std::int32_t> ints();  // like the next ones empty for null
  std::span<const float> floats();
  std::unique_ptr<Texts> texts();
  std::vector<std::string> words();
  std::vector<std::vector<std::int32_t>> lists_of_ints();
  std::vector<std::vector<float>> lists_of_floats();
  // File: with the members name and bytes.
  template <class File>
  std::vector<File> files() {
    std::vector<File> out(list() / 2);
    for (File& file : out) {
      file.name = text();
      file.bytes = text();
    }
    return out;
  }
  // Any struct for which core/wire.def declares options. Absent options keep their values.
  template <class T>
  Result<void> options(T& to) {
    return read_options(text(), to);
  }

 private:
  // The order is that of kWrite in web/host/wire_calls.ts.
  enum Kind : std::int32_t { kNone, kNumber, kBytes, kInts, kFloats, kTexts, kList };

  std::size_t expect(Kind kind);  // the count; 0 for null
  std::size_t list() { return expect(kList); }
  const void* values(std::size_t bytes);

  const std::int32_t* at_;
};

// The answers of core/wire.def: a method for each field. Values stay where they are, or are kept, until the host has read them.
struct Answer {
  PlainAnswer& out;
};
#define WIRE_ANSWER(Name, Base) struct Name : Base {
#define WIRE_FIELD(name, kind)              \
  template <class T>                        \
  void name(T&& value) const {              \
    out.say(#name, std::forward<T>(value)); \
  }
#define WIRE_MAYBE(name, kind) WIRE_FIELD(name, kind)
#define WIRE_ANSWER_END \
  }                     \
  ;
#include "core/wire.def"

// The flags of core/wire.def.
#define WIRE_FLAGS(Name) namespace Name {
#define WIRE_FLAG(name, value) inline constexpr std::uint32_t name = value;
#define WIRE_FLAGS_END }
#include "core/wire.def"

// What JavaScript calls.
class Handle {
 public:
  virtual ~Handle() = default;

  const PlainAnswer* call(std::size_t number, const std::int32_t* room);
  void clear_answer() { answer_.clear(); }

 protected:
  // The call of core/wire.def at this position, whose fields are set on out.
  virtual Result<void> answer(std::size_t number, Arguments& in, PlainAnswer& out) = 0;

 private:
  PlainAnswer answer_;
};

// What the host writes (make_room() in wire.cpp): arguments, ids, or UTF-8 followed, at the next multiple of 4, by the lengths of
// the texts in UTF-16 units.
extern std::int32_t* room;

}  // namespace wattn
