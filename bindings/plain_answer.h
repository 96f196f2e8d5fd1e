// PlainAnswer: the answer of a call, in memory, where web/host/wire_calls.ts reads it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/result.h"

namespace wattn {

// A word of an enumeration.
struct Word {
  const char* word;
  int value;
};
// Words<E>::all, of an enumeration E: wire_section.h defines them.
template <class E>
struct Words;

const char* word_of(std::span<const Word> words, int value);
template <class E>
const char* word_of(E value) {
  return word_of(Words<E>::all, static_cast<int>(value));
}

class PlainAnswer {
 public:
  PlainAnswer() = default;
  PlainAnswer(const PlainAnswer&) = delete;
  PlainAnswer& operator=(const PlainAnswer&) = delete;
  ~PlainAnswer() { clear(); }

  // The order is that of kRead in wire_calls.ts.
  enum Kind : std::int32_t { kWhole, kDouble, kFlag, kText, kFloats, kInts, kBytes, kDoubles, kList, kKinds };

  struct Field {
    const char* name;
    std::int32_t kind;  // plus kKinds: it is one more item of the list of this name
    const void* data;
    std::int32_t size;  // values; bytes of a text; a whole number or flag itself
  };

  // Values that the fields refer to, kept until clear().
  template <class T>
  const T& keep(T value) {
    const T* kept = new T(std::move(value));
    kept_.push_back({kept, [](const void* any) { delete static_cast<const T*>(any); }});
    return *kept;
  }

  // Sets a field. Names are literals: the host knows them by their addresses. A temporary is kept; other values stay where they are
  // until clear().
  void say(const char* name, bool flag) { add(name, kFlag, nullptr, flag ? 1u : 0u); }
  void say(const char* name, double number);
  void say(const char* name, std::int64_t number) { say(name, static_cast<double>(number)); }
  template <class T>
    requires std::is_arithmetic_v<T>
  void say(const char* name, T number) {
    say(name, static_cast<double>(number));
  }
  template <class E>
    requires std::is_enum_v<E>
  void say(const char* name, E value) {
    say(name, word_of(value));
  }
  void say(const char* name, const char* text) { say(name, std::string_view(text)); }
  void say(const char* name, std::string_view text) { add(name, kText, text.data(), text.size()); }
  void say(const char* name, const std::string& text) { say(name, std::string_view(text)); }
  void say(const char* name, std::string&& text) { say(name, std::string_view(keep(std::move(text)))); }
  void say(const char* name, std::span<const float> values) { add(name, kFloats, values.data(), values.size()); }
  void say(const char* name, std::span<const std::int32_t> values) { add(name, kInts, values.data(), values.size()); }
  void say(const char* name, std::span<const std::uint8_t> values) { add(name, kBytes, values.data(), values.size()); }
  void say(const char* name, std::span<const double> values) { add(name, kDoubles, values.data(), values.size()); }
  template <class T>
    requires(std::is_arithmetic_v<T>)
  void say(const char* name, const std::vector<T>& values) {
    say(name, std::span<const T>(values));
  }
  // A list of arrays, texts or words.
  template <class T>
    requires(!std::is_arithmetic_v<T>)
  void say(const char* name, const std::vector<T>& list) {
    add(name, kList, nullptr, 0);
    for (const T& each : list) {
      say(name, each);
      fields_.back().kind += kKinds;
    }
  }
  template <class T>
  void say(const char* name, std::vector<T>&& values) {
    say(name, keep(std::move(values)));
  }

  const PlainAnswer* end() {
    first_ = fields_.data();
    count_ = fields_.size();
    return this;
  }
  const PlainAnswer* end(const Error& error);
  void clear();

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
