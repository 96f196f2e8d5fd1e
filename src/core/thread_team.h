// ThreadTeam: the calling thread and its helpers. Work is divided into tasks that write different outputs, so the number of
// threads never changes a bit. The host creates the threads, and each of them calls serve().
#pragma once

#include <atomic>
#include <cstdint>

namespace wattn {

class ThreadTeam {
 public:
  static constexpr int kMostThreads = 16;

  // Threads that run tasks, including the caller.
  int threads() const { return helpers_ + 1; }
  // Threads to reserve memory for: helpers may start after the first run.
  int most_threads() const { return most_helpers_ + 1; }
  // Must be called before the first run, with less than kMostThreads.
  void expect_helpers(int helpers) { most_helpers_ = helpers; }
  // The number of helpers in serve(), at most as many as expected. Must not be called during a run.
  void set_helpers(int helpers) { helpers_ = helpers; }

  // Calls task(i, thread) for every i from 0 to count - 1, in any order, on threads 0 (the caller) to threads() - 1. Returns when
  // all are done. Tasks see what was written before run(), and the caller sees what they wrote.
  template <class F>
  void run(std::int64_t count, const F& task) {
    if (helpers_ == 0 || !awake_.load(std::memory_order_relaxed) || count < 2) {
      for (std::int64_t i = 0; i < count; ++i) task(i, 0);
      return;
    }
    dispatch(
        static_cast<std::uint32_t>(count),
        [](const void* f, std::int64_t i, int thread) { (*static_cast<const F*>(f))(i, thread); }, &task);
  }

  // While one exists, helpers spin for tasks and start without delay; otherwise they sleep, and run() uses the caller alone.
  class Awake {
   public:
    explicit Awake(ThreadTeam& team) : team_(team) { team_.wake(true); }
    ~Awake() { team_.wake(false); }
    Awake(const Awake&) = delete;
    Awake& operator=(const Awake&) = delete;

   private:
    ThreadTeam& team_;
  };

  // Runs tasks on a helper until stop(). thread: 1, 2, ..., different for each helper.
  void serve(int thread);
  // Makes all helpers return from serve().
  void stop();

 private:
  using Task = void (*)(const void* context, std::int64_t i, int thread);

  void dispatch(std::uint32_t count, Task task, const void* context);
  bool run_one(int thread);
  void wake(bool awake);

  int helpers_ = 0;
  int most_helpers_ = 0;
  // The low half is the number of unclaimed tasks; decrementing it claims one. The high half numbers the jobs, so that a late
  // helper cannot claim a task of a newer job.
  std::atomic<std::uint64_t> ticket_{0};
  std::atomic<std::uint32_t> done_{0};
  Task task_ = nullptr;  // of the current job
  const void* context_ = nullptr;

  std::atomic<bool> awake_{false};
  std::atomic<bool> stopped_{false};
  std::atomic<std::uint32_t> bell_{0};  // incremented to wake the helpers
};

}  // namespace wattn
