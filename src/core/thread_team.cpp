#include "core/thread_team.h"

namespace wattn {
namespace {

// Sleeps while word equals value; may wake spuriously. On wasm, std::atomic::wait would link the library's table of waiters.
void sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t value) {
#ifdef __wasm_atomics__
  __builtin_wasm_memory_atomic_wait32(reinterpret_cast<int*>(&word), static_cast<int>(value), -1);
#elif !defined(__wasm__)
  word.wait(value);
#else
  (void)word, (void)value;  // a build without threads has no helpers
#endif
}

void wake_all(std::atomic<std::uint32_t>& word) {
#ifdef __wasm_atomics__
  __builtin_wasm_memory_atomic_notify(reinterpret_cast<int*>(&word), ~0u);
#elif !defined(__wasm__)
  word.notify_all();
#else
  (void)word;
#endif
}

}  // namespace

void ThreadTeam::dispatch(std::uint32_t count, Task task, const void* context) {
  task_ = task;
  context_ = context;
  done_.store(0, std::memory_order_relaxed);
  const std::uint64_t job = (ticket_.load(std::memory_order_relaxed) >> 32) + 1;
  ticket_.store(job << 32 | count, std::memory_order_release);
  while (run_one(0)) {
  }
  // Spins until the last tasks are done: the main thread of a page must not sleep.
  while (done_.load(std::memory_order_acquire) != count) {
  }
}

// Claims and runs a task, if there is one. The caller cannot start another job until it is done.
bool ThreadTeam::run_one(int thread) {
  std::uint64_t ticket = ticket_.load(std::memory_order_acquire);
  do {
    if (static_cast<std::uint32_t>(ticket) == 0) return false;
  } while (!ticket_.compare_exchange_weak(ticket, ticket - 1, std::memory_order_acq_rel, std::memory_order_acquire));
  task_(context_, static_cast<std::uint32_t>(ticket) - 1, thread);
  done_.fetch_add(1, std::memory_order_release);
  return true;
}

void ThreadTeam::wake(bool awake) {
  if (helpers_ == 0) return;
  awake_.store(awake, std::memory_order_relaxed);
  if (!awake) return;
  bell_.fetch_add(1, std::memory_order_release);
  wake_all(bell_);
}

void ThreadTeam::serve(int thread) {
  while (!stopped_.load(std::memory_order_relaxed)) {
    const std::uint32_t bell = bell_.load(std::memory_order_acquire);
    while (awake_.load(std::memory_order_relaxed)) run_one(thread);
    if (!stopped_.load(std::memory_order_relaxed)) sleep_while(bell_, bell);
  }
}

void ThreadTeam::stop() {
  awake_.store(false, std::memory_order_relaxed);
  stopped_.store(true, std::memory_order_relaxed);
  bell_.fetch_add(1, std::memory_order_release);
  wake_all(bell_);
}

}  // namespace wattn
