// Steps: a long computation with pauses. Training is a coroutine that co_yields its progress after every slice of work, so that the
// caller can show it, let other code run, or cancel by destroying the Steps.
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
  struct promise_type {  // the name that C++ requires; NOLINT(readability-identifier-naming)
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
    void unhandled_exception() noexcept {}  // there are no exceptions
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

  // Runs to the next pause; returns false once the work is done.
  bool next() {
    if (!handle_.done()) handle_.resume();
    return !handle_.done();
  }
  explicit operator bool() const { return static_cast<bool>(handle_); }
  const TrainingProgress& progress() const { return handle_.promise().progress; }
  Result<std::string>& result() { return handle_.promise().result; }  // once next() has returned false

 private:
  using Handle = std::coroutine_handle<promise_type>;
  explicit Steps(Handle handle) : handle_(handle) {}
  Handle handle_;
};

}  // namespace wattn
