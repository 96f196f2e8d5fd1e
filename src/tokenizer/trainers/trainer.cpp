// build: -Os
#include "tokenizer/trainers/trainer.h"

#include <algorithm>
#include <utility>

#include "core/utf.h"

namespace wattn {
namespace {

constexpr std::int64_t kMaxTokens = 1 << 24;
constexpr std::int64_t kLongestPiece = 256;  // characters; limits the time and memory for the seeds

// The options of a trainer. Errors are InputErrors, because the options come from the caller. The first one is kept.
class TrainerFields {
 public:
  explicit TrainerFields(JsonRef json) : json_(json) {}

  const Error& error() const { return error_; }
  void fail(std::string_view key, const std::string& expected) {
    known_.push_back(key);
    if (error_.code == ErrorCode::kOk) {
      error_ = input_error("train: option '" + std::string(key) + "': expected " + expected + ", found " + json_[key].describe());
    }
  }
  std::optional<std::size_t> number(std::string_view key, std::int64_t least, std::int64_t most) {
    known_.push_back(key);
    if (json_[key].is_null()) return std::nullopt;
    const Result<std::int64_t> value = json_[key].as_int();
    if (value.ok() && value.value() >= least && value.value() <= most) return static_cast<std::size_t>(value.value());
    fail(key, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    return std::nullopt;
  }
  void ratio(std::string_view key, double& out) {
    known_.push_back(key);
    const Result<double> value = json_[key].as_number_or(out);
    if (!value.ok() || !(value.value() > 0 && value.value() < 1)) return fail(key, "a number between 0 and 1");
    out = value.value();
  }
  void text(std::string_view key, std::optional<std::string>& out) {
    known_.push_back(key);
    if (json_[key].is_null()) return;
    const Result<std::string_view> value = json_[key].as_string();
    if (!value.ok()) return fail(key, "a string");
    out = value.value();
  }
  void texts(std::string_view key, std::vector<std::string>& out) {
    known_.push_back(key);
    if (json_[key].is_null()) return;
    if (!json_[key].is_array()) return fail(key, "an array of strings");
    for (std::size_t i = 0; i < json_[key].size(); ++i) {
      const Result<std::string_view> value = json_[key][i].as_string();
      if (!value.ok() || value.value().empty()) return fail(key, "strings that are not empty");
      if (std::find(out.begin(), out.end(), value.value()) == out.end()) out.emplace_back(value.value());
    }
  }
  void check_known() {
    for (const auto& [key, value] : json_.members()) {
      if (key == "type" || std::find(known_.begin(), known_.end(), key) != known_.end() || value.is_null()) continue;
      std::string names;
      for (const std::string_view name : known_) names += (names.empty() ? "" : ", ") + std::string(name);
      error_ = input_error("train: unknown option '" + std::string(key) + "'; known options: " + names);
    }
  }

 private:
  JsonRef json_;
  std::vector<std::string_view> known_;
  Error error_;
};

void read_alphabet(TrainerFields& in, TrainerOptions& out) {
  in.texts("initial_alphabet", out.initial_alphabet);
  for (const std::string& c : out.initial_alphabet) {
    std::size_t end = 0;
    next_code_point(std::string_view(c), end);
    if (end != c.size()) return in.fail("initial_alphabet", "single characters");
  }
}

void read_merging(TrainerFields& in, TrainerOptions& out) {
  out.limit_alphabet = in.number("limit_alphabet", 0, kMaxTokens);
  read_alphabet(in, out);
  in.text("continuing_subword_prefix", out.continuing_subword_prefix);
  in.text("end_of_word_suffix", out.end_of_word_suffix);
  out.max_token_length = in.number("max_token_length", 1, INT32_MAX).value_or(out.max_token_length);
}

void read_unigram(TrainerFields& in, TrainerOptions& out) {
  read_alphabet(in, out);
  out.n_sub_iterations = in.number("n_sub_iterations", 1, 100).value_or(out.n_sub_iterations);
  out.max_piece_length = in.number("max_piece_length", 1, kLongestPiece).value_or(out.max_piece_length);
  out.seed_size = in.number("seed_size", 1, kMaxTokens).value_or(out.seed_size);
  in.ratio("shrinking_factor", out.shrinking_factor);
}

}  // namespace

void WordCounts::add(std::u32string_view word) {
  utf8_.clear();
  for (const char32_t c : word) append_utf8(c, utf8_);
  const std::uint32_t number = words_.add(utf8_);
  if (number == counts_.size()) counts_.push_back(0);
  ++counts_[number];
}

Result<std::unique_ptr<VocabularyTrainer>> read_trainer(JsonRef json, TrainerOptions& options) {
  TrainerFields in(json);
  const std::string_view type = json["type"].is_string() ? json["type"].as_string().value() : std::string_view();
  const bool unigram = type == "Unigram", wordpiece = type == "WordPiece", characters = type == "Char";
  if (unigram) options.vocab_size = 8000;
  options.vocab_size = in.number("vocab_size", 1, kMaxTokens).value_or(options.vocab_size);
  in.texts("special_tokens", options.special_tokens);
  in.text("unk_token", options.unk_token);
  if (!unigram) options.min_frequency = in.number("min_frequency", 0, INT32_MAX).value_or(0);
  if (unigram) {
    read_unigram(in, options);
  } else if (type == "BPE" || wordpiece) {
    read_merging(in, options);
  } else if (characters) {
    read_alphabet(in, options);
  } else if (type != "WordLevel") {
    in.fail("type", "BPE, WordPiece, Unigram, WordLevel or Char");
  }
  const auto& special = options.special_tokens;
  if (options.unk_token && std::find(special.begin(), special.end(), *options.unk_token) == special.end()) {
    in.fail("unk_token", "one of special_tokens");
  }
  if (special.size() > options.vocab_size) in.fail("vocab_size", "room for the special tokens");
  in.check_known();
  if (in.error().code != ErrorCode::kOk) return in.error();
  if (unigram) return make_unigram_trainer(options);
  if (type == "WordLevel" || characters) return make_ranking_trainer(options, characters);
  return make_bpe_trainer(options, wordpiece);
}

}  // namespace wattn
