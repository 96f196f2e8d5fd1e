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

// A Dense module: activation(x W^T + b) over the pooled vector, or over each token's for late interaction; its weights are in path
// +
// "/model.safetensors".
struct DenseConfig {
  std::string path{};  // "2_Dense"; empty: among the encoder's weights
  std::int64_t in = 0;
  std::int64_t out = 0;
  bool bias = true;
  Activation activation = Activation::kTanh;
};

struct SentenceConfig {
  std::vector<PoolingMode> pooling;            // empty: the repository names none
  std::vector<DenseConfig> dense;              // in order, between pooling and normalize
  bool include_prompt = true;                  // false: the prompt's tokens are not pooled
  bool normalize = false;                      // a Normalize module follows
  std::optional<std::int64_t> max_seq_length;  // tokens, including special ones
  bool lowercase = false;                      // do_lower_case: the tokenizer must lowercase
  std::map<std::string, std::string, std::less<>> prompts;
  std::string default_prompt_name;  // empty: none
};

// modules.json: Transformer, then optionally Pooling, any number of Dense, and Normalize, with Dropout among them; an
// UnsupportedError names any other module. pooling_path: the folder of the pooling's config.json.
struct ModuleList {
  bool pooling = false;
  std::string pooling_path;
  std::vector<std::string> dense_paths;
  bool normalize = false;
};
Result<ModuleList> parse_modules(JsonRef modules);

Result<void> parse_pooling(JsonRef pooling_config, SentenceConfig& out);
// input: what the module must transform.
Result<void> parse_dense(JsonRef dense_config, std::string_view path, SentenceConfig& out,
                         const char* input = "sentence_embedding");
Result<void> parse_sentence_bert(JsonRef sentence_bert_config, SentenceConfig& out);
Result<void> parse_prompts(JsonRef config_sentence_transformers, SentenceConfig& out);

}  // namespace wattn
