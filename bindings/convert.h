// Conversions between JS values of Embind and core types, for the building blocks (nn.cpp, word2vec.cpp, logistic.cpp). Everything
// is copied; no view of the heap outlives a call.
#pragma once

#include <emscripten/val.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"

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

inline std::vector<std::int32_t> to_ids(const val& array) { return emscripten::convertJSArrayToNumberVector<std::int32_t>(array); }

// The options of a call. An absent, undefined or null member means the fallback; web/ has checked the types.
class Options {
 public:
  explicit Options(const val& members) : members_(members) {}

  bool has(const char* key) const {
    const val member = members_[key];
    return !member.isUndefined() && !member.isNull();
  }
  bool flag(const char* key, bool fallback = false) const { return has(key) ? members_[key].as<bool>() : fallback; }
  double number(const char* key, double fallback = 0) const { return has(key) ? members_[key].as<double>() : fallback; }
  std::int64_t integer(const char* key) const { return static_cast<std::int64_t>(number(key)); }

 private:
  const val& members_;
};

}  // namespace wattn
