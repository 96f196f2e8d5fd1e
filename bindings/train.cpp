// The calls of a model that only the full WebAssembly has: training, and tasks of rare models. This file takes the place of
// model.cpp in it.
#include <emscripten/emscripten.h>

#include "bindings/model.h"
#include "tasks/device.h"
#include "tasks/find_spans.h"
#include "tasks/forward.h"
#include "tasks/input_gradient.h"
#include "tasks/input_moments.h"
#include "tasks/plan_text.h"
#include "tasks/sparse_vectors.h"
#include "tasks/token_vectors.h"
#include "tasks/train.h"

namespace wattn {

// What find_spans() reads.
struct SpansRequest {
  float threshold = 0.5f;
  std::vector<SchemaPartKind> kinds;
  std::vector<std::string> names, choices;
  std::vector<std::int64_t> sizes;
  std::int64_t first_text = 0;
};

#define WIRE_OF_TRAINING
#include "bindings/wire_section.h"

namespace {

// TrainRows as they cross.
struct Rows {
  explicit Rows(Arguments& in) : texts(in.texts()), pairs(in.texts()) {
    const auto labels = in.ints();
    const auto scores = in.floats();
    rows = {texts->views, pairs->views, {labels.begin(), labels.end()}, {scores.begin(), scores.end()}, in.flag()};
  }

  std::unique_ptr<Texts> texts, pairs;
  TrainRows rows;
};

void say_tensors(const std::vector<NamedTensor>& tensors, PlainAnswer& out) {
  std::vector<std::string> names;
  std::vector<std::vector<std::int32_t>> shapes;
  std::vector<std::span<const float>> values;
  for (const NamedTensor& tensor : tensors) {
    names.push_back(tensor.name);
    shapes.emplace_back(tensor.shape.begin(), tensor.shape.end());
    values.emplace_back(tensor.values);
  }
  const TensorsAnswer say{out};
  say.names(std::move(names));
  say.shapes(std::move(shapes));
  say.values(std::move(values));
}

// The facts about texts that both kinds of retrieval give.
template <class Vectors>
void say_facts(const Vectors& result, PlainAnswer& out) {
  const TextsAnswer say{out};
  say.tokens(result.tokens);
  say.untruncated(result.tokens_untruncated);
  say.unknown(result.unknown);
}

class FullModelHandle final : public ModelHandle {
 public:
#define WIRE_FULL_MODEL_CALL(name, ...) Result<void> name(Arguments& in, PlainAnswer& out);
#include "core/wire.def"

 protected:
  Result<void> answer(std::size_t number, Arguments& in, PlainAnswer& out) override;

 private:
  template <class TextsJob, class Options>
  Result<void> start_texts(Arguments& in, Report report, PlainAnswer& out);

  // web/ uses a device only for jobs whose only items are texts.
  TextJob* text_job(int number) const { return static_cast<TextJob*>(find_job(number)); }

  std::unique_ptr<Trainer> trainer_;  // web/ calls train_begin() first
  DeviceWeight device_weight_;        // that was asked for last
  std::unique_ptr<InputMoments> moments_;
};

using Call = Result<void> (FullModelHandle::*)(Arguments&, PlainAnswer&);
constexpr Call kCalls[] = {
#define WIRE_FULL_MODEL_CALL(name, ...) &FullModelHandle::name,
#include "core/wire.def"
};

Result<void> FullModelHandle::answer(std::size_t number, Arguments& in, PlainAnswer& out) {
  return number < kNumCalls ? ModelHandle::answer(number, in, out) : (this->*kCalls[number - kNumCalls])(in, out);
}

Result<void> FullModelHandle::find_spans(Arguments& in, PlainAnswer& out) {
  auto texts = in.texts(), labels = in.texts();
  SpansRequest options;
  if (auto read = in.options(options); !read.ok()) return read;
  if (options.names.size() != options.kinds.size() || options.sizes.size() != options.kinds.size()) {
    return input_error("kinds: expected as many names and sizes, found " + std::to_string(options.names.size()) + " and " +
                       std::to_string(options.sizes.size()) + " for " + std::to_string(options.kinds.size()));
  }
  std::vector<SchemaPart> parts;
  for (std::size_t i = 0; i < options.kinds.size(); ++i) {
    parts.push_back({options.kinds[i], std::move(options.names[i]), options.sizes[i]});
  }
  auto job = FindSpansJob::begin(model(), texts->views,
                                 {.labels = labels->views,
                                  .threshold = options.threshold,
                                  .parts = std::move(parts),
                                  .choices = std::move(options.choices),
                                  .first_text = options.first_text});
  if (!job.ok()) return job.error();
  const auto report = [](Job& ran, bool more, PlainAnswer& to) {
    if (more) return;
    const FindSpansResult& result = to.keep(static_cast<FindSpansJob&>(ran).take_result());
    std::vector<std::int32_t> spans;
    std::vector<float> scores;
    for (const FoundSpan& span : result.spans) {
      spans.insert(spans.end(), {span.text, span.begin, span.end, span.label, span.instance, span.is_own});
      scores.push_back(span.score);
    }
    const SpansAnswer say{to};
    say.spans(std::move(spans));
    say.scores(std::move(scores));
    say.logits(result.logits);
    say.windows(result.windows);
    say.truncated(result.truncated);
    say.unknown(result.unknown);
  };
  return start({std::move(texts), std::move(labels), std::move(job).value(), report}, in.integer<int>(), out);
}

// Begins a job whose only items are texts.
template <class TextsJob, class Options>
Result<void> FullModelHandle::start_texts(Arguments& in, Report report, PlainAnswer& out) {
  auto texts = in.texts();
  Options options;
  if (auto read = in.options(options); !read.ok()) return read;
  auto job = TextsJob::begin(model(), texts->views, options);
  if (!job.ok()) return job.error();
  return start({std::move(texts), nullptr, std::move(job).value(), report}, in.integer<int>(), out);
}

Result<void> FullModelHandle::token_vectors(Arguments& in, PlainAnswer& out) {
  const auto report = [](Job& ran, bool more, PlainAnswer& to) {
    if (more) return;
    const TokenVectorsResult& result = to.keep(static_cast<TokenVectorsJob&>(ran).take_result());
    const TokenVectorsAnswer say{to};
    say.data(result.data);
    say.dim(result.dim);
    say.ids(result.ids);
    say.offsets(std::span(&result.offsets.data()->begin, 2 * result.offsets.size()));
    say.rows(result.rows);
    if (!result.dense.empty()) {
      say.dense(result.dense);
      say.indices(result.indices);
      say.values(result.values);
      say.counts(result.counts);
    }
    say_facts(result, to);
  };
  return start_texts<TokenVectorsJob, TokenVectorsOptions>(in, report, out);
}

Result<void> FullModelHandle::sparse_vectors(Arguments& in, PlainAnswer& out) {
  const auto report = [](Job& ran, bool more, PlainAnswer& to) {
    if (more) return;
    const SparseVectorsResult& result = to.keep(static_cast<SparseVectorsJob&>(ran).take_result());
    const SparseVectorsAnswer say{to};
    say.indices(result.indices);
    say.values(result.values);
    say.counts(result.counts);
    say_facts(result, to);
  };
  return start_texts<SparseVectorsJob, SparseVectorsOptions>(in, report, out);
}

Result<void> FullModelHandle::plan(Arguments&, PlainAnswer& out) {
  TextAnswer{out}.text(plan_text(model()));
  return {};
}

Result<void> FullModelHandle::device_plan(Arguments&, PlainAnswer& out) {
  auto made = wattn::device_plan(model());
  if (!made.ok()) return made.error();
  const DevicePlan& plan = out.keep(std::move(made).value());
  const DevicePlanAnswer say{out};
  say.sections(plan.sections);
  say.uses(plan.uses);
  say.score_divisors(plan.score_divisors);
  say.values(plan.values);
  say.ops(plan.ops);
  say.variants(plan.variants);
  say.steps(plan.steps);
  say.factors(plan.factors);
  say.attentions(plan.attentions);
  say.attention_factors(plan.attention_factors);
  say.weights(plan.weights);
  say.hidden(model().transformer().config().hidden_size);
  say.positions(model().transformer().positions());
  return {};
}
Result<void> FullModelHandle::device_weight(Arguments& in, PlainAnswer& out) {
  const auto step = in.integer(), weight = in.integer();
  auto found = wattn::device_weight(model(), step, weight);
  if (!found.ok()) return found.error();
  device_weight_ = std::move(found).value();
  std::vector<std::string> names;
  std::vector<double> sizes;
  for (const DeviceWeight::Part& part : device_weight_.parts) {
    names.emplace_back(part.name);
    sizes.push_back(static_cast<double>(part.bytes));
  }
  const DeviceWeightAnswer say{out};
  say.type(device_weight_.type);
  say.shape(device_weight_.shape);
  say.epsilon(device_weight_.epsilon);
  say.names(std::move(names));
  say.sizes(std::move(sizes));
  return {};
}
Result<void> FullModelHandle::device_bytes(Arguments& in, PlainAnswer& out) {
  const DeviceWeight::Part& part = device_weight_.parts[in.integer<std::size_t>()];
  const auto begin = in.integer<std::size_t>(), end = in.integer<std::size_t>();
  DeviceBytesAnswer{out}.bytes(std::span(static_cast<const std::uint8_t*>(part.at) + begin, end - begin));
  return {};
}
Result<void> FullModelHandle::device_batch(Arguments& in, PlainAnswer& out) {
  TextJob* job = text_job(in.integer<int>());
  const DeviceBatchAnswer say{out};
  const bool is_here = !job || !job->reads_batch();
  say.here(is_here);
  if (is_here) return {};
  if (auto gathered = job->gather(in.integer()); !gathered.ok()) return gathered;
  say.ids(job->batch().input_ids);
  say.type_ids(job->batch().token_type_ids);
  say.starts(job->batch().seq_start);
  say.skip(std::vector<std::int32_t>(job->skip().begin(), job->skip().end()));
  say.pooling(std::vector<PoolingMode>(job->pooling().begin(), job->pooling().end()));
  return {};
}
Result<void> FullModelHandle::device_rows(Arguments& in, PlainAnswer& out) {
  TextJob* job = text_job(in.integer<int>());
  const auto begin = in.integer(), end = in.integer();
  if (!job) return say_job(0, false, 0, out);
  auto rows = job->device_rows(begin, end);
  if (!rows.ok()) return rows.error();
  DeviceRowsAnswer{out}.rows(std::move(rows).value());
  return {};
}
Result<void> FullModelHandle::device_step(Arguments& in, PlainAnswer& out) {
  const int number = in.integer<int>();
  const auto rows = in.floats();
  TextJob* job = text_job(number);
  return say_job(number, job ? job->finish(rows) : Result<bool>(false), 1, out);
}

Result<void> FullModelHandle::device_tokens(Arguments& in, PlainAnswer& out) {
  Generation* own = generation(in.integer<int>());
  const DeviceTokensAnswer say{out};
  const bool is_here = !own || !own->gather();
  say.here(is_here);
  if (is_here) return {};
  const Batch& batch = own->batch();
  const SlotCapacity& capacity = own->capacity();
  say.ids(batch.input_ids);
  say.positions(batch.position_ids);
  say.starts(batch.seq_start);
  say.slots(batch.slots);
  say.wanted(std::vector<std::int32_t>(own->wanted().begin(), own->wanted().end()));
  say.copies(own->take_copies());
  say.capacity(std::vector{static_cast<std::int32_t>(capacity.slots), static_cast<std::int32_t>(capacity.length)});
  say.reserved(static_cast<double>(model().slots().reserved()));
  return {};
}
Result<void> FullModelHandle::device_logits(Arguments& in, PlainAnswer& out) {
  const int number = in.integer<int>();
  const auto logits = in.floats();
  Generation* own = generation(number);
  return say_job(number, own ? own->finish(logits) : Result<bool>(false), 1, out);
}
Result<void> FullModelHandle::device_read(Arguments& in, PlainAnswer& out) {
  Generation* own = generation(in.integer<int>());
  const auto ids = in.ints();
  const auto slot = in.integer<std::int32_t>(), position = in.integer<std::int32_t>();
  if (!own) return {};
  auto read = own->read_here(slot, position, ids);
  DeviceReadAnswer{out}.reserved(static_cast<double>(model().slots().reserved()));
  return read;
}

Result<void> FullModelHandle::device_forward(Arguments& in, PlainAnswer& out) {
  Batch batch;
  for (auto* list : {&batch.input_ids, &batch.token_type_ids, &batch.position_ids, &batch.seq_start}) {
    const auto values = in.ints();
    list->assign(values.begin(), values.end());
  }
  const auto states = in.floats();
  auto result = forward_ends(model(), batch, states.data(), in.flag());
  if (!result.ok()) return result.error();
  const ForwardOutputs& outputs = out.keep(std::move(result).value());
  const DeviceForwardAnswer say{out};
  say.pooler_output(outputs.pooler_output);
  say.logits(outputs.logits);
  return {};
}

Result<void> FullModelHandle::blocks_of(Arguments& in, PlainAnswer& out) {
  std::vector<std::uint8_t> blocks;
  for (const std::string& name : in.words()) blocks.push_back(static_cast<std::uint8_t>(loader_->blocks_of(name)));
  BlocksAnswer{out}.blocks(std::move(blocks));
  return {};
}

Result<void> FullModelHandle::watch_inputs(Arguments& in, PlainAnswer& out) {
  moments_.reset();
  const auto names = in.words();
  std::vector<std::int32_t> layers;
  if (!names.empty()) {
    moments_ = std::make_unique<InputMoments>(model(), names);
    layers = moments_->layers();
  }
  WatchAnswer{out}.layers(std::move(layers));
  return {};
}
Result<void> FullModelHandle::input_moments(Arguments& in, PlainAnswer& out) {
  auto moments = moments_->take(in.integer<int>());
  const MomentsAnswer say{out};
  say.tokens(moments.tokens);
  say.sums(std::move(moments.sums));
  return {};
}

// Begins anew if training had begun.
Result<void> FullModelHandle::train_begin(Arguments& in, PlainAnswer& out) {
  trainer_.reset();  // two would take twice the memory
  TrainOptions options;
  if (auto read = in.options(options); !read.ok()) return read;
  auto trainer = Trainer::begin(model(), options);
  if (!trainer.ok()) return trainer.error();
  trainer_ = std::move(trainer).value();
  const TrainBegunAnswer say{out};
  say.target_modules(std::vector<std::string>(trainer_->target_modules()));
  say.excluded_modules(std::vector<std::string>(trainer_->excluded_modules()));
  say.head_modules(trainer_->head_modules());
  say.fan_in_fan_out(trainer_->fan_in_fan_out());
  say.ties_embeddings(trainer_->ties_embeddings());
  say.fingerprint(std::string(trainer_->fingerprint()));
  return {};
}
Result<void> FullModelHandle::train_plan(Arguments& in, PlainAnswer& out) {
  const auto tokens = in.integer(), max_seq = in.integer(), parts = in.integer(), words = in.integer();
  const TrainPlan plan = trainer_->plan(tokens, max_seq, parts, words);
  const TrainPlanAnswer say{out};
  say.trainable(plan.trainable);
  say.all(plan.all);
  say.weights(plan.weights);
  say.gradients(plan.gradients);
  say.optimizer(plan.optimizer);
  say.activations(plan.activations);
  return {};
}
Result<void> FullModelHandle::train_words(Arguments& in, PlainAnswer& out) {
  const Rows rows(in);
  const auto words = trainer_->count_words(rows.rows);
  if (!words.ok()) return words.error();
  WordsAnswer{out}.words(words.value());
  return {};
}
Result<void> FullModelHandle::train_count(Arguments& in, PlainAnswer& out) {
  const Rows rows(in);
  const auto learned = trainer_->count_learned(rows.rows);
  if (!learned.ok()) return learned.error();
  LearnedAnswer{out}.learned(learned.value());
  return {};
}
Result<void> FullModelHandle::train_accumulate(Arguments& in, PlainAnswer& out) {
  const Rows rows(in);
  const auto loss = trainer_->accumulate(rows.rows, in.number());
  if (!loss.ok()) return loss.error();
  LossAnswer{out}.loss(loss.value());
  return {};
}
Result<void> FullModelHandle::train_outputs(Arguments& in, PlainAnswer& out) {
  const Rows rows(in);
  const bool is_whole = in.flag(), learns = in.flag();
  const auto given = trainer_->outputs(rows.rows, is_whole, learns);
  if (!given.ok()) return given.error();
  const TrainOutputsAnswer say{out};
  say.values(given.value().values);
  say.width(given.value().width);
  say.labels(given.value().labels);
  return {};
}
// Times the share, as the loss is.
Result<void> FullModelHandle::train_gradient(Arguments& in, PlainAnswer&) {
  const auto values = in.floats();
  return trainer_->accumulate_gradient(values, in.number());
}
Result<void> FullModelHandle::input_gradient(Arguments& in, PlainAnswer& out) {
  Batch batch;
  for (auto* list : {&batch.input_ids, &batch.token_type_ids, &batch.position_ids}) {
    const auto values = in.ints();
    list->assign(values.begin(), values.end());
  }
  batch.seq_start.push_back(static_cast<std::int32_t>(batch.input_ids.size()));
  const auto embeddings = in.floats(), d_hidden = in.floats(), d_logits = in.floats();
  auto found = wattn::input_gradient(model(), batch, embeddings,
                                     {.hidden = d_hidden, .logits = d_logits, .token = in.integer<std::int64_t>()});
  if (!found.ok()) return found.error();
  InputGradientAnswer{out}.gradient(out.keep(std::move(found).value()));
  return {};
}
Result<void> FullModelHandle::train_drop(Arguments&, PlainAnswer&) {
  trainer_->drop_gradients();
  return {};
}
// The loss of a language model, without learning.
Result<void> FullModelHandle::train_evaluate(Arguments& in, PlainAnswer& out) {
  const Rows rows(in);
  const auto loss = trainer_->evaluate(rows.rows);
  if (!loss.ok()) return loss.error();
  const EvaluateAnswer say{out};
  say.sum(loss.value().sum);
  say.tokens(loss.value().tokens);
  return {};
}
Result<void> FullModelHandle::train_update(Arguments&, PlainAnswer& out) {
  const auto updated = trainer_->update();
  if (!updated.ok()) return updated.error();
  const TrainReport& report = updated.value();
  const UpdateAnswer say{out};
  say.step(report.step);
  say.loss(report.loss);
  say.grad_norm(report.grad_norm);
  say.learning_rate(report.learning_rate);
  say.tokens(report.tokens);
  return {};
}
Result<void> FullModelHandle::train_state(Arguments&, PlainAnswer& out) {
  const auto room = Arena::fits(static_cast<double>(trainer_->state_size() * sizeof(float)), "the training state");
  if (!room.ok()) return room;
  StateAnswer{out}.state(trainer_->state());
  return {};
}
Result<void> FullModelHandle::train_set_state(Arguments& in, PlainAnswer&) {
  const auto state = in.floats();
  return trainer_->set_state(state, in.integer());
}
Result<void> FullModelHandle::train_adapter(Arguments&, PlainAnswer& out) {
  say_tensors(out.keep(trainer_->adapter()), out);
  return {};
}
Result<void> FullModelHandle::checkpoint(Arguments&, PlainAnswer& out) {
  auto tensors = wattn::checkpoint(model());
  if (!tensors.ok()) return tensors.error();
  say_tensors(out.keep(std::move(tensors).value()), out);
  return {};
}

}  // namespace

extern "C" EMSCRIPTEN_KEEPALIVE Handle* make_model() { return new FullModelHandle(); }

}  // namespace wattn
