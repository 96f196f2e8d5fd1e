// The common base of models with a Vocabulary.
#pragma once

#include <utility>

#include "tokenizer/models/model.h"
#include "tokenizer/vocabulary.h"

namespace wattn {

class VocabularyModel : public TokenModel {
 public:
  explicit VocabularyModel(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}

  std::optional<std::int32_t> token_to_id(std::string_view token) const override {
    const std::int32_t id = vocabulary_.find(token);
    return id == Vocabulary::kAbsent ? std::nullopt : std::optional<std::int32_t>(id);
  }
  std::optional<std::string_view> id_to_token(std::int32_t id) const override { return vocabulary_.token(id); }
  std::int32_t num_tokens() const override { return vocabulary_.num_tokens(); }
  std::int32_t num_ids() const override { return vocabulary_.num_ids(); }

 protected:
  const Vocabulary& vocabulary() const { return vocabulary_; }

 private:
  Vocabulary vocabulary_;
};

}  // namespace wattn
