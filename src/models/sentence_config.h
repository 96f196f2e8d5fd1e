// The configuration files of a sentence-transformers repository: modules.json, the config.json of its modules,
// sentence_bert_config.json, config_sentence_transformers.json. All are optional, in their old (before 2026) or new form.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "ops/linear.h"
#include "ops/pooling.h"

namespace wattn {

// A module behind the pooling, or of late interaction over each token's vector. Weights are in path + file.
struct SentenceModule {
  enum class Kind : std::uint8_t {
    kDense,      // activation(x W^T + b), to which x or its projection may be added
    kLayerNorm,  // with torch's default epsilon
    kNormalize,  // to length 1
  };
  Kind kind = Kind::kDense;
  std::string path{};   // "2_Dense"; empty: among the encoder's weights
  std::int64_t in = 0;  // 0: whatever comes
  std::int64_t out = 0;
  bool bias = true;
  Activation activation = Activation::kTanh;
  bool residual = false;  // x is added, or, if out differs from in, x R^T
  const char* file = "/model.safetensors";
  bool projects_residual() const { return residual && in != out; }
};

struct SentenceConfig {
  std::vector<PoolingMode> pooling;            // empty: the repository names none
  std::vector<SentenceModule> modules;         // in order, between pooling and normalize
  bool include_prompt = true;                  // false: the prompt's tokens are not pooled
  bool normalize = false;                      // a Normalize module follows
  std::optional<std::int64_t> max_seq_length;  // tokens, including special ones
  std::optional<std::int64_t> truncate_dim;    // keep only the first components of the vector
  bool normalize_truncated = false;            // at unit length again (written by `wattn pack --dim`)
  bool lowercase = false;                      // do_lower_case: the tokenizer must lowercase
  std::map<std::string, std::string, std::less<>> prompts;
  std::string default_prompt_name;  // empty: none
};

// modules.json: Transformer, then optionally Pooling and any number of Dense, LayerNorm and Normalize, with Dropout among them; an
// UnsupportedError names any other module. pooling_path: the folder of the pooling's config.json.
struct ModuleList {
  struct Entry {
    SentenceModule::Kind kind;
    std::string path;
  };
  bool pooling = false;
  std::string pooling_path;
  std::vector<Entry> modules;  // between pooling and normalize
  bool normalize = false;      // the last one
};
Result<ModuleList> parse_modules(JsonRef modules);

Result<void> parse_pooling(JsonRef pooling_config, SentenceConfig& out);
// input: what the module must transform.
Result<void> parse_dense(JsonRef dense_config, std::string_view path, SentenceConfig& out,
                         const char* input = "sentence_embedding");
Result<void> parse_layer_norm(JsonRef layer_norm_config, std::string_view path, SentenceConfig& out);
Result<void> parse_sentence_bert(JsonRef sentence_bert_config, SentenceConfig& out);
Result<void> parse_prompts(JsonRef config_sentence_transformers, SentenceConfig& out);

}  // namespace wattn
