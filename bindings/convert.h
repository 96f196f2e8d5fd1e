// Values across the seam: JS to core types and back. Everything is copied; no view of the heap outlives a call.
#pragma once

#include <emscripten/val.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/utf.h"
#include "tokenizer/encoding.h"

namespace wattn {

using emscripten::typed_memory_view;
using emscripten::val;

// {code, message}: what every call answers with, more fields beside it when code is 0 (ErrorCode::kOk).
inline val answer() {
  val out = val::object();
  out.set("code", 0);
  out.set("message", val(""));
  return out;
}
inline val answer(const Error& error) {
  val out = val::object();
  out.set("code", static_cast<int>(error.code));
  out.set("message", val(error.message));
  return out;
}
inline val answer(const Result<void>& result) { return result.ok() ? answer() : answer(result.error()); }

// A JS typed array with a copy of the values.
template <class T>
val to_typed_array(const T* data, std::size_t count) {
  return val(typed_memory_view(count, data)).call<val>("slice");
}
template <class T>
val to_typed_array(const std::vector<T>& values) {
  return to_typed_array(values.data(), values.size());
}

// The bytes of a Uint8Array.
inline void copy_bytes(const val& bytes, std::string& out) {
  out.resize(bytes["length"].as<std::size_t>());
  val(typed_memory_view(out.size(), reinterpret_cast<unsigned char*>(out.data()))).call<void>("set", bytes);
}

// Several texts come joined as UTF-8 in one Uint8Array, with their lengths in UTF-16 units: one copy for any number.
struct Texts {
  std::u16string joined;
  std::vector<std::u16string_view> views;

  Texts(const val& text, const val& lengths) {
    std::string bytes;
    copy_bytes(text, bytes);
    joined = to_utf16(bytes);
    std::size_t begin = 0;
    for (const std::int32_t length : emscripten::convertJSArrayToNumberVector<std::int32_t>(lengths)) {
      views.push_back(std::u16string_view(joined).substr(begin, static_cast<std::size_t>(length)));
      begin += static_cast<std::size_t>(length);
    }
  }
};

// options[key], or none when it is undefined or null.
template <class T>
std::optional<T> optional_field(const val& options, const char* key) {
  const val field = options[key];
  if (field.isUndefined() || field.isNull()) return std::nullopt;
  return field.as<T>();
}

}  // namespace wattn
