// Training of a loaded model, and tasks of rare models. This file takes the place of model.cpp in the full WebAssembly.
#include "tasks/train.h"
#include "tasks/find_spans.h"
#include "tasks/plan_text.h"

#include "bindings/retrieval.h"
#include "tokenizer/formats/folder.h"

namespace wattn {

// Here class_tokenizer.cpp reads all folders, so that the linker leaves out tokenizer/formats/plain.cpp.
Result<std::optional<Tokenizer>> plain_tokenizer(const FolderFiles&, const std::vector<std::string_view>&) {
  return std::optional<Tokenizer>();
}

namespace {

// In the order of LoraBias, TrainMethod, TrainLoss and Schedule.
constexpr const char* kBiases[] = {"none", "all", "lora_only"};
constexpr const char* kMethods[] = {"lora", "full", "last_layers", "head"};
constexpr const char* kLosses[] = {"MultipleNegativesRankingLoss",
                                   "CoSENTLoss",
                                   "CosineSimilarityLoss",
                                   "ContrastiveLoss",
                                   "TripletLoss",
                                   "BatchAllTripletLoss",
                                   "SupConLoss",
                                   "own_of_vectors",
                                   "CrossEntropyLoss",
                                   "BCEWithLogitsLoss",
                                   "MSELoss",
                                   "own_of_logits"};
constexpr const char* kSchedules[] = {"constant", "constant_with_warmup", "linear", "cosine"};

TrainOptions to_train_options(const Options& options) {
  TrainOptions out;
  out.method = options.choice<TrainMethod>("method", kMethods);
  out.loss = options.choice<TrainLoss>("loss", kLosses);
  out.lora.r = options.integer("r", out.lora.r);
  out.lora.lora_alpha = static_cast<float>(options.number("lora_alpha", out.lora.lora_alpha));
  out.lora.use_rslora = options.flag("use_rslora");
  out.lora.use_dora = options.flag("use_dora");
  out.lora_dropout = static_cast<float>(options.number("lora_dropout", out.lora_dropout));
  out.bias = options.choice<LoraBias>("bias", kBiases);
  if (options.has("target_modules")) out.target_modules = emscripten::vecFromJSArray<std::string>(options["target_modules"]);
  out.head = options.choice<HeadKind>("head", kHeads);
  out.config = options.word("config");
  out.dropout = options.flag("dropout");
  out.freeze_embeddings = options.flag("freeze_embeddings");
  out.last_layers = options.integer("last_layers", out.last_layers);
  out.loss_scale = options.number("scale", out.loss_scale);
  out.margin = options.number("margin", out.margin);
  out.label_smoothing = static_cast<float>(options.number("label_smoothing_factor", out.label_smoothing));
  out.temperature = options.number("temperature", out.temperature);
  out.adam.lr = static_cast<float>(options.number("learning_rate", out.adam.lr));
  out.adam.beta1 = options.number("adam_beta1", out.adam.beta1);
  out.adam.beta2 = options.number("adam_beta2", out.adam.beta2);
  out.adam.eps = static_cast<float>(options.number("adam_epsilon", out.adam.eps));
  out.adam.weight_decay = static_cast<float>(options.number("weight_decay", out.adam.weight_decay));
  out.schedule = options.choice<Schedule>("lr_scheduler_type", kSchedules);
  out.warmup_steps = options.integer("warmup_steps");
  out.training_steps = options.integer("max_steps");
  out.max_grad_norm = options.number("max_grad_norm", out.max_grad_norm);
  out.max_length = options.integer("max_length");
  out.checkpointing = options.flag("checkpointing");
  out.seed = static_cast<std::uint64_t>(options.integer("seed"));
  return out;
}

val to_tensors(const std::vector<NamedTensor>& tensors) {
  return to_array(tensors, [](const NamedTensor& tensor) {
    val out = val::object();
    out.set("name", val(tensor.name));
    out.set("dims", to_array(tensor.shape, [](std::int64_t dim) { return val(static_cast<double>(dim)); }));
    out.set("data", to_typed_array(tensor.values));
    return out;
  });
}

// TrainRows as they cross.
struct Rows {
  Rows(const val& text, const val& lengths, const val& pair_text, const val& pair_lengths, const val& labels, const val& scores,
       bool is_rendered)
      : texts(text, lengths),
        pairs(pair_text, pair_lengths),
        rows{texts.views, pairs.views, to_ids(labels), emscripten::convertJSArrayToNumberVector<float>(scores), is_rendered} {}

  Texts texts, pairs;
  TrainRows rows;
};

val count_answer(const char* key, const Result<std::int64_t>& count) {
  if (!count.ok()) return answer(count.error());
  val out = answer();
  set_number(out, key, count.value());
  return out;
}

class TrainerHandle : public RetrievalHandle {
 public:
  // options: the fields of TrainOptions, by their names in web/. Begins anew if training had begun.
  // Answer: target_modules, excluded_modules and fingerprint, as of Trainer.
  val train_begin(val options) {
    trainer_.reset();  // two would take twice the memory
    auto trainer = Trainer::begin(model(), to_train_options(Options(options)));
    if (!trainer.ok()) return answer(trainer.error());
    trainer_ = std::move(trainer).value();
    const auto to_val = [](const std::string& name) { return val(name); };
    val out = answer("target_modules", to_array(trainer_->target_modules(), to_val));
    out.set("excluded_modules", to_array(trainer_->excluded_modules(), to_val));
    out.set("fingerprint", val(trainer_->fingerprint()));
    return out;
  }
  // The arguments of Trainer::plan(). Answer: bytes of weights, gradients, optimizer and activations; trainable and all, numbers of
  // weights.
  val train_plan(int tokens, int max_seq, int parts, int words) const {
    const TrainPlan plan = trainer_->plan(tokens, max_seq, parts, words);
    val out = answer();
    set_number(out, "trainable", plan.trainable);
    set_number(out, "all", plan.all);
    for (const auto& [key, bytes] : {std::pair{"weights", plan.weights},
                                     {"gradients", plan.gradients},
                                     {"optimizer", plan.optimizer},
                                     {"activations", plan.activations}}) {
      set_number(out, key, static_cast<std::int64_t>(bytes));
    }
    return out;
  }
  // The fields of TrainRows; pairs may be null. share: as of accumulate(). Answer: loss.
  val train_accumulate(val text, val lengths, val pair_text, val pair_lengths, val labels, val scores, bool is_rendered,
                       double share) {
    const Rows rows(text, lengths, pair_text, pair_lengths, labels, scores, is_rendered);
    const auto loss = trainer_->accumulate(rows.rows, share);
    return loss.ok() ? answer("loss", loss.value()) : answer(loss.error());
  }
  // Rows as in train_accumulate(). Answer: values, Float32Array [rows, width]; width; labels, Int32Array.
  val train_outputs(val text, val lengths, val pair_text, val pair_lengths, val labels, val scores, bool is_rendered, bool is_whole,
                    bool learns) {
    const Rows rows(text, lengths, pair_text, pair_lengths, labels, scores, is_rendered);
    const auto given = trainer_->outputs(rows.rows, is_whole, learns);
    if (!given.ok()) return answer(given.error());
    val out = answer("values", to_typed_array(given.value().values.data(), given.value().values.size()));
    set_number(out, "width", given.value().width);
    out.set("labels", to_typed_array(given.value().labels.data(), given.value().labels.size()));
    return out;
  }
  // d_values: Float32Array, as long as the values; times the share, as loss is.
  val train_gradient(val d_values, double loss) {
    return answer(trainer_->accumulate_gradient(emscripten::convertJSArrayToNumberVector<float>(d_values), loss));
  }
  val train_drop() {
    trainer_->drop_gradients();
    return answer();
  }
  // Rows as in train_accumulate(). Answer: learned, what their loss is a mean over.
  val train_count(val text, val lengths, val pair_text, val pair_lengths, val labels, val scores, bool is_rendered) const {
    const Rows rows(text, lengths, pair_text, pair_lengths, labels, scores, is_rendered);
    return count_answer("learned", trainer_->count_learned(rows.rows));
  }
  // Rows as in train_accumulate(). Answer: words, how many of the vocabulary occur.
  val train_words(val text, val lengths, val pair_text, val pair_lengths, val labels, val scores, bool is_rendered) const {
    const Rows rows(text, lengths, pair_text, pair_lengths, labels, scores, is_rendered);
    return count_answer("words", trainer_->count_words(rows.rows));
  }
  // Of a language model, without learning; as train_accumulate(). Answer: sum (of the losses of tokens), tokens.
  val train_evaluate(val text, val lengths, val pair_text, val pair_lengths, val labels, bool is_rendered) {
    const Texts texts(text, lengths), pairs(pair_text, pair_lengths);
    const auto loss =
        trainer_->evaluate({.texts = texts.views, .pairs = pairs.views, .labels = to_ids(labels), .is_rendered = is_rendered});
    if (!loss.ok()) return answer(loss.error());
    val out = answer("sum", loss.value().sum);
    set_number(out, "tokens", loss.value().tokens);
    return out;
  }
  // Answer: the fields of TrainReport.
  val train_update() {
    const auto updated = trainer_->update();
    if (!updated.ok()) return answer(updated.error());
    const TrainReport& report = updated.value();
    val out = answer("loss", report.loss);
    set_number(out, "step", report.step);
    set_number(out, "tokens", report.tokens);
    out.set("grad_norm", report.grad_norm);
    out.set("learning_rate", report.learning_rate);
    return out;
  }
  val train_state() const {
    const auto room = Arena::fits(static_cast<double>(trainer_->state_size() * sizeof(float)), "the state of training");
    return room.ok() ? answer("state", to_typed_array(trainer_->state())) : answer(room);
  }
  val train_set_state(val state, double step) {
    const double bytes = state["byteLength"].as<double>();
    if (auto room = Arena::fits(bytes, "the state of training"); !room.ok()) return answer(room);
    const auto values = emscripten::convertJSArrayToNumberVector<float>(state);
    return answer(trainer_->set_state(values, static_cast<std::int64_t>(step)));
  }
  // Answer: tensors [{name, dims, data}, ...].
  val train_adapter() { return answer("tensors", to_tensors(trainer_->adapter())); }
  val checkpoint() {
    const auto tensors = wattn::checkpoint(model());
    return tensors.ok() ? answer("tensors", to_tensors(tensors.value())) : answer(tensors.error());
  }
  // Between begin() and finish(). names: of tensors in the files. Answer: blocks, Uint8Array, a HeldBlocks each.
  val blocks_of(val names) const {
    std::vector<std::uint8_t> out;
    for (const std::string& name : emscripten::vecFromJSArray<std::string>(names)) {
      out.push_back(static_cast<std::uint8_t>(loader_->blocks_of(name)));
    }
    return answer("blocks", to_typed_array(out));
  }
  // labels: in the same form as the texts; options: threshold and first_text. A job; answer: spans, Int32Array of text, begin, end
  // and label of each; scores [spans]; windows, truncated, unknown [texts].
  // Answer: text.
  val plan() { return answer("text", val(plan_text(model()))); }
  Address find_spans(val text, val lengths, val label_text, val label_lengths, val options, int steps) {
    const Options given(options);
    auto texts = std::make_unique<Texts>(text, lengths), labels = std::make_unique<Texts>(label_text, label_lengths);
    auto job = FindSpansJob::begin(model(), texts->views,
                                   {.labels = labels->views,
                                    .threshold = static_cast<float>(given.number("threshold", 0.5)),
                                    .first_text = given.integer("first_text")});
    if (!job.ok()) return fail(job.error());
    const auto report = [](Job& ran, bool more, PlainAnswer& out) {
      if (more) return;
      const FindSpansResult& result = out.keep(static_cast<FindSpansJob&>(ran).take_result());
      std::vector<std::int32_t> spans;
      std::vector<float> scores;
      for (const FoundSpan& span : result.spans) {
        spans.insert(spans.end(), {span.text, span.begin, span.end, span.label});
        scores.push_back(span.score);
      }
      out.set("spans", out.keep(std::move(spans)));
      out.set("scores", out.keep(std::move(scores)));
      out.set("windows", result.windows);
      out.set("truncated", result.truncated);
      out.set("unknown", result.unknown);
    };
    return start({std::move(texts), std::move(labels), std::move(job).value(), report}, steps);
  }

 private:
  std::unique_ptr<Trainer> trainer_;  // web/ calls train_begin() first
};

}  // namespace

EMSCRIPTEN_BINDINGS(train) {
  register_model("ModelOnly");
  register_retrieval("ModelRetrieval");
  emscripten::class_<TrainerHandle, emscripten::base<RetrievalHandle>>("Model")
      .constructor()
      .function("find_spans", &TrainerHandle::find_spans)
      .function("plan", &TrainerHandle::plan)
      .function("blocks_of", &TrainerHandle::blocks_of)
      .function("train_begin", &TrainerHandle::train_begin)
      .function("train_plan", &TrainerHandle::train_plan)
      .function("train_words", &TrainerHandle::train_words)
      .function("train_count", &TrainerHandle::train_count)
      .function("train_accumulate", &TrainerHandle::train_accumulate)
      .function("train_outputs", &TrainerHandle::train_outputs)
      .function("train_gradient", &TrainerHandle::train_gradient)
      .function("train_drop", &TrainerHandle::train_drop)
      .function("train_evaluate", &TrainerHandle::train_evaluate)
      .function("train_update", &TrainerHandle::train_update)
      .function("train_state", &TrainerHandle::train_state)
      .function("train_set_state", &TrainerHandle::train_set_state)
      .function("train_adapter", &TrainerHandle::train_adapter)
      .function("checkpoint", &TrainerHandle::checkpoint);
}

}  // namespace wattn
