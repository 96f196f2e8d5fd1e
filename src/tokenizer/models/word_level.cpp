// build: -Os
// WordLevel: a pre-token is a token of the vocabulary or unknown. With a pre-tokenizer that splits at every character (Split with
// the regex [\s\S], Isolated) this is a character-level model.
#include <string>

#include "core/utf.h"
#include "tokenizer/component.h"
#include "tokenizer/models/model.h"
#include "tokenizer/models/vocabulary_model.h"

namespace wattn {
namespace {

class WordLevel : public VocabularyModel {
 public:
  WordLevel(Vocabulary vocabulary, std::int32_t unk_id) : VocabularyModel(std::move(vocabulary)), unk_id_(unk_id) {}

  std::int32_t unknown_id() const override { return unk_id_; }
  bool tokenize(std::u32string_view word, std::vector<Token>& out) const override {
    std::int32_t id = unk_id_;
    if (word.size() <= vocabulary().longest_token()) id = vocabulary().find(to_utf8(word));
    if (id == Vocabulary::kAbsent) id = unk_id_;
    if (id == Vocabulary::kAbsent) return false;
    out.push_back({id, 0, static_cast<std::uint32_t>(word.size())});
    return true;
  }

 private:
  std::int32_t unk_id_;  // kAbsent: an unknown word is an error, as in the reference
};

}  // namespace

ModelResult read_word_level(JsonRef json, JsonRef) {
  Fields fields(json, {"vocab", "unk_token"});
  const std::string_view unk_token = fields.string("unk_token");
  if (!fields.ok()) return fields.error();
  Result<Vocabulary> vocabulary = Vocabulary::from_json(json["vocab"]);
  if (!vocabulary.ok()) return vocabulary.error();
  const std::int32_t unk_id = vocabulary.value().find(unk_token);
  return ModelResult(std::make_unique<WordLevel>(std::move(vocabulary).value(), unk_id));
}

}  // namespace wattn
