// build: -Os
// BPE, and WordPiece, whose trainer is the same: the most frequent pair of neighbours becomes a token, again and again.
// Among equally frequent pairs, the one with smaller ids wins. Ids go to special tokens, then to the alphabet in the order of
// code points. Then come (with a prefix or suffix) the forms of characters in order of appearance, then merges.
#include <algorithm>
#include <utility>

#include "core/utf.h"
#include "tokenizer/formats/writing.h"
#include "tokenizer/heap_sort.h"
#include "tokenizer/trainers/pair_table.h"
#include "tokenizer/trainers/trainer.h"

namespace wattn {
namespace {

constexpr std::size_t kSliceSymbols = 1 << 18;  // symbols visited between two pauses: a few milliseconds

class BpeTrainer : public VocabularyTrainer {
 public:
  BpeTrainer(const TrainerOptions& options, bool wordpiece) : options_(options), wordpiece_(wordpiece) {}

  void add(std::u32string_view word) override { counts_.add(word); }
  std::uint32_t num_words() const override { return counts_.size(); }

  Steps train() override {
    add_alphabet();
    std::size_t visited = 0;
    for (std::uint32_t word = 0; word < counts_.size(); ++word) {
      visited += add_word(word);
      if (visited > kSliceSymbols) {
        visited = 0;
        co_yield {"words", word, counts_.size()};
      }
    }
    pairs_.queue_touched();
    while (tokens_.size() < options_.vocab_size) {
      const std::optional<PairTable::Best> best = pairs_.pop_best();
      if (!best || best->count < std::max<std::uint64_t>(options_.min_frequency, 1)) break;
      const std::uint32_t merged = add_merge(best->pair);
      for (const std::uint32_t word : best->words) visited += merge_pair(word, best->pair, merged);
      pairs_.queue_touched();
      if (visited > kSliceSymbols) {
        visited = 0;
        co_yield {"merges", tokens_.size(), options_.vocab_size};
      }
    }
    co_return wordpiece_ ? wordpiece_model() : bpe_model();
  }

 private:
  struct Merge {
    std::uint64_t pair;
    std::uint32_t order;
  };

  // Adds special tokens and characters. Of equally frequent characters, limit_alphabet keeps the smaller code points (the
  // reference: any).
  void add_alphabet() {
    for (const std::string& token : options_.special_tokens) tokens_.add(token);
    StringTable chars;
    std::vector<std::uint64_t> counts;
    const auto count = [&](std::string_view c, std::uint64_t by) {
      const std::uint32_t number = chars.add(c);
      if (number == counts.size()) counts.push_back(0);
      counts[number] = by == UINT64_MAX ? by : counts[number] + by;
    };
    for (std::uint32_t i = 0; i < counts_.size(); ++i) {
      const std::string_view word = counts_.word(i);
      for (std::size_t begin = 0, end = 0; begin < word.size(); begin = end) {
        next_code_point(word, end);
        count(word.substr(begin, end - begin), counts_.count(i));
      }
    }
    for (const std::string& c : options_.initial_alphabet) count(c, UINT64_MAX);
    std::vector<std::uint32_t> kept(chars.size());
    for (std::uint32_t i = 0; i < kept.size(); ++i) kept[i] = i;
    if (options_.limit_alphabet && *options_.limit_alphabet < kept.size()) {
      heap_sort(kept.begin(), kept.end(), [&](std::uint32_t a, std::uint32_t b) {
        return counts[a] != counts[b] ? counts[a] > counts[b] : chars[a] < chars[b];
      });
      kept.resize(*options_.limit_alphabet);
    }
    heap_sort(kept.begin(), kept.end(), [&](std::uint32_t a, std::uint32_t b) { return chars[a] < chars[b]; });
    for (const std::uint32_t c : kept) tokens_.add(chars[c]);
  }

  // Appends the symbols of a word except for characters outside the alphabet, and counts their pairs. Returns their number.
  std::size_t add_word(std::uint32_t word) {
    const std::string_view text = counts_.word(word);
    const std::size_t from = symbols_.size();
    for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end) {
      next_code_point(text, end);
      symbol_.assign(text, begin, end - begin);
      if (tokens_.find(symbol_) == StringTable::kAbsent) continue;
      if (begin > 0 && options_.continuing_subword_prefix) symbol_.insert(0, *options_.continuing_subword_prefix);
      if (end == text.size() && options_.end_of_word_suffix) symbol_ += *options_.end_of_word_suffix;
      symbols_.push_back(tokens_.add(symbol_));
    }
    words_.push_back({from, symbols_.size()});
    for (std::size_t i = from + 1; i < symbols_.size(); ++i) {
      pairs_.add_count(pair_of(symbols_[i - 1], symbols_[i]), static_cast<std::int64_t>(counts_.count(word)), word);
    }
    return symbols_.size() - from + 1;
  }

  static std::uint64_t pair_of(std::uint32_t first, std::uint32_t second) { return std::uint64_t{first} << 32 | second; }

  // The token of a merged pair, which may exist already: "ab" + "c" after "a" + "bc".
  std::uint32_t add_merge(std::uint64_t pair) {
    const auto first = static_cast<std::uint32_t>(pair >> 32);
    const auto second = static_cast<std::uint32_t>(pair);
    std::string_view rest = tokens_[second];
    if (options_.continuing_subword_prefix && rest.starts_with(*options_.continuing_subword_prefix)) {
      rest.remove_prefix(options_.continuing_subword_prefix->size());
    }
    symbol_.assign(tokens_[first]).append(rest);
    const std::uint32_t merged = tokens_.add(symbol_);
    merges_.push_back({pair, static_cast<std::uint32_t>(merges_.size())});
    lengths_.resize(tokens_.size(), 1);
    lengths_[merged] = lengths_[first] + lengths_[second];
    return merged;
  }

  std::size_t length_of(std::uint32_t token) const { return token < lengths_.size() ? lengths_[token] : 1; }

  // Merges a pair wherever it occurs in a word, from left to right, and updates the counts of all pairs around it. As in the
  // reference, a pair that would exceed max_token_length is not counted but still discounted, which is harmless.
  std::size_t merge_pair(std::uint32_t word, std::uint64_t pair, std::uint32_t merged) {
    auto& [begin, end] = words_[word];
    const auto first = static_cast<std::uint32_t>(pair >> 32);
    const auto second = static_cast<std::uint32_t>(pair);
    const auto count = static_cast<std::int64_t>(counts_.count(word));
    const auto add = [&](std::uint32_t a, std::uint32_t b) {
      if (length_of(a) + length_of(b) < options_.max_token_length) pairs_.add_count(pair_of(a, b), count, word);
    };
    std::size_t out = begin;
    for (std::size_t i = begin; i < end; ++i) {
      if (symbols_[i] != first || i + 1 == end || symbols_[i + 1] != second) {
        symbols_[out++] = symbols_[i];
        continue;
      }
      if (out > begin) {
        pairs_.add_count(pair_of(symbols_[out - 1], first), -count, word);
        add(symbols_[out - 1], merged);
      }
      symbols_[out++] = merged;
      ++i;
      if (i + 1 < end) {
        pairs_.add_count(pair_of(second, symbols_[i + 1]), -count, word);
        add(merged, symbols_[i + 1]);
      }
    }
    const std::size_t visited = end - begin;
    end = out;
    return visited;
  }

  std::string wordpiece_model() const {
    return R"({"type":"WordPiece","unk_token":)" + json_text(options_.unk_token.value_or("[UNK]")) +
           ",\"continuing_subword_prefix\":" + json_text(options_.continuing_subword_prefix.value_or("")) +
           ",\"max_input_chars_per_word\":100,\"vocab\":" + vocab_json(tokens_) + "}";
  }

  std::string bpe_model() const {
    // As in the reference, a repeated pair has the rank of its last occurrence.
    std::vector<bool> repeated(merges_.size());
    std::vector<Merge> sorted = merges_;
    heap_sort(sorted.begin(), sorted.end(),
              [](const Merge& a, const Merge& b) { return a.pair != b.pair ? a.pair < b.pair : a.order < b.order; });
    for (std::size_t i = 1; i < sorted.size(); ++i) repeated[sorted[i - 1].order] = sorted[i - 1].pair == sorted[i].pair;
    std::string merges;
    for (const Merge& merge : merges_) {
      if (repeated[merge.order]) continue;
      merges += (merges.empty() ? "[" : ",[") + json_text(tokens_[static_cast<std::uint32_t>(merge.pair >> 32)]) + ',' +
                json_text(tokens_[static_cast<std::uint32_t>(merge.pair)]) + ']';
    }
    return bpe_json({.vocab = vocab_json(tokens_),
                     .merges = "[" + merges + "]",
                     .unk_token = options_.unk_token,
                     .continuing_subword_prefix = options_.continuing_subword_prefix,
                     .end_of_word_suffix = options_.end_of_word_suffix});
  }

  const TrainerOptions& options_;
  bool wordpiece_;
  WordCounts counts_;
  StringTable tokens_;
  std::vector<std::size_t> lengths_;                        // [tokens] characters
  std::vector<std::uint32_t> symbols_;                      // of all words; a word that shrinks leaves a gap
  std::vector<std::pair<std::size_t, std::size_t>> words_;  // begin and end in symbols_
  PairTable pairs_;
  std::vector<Merge> merges_;
  std::string symbol_;
};

}  // namespace

std::unique_ptr<VocabularyTrainer> make_bpe_trainer(const TrainerOptions& options, bool wordpiece) {
  return std::make_unique<BpeTrainer>(options, wordpiece);
}

}  // namespace wattn
