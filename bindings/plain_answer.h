// PlainAnswer: the answer of a call of a model, in memory, where web/host/model_calls.ts reads it. A JS value of Embind (val) takes
// about a microsecond for each field, and several for an array.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace wattn {

class PlainAnswer {
 public:
  PlainAnswer() = default;
  PlainAnswer(const PlainAnswer&) = delete;
  PlainAnswer& operator=(const PlainAnswer&) = delete;
  ~PlainAnswer() { clear(); }

  // The order is that of kRead in model_calls.ts.
  enum Kind : std::int32_t { kNumber, kFlag, kText, kFloats, kInts, kBytes, kKinds };

  struct Field {
    const char* name;
    std::int32_t kind;  // plus kKinds: it is one more item of an array of this name
    const void* data;
    std::int32_t size;  // values; bytes of a text; a number or flag itself
  };

  // Values that the fields refer to, kept until clear().
  template <class T>
  const T& keep(T value) {
    const T* kept = new T(std::move(value));
    kept_.push_back({kept, [](const void* any) { delete static_cast<const T*>(any); }});
    return *kept;
  }

  // Names are literals: the host knows them by their addresses. Values stay where they are until clear(), see keep().
  void set_number(const char* name, std::int64_t number) {
    fields_.push_back({name, kNumber, nullptr, static_cast<std::int32_t>(number)});
  }
  void set_flag(const char* name, bool flag) { fields_.push_back({name, kFlag, nullptr, flag}); }
  void set(const char* name, const float* data, std::size_t count) { add(name, kFloats, data, count); }
  void set(const char* name, const std::int32_t* data, std::size_t count) { add(name, kInts, data, count); }
  void set(const char* name, const std::vector<float>& values) { set(name, values.data(), values.size()); }
  void set(const char* name, const std::vector<std::int32_t>& values) { set(name, values.data(), values.size()); }
  void set(const char* name, const std::vector<std::uint8_t>& values) { add(name, kBytes, values.data(), values.size()); }
  // An array of arrays; nothing if it is empty.
  template <class T>
  void set_list(const char* name, const std::vector<std::vector<T>>& list) {
    for (const std::vector<T>& values : list) {
      set(name, values);
      fields_.back().kind += kKinds;
    }
  }

  const PlainAnswer* end() {
    first_ = fields_.data();
    count_ = fields_.size();
    return this;
  }
  const PlainAnswer* end(const Error& error) {
    clear();
    const std::string& message = keep(std::string(error.message));
    set_number("code", static_cast<std::int64_t>(error.code));
    add("message", kText, message.data(), message.size());
    return end();
  }
  void clear() {
    fields_.clear();
    for (const Kept& kept : kept_) kept.free(kept.value);
    kept_.clear();
  }

 private:
  struct Kept {
    const void* value;
    void (*free)(const void*);  // shared_ptrs took 0.7 kB more in the small WebAssembly
  };

  void add(const char* name, Kind kind, const void* data, std::size_t count) {
    fields_.push_back({name, kind, data, static_cast<std::int32_t>(count)});
  }

  // What the host reads, at the address of the answer.
  const Field* first_ = nullptr;
  std::size_t count_ = 0;

  std::vector<Field> fields_;
  std::vector<Kept> kept_;
};

}  // namespace wattn
