// TextJob: tokenizes texts and runs them packed into micro-batches. A text is tokenized when it is reached, so that a step stays
// short even if one text has thousands of windows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/model.h"
#include "tasks/job.h"

namespace wattn {

class TextJob : public Job {
 public:
  Result<bool> step() final;

 protected:
  TextJob(Model& model, std::size_t num_texts) : model_(model), num_texts_(num_texts) {}

  Model& model() const { return model_; }

  // The encoding of a text, with its overflow windows.
  virtual Result<Encoding> encode(std::size_t text) = 0;
  // A window joins the micro-batch: the text's encoding without its overflow windows (is_first), or one of these.
  virtual void add(Encoding window, std::size_t text, bool is_first) = 0;
  // Runs the micro-batch. texts: [batch] the index of each sequence's text.
  virtual Result<void> run(const Batch& batch, const std::vector<std::size_t>& texts) = 0;

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
};

// A ModelFormatError that names the text if one of count values is NaN or infinite.
Result<void> check_finite(const float* values, std::int64_t count, const std::string& text);

}  // namespace wattn
