#include "models/retrieval_config.h"

#include "core/fields.h"

namespace wattn {
namespace {

constexpr std::int64_t kMostTokens = 1 << 20;
constexpr std::string_view kPunctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";  // Python's string.punctuation

void set_punctuation(TokenVectorsConfig& out) {
  out.skiplist.clear();
  for (const char mark : kPunctuation) out.skiplist.emplace_back(1, mark);
}

// The member as a list of words; null and absence leave the list as it is.
void read_words(Fields& config, std::string_view key, std::vector<std::string>& out) {
  if (!config.has(key)) return;
  out.clear();
  config.each(config.array(key), [&](JsonRef word) { out.emplace_back(config.take(word.as_string())); });
}

RepositoryModule to_module(std::string_view type, std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  return {std::string(type.substr(type.rfind('.') + 1)), std::string(path)};
}

}  // namespace

Result<void> parse_pylate(JsonRef json, TokenVectorsConfig& out) {
  Fields config(json);
  out.query_prefix = config.string_or("query_prefix", out.query_prefix);
  out.document_prefix = config.string_or("document_prefix", out.document_prefix);
  out.query_length = config.size_or("query_length", kMostTokens, out.query_length);
  out.document_length = config.size_or("document_length", kMostTokens, out.document_length);
  out.expand_queries = config.boolean_or("do_query_expansion", true);
  out.attend_to_expansion = out.expand_queries && config.boolean_or("attend_to_expansion_tokens", false);
  set_punctuation(out);
  read_words(config, "skiplist_words", out.skiplist);
  return config.result();
}

Result<void> parse_colbert_metadata(JsonRef json, TokenVectorsConfig& out) {
  Fields metadata(json);
  out.query_prefix = metadata.string_or("query_token_id", "[unused0]");
  out.document_prefix = metadata.string_or("doc_token_id", "[unused1]");
  out.query_length = metadata.size_or("query_maxlen", kMostTokens, out.query_length);
  out.document_length = metadata.size_or("doc_maxlen", kMostTokens, out.document_length);
  out.attend_to_expansion = metadata.boolean_or("attend_to_mask_tokens", false);
  out.dim = metadata.size_or("dim", kMostTokens, out.dim);
  set_punctuation(out);
  return metadata.result();
}

Result<void> parse_query_expansion(JsonRef json, TokenVectorsConfig& out) {
  Fields config(json);
  out.query_length = config.size_or("query_length", kMostTokens, 0);
  out.document_length = config.size_or("document_length", kMostTokens, 0);
  out.expand_queries = config.has("query_expansion");
  if (!out.expand_queries) return config.result();
  Fields expansion(config["query_expansion"], {"strategy", "attend", "token", "length"});
  expansion.expect("strategy", "fixed");
  out.attend_to_expansion = expansion.boolean_or("attend", false);
  out.expansion_token = expansion.string_or("token", "");
  out.query_length = expansion.size("length", kMostTokens);
  return config.ok() ? expansion.result() : config.result();
}

Result<void> parse_multi_vector_mask(JsonRef json, TokenVectorsConfig& out) {
  Fields config(json);
  read_words(config, "skiplist_words", out.skiplist);
  out.skip_unknown = false;
  config.absent("keep_only_token_ids");
  std::vector<std::string> tasks{"document"};
  read_words(config, "skiplist_tasks", tasks);
  bool of_documents = false;
  for (const std::string& task : tasks) {
    (task == "query" ? out.skiplist_of_queries : of_documents) = true;
    if (task != "query" && task != "document") config.unsupported("skiplist_tasks", "\"query\" and \"document\"");
  }
  if (!of_documents && !out.skiplist.empty()) config.unsupported("skiplist_tasks", "\"document\" among the tasks");
  return config.result();
}

Result<void> parse_splade_pooling(JsonRef json, SpladeConfig& out) {
  Fields config(json);
  out.sum = config.choice<bool>("pooling_strategy", {{"max", false}, {"sum", true}}, "max");
  out.twice = config.choice<bool>("activation_function", {{"relu", false}, {"log1p_relu", true}}, "relu");
  return config.result();
}

Result<std::vector<RepositoryModule>> parse_module_list(JsonRef modules) {
  if (!modules.is_array() || modules.size() == 0) return modules.mismatch("an array of modules");
  std::vector<RepositoryModule> out;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    Fields module(modules[i]);
    const std::string_view type = module.string("type");
    out.push_back(to_module(type, module.string_or("path", "")));
    if (!module.ok()) return module.error();
  }
  return out;
}

Result<std::vector<RepositoryModule>> parse_route(JsonRef router, std::string_view route) {
  Fields config(router["structure"]);
  const JsonRef types = router["types"];
  std::vector<RepositoryModule> out;
  config.each(config.array(route), [&](JsonRef name) {
    const std::string_view path = config.take(name.as_string());
    if (config.ok()) out.push_back(to_module(config.take(types[path].as_string()), path));
  });
  if (!config.ok()) return config.error();
  if (out.empty()) return config[route].mismatch("the names of modules");
  return out;
}

}  // namespace wattn
