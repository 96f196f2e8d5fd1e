// ThreadTeam: the caller and threads that help it. Work is cut into tasks that write different outputs, so that how many
// threads there are changes no bit. The host makes the threads and sends each into serve().
#pragma once

#include <atomic>
#include <cstdint>

namespace wattn {

class ThreadTeam {
 public:
  static constexpr int kMostThreads = 16;

  // Threads that run tasks, the caller included.
  int threads() const { return helpers_ + 1; }
  // Threads that memory is laid out for: helpers may come after the first run.
  int most_threads() const { return most_helpers_ + 1; }
  // Before the first run; less than kMostThreads.
  void expect_helpers(int helpers) { most_helpers_ = helpers; }
  // How many helpers are in serve() and may be counted on, at most those expected. Not during a run.
  void set_helpers(int helpers) { helpers_ = helpers; }

  // task(i, thread) for every i from 0 to count - 1, in any order, on threads 0 (the caller) to threads() - 1. Returns when
  // all are done. Tasks see what was written before run, and what they write is seen after it.
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

  // While one lives, helpers wait for tasks busily, which takes no time to wake them; without one they sleep, and run() is
  // the caller's alone.
  class Awake {
   public:
    explicit Awake(ThreadTeam& team) : team_(team) { team_.wake(true); }
    ~Awake() { team_.wake(false); }
    Awake(const Awake&) = delete;
    Awake& operator=(const Awake&) = delete;

   private:
    ThreadTeam& team_;
  };

  // What a helper does, from its start to stop(). thread: 1, 2, ..., each one's own.
  void serve(int thread);
  // Sends the helpers home.
  void stop();

 private:
  using Task = void (*)(const void* context, std::int64_t i, int thread);

  void dispatch(std::uint32_t count, Task task, const void* context);
  bool run_one(int thread);
  void wake(bool awake);

  int helpers_ = 0;
  int most_helpers_ = 0;
  // One task is claimed by taking one off the low half; the high half numbers the jobs, so that a late helper cannot claim
  // from a job with the knowledge of another.
  std::atomic<std::uint64_t> ticket_{0};
  std::atomic<std::uint32_t> done_{0};
  Task task_ = nullptr;  // of the job whose tickets are out
  const void* context_ = nullptr;

  std::atomic<bool> awake_{false};
  std::atomic<bool> stopped_{false};
  std::atomic<std::uint32_t> bell_{0};  // rung to wake the helpers
};

}  // namespace wattn
