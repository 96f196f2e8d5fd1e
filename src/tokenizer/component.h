// Reading the components of a tokenizer.json: every component is an object with a "type" and fields of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>

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

// An UnsupportedError that names the component, where it stands and what this stage would know.
Error unknown_component(JsonRef json, std::string_view stage, std::string_view type, const std::string& known);

template <class Component>
Result<std::unique_ptr<Component>> read_component(JsonRef json, int depth, std::string_view stage,
                                                  std::span<const ComponentReader<Component>> readers) {
  if (!json.is_object()) return json.mismatch("a " + std::string(stage) + " (an object)");
  if (depth > kDeepestSequence) return model_format_error(json.where() + ": components nested too deeply");
  const Result<std::string_view> type = json["type"].as_string();
  if (!type.ok()) return type.error();
  std::string known;
  for (const ComponentReader<Component>& reader : readers) {
    if (reader.type == type.value()) return reader.read(json, depth);
    known += (known.empty() ? "" : ", ") + std::string(reader.type);
  }
  return unknown_component(json, stage, type.value(), known);
}

// An UnsupportedError when the object has a member that is not listed: a switch we do not know must not be passed over.
Result<void> allow_only(JsonRef json, std::initializer_list<std::string_view> keys);

// A token id: a whole number that fits an int32 and is not negative.
Result<std::int32_t> read_id(JsonRef json);

}  // namespace wattn
