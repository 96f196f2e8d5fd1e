#include "engine/retrieval.h"

#include <algorithm>

#include "core/fields.h"

namespace wattn {
namespace {

using Modules = std::vector<RepositoryModule>;
constexpr const char* kSettings = "config_sentence_transformers.json";
constexpr const char* kTransformerSettings = "sentence_bert_config.json";

// Reads a file if there is one.
template <class Parse>
Result<void> parse_file(const Documents& documents, std::string_view name, const Parse& parse) {
  if (!documents.has(name)) return {};
  const auto json = documents.read(name);
  return json.ok() ? parse(json.value().root()) : Result<void>(json.error());
}

Result<void> read_sentence_files(const Documents& documents, SentenceConfig& out) {
  if (auto e = parse_file(documents, kTransformerSettings, [&](JsonRef json) { return parse_sentence_bert(json, out); }); !e.ok())
    return e;
  return parse_file(documents, kSettings, [&](JsonRef json) { return parse_prompts(json, out); });
}

Error unexpected(const RepositoryModule& module, const char* expected) {
  return unsupported_error("modules.json: type: expected " + std::string(expected) + ", found " + module.type);
}

// The content of a special token in tokenizer_config.json, which is a string or an object; empty if there is none.
Result<std::string> special_token(const Documents& documents, const char* key) {
  std::string out;
  auto read = parse_file(documents, "tokenizer_config.json", [&](JsonRef json) -> Result<void> {
    const JsonRef token = json[key];
    const auto content = (token.is_object() ? token["content"] : token).as_string_or("");
    if (!content.ok()) return content.error();
    out = content.value();
    return {};
  });
  if (!read.ok()) return read.error();
  return out;
}

// A token's id. from: the file and member that name it.
Result<std::int32_t> id_of(const Tokenizer& tokenizer, std::int64_t vocab, const std::string& token, const std::string& from) {
  const auto id = tokenizer.token_to_id(token);
  if (id && *id < vocab) return *id;
  return model_format_error(from + ": expected a token of the tokenizer with an embedding, found " + shown_text(token));
}

// Modules after the Transformer: Dense, and what sentence-transformers adds to them. is_pylate: it adds nothing.
Result<void> read_token_modules(const Documents& documents, bool& is_pylate, TokenVectorsConfig& config, SentenceConfig& sentence) {
  const auto json = documents.read("modules.json");
  if (!json.ok()) return json.error();
  const auto modules = parse_module_list(json.value().root());
  if (!modules.ok()) return modules.error();
  is_pylate = true;
  bool normalizes = false;
  for (std::size_t i = 0; i < modules.value().size(); ++i) {
    const RepositoryModule& module = modules.value()[i];
    if (i == 0 && module.type == "Transformer" && module.path.empty()) continue;
    if (i > 0 && is_pylate && module.type == "Dense" && !module.path.empty()) {
      const std::string file = module.path + "/config.json";
      const auto dense = documents.read(file);
      if (!dense.ok()) return dense.error();
      if (auto e = parse_dense(dense.value().root(), module.path, sentence, "token_embeddings"); !e.ok()) return e;
    } else if (i > 0 && module.type == "MultiVectorMask" && !module.path.empty()) {
      is_pylate = false;
      const auto mask = documents.read(module.path + "/config.json");
      if (!mask.ok()) return mask.error();
      if (auto e = parse_multi_vector_mask(mask.value().root(), config); !e.ok()) return e;
    } else if (!is_pylate && !normalizes && module.type == "Normalize") {
      normalizes = true;
    } else {
      return unexpected(module, "Transformer and Dense, then optionally MultiVectorMask and Normalize");
    }
  }
  if (is_pylate && sentence.modules.empty()) {
    return unsupported_error(
        "modules.json: expected a Dense module after Transformer, found none (PyLate would initialise one at random)");
  }
  if (!is_pylate && !normalizes) return unsupported_error("modules.json: expected Normalize after MultiVectorMask, found none");
  return {};
}

bool is_original_colbert(JsonRef config) {
  const JsonRef first = config["architectures"][0];
  return first.is_string() && first.as_string().value() == "HF_ColBERT";
}

Result<TokenVectorsConfig> read_token_vectors_config(const Documents& documents, JsonRef config, SentenceConfig& sentence) {
  TokenVectorsConfig out;
  if (documents.has("modules.json")) {
    bool is_pylate = false;
    if (auto e = read_token_modules(documents, is_pylate, out, sentence); !e.ok()) return e.error();
    if (!is_pylate) out.query_prefix = out.document_prefix = "";  // they are prompts
    const auto parse = [&](JsonRef json) { return is_pylate ? parse_pylate(json, out) : parse_query_expansion(json, out); };
    if (is_pylate && !documents.has(kSettings))
      return model_format_error(std::string(kSettings) + ": expected this file in the model, found none");
    if (auto e = parse_file(documents, is_pylate ? kSettings : kTransformerSettings, parse); !e.ok()) return e.error();
    auto e = parse_file(documents, kSettings, [](JsonRef json) {
      Fields fields(json);
      if (fields.string_or("similarity_fn_name", "") == "meanmaxsim") fields.unsupported("similarity_fn_name", "\"maxsim\"");
      return fields.result();
    });
    if (!e.ok()) return e.error();
    return out;
  }
  if (!is_original_colbert(config)) {
    return unsupported_error(
        "modules.json: expected this file of PyLate or sentence-transformers, or \"HF_ColBERT\" in config.json's "
        "architectures, which late interaction needs, found neither");
  }
  const auto none = Json::parse("{}", "artifact.metadata");
  if (auto e = parse_colbert_metadata(none.value().root(), out); !e.ok()) return e.error();
  const auto parse = [&](JsonRef json) { return parse_colbert_metadata(json, out); };
  if (auto e = parse_file(documents, "artifact.metadata", parse); !e.ok()) return e.error();
  const auto hidden = config["hidden_size"].as_int();
  if (!hidden.ok()) return hidden.error();
  sentence.modules.push_back({.in = hidden.value(), .out = out.dim, .bias = false, .activation = Activation::kNone});
  return out;
}

// As transformers' convert_tokens_to_ids, for which an unknown word is the unknown token.
Result<std::vector<std::int32_t>> skiplist_ids(const Documents& documents, const Tokenizer& tokenizer,
                                               const TokenVectorsConfig& config) {
  const auto unknown = special_token(documents, "unk_token");
  if (!unknown.ok()) return unknown.error();
  std::vector<std::int32_t> out;
  for (const std::string& word : config.skiplist) {
    auto id = tokenizer.token_to_id(word);
    if (!id && config.skip_unknown) id = tokenizer.token_to_id(unknown.value());
    if (id) out.push_back(*id);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

Result<std::int32_t> find_expansion_id(const Documents& documents, const Tokenizer& tokenizer, std::int64_t vocab,
                                       const std::string& named) {
  if (!named.empty()) return id_of(tokenizer, vocab, named, std::string(kTransformerSettings) + ": query_expansion.token");
  for (const char* key : {"mask_token", "eos_token"}) {
    const auto token = special_token(documents, key);
    if (!token.ok()) return token.error();
    if (!token.value().empty()) return id_of(tokenizer, vocab, token.value(), std::string("tokenizer_config.json: ") + key);
  }
  return id_of(tokenizer, vocab, "[MASK]", "tokenizer_config.json: mask_token");
}

Result<void> read_token_vectors(const Documents& documents, JsonRef config, RetrievalParts& out) {
  const auto read = read_token_vectors_config(documents, config, out.sentence);
  if (!read.ok()) return read.error();
  const TokenVectorsConfig& settings = read.value();
  if (auto e = read_sentence_files(documents, out.sentence); !e.ok()) return e;
  auto tokenizer = read_tokenizer(documents, out.sentence.lowercase);
  if (!tokenizer.ok()) return tokenizer.error();
  const auto vocab = config["vocab_size"].as_int();
  if (!vocab.ok()) return vocab.error();
  const bool has_modules = documents.has("modules.json");
  const auto find_prefix = [&](const std::string& token, const char* of_pylate, const char* of_original,
                               std::optional<std::int32_t>& id) -> Result<void> {
    if (token.empty()) return {};
    const std::string from =
        has_modules ? std::string(kSettings) + ": " + of_pylate : std::string("artifact.metadata: ") + of_original;
    const auto found = id_of(tokenizer.value(), vocab.value(), token, from);
    if (!found.ok()) return found.error();
    id = found.value();
    return {};
  };
  if (auto e = find_prefix(settings.query_prefix, "query_prefix", "query_token_id", out.query.prefix); !e.ok()) return e;
  if (auto e = find_prefix(settings.document_prefix, "document_prefix", "doc_token_id", out.document.prefix); !e.ok()) return e;
  out.query.length = settings.query_length;
  out.document.length = settings.document_length;
  out.query.expand = settings.expand_queries;
  out.attend_to_expansion = settings.attend_to_expansion;
  if (out.query.expand) {
    const auto id = find_expansion_id(documents, tokenizer.value(), vocab.value(), settings.expansion_token);
    if (!id.ok()) return id.error();
    out.expansion_id = id.value();
    auto e = parse_file(documents, "tokenizer_config.json", [](JsonRef json) {
      Fields fields(json);
      fields.expect("padding_side", "right");
      return fields.result();
    });
    if (!e.ok()) return e;
  }
  auto skiplist = skiplist_ids(documents, tokenizer.value(), settings);
  if (!skiplist.ok()) return skiplist.error();
  out.document.skiplist = std::move(skiplist).value();
  if (settings.skiplist_of_queries) out.query.skiplist = out.document.skiplist;
  out.tokenizer = std::move(tokenizer).value();
  return {};
}

// The encoder of documents: a Transformer with a masked-language head, then SpladePooling.
Result<void> read_splade(const Documents& documents, const Modules& modules, RetrievalParts& out) {
  constexpr const char* kExpected = "a Transformer with a masked-language head, then SpladePooling";
  for (const RepositoryModule& module : modules) {
    if (module.type == "SparseAutoEncoder") return unexpected(module, kExpected);  // CSR
  }
  for (std::size_t i = 0; i < std::max<std::size_t>(modules.size(), 2); ++i) {
    if (i == modules.size())
      return unsupported_error("modules.json: expected " + std::string(kExpected) + ", found no further module");
    const std::string& type = modules[i].type;
    if (i == 0 ? type != "MLMTransformer" && type != "Transformer" : i > 1 || type != "SpladePooling") {
      return unexpected(modules[i], kExpected);
    }
  }
  if (modules[0].type == "Transformer") {
    auto e = parse_file(documents, kTransformerSettings, [](JsonRef json) {
      Fields fields(json);
      if (fields.string_or("transformer_task", "feature-extraction") != "fill-mask")
        fields.unsupported("transformer_task", "\"fill-mask\"");
      return fields.result();
    });
    if (!e.ok()) return e;
  }
  return parse_file(documents, modules[1].path + "/config.json",
                    [&](JsonRef json) { return parse_splade_pooling(json, out.splade); });
}

// Queries without a model: a weight for each word.
Result<void> read_query_weights(const Documents& documents, const Modules& modules, std::int64_t vocab, RetrievalParts& out) {
  if (modules.size() != 1 || modules[0].type != "SparseStaticEmbedding") {
    return unsupported_error(
        "router_config.json: structure.query: expected SparseStaticEmbedding, or the documents' modules, found " + modules[0].type);
  }
  const std::string folder = modules[0].path + "/";
  auto e = parse_file(documents, folder + "config.json", [](JsonRef json) {
    Fields fields(json);
    fields.absent("path");  // weights in a JSON file
    return fields.result();
  });
  if (!e.ok()) return e;
  std::vector<NamedFile> files;
  for (const NamedFile& file : documents.files()) {
    if (file.name.starts_with(folder)) files.push_back({file.name.substr(folder.size()), file.bytes});
  }
  auto tokenizer = read_tokenizer(Documents(files), false);
  if (!tokenizer.ok()) return tokenizer.error();
  if (tokenizer.value().num_ids() > vocab) {
    return model_format_error(folder + "tokenizer.json: expected ids below config.json's vocab_size " + std::to_string(vocab) +
                              ", found " + std::to_string(tokenizer.value().num_ids() - 1));
  }
  out.query_tokenizer = std::move(tokenizer).value();
  out.query_weights.resize(static_cast<std::size_t>(vocab));
  out.targets.push_back({.name = folder + "weight", .shape = {vocab}, .write_row = [&out](std::int64_t, const float* row) {
                           std::copy_n(row, out.query_weights.size(), out.query_weights.begin());
                         }});
  out.weight_files.push_back(folder + "model.safetensors");
  return {};
}

Result<void> read_sparse_tokenizer(const Documents& documents, RetrievalParts& out) {
  auto tokenizer = read_tokenizer(documents, out.sentence.lowercase);
  if (!tokenizer.ok()) return tokenizer.error();
  out.tokenizer = std::move(tokenizer).value();
  return {};
}

Result<void> read_sparse(const Documents& documents, JsonRef config, RetrievalParts& out) {
  // As in sentence-transformers, a plain model with a masked-language head, which its loader asks for, is one for SPLADE.
  if (!documents.has("modules.json")) return read_sparse_tokenizer(documents, out);
  const auto json = documents.read("modules.json");
  if (!json.ok()) return json.error();
  auto modules = parse_module_list(json.value().root());
  if (!modules.ok()) return modules.error();
  if (auto e = read_sentence_files(documents, out.sentence); !e.ok()) return e;
  if (modules.value().size() == 1 && modules.value()[0].type == "Router") {
    const auto router = documents.read("router_config.json");
    if (!router.ok()) return router.error();
    auto route = parse_route(router.value().root(), "document"), queries = parse_route(router.value().root(), "query");
    if (!route.ok()) return route.error();
    if (!queries.ok()) return queries.error();
    Fields parameters(router.value().root()["parameters"]);
    parameters.expect("default_route", "document");
    parameters.absent("route_mappings");
    if (!parameters.ok()) return parameters.error();
    const auto vocab = config["vocab_size"].as_int();
    if (!vocab.ok()) return vocab.error();
    if (queries.value()[0].path != route.value()[0].path || queries.value().size() != route.value().size()) {
      if (auto e = read_query_weights(documents, queries.value(), vocab.value(), out); !e.ok()) return e;
    }
    modules = std::move(route);
  }
  if (auto e = read_splade(documents, modules.value(), out); !e.ok()) return e;
  auto limit = parse_file(documents, kSettings, [&](JsonRef settings) {
    Fields fields(settings);
    out.splade.max_active_dims = fields.size_or("max_active_dims", 1 << 30, 0);
    return fields.result();
  });
  if (!limit.ok()) return limit;
  return read_sparse_tokenizer(documents, out);
}

// Ids of the tokens that FlagEmbedding leaves out. Names that tokenizer_config.json lacks are those of XLMRobertaTokenizer.
Result<std::vector<std::int32_t>> unweighted_ids(const Documents& documents, const Tokenizer& tokenizer) {
  constexpr std::pair<const char*, const char*> kTokens[] = {
      {"cls_token", "<s>"}, {"eos_token", "</s>"}, {"pad_token", "<pad>"}, {"unk_token", "<unk>"}};
  std::vector<std::int32_t> out;
  for (const auto& [key, usual] : kTokens) {
    const auto token = special_token(documents, key);
    if (!token.ok()) return token.error();
    if (const auto id = tokenizer.token_to_id(token.value().empty() ? usual : token.value())) out.push_back(*id);
  }
  std::sort(out.begin(), out.end());
  return out;
}

// in_features and out_features of a layer that JS has described.
Result<SentenceModule> read_layer(const Documents& documents, const char* name, std::int64_t hidden) {
  const auto json = documents.read(std::string(name) + "/config.json");
  if (!json.ok()) return json.error();
  Fields fields(json.value().root());
  const std::int64_t in = fields.size("in_features", 1 << 20), out = fields.size("out_features", 1 << 20);
  if (!fields.ok()) return fields.error();
  if (in != hidden) {
    return model_format_error(std::string(name) + ".pt: weight: expected the model's hidden_size " + std::to_string(hidden) +
                              " columns, found " + std::to_string(in));
  }
  return SentenceModule{.path = name, .in = in, .out = out, .activation = Activation::kNone, .file = ".pt"};
}

// bge-m3 as FlagEmbedding saves it: beside the modules of its vectors of sentences, two linear layers over the tokens' states.
Result<void> read_m3(const Documents& documents, JsonRef config, RetrievalParts& out) {
  if (auto e = read_sentence_files(documents, out.sentence); !e.ok()) return e;
  auto tokenizer = read_tokenizer(documents, out.sentence.lowercase);
  if (!tokenizer.ok()) return tokenizer.error();
  auto ids = unweighted_ids(documents, tokenizer.value());
  if (!ids.ok()) return ids.error();
  out.lexical.unweighted = std::move(ids).value();
  out.tokenizer = std::move(tokenizer).value();
  const auto hidden = config["hidden_size"].as_int();
  if (!hidden.ok()) return hidden.error();
  const auto sparse = read_layer(documents, kSparseLinear, hidden.value());
  if (!sparse.ok()) return sparse.error();
  if (sparse.value().out != 1)
    return unsupported_error("sparse_linear.pt: weight: expected one row, found " + std::to_string(sparse.value().out));
  out.lexical.weight.resize(static_cast<std::size_t>(hidden.value()));
  const std::string layer = std::string(kSparseLinear) + "/linear.";
  out.targets.push_back(
      {.name = layer + "weight", .shape = {1, hidden.value()}, .write_row = [&out](std::int64_t, const float* row) {
         std::copy_n(row, out.lexical.weight.size(), out.lexical.weight.begin());
       }});
  out.targets.push_back(
      {.name = layer + "bias", .shape = {1}, .write_row = [&out](std::int64_t, const float* row) { out.lexical.bias = *row; }});
  out.weight_files.push_back(std::string(kSparseLinear) + ".pt");
  if (out.kind == Retrieval::kSparse) return {};
  auto tokens = read_layer(documents, kColbertLinear, hidden.value());
  if (!tokens.ok()) return tokens.error();
  out.sentence.modules.push_back(std::move(tokens).value());
  return {};
}

Result<std::shared_ptr<RetrievalParts>> read_retrieval(Retrieval kind, const Documents& documents, JsonRef config) {
  auto parts = std::make_shared<RetrievalParts>();
  parts->kind = kind;
  const auto read = has_lexical_head(documents)  ? read_m3(documents, config, *parts)
                    : kind == Retrieval::kSparse ? read_sparse(documents, config, *parts)
                                                 : read_token_vectors(documents, config, *parts);
  if (!read.ok()) return read.error();
  return parts;
}

}  // namespace

const RetrievalReader kRetrievalReader{read_retrieval};

}  // namespace wattn
