// Conversions between JS values and core types. Everything is copied; no view of the heap outlives a call.
#pragma once

#include <emscripten/val.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/utf.h"
#include "tokenizer/encoding.h"

namespace wattn {

using emscripten::typed_memory_view;
using emscripten::val;

// {code, message}: the answer of every call, with further members when code is 0 (ErrorCode::kOk).
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
template <class T>
val answer(const char* key, const T& value) {
  val out = answer();
  out.set(key, value);
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

// A JS array of convert(value) for each value.
template <class Values, class Convert>
val to_array(const Values& values, const Convert& convert) {
  val out = val::array();
  for (const auto& value : values) out.call<void>("push", convert(value));
  return out;
}

inline void set_number(val& out, const char* key, std::int64_t number) { out.set(key, static_cast<double>(number)); }

// Makes a string this long, without zeros where libc++ can: unoptimised code, as all is before the first vector, writes them byte
// by byte.
template <class String>
void resize_unset(String& out, std::size_t size) {
  if constexpr (requires { out.__resize_default_init(size); }) {
    out.__resize_default_init(size);
  } else {
    out.resize(size);
  }
}

// The bytes of a Uint8Array.
inline void copy_bytes(const val& bytes, std::string& out) {
  resize_unset(out, bytes["length"].as<std::size_t>());
  val(typed_memory_view(out.size(), reinterpret_cast<unsigned char*>(out.data()))).call<void>("set", bytes);
}

// Texts arrive joined as UTF-8 in one Uint8Array, with their lengths in UTF-16 units, so that any number takes one copy.
struct Texts {
  std::u16string joined;
  std::vector<std::u16string_view> views;

  // text may be null: no texts.
  Texts(const val& text, const val& lengths) {
    if (text.isNull()) return;
    std::string bytes;
    copy_bytes(text, bytes);
    cut(bytes, emscripten::convertJSArrayToNumberVector<std::int32_t>(lengths));
  }
  Texts(std::string_view utf8, std::span<const std::int32_t> lengths) { cut(utf8, lengths); }

 private:
  void cut(std::string_view utf8, std::span<const std::int32_t> lengths) {
    joined = to_utf16(utf8);
    std::size_t begin = 0;
    for (const std::int32_t length : lengths) {
      views.push_back(std::u16string_view(joined).substr(begin, static_cast<std::size_t>(length)));
      begin += static_cast<std::size_t>(length);
    }
  }
};

// [[name, Uint8Array], ...] as Files with the members name and bytes.
template <class File>
std::vector<File> to_files(const val& files) {
  std::vector<File> out(files["length"].as<std::size_t>());
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].name = files[i][0].as<std::string>();
    copy_bytes(files[i][1], out[i].bytes);
  }
  return out;
}

inline std::vector<std::int32_t> to_ids(const val& array) { return emscripten::convertJSArrayToNumberVector<std::int32_t>(array); }

// The options of a call; null for none. An absent, undefined or null member means the fallback; web/ has checked the types.
class Options {
 public:
  explicit Options(const val& members) : members_(members) {}

  bool has(const char* key) const {
    if (members_.isNull()) return false;
    const val member = members_[key];
    return !member.isUndefined() && !member.isNull();
  }
  val operator[](const char* key) const { return members_[key]; }

  bool flag(const char* key, bool fallback = false) const { return has(key) ? members_[key].as<bool>() : fallback; }
  double number(const char* key, double fallback = 0) const { return has(key) ? members_[key].as<double>() : fallback; }
  std::int64_t integer(const char* key, std::int64_t fallback = 0) const {
    return has(key) ? static_cast<std::int64_t>(members_[key].as<double>()) : fallback;
  }
  template <class Integer = std::int64_t>
  std::optional<Integer> optional_integer(const char* key) const {
    if (!has(key)) return std::nullopt;
    return static_cast<Integer>(members_[key].as<double>());
  }
  std::string word(const char* key, const char* fallback = "") const {
    return has(key) ? members_[key].as<std::string>() : std::string(fallback);
  }
  // The enumerator at the word's index; the first for an unknown word.
  template <class Enum, std::size_t N>
  Enum choice(const char* key, const char* const (&words)[N]) const {
    const std::string found = word(key);
    std::size_t i = N - 1;
    while (i > 0 && found != words[i]) --i;
    return static_cast<Enum>(i);
  }
  std::vector<std::int32_t> ids(const char* key) const { return has(key) ? to_ids(members_[key]) : std::vector<std::int32_t>(); }
  std::vector<float> floats(const char* key) const {
    return has(key) ? emscripten::convertJSArrayToNumberVector<float>(members_[key]) : std::vector<float>();
  }

 private:
  const val& members_;
};

}  // namespace wattn
