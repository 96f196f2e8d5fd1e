// A team of the caller and three helper threads, which end with it. Not for wasm, where the host creates the threads.
#pragma once

#ifndef __EMSCRIPTEN__
#include <thread>
#include <vector>

#include "core/thread_team.h"

namespace wattn::test {

struct TeamOfFour {
  ThreadTeam team;
  std::vector<std::thread> threads{};

  TeamOfFour() {
    for (int i = 1; i < 4; ++i) threads.emplace_back([this, i] { team.serve(i); });
    team.set_helpers(3);
  }
  ~TeamOfFour() {
    team.stop();
    for (std::thread& thread : threads) thread.join();
  }
  TeamOfFour(const TeamOfFour&) = delete;
  TeamOfFour& operator=(const TeamOfFour&) = delete;
};

}  // namespace wattn::test
#endif
