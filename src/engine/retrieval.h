// What a model for late interaction or sparse vectors has in addition to its transformer and head.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "engine/documents.h"
#include "io/weight_loader.h"
#include "models/retrieval_config.h"
#include "models/sentence_config.h"
#include "tokenizer/tokenizer.h"

namespace wattn {

// How queries, or documents, become tokens.
struct TokenVectorsRole {
  std::optional<std::int32_t> prefix{};  // id of the token after the first one
  std::int64_t length = 0;               // most tokens; 0: the model's limit
  bool expand = false;                   // to length, with expansion_id
  std::vector<std::int32_t> skiplist{};  // ids of the tokens that get no vector, sorted
};

// bge-m3's head for sparse vectors (arXiv 2402.03216): a token's weight is relu(w . state + b).
struct LexicalHead {
  std::vector<float> weight{};  // [hidden]; empty: the model has no such head
  float bias = 0;
  std::vector<std::int32_t> unweighted{};  // ids of special tokens, sorted
};

struct RetrievalParts {
  Retrieval kind = Retrieval::kNone;
  // For the loader, which takes both.
  SentenceConfig sentence{};  // dense: of each token's state
  std::optional<Tokenizer> tokenizer{};

  // Late interaction.
  TokenVectorsRole query{}, document{};
  std::int32_t expansion_id = -1;
  bool attend_to_expansion = false;

  // bge-m3's, for both: then documents and queries have a vector for each token but the first.
  LexicalHead lexical{};

  // Sparse vectors.
  SpladeConfig splade{};
  std::vector<float> query_weights{};          // [vocab] of the words of queries, which run no model; empty: they do
  std::optional<Tokenizer> query_tokenizer{};  // with query_weights

  // In addition to those of the stacks, the head and the Dense modules.
  std::vector<WeightTarget> targets{};
  std::vector<std::string> weight_files{};
};

// documents: config.json, the tokenizer's files and, if present: modules.json, the config.json of each module,
// config_sentence_transformers.json, sentence_bert_config.json; artifact.metadata; router_config.json, and the tokenizer's files in
// the folder of the queries' module.
struct RetrievalReader {
  // kind: never kNone.
  Result<std::shared_ptr<RetrievalParts>> (*read)(Retrieval kind, const Documents& documents, JsonRef config);
};
extern const RetrievalReader kRetrievalReader;

// Whether the repository has the heads of bge-m3: JS adds config.json files of them, with in_features and out_features, in the
// place of the folders of modules.
constexpr const char* kSparseLinear = "sparse_linear";
constexpr const char* kColbertLinear = "colbert_linear";
inline bool has_lexical_head(const Documents& documents) { return documents.has(std::string(kSparseLinear) + "/config.json"); }

}  // namespace wattn
