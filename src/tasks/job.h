// Job: a call that the caller advances step by step, so that it can pause or stop between two of them.
#pragma once

#include "core/result.h"

namespace wattn {

class Job {
 public:
  Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  virtual ~Job() = default;

  // Runs about one micro-batch. False when all is done.
  virtual Result<bool> step() = 0;
};

inline Result<void> run_all(Job& job) {
  for (;;) {
    const auto more = job.step();
    if (!more.ok()) return more.error();
    if (!more.value()) return {};
  }
}

}  // namespace wattn
