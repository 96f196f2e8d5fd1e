// Steps: long work that pauses. Training is a coroutine that co_yields how far it is after every slice of work, so that the
// caller can show it, let other things happen, or throw the rest away by destroying the Steps.
#pragma once

#include <coroutine>
#include <cstdint>
#include <string>
#include <utility>

#include "core/result.h"

namespace wattn {

struct TrainingProgress {
  const char* stage = "";
  std::uint64_t done = 0;
  std::uint64_t total = 0;  // of this stage
};

class Steps {
 public:
  struct promise_type {  // the name that the language asks for; NOLINT(readability-identifier-naming)
    TrainingProgress progress;
    Result<std::string> result = std::string();

    Steps get_return_object() { return Steps(Handle::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(TrainingProgress value) {
      progress = value;
      return {};
    }
    void return_value(Result<std::string> value) { result = std::move(value); }
    void unhandled_exception() noexcept {}  // there are none
  };

  Steps() = default;
  Steps(Steps&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Steps& operator=(Steps&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Steps() {
    if (handle_) handle_.destroy();
  }

  // Runs to the next pause; false once the work is done.
  bool next() {
    if (!handle_.done()) handle_.resume();
    return !handle_.done();
  }
  explicit operator bool() const { return static_cast<bool>(handle_); }
  const TrainingProgress& progress() const { return handle_.promise().progress; }
  Result<std::string>& result() { return handle_.promise().result; }  // once next() said false

 private:
  using Handle = std::coroutine_handle<promise_type>;
  explicit Steps(Handle handle) : handle_(handle) {}
  Handle handle_;
};

}  // namespace wattn
