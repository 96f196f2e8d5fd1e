// word2vec (arXiv 1301.3781, 1310.4546): skip-gram and CBOW, negative sampling and hierarchical softmax, with gensim's options and
// arithmetic. Single-threaded, in steps; words are numbers, the most frequent first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/random.h"
#include "core/result.h"
#include "ops/compute.h"

namespace wattn {

struct Word2VecOptions {
  std::int64_t vector_size = 100;
  std::int64_t window = 5;
  bool skip_gram = false;     // else CBOW
  bool hierarchical = false;  // hierarchical softmax
  std::int64_t negative = 5;  // negative words per pair; 0: no negative sampling
  double sample = 1e-3;       // words above this share of the corpus are randomly skipped; 0: none
  std::int64_t epochs = 5;
  double alpha = 0.025;
  double min_alpha = 0.0001;
  bool cbow_mean = true;  // false: the sum of the context
  double ns_exponent = 0.75;
  bool shrink_windows = true;  // each word's window is random in 1 .. window
  std::uint64_t seed = 1;
};

// Draws i with a probability proportional to weights[i], in constant time (Walker's alias method).
class AliasTable {
 public:
  AliasTable() = default;
  explicit AliasTable(const std::vector<double>& weights);
  std::int32_t draw(Generator& generator) const;

 private:
  std::vector<double> keep_;
  std::vector<std::int32_t> other_;
};

// Huffman codes of words by their counts: bits and inner nodes from the root.
struct HuffmanCodes {
  std::vector<std::int32_t> begin;  // [words + 1] into bits and nodes
  std::vector<std::uint8_t> bits;
  std::vector<std::int32_t> nodes;  // inner node of each bit, 0 .. words - 2
};
HuffmanCodes huffman_codes(const std::vector<double>& counts);

class Word2Vec {
 public:
  // counts: of each word, in descending order.
  static Result<Word2Vec> make(const Word2VecOptions& options, std::vector<double> counts);

  // Appends sentences; words holds them end to end.
  Result<void> feed(std::span<const std::int32_t> words, std::span<const std::int32_t> lengths);
  // Trains about 10,000 words; false when all epochs are done.
  bool step();

  double words_done() const {
    return static_cast<double>(epoch_) * static_cast<double>(words_.size()) + static_cast<double>(position_);
  }
  double words_total() const { return static_cast<double>(options_.epochs) * static_cast<double>(words_.size()); }
  const std::vector<float>& vectors() const { return vectors_; }  // [words, vector_size]

 private:
  explicit Word2Vec(const Word2VecOptions& options);
  void train_sentence(std::span<const std::int32_t> kept, float alpha);
  void train_pair(std::int32_t target, const float* input, float alpha);
  void one_target(float* output, const float* input, float label, float alpha);
  void context_to_input(std::span<const std::int32_t> kept, std::size_t begin, std::size_t center, std::size_t end, float alpha);
  float* vector(std::int32_t word) { return vectors_.data() + word * options_.vector_size; }

  Word2VecOptions options_;
  const Kernels& kernels_;
  Generator generator_;
  std::int64_t num_words_ = 0;
  std::vector<float> vectors_, outputs_, nodes_;  // [words, vector_size]; outputs_: of negative sampling, nodes_: of inner nodes
  std::vector<double> keep_;                      // probability of keeping a word
  AliasTable noise_;
  HuffmanCodes codes_;
  std::vector<float> sigmoids_;
  std::vector<float> context_, step_;       // [vector_size]: CBOW's input, the update of the input
  std::vector<std::int32_t> words_, ends_;  // sentences end to end, and where each ends
  std::size_t position_ = 0, sentence_ = 0;
  std::int64_t epoch_ = 0;
};

}  // namespace wattn
