// Reading the components of a tokenizer.json: each is an object with a "type" and its own fields.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/fields.h"
#include "core/json.h"
#include "core/result.h"

namespace wattn {

inline constexpr int kDeepestSequence = 16;  // levels of nesting; real tokenizers need a few, and the stack is limited

// A kind of component that a stage supports: the value of "type", and its reader. depth counts the enclosing Sequences.
template <class Component>
struct ComponentReader {
  std::string_view type;
  Result<std::unique_ptr<Component>> (*read)(JsonRef json, int depth);
};

// The "type" of a component; an error if json is no component or is nested too deeply.
Result<std::string_view> read_component_type(JsonRef json, int depth, std::string_view stage);

// An UnsupportedError that names the component, its path and the types that this stage supports.
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

// A component made from arguments that were read from fields, or the fields' error.
template <class Component, class Concrete, class... Args>
Result<std::unique_ptr<Component>> make_component(const Fields& fields, Args&&... args) {
  if (!fields.ok()) return fields.error();
  return Result<std::unique_ptr<Component>>(std::make_unique<Concrete>(std::forward<Args>(args)...));
}

// A component without fields.
template <class Component, class Concrete>
Result<std::unique_ptr<Component>> read_plain(JsonRef json, int) {
  return make_component<Component, Concrete>(Fields(json, {}));
}

}  // namespace wattn
