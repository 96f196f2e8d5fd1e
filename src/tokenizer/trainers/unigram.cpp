// build: -Os
// Unigram (Kudo 2018, arXiv 1804.10959): reduces many pieces to few. Each piece has a probability; each way to split a word into
// pieces has the product of theirs. Expectation maximisation fits the probabilities to the words; then the pieces whose removal
// costs the least likelihood are removed, and so on until the vocabulary is small enough. Rules and constants are those of
// `tokenizers` and SentencePiece; where those leave an order open (hash maps), ours is by code points.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/utf.h"
#include "tokenizer/heap_sort.h"
#include "tokenizer/trainers/scaled.h"
#include "tokenizer/trainers/seeds.h"
#include "tokenizer/trainers/trainer.h"

namespace wattn {
namespace {

constexpr std::size_t kSliceChars = 1 << 15;  // between two pauses: a few milliseconds
constexpr double kUnkPenalty = 10;            // an uncovered character scores this much below the rarest piece
constexpr double kLeastExpected = 0.5;        // pieces expected less often are removed
constexpr std::uint32_t kNoPiece = UINT32_MAX;
constexpr double kUnreachable = -std::numeric_limits<double>::infinity();

// The derivative of log(gamma), by its asymptotic series from 7 up.
double digamma(double x) {
  double result = 0;
  for (; x < 7; ++x) result -= 1 / x;
  x -= 0.5;
  const double xx = 1 / (x * x);
  return result + std::log(x) + xx / 24 - 7.0 / 960 * xx * xx + 31.0 / 8064 * xx * xx * xx - 127.0 / 30720 * xx * xx * xx * xx;
}

class UnigramTrainer : public VocabularyTrainer {
 public:
  explicit UnigramTrainer(const TrainerOptions& options) : options_(options) {}

  void add(std::u32string_view word) override { counts_.add(word); }
  std::uint32_t num_words() const override { return counts_.size(); }

  Steps train() override {
    co_yield {"seeds", 0, 1};
    if (const Result<void> read = read_words(); !read.ok()) co_return read.error();
    Seeds seeds = find_seeds(words_, word_counts_, options_.max_piece_length, options_.seed_size);
    pieces_ = std::move(seeds.pieces);
    match_begin_ = std::move(seeds.match_begin);
    matches_ = std::move(seeds.matches);
    to_log_probabilities();

    const std::size_t wanted = options_.vocab_size * 11 / 10;
    const std::size_t rounds = rounds_to(wanted);
    for (std::size_t round = 0;; ++round) {
      for (std::size_t iteration = 0; iteration < options_.n_sub_iterations; ++iteration) {
        begin_expectation();
        for (std::size_t word = 0, slice = 0; word < words_.size(); ++word) {
          slice += expect(word);
          if (slice < kSliceChars) continue;
          slice = 0;
          co_yield {"pieces", std::min(round, rounds - 1), rounds};
        }
        maximize();
      }
      if (pieces_.size() + 1 <= wanted) break;
      frequencies_.assign(pieces_.size(), 0);
      unk_frequency_ = 0;
      for (std::size_t word = 0, slice = 0; word < words_.size(); ++word) {
        slice += count_best(word);
        if (slice < kSliceChars) continue;
        slice = 0;
        co_yield {"pieces", std::min(round, rounds - 1), rounds};
      }
      prune(wanted);
    }
    co_return model();
  }

 private:
  Result<void> read_words() {
    for (std::uint32_t i = 0; i < counts_.size(); ++i) {
      words_.chars += to_utf32(counts_.word(i));
      if (words_.chars.size() > UINT32_MAX / options_.max_piece_length) {
        return input_error("train: expected different words of at most " + std::to_string(UINT32_MAX / options_.max_piece_length) +
                           " characters together");
      }
      words_.begins.push_back(static_cast<std::uint32_t>(words_.chars.size()));
      word_counts_.push_back(counts_.count(i));
    }
    required_ = words_.chars;
    for (const std::string& c : options_.initial_alphabet) required_ += to_utf32(c);
    heap_sort(required_.begin(), required_.end(), std::less<>());
    required_.erase(std::unique(required_.begin(), required_.end()), required_.end());
    const std::size_t least = required_.size() + options_.special_tokens.size();
    if (least <= options_.vocab_size) return {};
    return input_error("train: option 'vocab_size': expected at least " + std::to_string(least) +
                       " (the characters of the texts and the special tokens), found " + std::to_string(options_.vocab_size));
  }

  void to_log_probabilities() {
    double sum = 0;
    for (const SeedPiece& piece : pieces_) sum += piece.score;
    for (SeedPiece& piece : pieces_) piece.score = std::log(piece.score) - std::log(sum);
    find_least_score();
  }

  void find_least_score() {
    least_score_ = std::numeric_limits<double>::infinity();
    for (const SeedPiece& piece : pieces_) least_score_ = std::min(least_score_, piece.score);
    if (pieces_.empty()) least_score_ = 0;
  }

  std::size_t rounds_to(std::size_t wanted) const {
    const double ratio = std::log(static_cast<double>(wanted) / static_cast<double>(pieces_.size() + 1));
    return ratio >= 0 ? 1 : static_cast<std::size_t>(ratio / std::log(options_.shrinking_factor)) + 1;
  }

  // Calls visit(piece, length) for every piece that begins at a position and ends by `end`. If no piece is just the character
  // there, it also visits kNoPiece, the unknown character.
  template <class Visit>
  void visit_pieces(std::size_t position, std::size_t end, Visit visit) const {
    bool has_single = false;
    for (std::uint32_t i = match_begin_[position]; i < match_begin_[position + 1]; ++i) {
      const std::uint32_t length = pieces_[matches_[i]].length;
      has_single |= length == 1;
      if (position + length <= end) visit(matches_[i], length);
    }
    if (!has_single) visit(kNoPiece, 1);
  }

  void begin_expectation() {
    probabilities_.resize(pieces_.size());
    for (std::size_t i = 0; i < pieces_.size(); ++i) probabilities_[i] = std::exp(pieces_[i].score);
    unk_probability_ = std::exp(least_score_ - kUnkPenalty);
    expected_.assign(pieces_.size(), 0);
  }

  // Adds the expected count of each piece in a word, from sums over all splits of the text before and after it.
  std::size_t expect(std::size_t word) {
    const std::size_t begin = words_.begins[word], end = words_.begins[word + 1], size = end - begin;
    const auto probability = [&](std::uint32_t piece) { return piece == kNoPiece ? unk_probability_ : probabilities_[piece]; };
    before_.assign(size + 1, {});
    after_.assign(size + 1, {});
    before_[0] = after_[size] = {0.5, 1};
    for (std::size_t i = 0; i < size; ++i) {
      before_[i].normalize();
      visit_pieces(begin + i, end, [&](std::uint32_t piece, std::uint32_t length) {
        before_[i + length].add(before_[i].mantissa * probability(piece), before_[i].exponent);
      });
    }
    for (std::size_t i = size; i-- > 0;) {
      visit_pieces(begin + i, end, [&](std::uint32_t piece, std::uint32_t length) {
        after_[i].add(after_[i + length].mantissa * probability(piece), after_[i + length].exponent);
      });
      after_[i].normalize();
    }
    const double scale = static_cast<double>(word_counts_[word]) / after_[0].mantissa;
    for (std::size_t i = 0; i < size; ++i) {
      visit_pieces(begin + i, end, [&](std::uint32_t piece, std::uint32_t length) {
        if (piece == kNoPiece) return;
        const Scaled& rest = after_[i + length];
        expected_[piece] += scale * before_[i].mantissa * probabilities_[piece] * rest.mantissa *
                            power_of_2(before_[i].exponent + rest.exponent - after_[0].exponent);
      });
    }
    return size;
  }

  // New scores from the expected counts, as in a Bayesian EM with a sparse prior: digamma instead of the logarithm.
  void maximize() {
    double sum = 0;
    for (const double expected : expected_) sum += expected < kLeastExpected ? 0 : expected;
    const double log_sum = digamma(sum);
    std::vector<std::uint32_t> kept;
    for (std::uint32_t i = 0; i < pieces_.size(); ++i) {
      if (expected_[i] < kLeastExpected) continue;
      pieces_[i].score = digamma(expected_[i]) - log_sum;
      kept.push_back(i);
    }
    keep(kept);
  }

  // Keeps only these pieces, in this order.
  void keep(const std::vector<std::uint32_t>& kept) {
    std::vector<std::uint32_t> number(pieces_.size(), kNoPiece);
    std::vector<SeedPiece> pieces;
    pieces.reserve(kept.size());
    for (const std::uint32_t piece : kept) {
      number[piece] = static_cast<std::uint32_t>(pieces.size());
      pieces.push_back(pieces_[piece]);
    }
    pieces_ = std::move(pieces);
    std::uint32_t out = 0, i = 0;
    for (std::size_t position = 0; position + 1 < match_begin_.size(); ++position) {
      const std::uint32_t end = match_begin_[position + 1];
      match_begin_[position] = out;
      for (; i < end; ++i) {
        if (number[matches_[i]] != kNoPiece) matches_[out++] = number[matches_[i]];
      }
    }
    match_begin_.back() = out;
    matches_.resize(out);
    find_least_score();
  }

  // Finds the most likely split of chars [begin, end) without the piece left_out, and stores it in best_split_, back to front.
  // Returns its score, or minus infinity if there is none.
  double find_best_split(std::size_t begin, std::size_t end, std::uint32_t left_out) {
    best_.assign(end - begin + 1, {kUnreachable, kNoPiece, 0});
    best_[0].score = 0;
    for (std::size_t i = 0; i < end - begin; ++i) {
      visit_pieces(begin + i, end, [&](std::uint32_t piece, std::uint32_t length) {
        if (piece == left_out && piece != kNoPiece) return;
        const double score = best_[i].score + (piece == kNoPiece ? least_score_ - kUnkPenalty : pieces_[piece].score);
        if (score > best_[i + length].score) best_[i + length] = {score, piece, length};
      });
    }
    best_split_.clear();
    const double score = best_.back().score;
    if (score == kUnreachable) return score;
    for (std::size_t i = end - begin; i > 0; i -= best_[i].length) best_split_.push_back(best_[i].piece);
    return score;
  }

  std::size_t count_best(std::size_t word) {
    const std::size_t begin = words_.begins[word], end = words_.begins[word + 1];
    find_best_split(begin, end, kNoPiece);
    const auto count = static_cast<double>(word_counts_[word]);
    for (const std::uint32_t piece : best_split_) (piece == kNoPiece ? unk_frequency_ : frequencies_[piece]) += count;
    return end - begin;
  }

  // Removes the pieces whose words lose the least likelihood when they use their second-best split.
  void prune(std::size_t wanted) {
    double sum = unk_frequency_, num_words = 0;
    for (const double frequency : frequencies_) sum += frequency;
    for (const std::uint64_t count : word_counts_) num_words += static_cast<double>(count);
    struct Candidate {
      double loss;
      std::uint32_t piece;
    };
    std::vector<std::uint32_t> kept;
    std::vector<Candidate> candidates;
    for (std::uint32_t i = 0; i < pieces_.size(); ++i) {
      const SeedPiece piece = pieces_[i];
      const double other = find_best_split(piece.begin, std::size_t{piece.begin} + piece.length, i);
      const bool only_way = best_split_.empty();
      const bool best_way = only_way || piece.score >= other;
      const double frequency = frequencies_[i];
      if (frequency == 0 && !only_way) continue;
      if (only_way || !best_way) {
        kept.push_back(i);
        continue;
      }
      // The parts of the other split would add the frequency best_split_.size() - 1 times. `tokenizers` adds it for every piece of
      // the vocabulary, which keeps frequent pieces and takes up to 3 % fewer tokens for new texts.
      const double log_sum_other = std::log(sum + frequency * static_cast<double>(pieces_.size()));
      double log_other = 0;
      for (auto part = best_split_.rbegin(); part != best_split_.rend(); ++part) {  // from front to back: ties follow from rounding
        log_other += std::log((*part == kNoPiece ? unk_frequency_ : frequencies_[*part]) + frequency) - log_sum_other;
      }
      candidates.push_back({frequency / num_words * (std::log(frequency) - std::log(sum) - log_other), i});
    }
    heap_sort(candidates.begin(), candidates.end(),
              [](const Candidate& a, const Candidate& b) { return a.loss != b.loss ? a.loss > b.loss : a.piece < b.piece; });
    const auto shrunk = static_cast<std::size_t>(static_cast<double>(pieces_.size() + 1) * options_.shrinking_factor);
    for (const Candidate& candidate : candidates) {
      if (kept.size() + 1 >= std::max(wanted, shrunk)) break;
      kept.push_back(candidate.piece);
    }
    // Each round must shrink the vocabulary, or training would not end: drop the last piece.
    if (kept.size() == pieces_.size()) kept.pop_back();
    keep(kept);
  }

  struct Scored {
    std::u32string text;
    double score;
  };

  // Special tokens, then all characters and the best pieces, by score.
  std::string model() const {
    std::vector<Scored> pieces;
    std::vector<bool> taken(pieces_.size());
    for (const char32_t c : required_) pieces.push_back({std::u32string(1, c), kUnreachable});
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (pieces_[i].length != 1) continue;
      const auto found = std::lower_bound(required_.begin(), required_.end(), words_.chars[pieces_[i].begin]);
      pieces[static_cast<std::size_t>(found - required_.begin())].score = pieces_[i].score;
      taken[i] = true;
    }
    double penalty = 0;
    for (Scored& piece : pieces) {
      if (piece.score != kUnreachable) continue;
      piece.score = least_score_ + penalty;
      penalty += 0.0001;
    }
    const std::size_t room = options_.vocab_size - options_.special_tokens.size();
    for (std::size_t i = 0; i < pieces_.size() && pieces.size() < room; ++i) {
      if (!taken[i]) pieces.push_back({words_.chars.substr(pieces_[i].begin, pieces_[i].length), pieces_[i].score});
    }
    heap_sort(pieces.begin(), pieces.end(),
              [](const Scored& a, const Scored& b) { return a.score != b.score ? a.score > b.score : a.text < b.text; });
    return to_json(pieces);
  }

  std::string to_json(const std::vector<Scored>& pieces) const {
    std::string out = "{\"type\":\"Unigram\",\"unk_id\":";
    const auto& special = options_.special_tokens;
    const auto unk = options_.unk_token ? std::find(special.begin(), special.end(), *options_.unk_token) : special.end();
    out += unk == special.end() ? "null" : std::to_string(unk - special.begin());
    out += ",\"vocab\":[";
    const auto append = [&](std::string_view token, double score) {
      out += (out.back() == '[' ? "[" : ",[") + json_text(token) + ',' + json_text(score) + ']';
    };
    for (const std::string& token : special) append(token, 0);
    for (const Scored& piece : pieces) {
      const std::string text = to_utf8(std::u32string_view(piece.text));
      if (std::find(special.begin(), special.end(), text) == special.end()) append(text, piece.score);
    }
    return out + "],\"byte_fallback\":false}";
  }

  struct Step {
    double score;
    std::uint32_t piece;  // its last piece
    std::uint32_t length;
  };

  const TrainerOptions& options_;
  WordCounts counts_;
  WordTexts words_;
  std::vector<std::uint64_t> word_counts_;  // [words]
  std::u32string required_;                 // characters, sorted
  std::vector<SeedPiece> pieces_;           // the reference has the unknown token before them, as piece 0
  std::vector<std::uint32_t> match_begin_;  // [chars + 1]
  std::vector<std::uint32_t> matches_;      // the pieces that begin at each character
  double least_score_ = 0;
  std::vector<double> probabilities_, expected_, frequencies_;  // [pieces]
  double unk_probability_ = 0, unk_frequency_ = 0;
  std::vector<Scaled> before_, after_;  // [chars of the word + 1]
  std::vector<Step> best_;              // [chars + 1]
  std::vector<std::uint32_t> best_split_;
};

}  // namespace

std::unique_ptr<VocabularyTrainer> make_unigram_trainer(const TrainerOptions& options) {
  return std::make_unique<UnigramTrainer>(options);
}

}  // namespace wattn
