// What a class of transformers makes of a vocabulary: its stages as parts of a tokenizer.json (class_stages.cpp), the model's
// options (class_models.cpp) and the tokens around a text (class_templates.cpp).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "tokenizer/formats/classes.h"
#include "tokenizer/formats/special_tokens.h"
#include "tokenizer/tokenizer.h"

namespace wattn {

struct PieceModel;

struct ClassFolder {
  const ClassRules& rules;
  JsonRef settings;        // tokenizer_config.json
  JsonRef file;            // tokenizer.json; absent without one
  bool lowercases = true;  // without do_lower_case, where the class's default is true
};

// "normalizer", "pre_tokenizer" and "decoder", each with a comma after it. charsmap: in base64, or empty.
Result<std::string> class_stages(const ClassFolder& folder, std::string_view charsmap);

// The table of a tokenizer.json's Precompiled normalizer; empty if it has none.
std::string_view charsmap_of(JsonRef file);

// The options of the model, as an object: they take precedence over those of a tokenizer.json. pieces: of its SentencePiece file,
// or null.
Result<std::string> model_options(const ClassFolder& folder, const SpecialTokens& special, const PieceModel* pieces);

struct ScoredPiece {
  std::string text;
  double score = 0;
};

// The pieces in the class's order: a few tokens, those of the file from a number on, and more tokens (class_pieces.cpp).
Result<std::vector<ScoredPiece>> numbered_pieces(const ClassFolder& folder, const SpecialTokens& special, const PieceModel& model);
// mBART's languages, in the order of their ids.
std::vector<std::string> class_languages(std::string_view name);
std::string extra_id(std::int64_t number);
Result<std::int64_t> class_number(JsonRef settings, std::string_view key, std::int64_t fallback);

// The model of a SentencePiece file, numbered as the class numbers it (class_pieces.cpp).
Result<std::string> model_of_pieces(const ClassFolder& folder, const SpecialTokens& special, const PieceModel& pieces);

// Adds the tokens that the class itself adds. pieces: as above.
Result<void> add_class_tokens(const ClassFolder& folder, const PieceModel* pieces, SpecialTokens& special);

// The post-processor as JSON, with the ids of a tokenizer that has none yet; empty: that of tokenizer.json stays.
Result<std::string> class_template(const ClassFolder& folder, const SpecialTokens& special, const Tokenizer& tokenizer);

}  // namespace wattn
