// The configuration files of models for retrieval beside plain sentence vectors. Late interaction (ColBERT, arXiv 2004.12832): a
// vector for each token. Sparse vectors (SPLADE, arXiv 2109.10086): a weight for each word of the vocabulary.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/result.h"

namespace wattn {

enum class Retrieval : std::uint8_t { kNone, kTokenVectors, kSparse };

// How texts become tokens with vectors. Defaults are PyLate's.
struct TokenVectorsConfig {
  std::string query_prefix = "[Q] ";  // a token after the first one; empty: none
  std::string document_prefix = "[D] ";
  std::int64_t query_length = 32;  // tokens, with the prefix
  std::int64_t document_length = 180;
  bool expand_queries = true;         // to query_length, with mask tokens
  bool attend_to_expansion = false;   // whether keys and values of these mask tokens are used
  std::string expansion_token;        // empty: the tokenizer's mask token, else its end-of-sequence token
  std::vector<std::string> skiplist;  // tokens of documents that get no vector
  bool skip_unknown = true;           // a word of the skiplist that is no token stands for the unknown token
  bool skiplist_of_queries = false;   // the skiplist is for queries too
  std::int64_t dim = 128;             // of the original ColBERT's vectors
};

// config_sentence_transformers.json as PyLate writes it.
Result<void> parse_pylate(JsonRef config, TokenVectorsConfig& out);
// artifact.metadata of the original ColBERT, as PyLate reads it.
Result<void> parse_colbert_metadata(JsonRef metadata, TokenVectorsConfig& out);
// sentence_bert_config.json of sentence-transformers' MultiVectorEncoder, and the config.json of its MultiVectorMask.
Result<void> parse_query_expansion(JsonRef config, TokenVectorsConfig& out);
Result<void> parse_multi_vector_mask(JsonRef config, TokenVectorsConfig& out);

// SpladePooling: over the tokens of a text, the maximum or the sum of log(1 + max(0, logit)).
struct SpladeConfig {
  bool sum = false;
  bool twice = false;                // log(1 + ..) of that once more
  std::int64_t max_active_dims = 0;  // at most so many weights of a text; 0: any number
};
Result<void> parse_splade_pooling(JsonRef config, SpladeConfig& out);

// The modules of a repository by the last word of their type, in order.
struct RepositoryModule {
  std::string type;
  std::string path;  // without '/' at the end
};
Result<std::vector<RepositoryModule>> parse_module_list(JsonRef modules);
// The modules of one route ("query", "document") of router_config.json.
Result<std::vector<RepositoryModule>> parse_route(JsonRef router_config, std::string_view route);

}  // namespace wattn
