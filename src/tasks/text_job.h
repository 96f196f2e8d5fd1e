// TextJob: tokenizes texts and runs them packed into micro-batches. A text is tokenized when it is reached, so that a step stays
// short even if one text has thousands of windows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/model.h"
#include "tasks/job.h"

namespace wattn {

class TextJob : public Job {
 public:
  Result<bool> step() final;

  // A step in which a device such as a GPU runs the transformer: gather() says over what, finish() takes what it computed.
  // The windows of the next step, of at most so many tokens together, or one.
  Result<void> gather(std::int64_t most_tokens);
  const Batch& batch() const { return batch_; }
  // How the device pools each window's states, and how many of its first tokens it leaves out; empty: it gives all states.
  virtual std::span<const PoolingMode> pooling() const { return {}; }
  virtual std::span<const std::int64_t> skip() const { return {}; }
  // Whether run() reads the states of the whole batch. If not, steps are the processor's.
  virtual bool reads_batch() const { return true; }
  // What the processor has in place of the device's, for windows [begin, end): [tokens, hidden], or [windows, modes * hidden].
  Result<std::vector<float>> device_rows(std::int64_t begin, std::int64_t end);
  // rows: the same of all windows.
  Result<bool> finish(std::span<const float> rows);

 protected:
  TextJob(Model& model, std::size_t num_texts) : model_(model), num_texts_(num_texts) {}

  Model& model() const { return model_; }

  // The encoding of a text, with its overflow windows.
  virtual Result<Encoding> encode(std::size_t text) = 0;
  // A window joins the micro-batch: the text's encoding without its overflow windows (is_first), or one of these.
  virtual void add(Encoding window, std::size_t text, bool is_first) = 0;
  // Runs the micro-batch. texts: [batch] the index of each sequence's text.
  virtual Result<void> run(const Batch& batch, const std::vector<std::size_t>& texts) = 0;
  // Appends what a device would give for a part of the batch from this window on. hidden: its states.
  virtual void add_rows(const Batch& part, std::int64_t window, const float* hidden, std::vector<float>& out);

  // What a device gave in this step; null: nothing.
  const float* given() const { return given_; }
  // The states of run()'s batch, [tokens, hidden]: of a device, else of a run of the model.
  Result<const float*> states(const Batch& batch);

 private:
  Result<void> encode_next();
  bool has_more() const { return window_ < windows_.size() || next_ < num_texts_; }

  Model& model_;
  std::size_t num_texts_;
  std::size_t next_ = 0;           // the next text to tokenize
  std::vector<Encoding> windows_;  // of the text before it
  std::size_t window_ = 0;         // the next one of them to run
  Batch batch_;
  std::vector<std::size_t> texts_;
  const float* given_ = nullptr;
};

// A ModelFormatError that names the text if one of count values is NaN or infinite.
Result<void> check_finite(const float* values, std::int64_t count, const std::string& text);

}  // namespace wattn
