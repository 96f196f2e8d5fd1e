#include "tokenizer/models/model.h"

#include "tokenizer/component.h"

namespace wattn {
namespace {

constexpr ComponentReader<TokenModel> kReaders[] = {
    {"BPE", read_bpe},
    {"Unigram", read_unigram},
    {"WordLevel", read_word_level},
    {"WordPiece", read_wordpiece},
};

// Files of old versions do not name the model's type; the fields tell which it is.
ModelResult read_untyped(JsonRef json) {
  if (json["merges"].exists()) return read_bpe(json, 0);
  if (json["vocab"].is_array()) return read_unigram(json, 0);
  return json["max_input_chars_per_word"].exists() ? read_wordpiece(json, 0) : read_word_level(json, 0);
}

}  // namespace

ModelResult read_model(JsonRef json) {
  const bool is_untyped = json.is_object() && !json["type"].exists() && json["vocab"].exists();
  return is_untyped ? read_untyped(json) : read_component<TokenModel>(json, 0, "model", kReaders);
}

}  // namespace wattn
