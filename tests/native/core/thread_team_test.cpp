// ThreadTeam: runs each task once, uses all threads, and loses nothing between jobs.
#include "core/thread_team.h"

#include <gtest/gtest.h>

#ifndef __EMSCRIPTEN__  // the host creates the threads there: tests/web/threads.test.ts
#include <chrono>
#include <set>
#include <thread>
#include <vector>

namespace wattn {
namespace {

struct Threads {
  ThreadTeam team;
  std::vector<std::thread> helpers;
  explicit Threads(int count) {
    for (int i = 1; i <= count; ++i) helpers.emplace_back([this, i] { team.serve(i); });
    team.set_helpers(count);
  }
  ~Threads() {
    team.stop();
    for (std::thread& helper : helpers) helper.join();
  }
};

TEST(ThreadTeam, RunsEachTaskOfEveryJobOnce) {
  Threads threads(3);
  for (int round = 0; round < 20; ++round) {
    const ThreadTeam::Awake awake(threads.team);
    for (const int count : {0, 1, 2, 5, 64}) {
      std::vector<int> runs(64);
      threads.team.run(count, [&](std::int64_t i, int) { ++runs[static_cast<std::size_t>(i)]; });
      for (int i = 0; i < 64; ++i) ASSERT_EQ(runs[static_cast<std::size_t>(i)], i < count ? 1 : 0);
    }
  }
}

TEST(ThreadTeam, HelpersTakePart) {
  Threads threads(1);
  const ThreadTeam::Awake awake(threads.team);
  std::atomic<int> inside{0};
  // Each of the two tasks waits until the other has begun: a single thread would time out.
  std::atomic<bool> met{true};
  threads.team.run(2, [&](std::int64_t, int) {
    ++inside;
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(5);
    while (inside.load() < 2) {
      if (std::chrono::steady_clock::now() > end) {
        met = false;
        return;
      }
      std::this_thread::yield();
    }
  });
  EXPECT_TRUE(met);
}

TEST(ThreadTeam, UsesOnlyTheCallerWhileHelpersSleep) {
  Threads threads(2);
  std::set<int> seen;
  threads.team.run(100, [&](std::int64_t, int thread) { seen.insert(thread); });
  EXPECT_EQ(seen, std::set<int>{0});
}

}  // namespace
}  // namespace wattn
#endif
