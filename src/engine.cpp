#include "engine.h"

#include <algorithm>

#include "engine/documents.h"
#include "io/gguf.h"
#include "models/gguf_config.h"
#include "models/slot_list.h"

namespace wattn {
namespace {

// Bytes of logits that one call may answer with: a masked-language head gives a whole vocabulary for each token.
constexpr std::uint64_t kMostLogitBytes = 1ull << 30;

Result<SentenceConfig> read_sentence_config(const Documents& documents) {
  SentenceConfig sentence;
  if (documents.has("modules.json")) {
    auto modules = documents.read("modules.json");
    if (!modules.ok()) return modules.error();
    const auto list = parse_modules(modules.value().root());
    if (!list.ok()) return list.error();
    sentence.normalize = list.value().normalize;
    if (list.value().pooling) {
      const std::string& path = list.value().pooling_path;
      auto pooling = documents.read((path.empty() ? path : path + "/") + "config.json");
      if (!pooling.ok()) return pooling.error();
      if (auto e = parse_pooling(pooling.value().root(), sentence); !e.ok()) return e.error();
    }
    for (const std::string& path : list.value().dense_paths) {
      auto dense = documents.read(path + "/config.json");
      if (!dense.ok()) return dense.error();
      if (auto e = parse_dense(dense.value().root(), path, sentence); !e.ok()) return e.error();
      const std::size_t count = sentence.dense.size();
      if (count > 1 && sentence.dense[count - 2].out != sentence.dense[count - 1].in) {
        return dense.value().root()["in_features"].mismatch("the module before's " + std::to_string(sentence.dense[count - 2].out));
      }
    }
  }
  using Parse = Result<void> (*)(JsonRef, SentenceConfig&);
  const std::pair<const char*, Parse> optional[] = {{"sentence_bert_config.json", parse_sentence_bert},
                                                    {"config_sentence_transformers.json", parse_prompts}};
  for (const auto& [name, parse] : optional) {
    if (!documents.has(name)) continue;
    auto json = documents.read(name);
    if (!json.ok()) return json.error();
    if (auto e = parse(json.value().root(), sentence); !e.ok()) return e.error();
  }
  return sentence;
}

// sentence_bert_config.json rules where it speaks; else the tokenizer's own limit; never more than the positions.
std::int64_t choose_max_length(const SentenceConfig& sentence, const Tokenizer& tokenizer, std::int64_t positions) {
  if (sentence.max_seq_length) return std::min(*sentence.max_seq_length, positions);
  if (const auto limit = tokenizer.model_max_length()) return std::min<std::int64_t>(*limit, positions);
  return positions;
}

// The Dense modules' memory and slots, one file each after the encoder's.
Result<Arena> take_dense(const SentenceConfig& sentence, const Kernels& kernels, std::vector<Linear>& layers) {
  const auto take = [&](Arena& arena) {
    layers.clear();
    for (const DenseConfig& dense : sentence.dense) {
      layers.push_back(take_linear(arena, kernels, WeightType::kF32, dense.in, dense.out, dense.bias));
    }
  };
  Arena measure;
  take(measure);
  auto arena = Arena::with_zeros(measure.used(), "weights of Dense");
  if (arena.ok()) take(arena.value());
  return arena;
}

void add_dense_slots(const SentenceConfig& sentence, const std::vector<Linear>& layers, std::vector<WeightSlot>& slots) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Linear& layer = layers[i];
    slots.push_back(
        {sentence.dense[i].path + "/linear.weight", {layer.out, layer.in}, true, [layer](std::int64_t j, const float* row) {
           set_weight_row(layer, j, row);
         }});
    if (!layer.bias) continue;
    slots.push_back({sentence.dense[i].path + "/linear.bias", {layer.out}, true, [layer](std::int64_t, const float* row) {
                       std::copy_n(row, layer.out, layer.bias);
                     }});
  }
}

Result<Head> make_head(HeadKind kind, JsonRef config, const Encoder& encoder) {
  const auto layers = Head::find_layers(kind, config);
  if (!layers.ok()) return layers.error();
  HeadShape shape{.hidden = encoder.config().hidden_size,
                  .width = encoder.config().hidden_size,
                  .labels = 2,  // start and end
                  .norm_eps = encoder.config().layer_norm_eps};
  if (kind == HeadKind::kMaskedLm) {
    shape.width = encoder.word_embeddings().hidden;
    shape.labels = encoder.word_embeddings().rows;
  } else if (kind != HeadKind::kAnswer) {
    const auto labels = Head::num_labels(config);
    if (!labels.ok()) return labels.error();
    shape.labels = labels.value();
  }
  return Head::with_layers(kind, layers.value(), shape, encoder.kernels());
}

}  // namespace

std::uint64_t Engine::arena_bytes() const {
  const std::int64_t tokens = token_budget();
  Arena measure;
  measure.take<float>(tokens * encoder_.config().hidden_size);
  return measure.used() + encoder_.forward_bytes(tokens, encoder_.config().max_position_embeddings, team_.most_threads());
}

void Engine::add_text(const Encoding& encoding, Batch& batch) const {
  batch.add_sequence(encoding.ids, encoding.type_ids);
  const auto added = static_cast<std::ptrdiff_t>(encoding.size());
  if (encoder_.config().type_vocab_size == 1) std::fill(batch.token_type_ids.end() - added, batch.token_type_ids.end(), 0);
}

Result<const float*> Engine::run(const Batch& batch, Taps* taps) {
  if (auto checked = encoder_.check(batch); !checked.ok()) return checked.error();
  if (batch.tokens() > token_budget()) {
    return input_error("input_ids: expected at most " + std::to_string(token_budget()) + " tokens in one run, found " +
                       std::to_string(batch.tokens()));
  }
  if (arena_.measuring()) {
    auto arena = Arena::with_bytes(arena_bytes(), "activations");
    if (!arena.ok()) return arena.error();
    arena_ = std::move(arena).value();
  }
  arena_.reset();
  float* hidden = arena_.take<float>(token_budget() * encoder_.config().hidden_size);
  encoder_.forward(team_, batch, arena_, hidden, taps);
  return static_cast<const float*>(hidden);
}

void Engine::run_dense(const float* pooled, std::int64_t count, std::vector<float>& out) {
  const std::int64_t in = dense_.empty() ? 0 : dense_.front().in;
  out.assign(pooled, pooled + count * in);
  for (std::size_t i = 0; i < dense_.size(); ++i) {
    std::vector<float> next(static_cast<std::size_t>(count * dense_[i].out));
    const ThreadTeam::Awake awake(team_);
    linear({kernels(), team_}, dense_[i], out.data(), count, sentence_.dense[i].activation, {}, next.data());
    out = std::move(next);
  }
}

Result<void> Engine::run_head(const float* hidden, const Batch& batch, std::span<const std::int32_t> tokens,
                              std::vector<float>& logits) {
  const std::size_t at = logits.size();
  const std::size_t more = tokens.size() * static_cast<std::size_t>(head_->labels());
  if ((at + more) * sizeof(float) > kMostLogitBytes) {
    return input_error("logits: expected at most " + std::to_string(kMostLogitBytes / sizeof(float) / head_->labels()) +
                       " tokens of " + std::to_string(head_->labels()) + " logits in one call, found more");
  }
  const std::int64_t size = encoder_.config().hidden_size;
  std::vector<float> rows(tokens.size() * static_cast<std::size_t>(size));
  constexpr PoolingMode kMean[] = {PoolingMode::kMean};
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const float* row = hidden + tokens[i] * size;
    float* out = rows.data() + i * static_cast<std::size_t>(size);
    if (head_->of_mean()) {
      const std::int32_t end = *std::upper_bound(batch.seq_start.begin(), batch.seq_start.end(), tokens[i]);
      pool(kernels(), kMean, row, end - tokens[i], size, 0, out);
    } else {
      std::copy_n(row, size, out);
    }
  }
  logits.resize(at + more);
  const ThreadTeam::Awake awake(team_);
  head_->run({kernels(), team_}, encoder_.word_embeddings(), rows.data(), static_cast<std::int64_t>(tokens.size()),
             logits.data() + at);
  return {};
}

Result<std::unique_ptr<EngineLoader>> EngineLoader::begin(std::vector<NamedFile> files, const LoadOptions& options) {
  auto all = with_gguf_documents(std::move(files), gguf_documents);
  if (!all.ok()) return all.error();
  const Documents documents(all.value());
  auto config = documents.read("config.json");
  if (!config.ok()) return config.error();
  const auto arch = find_arch(config.value().root());
  if (!arch.ok()) return arch.error();
  const auto encoder_config = arch.value()->parse_config(config.value().root());
  if (!encoder_config.ok()) return encoder_config.error();
  auto sentence = read_sentence_config(documents);
  if (!sentence.ok()) return sentence.error();
  auto tokenizer = read_tokenizer(documents, sentence.value().lowercase);
  if (!tokenizer.ok()) return tokenizer.error();
  auto weight_files = read_weight_files(documents);
  if (!weight_files.ok()) return weight_files.error();
  const Kernels& kernels = options.precision == Precision::kFast ? fast_kernels() : exact_kernels();
  auto encoder = Encoder::with_config(encoder_config.value(), kernels, options.dtype);
  if (!encoder.ok()) return encoder.error();

  std::unique_ptr<EngineLoader> loader(new EngineLoader);
  loader->engine_.reset(new Engine(std::move(tokenizer).value(), std::move(encoder).value()));
  Engine& engine = *loader->engine_;
  engine.sentence_ = std::move(sentence).value();
  engine.arch_ = arch.value();
  engine.max_length_ = choose_max_length(engine.sentence_, engine.tokenizer_, encoder_config.value().max_position_embeddings);
  std::vector<WeightSlot> slots = engine.encoder_.weight_slots(arch.value()->names);
  if (options.head != HeadKind::kNone) {
    auto head = make_head(options.head, config.value().root(), engine.encoder_);
    if (!head.ok()) return head.error();
    engine.head_ = std::move(head).value();
    add_slots(engine.head_->weight_slots(), slots);
  }
  const std::int64_t pooled = encoder_config.value().hidden_size * static_cast<std::int64_t>(engine.sentence_.pooling.size());
  if (!engine.sentence_.dense.empty() && engine.sentence_.dense.front().in != pooled) {
    const DenseConfig& first = engine.sentence_.dense.front();
    return model_format_error(first.path + "/config.json: in_features: expected the pooled vector's " + std::to_string(pooled) +
                              ", found " + std::to_string(first.in));
  }
  auto dense_weights = take_dense(engine.sentence_, kernels, engine.dense_);
  if (!dense_weights.ok()) return dense_weights.error();
  engine.dense_weights_ = std::move(dense_weights).value();
  add_dense_slots(engine.sentence_, engine.dense_, slots);
  loader->weight_files_ = std::move(weight_files).value();
  const bool is_gguf = loader->weight_files_.front().ends_with(".gguf");  // holds the modules' tensors too
  for (const DenseConfig& dense : engine.sentence_.dense) {
    if (!is_gguf) loader->weight_files_.push_back(dense.path + "/model.safetensors");
  }
  loader->weights_.emplace(std::move(slots), std::vector<std::string>(arch.value()->ignored.begin(), arch.value()->ignored.end()),
                           [loader = loader.get(), arch = arch.value()](std::string_view name) {
                             const std::string& file = loader->weight_files_[loader->files_begun_ - 1];
                             if (file.ends_with(".gguf"))
                               return canonical_weight_name(*arch, canonical_gguf_name(arch->gguf_names, name));
                             // A module's tensors carry its folder.
                             const std::size_t folder = file.rfind('/') + 1;
                             return folder > 0 ? file.substr(0, folder) + std::string(name) : canonical_weight_name(*arch, name);
                           });
  return loader;
}

Result<std::vector<NamedFile>> EngineLoader::gguf_files(std::string_view beginning, bool& is_cut_off) {
  return gguf_beginning(beginning, gguf_documents, is_cut_off);
}

Result<void> EngineLoader::begin_weight_file(std::string_view name, std::uint64_t bytes) {
  if (auto e = expect_weight_file(weight_files_, files_begun_, name); !e.ok()) return e;
  ++files_begun_;
  return weights_->begin_file(std::string(name), bytes);
}

Result<std::unique_ptr<Engine>> EngineLoader::finish() {
  if (files_begun_ != weight_files_.size()) {
    return input_error("weight files: expected " + weight_files_[files_begun_] + ", found no further file");
  }
  if (auto finished = weights_->finish(); !finished.ok()) return finished.error();
  if (!engine_->encoder_.config().pooler) return std::move(engine_);
  const std::string pooler = std::string(engine_->arch_->names.pooler) + ".weight";
  const auto& slots = weights_->slots();
  engine_->encoder_.set_has_pooler(
      std::any_of(slots.begin(), slots.end(), [&](const WeightSlot& slot) { return slot.name == pooler && slot.filled; }));
  return std::move(engine_);
}

}  // namespace wattn
