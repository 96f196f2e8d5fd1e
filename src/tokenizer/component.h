// Reading the components of a tokenizer.json: every component is an object with a "type" and fields of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/json.h"
#include "core/result.h"

namespace wattn {

inline constexpr int kDeepestSequence = 16;  // components inside components; more is no tokenizer but an attack on the stack

// One kind of component that a stage knows: the value of "type", and how to read it. depth counts enclosing Sequences.
template <class Component>
struct ComponentReader {
  std::string_view type;
  Result<std::unique_ptr<Component>> (*read)(JsonRef json, int depth);
};

// The name and place of a component, or why it is none.
Result<std::string_view> read_component_type(JsonRef json, int depth, std::string_view stage);

// An UnsupportedError that names the component, where it stands and what this stage would know.
Error unknown_component(JsonRef json, std::string_view stage, const std::string& known);

template <class Component>
Result<std::unique_ptr<Component>> read_component(JsonRef json, int depth, std::string_view stage,
                                                  std::span<const ComponentReader<Component>> readers) {
  const Result<std::string_view> type = read_component_type(json, depth, stage);
  if (!type.ok()) return type.error();
  std::string known;
  for (const ComponentReader<Component>& reader : readers) {
    if (reader.type == type.value()) return reader.read(json, depth);
    known += (known.empty() ? "" : ", ") + std::string(reader.type);
  }
  return unknown_component(json, stage, known);
}

// The fields of one object. Reads never fail on the spot: the first mistake is kept, everything read after it is empty, and the
// reader asks ok() once, before it uses what it read.
class Fields {
 public:
  // A member that is neither "type" nor one of the keys is an UnsupportedError: a switch we do not know must not be passed over.
  Fields(JsonRef json, std::initializer_list<std::string_view> keys);

  bool ok() const { return error_.code == ErrorCode::kOk; }
  const Error& error() const { return error_; }
  void fail(Error error);

  JsonRef operator[](std::string_view key) const { return json_[key]; }
  bool boolean(std::string_view key) { return take(json_[key].as_bool()); }
  bool boolean_or(std::string_view key, bool fallback) { return take(json_[key].as_bool_or(fallback)); }
  std::string_view string(std::string_view key) { return take(json_[key].as_string()); }
  char32_t character(std::string_view key);  // a string of one code point
  std::int32_t id(std::string_view key) { return id(json_[key]); }
  std::int32_t id(JsonRef value);       // a token id or type id: a whole number from 0 to 2^31 - 1
  JsonRef array(std::string_view key);  // refers to nothing, of size 0, when it is no array
  // The value of a result, or an empty one when it is a mistake.
  template <class T>
  T take(Result<T> result) {
    if (result.ok()) return std::move(result).value();
    fail(result.error());
    return T{};
  }

 private:
  JsonRef json_;
  Error error_;
};

// A component without fields.
template <class Component, class Concrete>
Result<std::unique_ptr<Component>> read_plain(JsonRef json, int) {
  const Fields fields(json, {});
  if (!fields.ok()) return fields.error();
  return Result<std::unique_ptr<Component>>(std::make_unique<Concrete>());
}

// A token id: a whole number that fits an int32 and is not negative.
Result<std::int32_t> read_id(JsonRef json);

}  // namespace wattn
