// What a sentence-transformers repository says beside the weights: modules.json, the Pooling module's config.json,
// sentence_bert_config.json, config_sentence_transformers.json. All optional; old (before 2026) and new spellings are read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "ops/pooling.h"

namespace wattn {

struct SentenceConfig {
  std::vector<PoolingMode> pooling;            // empty: the repository names none
  bool include_prompt = true;                  // false: the prompt's tokens do not pool
  bool normalize = false;                      // a Normalize module follows
  std::optional<std::int64_t> max_seq_length;  // tokens, specials included
  bool lowercase = false;                      // do_lower_case: the text is lowered; a tokenizer must do it
  std::map<std::string, std::string, std::less<>> prompts;
  std::string default_prompt_name;  // empty: none
};

// modules.json: the pipeline must be Transformer, then Pooling, then Normalize (the last two optional); an
// UnsupportedError names any other module. pooling_path: where the pooling's config.json is, "" when there is none.
struct ModuleList {
  bool pooling = false;
  std::string pooling_path;
  bool normalize = false;
};
Result<ModuleList> parse_modules(JsonRef modules);

Result<void> parse_pooling(JsonRef pooling_config, SentenceConfig& out);
Result<void> parse_sentence_bert(JsonRef sentence_bert_config, SentenceConfig& out);
Result<void> parse_prompts(JsonRef config_sentence_transformers, SentenceConfig& out);

}  // namespace wattn
