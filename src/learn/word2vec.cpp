#include "learn/word2vec.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "core/arena.h"
#include "core/real_math.h"

namespace wattn {
namespace {

constexpr std::size_t kStepWords = 10000;  // gensim's job size: the learning rate is updated once per job
constexpr float kLargestExponent = 6;      // larger scores count as learned
constexpr std::int64_t kSigmoids = 1024;
constexpr std::int64_t kMostNumbers = std::int64_t{1} << 29;  // of one table, 2 GiB

}  // namespace

AliasTable::AliasTable(const std::vector<double>& weights) : keep_(weights), other_(weights.size()) {
  double sum = 0;
  for (const double weight : weights) sum += weight;
  std::vector<std::int32_t> small, large;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    keep_[i] = weights[i] / sum * static_cast<double>(weights.size());
    other_[i] = static_cast<std::int32_t>(i);
    (keep_[i] < 1 ? small : large).push_back(other_[i]);
  }
  while (!small.empty() && !large.empty()) {
    const auto few = static_cast<std::size_t>(small.back()), many = static_cast<std::size_t>(large.back());
    small.pop_back();
    other_[few] = static_cast<std::int32_t>(many);
    keep_[many] -= 1 - keep_[few];
    if (keep_[many] >= 1) continue;
    large.pop_back();
    small.push_back(static_cast<std::int32_t>(many));
  }
  for (const std::vector<std::int32_t>* rest : {&small, &large}) {
    for (const std::int32_t i : *rest) keep_[static_cast<std::size_t>(i)] = 1;
  }
}

std::int32_t AliasTable::draw(Generator& generator) const {
  const double at = generator.uniform() * static_cast<double>(keep_.size());
  const auto i = static_cast<std::size_t>(at);
  return at - static_cast<double>(i) < keep_[i] ? static_cast<std::int32_t>(i) : other_[i];
}

HuffmanCodes huffman_codes(const std::vector<double>& counts) {
  const std::size_t words = counts.size();
  HuffmanCodes out;
  out.begin.push_back(0);
  if (words < 2) {
    out.begin.resize(words + 1, 0);
    return out;
  }
  // Two queues in ascending order: leaves from the rarest, and inner nodes as created.
  std::vector<double> inner;
  std::vector<std::int32_t> parent(2 * words - 1, -1);
  std::vector<std::uint8_t> bit(2 * words - 1, 0);
  std::size_t leaf = words, node = 0;
  const auto next = [&]() -> std::pair<std::size_t, double> {
    if (leaf > 0 && (node == inner.size() || counts[leaf - 1] <= inner[node])) {
      --leaf;
      return {leaf, counts[leaf]};
    }
    const std::size_t at = node++;
    return {words + at, inner[at]};
  };
  for (std::size_t made = 0; made + 1 < words; ++made) {
    const auto [first, first_count] = next();
    const auto [second, second_count] = next();
    parent[first] = parent[second] = static_cast<std::int32_t>(made);
    bit[second] = 1;
    inner.push_back(first_count + second_count);
  }
  for (std::size_t word = 0; word < words; ++word) {
    const std::size_t begin = out.bits.size();
    for (std::size_t at = word; parent[at] >= 0; at = words + static_cast<std::size_t>(parent[at])) {
      out.bits.push_back(bit[at]);
      out.nodes.push_back(parent[at]);
    }
    std::reverse(out.bits.begin() + static_cast<std::ptrdiff_t>(begin), out.bits.end());
    std::reverse(out.nodes.begin() + static_cast<std::ptrdiff_t>(begin), out.nodes.end());
    out.begin.push_back(static_cast<std::int32_t>(out.bits.size()));
  }
  return out;
}

Word2Vec::Word2Vec(const Word2VecOptions& options) : options_(options), kernels_(exact_kernels()), generator_(options.seed) {}

Result<Word2Vec> Word2Vec::make(const Word2VecOptions& options, std::vector<double> counts) {
  const auto words = static_cast<std::int64_t>(counts.size());
  if (words == 0)
    return input_error("Word2Vec.train: expected words that occur at least min_count times, found none (lower min_count)");
  if (options.vector_size < 1 || options.window < 1 || options.epochs < 1 || options.negative < 0) {
    return input_error("Word2Vec.train: expected vector_size, window and epochs of at least 1");
  }
  if (!std::all_of(counts.begin(), counts.end(), [](double count) { return count >= 1; })) {
    return input_error("Word2Vec.train: expected counts of at least 1");
  }
  if (!options.hierarchical && options.negative == 0)
    return input_error("Word2Vec.train: expected negative above 0 or hs: true, found neither");
  if (words * options.vector_size >= kMostNumbers) {
    return out_of_memory_error("Word2Vec.train: " + std::to_string(words) + " vectors of " + std::to_string(options.vector_size) +
                               " exceed the limit of 2 GiB");
  }
  Word2Vec model(options);
  model.num_words_ = words;
  const double floats = 3 * static_cast<double>(words) * static_cast<double>(options.vector_size);
  if (auto room = Arena::fits(floats * sizeof(float), "word vectors"); !room.ok()) return room.error();
  model.vectors_.resize(static_cast<std::size_t>(words * options.vector_size));
  const auto size = static_cast<double>(options.vector_size);
  for (float& x : model.vectors_) x = static_cast<float>(model.generator_.uniform(-0.5, 0.5) / size);
  double total = 0;
  for (const double count : counts) total += count;
  const double threshold = options.sample * total;
  model.keep_.reserve(counts.size());
  for (const double count : counts) {
    model.keep_.push_back(options.sample > 0 ? (std::sqrt(count / threshold) + 1) * threshold / count : 1);
  }
  if (options.negative > 0) {
    model.outputs_.resize(model.vectors_.size());
    std::vector<double> weights;
    weights.reserve(counts.size());
    for (const double count : counts) weights.push_back(pow64(count, options.ns_exponent));
    model.noise_ = AliasTable(weights);
  }
  if (options.hierarchical) {
    model.nodes_.resize(model.vectors_.size());
    model.codes_ = huffman_codes(counts);
  }
  model.sigmoids_.reserve(static_cast<std::size_t>(kSigmoids));
  for (std::int64_t i = 0; i < kSigmoids; ++i) {
    const double x = (2.0 * (static_cast<double>(i) + 0.5) / kSigmoids - 1) * kLargestExponent;
    model.sigmoids_.push_back(static_cast<float>(1 / (1 + exp64(-x))));
  }
  model.context_.resize(static_cast<std::size_t>(options.vector_size));
  model.step_.resize(static_cast<std::size_t>(options.vector_size));
  return model;
}

Result<void> Word2Vec::feed(std::span<const std::int32_t> words, std::span<const std::int32_t> lengths) {
  if (words_.size() + words.size() > 0x7FFFFFFF) return out_of_memory_error("Word2Vec.train: more than 2^31 words of text");
  std::size_t at = 0;
  for (const std::int32_t length : lengths) {
    if (length < 0 || static_cast<std::size_t>(length) > words.size() - at)
      return input_error("Word2Vec: the lengths of sentences exceed the number of words");
    for (const std::int32_t word : words.subspan(at, static_cast<std::size_t>(length))) {
      if (word < 0 || word >= num_words_)
        return input_error("Word2Vec: expected words below " + std::to_string(num_words_) + ", found " + std::to_string(word));
      words_.push_back(word);
    }
    at += static_cast<std::size_t>(length);
    ends_.push_back(static_cast<std::int32_t>(words_.size()));
  }
  return {};
}

bool Word2Vec::step() {
  if (epoch_ >= options_.epochs || words_.empty()) return false;
  const double progress = words_done() / words_total();
  const auto alpha = static_cast<float>(options_.alpha - (options_.alpha - options_.min_alpha) * progress);
  std::vector<std::int32_t> kept;
  for (std::size_t left = kStepWords; left > 0 && sentence_ < ends_.size();) {
    const std::size_t end = std::min(static_cast<std::size_t>(ends_[sentence_]), position_ + left);  // a long one is cut
    kept.clear();
    for (std::size_t i = position_; i < end; ++i) {
      const double keep = keep_[static_cast<std::size_t>(words_[i])];
      if (keep >= 1 || generator_.uniform() < keep) kept.push_back(words_[i]);
    }
    train_sentence(kept, alpha);
    left -= end - position_;
    position_ = end;
    if (end == static_cast<std::size_t>(ends_[sentence_])) ++sentence_;
  }
  if (sentence_ == ends_.size()) {
    ++epoch_;
    position_ = sentence_ = 0;
  }
  return epoch_ < options_.epochs;
}

void Word2Vec::train_sentence(std::span<const std::int32_t> kept, float alpha) {
  const auto window = static_cast<std::size_t>(options_.window);
  for (std::size_t center = 0; center < kept.size(); ++center) {
    const std::size_t reach = options_.shrink_windows ? 1 + generator_.next() % window : window;
    const std::size_t begin = center - std::min(center, reach), end = std::min(kept.size(), center + reach + 1);
    if (!options_.skip_gram) {
      if (end - begin > 1) context_to_input(kept, begin, center, end, alpha);
      continue;
    }
    for (std::size_t i = begin; i < end; ++i) {
      if (i == center) continue;
      float* input = vector(kept[i]);
      std::fill(step_.begin(), step_.end(), 0.0f);
      train_pair(kept[center], input, alpha);
      kernels_.axpy(1.0f, step_.data(), input, options_.vector_size);
    }
  }
}

// CBOW: the input is the context's mean (or sum); each of its vectors is updated by the step (for a sum, by an equal share).
void Word2Vec::context_to_input(std::span<const std::int32_t> kept, std::size_t begin, std::size_t center, std::size_t end,
                                float alpha) {
  const std::int64_t size = options_.vector_size;
  const float share = 1.0f / static_cast<float>(end - begin - 1);
  std::fill(context_.begin(), context_.end(), 0.0f);
  std::fill(step_.begin(), step_.end(), 0.0f);
  for (std::size_t i = begin; i < end; ++i) {
    if (i != center) kernels_.axpy(options_.cbow_mean ? share : 1.0f, vector(kept[i]), context_.data(), size);
  }
  train_pair(kept[center], context_.data(), alpha);
  for (std::size_t i = begin; i < end; ++i) {
    if (i != center) kernels_.axpy(options_.cbow_mean ? 1.0f : share, step_.data(), vector(kept[i]), size);
  }
}

// Trains target as an output of input; adds the update of input to step_.
void Word2Vec::train_pair(std::int32_t target, const float* input, float alpha) {
  const std::int64_t size = options_.vector_size;
  if (options_.negative > 0) {
    one_target(outputs_.data() + target * size, input, 1, alpha);
    for (std::int64_t i = 0; i < options_.negative; ++i) {
      const std::int32_t drawn = noise_.draw(generator_);
      if (drawn != target) one_target(outputs_.data() + drawn * size, input, 0, alpha);
    }
  }
  if (!options_.hierarchical) return;
  for (std::int32_t i = codes_.begin[target]; i < codes_.begin[target + 1]; ++i) {
    one_target(nodes_.data() + codes_.nodes[i] * size, input, codes_.bits[i] ? 0 : 1, alpha);
  }
}

// A step of logistic regression: output and input move along (label - sigmoid(output input)) * alpha.
void Word2Vec::one_target(float* output, const float* input, float label, float alpha) {
  const float score = kernels_.dot(input, output, options_.vector_size);
  if (!(std::abs(score) < kLargestExponent)) return;
  const auto at = static_cast<std::size_t>((score + kLargestExponent) * (kSigmoids / kLargestExponent / 2));
  const float error = label - sigmoids_[std::min<std::size_t>(at, kSigmoids - 1)];
  kernels_.pair_step(error * alpha, input, output, step_.data(), options_.vector_size);
}

}  // namespace wattn
