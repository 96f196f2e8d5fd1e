// build: -Os
// WordLevel and character level: the most frequent words (or characters) are the vocabulary.
#include <utility>

#include "core/utf.h"
#include "tokenizer/formats/writing.h"
#include "tokenizer/heap_sort.h"
#include "tokenizer/trainers/trainer.h"

namespace wattn {
namespace {

class RankingTrainer : public VocabularyTrainer {
 public:
  RankingTrainer(const TrainerOptions& options, bool characters) : options_(options), characters_(characters) {}

  void add(std::u32string_view word) override {
    if (!characters_) return counts_.add(word);
    for (std::size_t i = 0; i < word.size(); ++i) counts_.add(word.substr(i, 1));
  }
  std::uint32_t num_words() const override { return counts_.size(); }

  Steps train() override {
    std::vector<std::uint32_t> order(counts_.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    heap_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      if (counts_.count(a) != counts_.count(b)) return counts_.count(a) > counts_.count(b);
      return counts_.word(a) < counts_.word(b);
    });
    StringTable tokens;
    for (const std::string& token : options_.special_tokens) tokens.add(token);
    for (const std::string& c : options_.initial_alphabet) tokens.add(c);
    for (const std::uint32_t i : order) {
      if (tokens.size() >= options_.vocab_size || counts_.count(i) < options_.min_frequency) break;
      tokens.add(counts_.word(i));
    }
    co_return characters_ ? character_model(tokens) : word_model(tokens);
  }

 private:
  std::string word_model(const StringTable& tokens) const {
    const std::string unk_token = options_.unk_token.value_or("<unk>");  // required; this is the reference's default
    return R"({"type":"WordLevel","vocab":)" + vocab_json(tokens) + ",\"unk_token\":" + json_text(unk_token) + "}";
  }

  // BPE without merges, which splits a text into characters and which every reader of tokenizer.json supports.
  std::string character_model(const StringTable& tokens) const {
    return bpe_json({.vocab = vocab_json(tokens), .merges = "[]", .unk_token = options_.unk_token});
  }

  const TrainerOptions& options_;
  bool characters_;
  WordCounts counts_;
};

}  // namespace

std::unique_ptr<VocabularyTrainer> make_ranking_trainer(const TrainerOptions& options, bool characters) {
  return std::make_unique<RankingTrainer>(options, characters);
}

}  // namespace wattn
