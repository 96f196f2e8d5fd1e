// build: -Os
#include "tokenizer/training.h"

#include <utility>
#include <vector>

#include "tokenizer/added_tokens.h"
#include "tokenizer/component.h"
#include "tokenizer/formats/writing.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/pre_tokenizers/pre_tokenizer.h"
#include "tokenizer/trainers/trainer.h"

namespace wattn {

struct Training::Parts {
  AddedTokens no_added_tokens;
  std::unique_ptr<Normalizer> normalizer;
  std::unique_ptr<PreTokenizer> pre_tokenizer;
  TrainerOptions options;
  TokenizerParts file;  // without the model, which is trained
  std::unique_ptr<VocabularyTrainer> trainer;
  Steps steps;  // points into trainer
};

Result<Training> Training::from_json(JsonRef description) {
  Fields fields(description, {"trainer", "normalizer", "pre_tokenizer", "post_processor", "decoder"});
  auto parts = std::make_unique<Parts>();
  if (const JsonRef json = fields["normalizer"]; !json.is_null()) parts->normalizer = fields.take(read_normalizer(json));
  if (const JsonRef json = fields["pre_tokenizer"]; !json.is_null()) parts->pre_tokenizer = fields.take(read_pre_tokenizer(json));
  if (!fields.ok()) return fields.error();
  parts->file.normalizer = description["normalizer"].to_text();
  parts->file.pre_tokenizer = description["pre_tokenizer"].to_text();
  parts->file.post_processor = description["post_processor"].to_text();
  parts->file.decoder = description["decoder"].to_text();
  Result<std::unique_ptr<VocabularyTrainer>> trainer = read_trainer(fields["trainer"], parts->options);
  if (!trainer.ok()) return trainer.error();
  parts->trainer = std::move(trainer).value();
  return Training(std::move(parts));
}

Training::Training(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Training::Training(Training&&) noexcept = default;
Training& Training::operator=(Training&&) noexcept = default;
Training::~Training() = default;

Result<void> Training::feed(std::u16string_view text) {
  if (text.size() > INT32_MAX) return input_error("text: expected at most 2^31 - 1 UTF-16 units, found more");
  PreTokenizedText cut = parts_->no_added_tokens.extract(read_utf16(text), parts_->normalizer.get(), false);
  if (parts_->pre_tokenizer && !cut.text.is_too_long) parts_->pre_tokenizer->pre_tokenize(cut);
  if (cut.text.is_too_long) return too_long_error();
  for (const Split& split : cut.splits) parts_->trainer->add(cut.chars_of(split));
  return {};
}

std::uint32_t Training::num_words() const { return parts_->trainer->num_words(); }

bool Training::step() {
  if (!parts_->steps) parts_->steps = parts_->trainer->train();
  return parts_->steps.next();
}

const TrainingProgress& Training::progress() const { return parts_->steps.progress(); }

Result<std::string> Training::result() const {
  const Result<std::string>& model = parts_->steps.result();
  if (!model.ok()) return model.error();
  std::vector<SpecialToken> special;
  for (const std::string& token : parts_->options.special_tokens) {
    special.push_back({token, static_cast<std::int32_t>(special.size())});
  }
  TokenizerParts file = parts_->file;
  file.added_tokens = added_tokens_json(special);
  file.model = model.value();
  return tokenizer_json(file);
}

}  // namespace wattn
