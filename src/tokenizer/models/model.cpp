// build: -Os
#include "tokenizer/models/model.h"

#include "tokenizer/component.h"

namespace wattn {
namespace {

struct ModelReader {
  std::string_view type;
  ModelResult (*read)(JsonRef json, JsonRef options);
};

constexpr ModelReader kReaders[] = {
    {"BPE", read_bpe},
    {"Unigram", read_unigram},
    {"WordLevel", read_word_level},
    {"WordPiece", read_wordpiece},
};

}  // namespace

// Files of old versions do not name the model's type; the fields tell which it is.
Result<std::string_view> type_of_model(JsonRef json) {
  if (!json.is_object() || json["type"].exists() || !json["vocab"].exists()) return read_component_type(json, 0, "model");
  if (json["merges"].exists()) return std::string_view("BPE");
  if (json["vocab"].is_array()) return std::string_view("Unigram");
  return std::string_view(json["max_input_chars_per_word"].exists() ? "WordPiece" : "WordLevel");
}

ModelResult read_model(JsonRef json, JsonRef options) {
  const Result<std::string_view> type = type_of_model(json);
  if (!type.ok()) return type.error();
  std::string known;
  for (const ModelReader& reader : kReaders) {
    if (reader.type == type.value()) return reader.read(json, options);
    known += (known.empty() ? "" : ", ") + std::string(reader.type);
  }
  return unknown_component(json, "model", known);
}

}  // namespace wattn
