// A model whose last tokens only affect how text is split and are never produced. No tokenizer.json has it; formats/m2m_100.cpp
// does.
#include <algorithm>
#include <utility>

#include "core/fields.h"
#include "tokenizer/models/model.h"

namespace wattn {
namespace {

class KnownTokens : public TokenModel {
 public:
  KnownTokens(std::unique_ptr<TokenModel> model, std::int32_t known) : model_(std::move(model)), known_(known) {}

  bool tokenize(std::u32string_view word, std::vector<Token>& out) const override {
    const std::size_t from = out.size();
    const bool done = model_->tokenize(word, out);
    for (std::size_t i = from; i < out.size(); ++i) {
      if (out[i].id >= known_) out[i].id = unknown_id();
    }
    return done;
  }
  std::optional<std::int32_t> token_to_id(std::string_view token) const override {
    const std::optional<std::int32_t> id = model_->token_to_id(token);
    return id && *id < known_ ? id : std::nullopt;
  }
  std::optional<std::string_view> id_to_token(std::int32_t id) const override {
    return id < known_ ? model_->id_to_token(id) : std::nullopt;
  }
  std::int32_t num_tokens() const override { return known_; }
  std::int32_t unknown_id() const override { return model_->unknown_id(); }
  std::int32_t num_ids() const override { return known_; }

 private:
  std::unique_ptr<TokenModel> model_;
  std::int32_t known_;
};

ModelResult with_known_tokens(std::unique_ptr<TokenModel> model, JsonRef json) {
  Fields fields(json);
  const std::int64_t known = fields.size("num_known", model->num_ids());
  if (fields.ok() && (model->unknown_id() < 0 || model->unknown_id() >= known))
    fields.mismatch("num_known", "a number above the id of unk_token");
  if (!fields.ok()) return fields.error();
  return ModelResult(std::make_unique<KnownTokens>(std::move(model), static_cast<std::int32_t>(known)));
}

}  // namespace

const KnownTokenModels kKnownTokenModels{with_known_tokens};

}  // namespace wattn
