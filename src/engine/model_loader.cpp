#include <algorithm>
#include <array>

#include "core/part.h"
#include "engine/load_plan.h"
#include "engine/model.h"
#include "engine/retrieval.h"
#include "models/q8_cache.h"
#include "models/target_list.h"

namespace wattn {
namespace {

// Whether this file has these weights. JS passes pytorch_model.bin on in the layout of safetensors, under its own name.
bool is_file_of(std::string_view weights, std::string_view file) {
  constexpr std::string_view kSafetensors = "model.safetensors", kTorch = "pytorch_model.bin";
  if (weights == file) return true;
  if (!weights.ends_with(kSafetensors) || !file.ends_with(kTorch)) return false;
  return weights.substr(0, weights.size() - kSafetensors.size()) == file.substr(0, file.size() - kTorch.size());
}

// sentence_bert_config.json's limit, else the tokenizer's; at most the number of positions.
std::int64_t choose_max_length(const SentenceConfig& sentence, const Tokenizer& tokenizer, std::int64_t positions) {
  if (sentence.max_seq_length) return std::min(*sentence.max_seq_length, positions);
  if (const auto limit = tokenizer.model_max_length()) return std::min<std::int64_t>(*limit, positions);
  return positions;
}

// The median length of the vocabulary's tokens, in characters.
std::int64_t median_token_length(const Tokenizer& tokenizer) {
  std::array<std::int64_t, 256> counts{};  // of each length; the last one: or more
  std::int64_t tokens = 0;
  for (std::int32_t id = 0; id < tokenizer.num_ids(); ++id) {
    const std::string_view token = tokenizer.id_to_token(id);
    std::size_t length = 0;
    for (const char byte : token) length += (byte & 0xC0) != 0x80;
    if (length > 0) ++tokens, ++counts[std::min<std::size_t>(length, counts.size() - 1)];
  }
  const auto length_at = [&](std::int64_t rank) {
    std::int64_t length = 0;
    while (length < 255 && (rank -= counts[static_cast<std::size_t>(length)]) >= 0) ++length;
    return length;
  };
  return (length_at((tokens - 1) / 2) + length_at(tokens / 2)) / 2;
}

Result<std::int64_t> choose_context(std::int64_t wanted, const TransformerConfig& config) {
  const std::int64_t positions = config.max_position_embeddings;
  if (wanted == 0) return config.causal ? std::min(positions, Model::kUsualContext) : positions;
  if (wanted >= 1 && wanted <= positions) return wanted;
  return input_error("context_length: expected a whole number from 1 to the model's " + std::to_string(positions) +
                     " positions, found " + std::to_string(wanted));
}

// A head over the last stack.
Result<Head> make_head(HeadKind kind, const HeadLayers& layers, JsonRef config, const Model& model) {
  const TransformerConfig& stack = model.generator().config();
  HeadShape shape{.hidden = stack.hidden_size,
                  .width = stack.hidden_size,
                  .labels = 2,  // start and end
                  .norm_eps = stack.norm_eps};
  if (kind == HeadKind::kMaskedLm) {
    shape.width = stack.embedding_width();
    shape.labels = stack.vocab_size;
    shape.type = model.transformer().weight_type();
  } else if (kind != HeadKind::kAnswer) {
    const auto labels = Head::num_labels(config);
    if (!labels.ok()) return labels.error();
    shape.labels = labels.value();
  }
  return Head::with_layers(layers, shape, model.kernels());
}

}  // namespace

Result<std::unique_ptr<ModelLoader>> ModelLoader::begin(std::vector<NamedFile> files, const LoadOptions& options) {
  const SpanLoader* spans = options.head == HeadKind::kSpans ? Part<SpanLoader>::get() : nullptr;
  if (options.head == HeadKind::kSpans && !spans)
    return unsupported_error("this task: expected wattn-full-simd.wasm or wattn-full-relaxed.wasm, found another");
  if (spans) {
    if (auto added = spans->add_config(files); !added.ok()) return added.error();
  }
  auto all = with_gguf_documents(std::move(files));
  if (!all.ok()) return all.error();
  LoadOptions wanted = options;
  const LabelLoader* labels = options.head == HeadKind::kSequence ? Part<LabelLoader>::get() : nullptr;
  std::shared_ptr<LabelHead> label_head;
  if (labels) {
    if (auto taken = labels->take_config(all.value(), label_head); !taken.ok()) return taken.error();
    if (label_head) wanted.head = HeadKind::kLabels;
  }
  const Documents documents(all.value());
  auto config = read_config(documents);
  if (!config.ok()) return config.error();
  if (options.retrieval != Retrieval::kNone && has_lexical_head(documents)) wanted.head = HeadKind::kNone;
  auto plan = make_load_plan(config.value().root(), wanted);
  if (!plan.ok()) return plan.error();
  ModelConfig& stacks = plan.value().stacks;
  std::unique_ptr<ModelLoader> loader(new ModelLoader);
  if (const auto* words = Part<AdaptedWords>::get()) {
    loader->has_more_words_ = words->take(options, *plan.value().arch, stacks.transformer);
    if (stacks.decoder) words->take(options, *plan.value().arch, *stacks.decoder);
  }
  const Kernels& kernels = options.precision == Precision::kFast ? fast_kernels() : exact_kernels();
  const bool lm = is_lm(plan.value().head);
  std::shared_ptr<RetrievalParts> retrieval;
  if (options.retrieval != Retrieval::kNone) {
    const auto* reader = Part<RetrievalReader>::get();
    if (!reader) {
      return unsupported_error(
          "late interaction and sparse vectors: expected wattn-full-simd.wasm or wattn-full-relaxed.wasm, found another");
    }
    auto read = reader->read(options.retrieval, documents, config.value().root());
    if (!read.ok()) return read.error();
    retrieval = std::move(read).value();
  }
  auto sentence = retrieval ? Result<SentenceConfig>(std::move(retrieval->sentence))
                  : lm      ? Result<SentenceConfig>(SentenceConfig())
                            : read_sentence_config(documents);
  if (!sentence.ok()) return sentence.error();
  auto tokenizer =
      retrieval ? Result<Tokenizer>(std::move(*retrieval->tokenizer)) : read_tokenizer(documents, sentence.value().lowercase);
  if (!tokenizer.ok()) return tokenizer.error();
  std::shared_ptr<SpanParts> span_parts;
  if (spans) {
    auto read = spans->read(documents, options, kernels, stacks.transformer, tokenizer.value());
    if (!read.ok()) return read.error();
    span_parts = std::move(read).value();
  }
  if (label_head) {
    if (auto prepared = labels->prepare(*label_head, stacks.transformer, kernels); !prepared.ok()) return prepared.error();
  }
  const auto context = choose_context(options.context_length, stacks.decoder ? *stacks.decoder : stacks.transformer);
  if (!context.ok()) return context.error();
  auto weight_files = read_weight_files(documents);
  if (!weight_files.ok()) return weight_files.error();

  const std::int64_t positions = stacks.decoder ? stacks.transformer.max_position_embeddings : context.value();
  auto transformer = Transformer::with_config(stacks.transformer, positions, kernels, options.dtype);
  if (!transformer.ok()) return transformer.error();
  loader->weight_files_ = std::move(weight_files).value();
  loader->model_.reset(new Model(std::move(tokenizer).value(), std::move(transformer).value()));
  Model& model = *loader->model_;
  model.arch_ = plan.value().arch;
  model.head_kind_ = plan.value().head;
  model.sentence_ = std::move(sentence).value();
  model.special_ids_ = plan.value().special_ids;
  model.spans_ = std::move(span_parts);
  model.label_head_ = std::move(label_head);
  if (stacks.decoder) {
    auto decoder = Transformer::with_config(*stacks.decoder, context.value(), kernels, options.dtype);
    if (!decoder.ok()) return decoder.error();
    model.decoder_ = std::move(decoder).value();
  }
  if (options.q8_keys) (model.decoder_ ? *model.decoder_ : model.transformer_).keep_q8();
  if (options.q8_keys && !has_q8_cache()) {
    return unsupported_error("kv_cache_dtype q8: expected wattn-full-simd.wasm or wattn-full-relaxed.wasm, found another");
  }
  model.slots_.limit_prefixes(options.prefix_bytes);
  const std::int64_t longest = std::min(positions, context.value());
  model.max_length_ = lm ? context.value() : choose_max_length(model.sentence_, model.tokenizer_, longest);
  if (model.label_head_) model.max_length_ = std::min(labels->usual_length, longest);
  if (stacks.transformer.is_static()) {
    // sentence-transformers leaves truncation to tokenizer.json; model2vec has a limit of its own.
    const std::int64_t limit = model.tokenizer_.truncation_max_length().value_or(INT32_MAX);
    if (!stacks.transformer.skip_unknown) model.max_length_ = std::min(model.max_length_, limit);
    if (stacks.transformer.skip_unknown) model.characters_per_token_ = median_token_length(model.tokenizer_);
  }
  if (has_layers(model.head_kind_)) {
    auto head = make_head(model.head_kind_, plan.value().layers, config.value().root(), model);
    if (!head.ok()) return head.error();
    model.head_ = std::move(head).value();
  }
  if (auto e = loader->begin_modules(); !e.ok()) return e.error();
  std::vector<WeightTarget> more;
  if (retrieval) {
    more = std::move(retrieval->targets);
    for (std::string& file : retrieval->weight_files) loader->weight_files_.push_back(std::move(file));
    model.retrieval_ = std::move(retrieval);
  }
  if (plan.value().arch->task_loras && !options.adapted_head && Part<TaskAdapters>::get()) {
    auto begun = Part<TaskAdapters>::get()->begin(model, config.value().root(), more, loader->task_loras_);
    if (!begun.ok()) return begun.error();
  }
  loader->begin_weights(std::move(plan.value().ignored), has_gguf_tensors(documents), options.adapted_head, std::move(more));
  return loader;
}

Result<ModelDescription> ModelLoader::describe(std::vector<NamedFile> files) {
  auto all = with_gguf_documents(std::move(files));
  if (!all.ok()) return all.error();
  std::shared_ptr<LabelHead> labels;
  if (const auto* part = Part<LabelLoader>::get()) {
    if (auto taken = part->take_config(all.value(), labels); !taken.ok()) return taken.error();
  }
  const Documents documents(all.value());
  const auto config = read_config(documents);
  if (!config.ok()) return config.error();
  const JsonRef root = config.value().root();
  const auto plan = make_load_plan(root, {.own_lm_head = true});
  if (!plan.ok()) return plan.error();
  const Arch& arch = *plan.value().arch;
  const auto stacks = parse_model_config(arch, root);
  if (!stacks.ok()) return stacks.error();
  ModelDescription out{.model_type = arch.model_type,
                       .kind = kind_of(stacks.value().transformer, stacks.value().decoder.has_value())};
  if (labels) {
    out.heads.push_back(HeadKind::kLabels);
    return out;
  }
  const bool is_gguf = has_gguf_config(documents);  // llama.cpp writes no other head than an lm head
  for (const HeadKind head : {HeadKind::kSequence, HeadKind::kToken, HeadKind::kAnswer, HeadKind::kMaskedLm}) {
    if (!is_gguf && Head::find_layers(head, arch.heads, root).ok()) out.heads.push_back(head);
  }
  if (plan.value().head != HeadKind::kNone) out.heads.push_back(plan.value().head);
  return out;
}

Result<void> ModelLoader::begin_modules() {
  using Kind = SentenceModule::Kind;
  Model& model = *model_;
  std::vector<SentenceModule>& modules = model.sentence_.modules;
  const std::size_t modes = std::max<std::size_t>(1, model.sentence_.pooling.size());  // without a pooling: each token's vector
  std::int64_t width = model.transformer_.config().hidden_size * static_cast<std::int64_t>(modes);
  for (SentenceModule& module : modules) {
    if (module.kind == Kind::kNormalize) module.in = module.out = width;
    if (module.in != width) {
      return model_format_error(module.path + "/config.json: " + (module.kind == Kind::kDense ? "in_features" : "dimension") +
                                ": expected the " + (&module == modules.data() ? "pooled vector's " : "previous module's ") +
                                std::to_string(width) + ", found " + std::to_string(module.in));
    }
    width = module.out;
  }
  const auto take = [&](Arena& arena) {
    model.modules_.clear();
    for (const SentenceModule& module : modules) {
      const auto matrix = [&](bool bias) {
        return take_linear(arena, model.kernels(), WeightType::kF32, module.in, module.out, bias);
      };
      constexpr float kEpsilon = 1e-5f;  // torch.nn.LayerNorm's
      Model::ModuleWeights& weights = model.modules_.emplace_back();
      if (module.kind == Kind::kDense) weights.dense = matrix(module.bias);
      if (module.projects_residual()) weights.residual = matrix(false);
      if (module.kind == Kind::kLayerNorm) weights.norm = take_layer_norm(arena, module.in, kEpsilon);
    }
  };
  Arena measure;
  take(measure);
  auto weights = Arena::with_zeros(measure.used(), "weights of modules");
  if (!weights.ok()) return weights.error();
  model.module_memory_ = std::move(weights).value();
  take(model.module_memory_);
  // A GGUF file includes the modules' tensors, but for bge-m3's layer (web/source/retrieval_files.ts).
  const bool is_gguf = weight_files_.front().ends_with(".gguf");
  for (const SentenceModule& module : modules) {
    if (!module.path.empty() && (!is_gguf || module.file[0] == '.')) weight_files_.push_back(module.path + module.file);
  }
  return {};
}

void ModelLoader::begin_weights(std::vector<std::string> ignored, bool is_gguf, bool adapted_head, std::vector<WeightTarget> more) {
  const Model& model = *model_;
  const Arch& arch = *model.arch_;
  std::vector<WeightTarget> targets = model.transformer_.weight_targets(arch.names, is_gguf);
  if (model.decoder_) add_targets(model.decoder_->weight_targets(arch.decoder_names, is_gguf), targets);
  if (model.head_) {
    std::vector<WeightTarget> head = model.head_->weight_targets(arch.names.word_embeddings);
    for (WeightTarget& target : head) target.adapted = adapted_head;
    add_targets(std::move(head), targets);
  }
  if (model.spans_) add_targets(Part<SpanLoader>::get()->weight_targets(*model.spans_, is_gguf, ignored), targets);
  if (model.label_head_) add_targets(Part<LabelLoader>::get()->weight_targets(*model.label_head_), targets);
  TargetList modules;
  for (std::size_t i = 0; i < model.modules_.size(); ++i) {
    const SentenceModule& module = model.sentence_.modules[i];
    const Model::ModuleWeights& weights = model.modules_[i];
    const std::string folder = module.path.empty() ? "" : module.path + "/";
    if (module.kind == SentenceModule::Kind::kDense) modules.linear(folder + "linear", weights.dense, 0, module.out, module.bias);
    if (module.projects_residual()) modules.linear(folder + "residual", weights.residual, 0, module.out, false);
    if (module.kind == SentenceModule::Kind::kLayerNorm) modules.norm(folder + "norm", weights.norm, true);
  }
  add_targets(std::move(modules.targets), targets);
  add_targets(std::move(more), targets);
  for (WeightTarget& target : targets) {
    const auto is = [&](const char* name) { return name && target.name == std::string(name) + ".weight"; };
    target.may_lack_rows = has_more_words_ && (is(arch.names.word_embeddings) || is(arch.names.lm_head));
  }
  weights_.emplace(std::move(targets), std::move(ignored), [this, &arch, is_gguf](std::string_view name) {
    const std::string& file = weight_files_[files_begun_ - 1];
    // Names of a module's tensors begin with its folder.
    const std::size_t folder = file.ends_with(".gguf") ? 0 : file.rfind('/') + 1;
    if (folder > 0) return file.substr(0, folder) + std::string(name);
    // A layer of torch in a file of its own (bge-m3's) has the names of a Dense module.
    if (file.ends_with(".pt")) return file.substr(0, file.size() - 3) + "/linear." + std::string(name);
    if (model_->spans_) return Part<SpanLoader>::get()->name_of(*model_->spans_, arch, name, is_gguf);
    if (model_->label_head_) return Part<LabelLoader>::get()->name_of(arch, name, is_gguf);
    return canonical_weight_name(arch, name, is_gguf);
  });
}

Result<void> ModelLoader::begin_weight_file(std::string_view name, std::uint64_t bytes) {
  const bool complete = files_begun_ == weight_files_.size();
  if (complete || !is_file_of(weight_files_[files_begun_], name)) {
    const std::string expected = complete ? "no further file" : weight_files_[files_begun_];
    return input_error("weight files: expected " + expected + ", found " + std::string(name));
  }
  weight_files_[files_begun_] = name;
  ++files_begun_;
  return weights_->begin_file(std::string(name), bytes);
}

Result<std::unique_ptr<Model>> ModelLoader::finish() {
  if (files_begun_ != weight_files_.size()) {
    return input_error("weight files: expected " + weight_files_[files_begun_] + ", found no further file");
  }
  if (auto finished = weights_->finish(); !finished.ok()) return finished.error();
  for (const WeightTarget& target : weights_->targets()) {
    if (target.adapted && target.required && !target.filled) model_->missing_.push_back(target.name);
  }
  if (const auto* own = Part<OwnOutputs>::get(); own && model_->head_) {
    if (auto chosen = ((*model_->head_).*own->choose)(weights_->targets()); !chosen.ok()) return chosen.error();
  }
  model_->ignored_ = weights_->take_ignored();
  if (task_loras_) {
    if (auto added = Part<TaskAdapters>::get()->finish(*task_loras_, *model_); !added.ok()) return added.error();
  }
  if (!model_->transformer_.config().pooler) return std::move(model_);
  const std::string pooler = std::string(model_->arch_->names.pooler) + ".weight";
  const auto& targets = weights_->targets();
  model_->transformer_.set_has_pooler(std::any_of(
      targets.begin(), targets.end(), [&](const WeightTarget& target) { return target.name == pooler && target.filled; }));
  return std::move(model_);
}

}  // namespace wattn
