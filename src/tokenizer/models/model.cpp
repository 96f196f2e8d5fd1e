#include "tokenizer/models/model.h"

#include "tokenizer/component.h"
#include "tokenizer/models/readers.h"

namespace wattn {

namespace {

constexpr ComponentReader<Model> kReaders[] = {
    {"WordPiece", read_wordpiece},
};

}  // namespace

ModelResult read_model(JsonRef json) {
  // Files of old versions do not name the model's type; WordPiece is the one with these fields.
  const bool is_old_wordpiece =
      json.is_object() && !json["type"].exists() && !json["merges"].exists() && json["max_input_chars_per_word"].exists();
  return is_old_wordpiece ? read_wordpiece(json, 0) : read_component<Model>(json, 0, "model", kReaders);
}

}  // namespace wattn
