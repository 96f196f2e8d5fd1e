// DeviceEmbed: an EmbedJob whose transformer runs on a device, and its windows on the processor where the device fails.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "tasks/embed.h"

namespace wattn {

class DeviceEmbed {
 public:
  // texts must live as long as this.
  static Result<std::unique_ptr<DeviceEmbed>> begin(Model& model, std::span<const std::u16string_view> texts,
                                                    const EmbedOptions& options);

  // All windows of all texts, and what the device does with their vectors.
  const Batch& batch() const { return batch_; }
  const std::vector<PoolingMode>& pooling() const { return job_->pooling_; }
  const std::vector<std::int64_t>& skip() const { return skip_; }

  // The vectors of windows [begin, end) before the repository's modules, as the processor has them: [windows, modes * hidden], or
  // without a pooling [tokens, hidden].
  Result<std::vector<float>> pool(std::int64_t begin, std::int64_t end);
  // pooled: of all windows.
  Result<EmbedResult> finish(std::vector<float> pooled);

 private:
  DeviceEmbed(Model& model, std::unique_ptr<EmbedJob> job) : model_(model), job_(std::move(job)) {}
  void add(Encoding window, std::size_t text, bool is_first);

  Model& model_;
  std::unique_ptr<EmbedJob> job_;
  Batch batch_;
  std::vector<std::size_t> texts_;  // [windows]
  std::vector<std::int64_t> skip_;  // [windows]
};

}  // namespace wattn
