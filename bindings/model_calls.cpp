// The calls of a model.
#include <emscripten/emscripten.h>

#include "bindings/model.h"
#include "tasks/inspect.h"
#include "tasks/saved_prefix.h"

namespace wattn {
namespace {

using Call = Result<void> (ModelHandle::*)(Arguments&, PlainAnswer&);
constexpr Call kCalls[] = {
#define WIRE_MODEL_CALL(name, ...) &ModelHandle::name,
#include "core/wire.def"
};

void say_kept(const Prefixes& kept, PlainAnswer& out) {
  const KeptAnswer say{out};
  say.kept_sequences(kept.sequences());
  say.kept_tokens(kept.tokens());
  say.kept_bytes(kept.bytes());
}

// The head of a LoadRequest.
Result<void> set_head(const std::string& wanted, LoadOptions& out) {
  for (const Word& head : Words<HeadKind>::all) {
    if (wanted != head.word) continue;
    out.head = static_cast<HeadKind>(head.value);
    return {};
  }
  const auto is = [&](OtherHead head) { return wanted == word_of(head); };
  if (is(OtherHead::kOwnLm)) {
    out.own_lm_head = true;
  } else if (is(OtherHead::kRanking)) {
    out.or_causal_lm = true;
    out.head = HeadKind::kSequence;
  } else if (is(OtherHead::kNewSequence)) {
    out.new_head = HeadKind::kSequence;
  } else if (is(OtherHead::kTokenVectors)) {
    out.retrieval = Retrieval::kTokenVectors;
  } else if (is(OtherHead::kSparse)) {
    out.retrieval = Retrieval::kSparse;
    out.head = HeadKind::kMaskedLm;
  } else {
    return Error{ErrorCode::kState, "options: unknown head '" + wanted + "'"};
  }
  return {};
}

}  // namespace

void say_vectors(EmbedResult made, PlainAnswer& out) {
  const EmbedResult& result = out.keep(std::move(made));
  const EmbedAnswer say{out};
  say.data(result.data);
  say.dim(result.dim);
  say.pooled(result.pooled);
  say.tokens(result.tokens);
  say.untruncated(result.tokens_untruncated);
  say.windows(result.windows);
  say.unknown(result.unknown);
}

Result<void> ModelHandle::answer(std::size_t number, Arguments& in, PlainAnswer& out) {
  static_assert(std::size(kCalls) == kNumCalls);
  if (number < kNumCalls) return (this->*kCalls[number])(in, out);
  return unsupported_error("this call: expected wattn-full-simd.wasm or wattn-full-relaxed.wasm, found another");
}

Result<void> ModelHandle::describe(Arguments& in, PlainAnswer& out) {
  const auto described = ModelLoader::describe(in.files<NamedFile>());
  if (!described.ok()) return described.error();
  const DescribeAnswer say{out};
  say.model_type(described.value().model_type);
  say.kind(described.value().kind);
  say.heads(std::vector(described.value().heads));
  return {};
}
Result<void> ModelHandle::gguf_files(Arguments& in, PlainAnswer& out) {
  bool is_cut_off = false;
  auto found = wattn::gguf_files(in.bytes(), is_cut_off);
  if (!found.ok()) return found.error();
  std::vector<std::string> names;
  std::vector<std::vector<std::uint8_t>> contents;
  for (const NamedFile& file : found.value()) {
    names.push_back(file.name);
    contents.emplace_back(file.bytes.begin(), file.bytes.end());
  }
  const GgufAnswer say{out};
  say.is_cut_off(is_cut_off);
  say.names(std::move(names));
  say.contents(std::move(contents));
  return {};
}
Result<void> ModelHandle::begin(Arguments& in, PlainAnswer& out) {
  const auto files = in.files<NamedFile>();
  LoadRequest request;
  if (auto read = in.options(request); !read.ok()) return read;
  if (auto set = set_head(request.head, request.options); !set.ok()) return set;
  request.options.q8_keys = request.kv_cache == KvCacheType::kQ8;
  auto loader = ModelLoader::begin(files, request.options);
  if (!loader.ok()) return loader.error();
  loader_ = std::move(loader).value();
  BeginAnswer{out}.weight_files(std::vector<std::string>(loader_->weight_files()));
  return {};
}
Result<void> ModelHandle::begin_weight_file(Arguments& in, PlainAnswer&) {
  const std::string name(in.text());
  return loader_->begin_weight_file(name, in.integer<std::uint64_t>());
}
Result<void> ModelHandle::push(Arguments& in, PlainAnswer&) { return loader_->push(in.bytes()); }
Result<void> ModelHandle::make_room_for_helpers(Arguments& in, PlainAnswer& out) {
  const int count = in.integer<int>();
  std::vector<double> addresses;
  for (int i = 0; i < count; ++i) {
    stacks_.push_back(std::make_unique<Stack>());
    addresses.push_back(static_cast<double>(reinterpret_cast<std::uintptr_t>(stacks_.back().get())));
  }
  loader_->team().expect_helpers(count);
  const HelpersAnswer say{out};
  say.team(reinterpret_cast<std::uintptr_t>(&loader_->team()));
  say.stacks(std::move(addresses));
  say.stack_bytes(sizeof(Stack));
  return {};
}
// Before or after finish.
Result<void> ModelHandle::use_helpers(Arguments& in, PlainAnswer&) {
  (model_ ? model_->team() : loader_->team()).set_helpers(in.integer<int>());
  return {};
}
Result<void> ModelHandle::finish(Arguments&, PlainAnswer& out) {
  auto loaded = loader_->finish();
  if (!loaded.ok()) return loaded.error();
  model_ = std::move(loaded).value();
  FinishAnswer{out}.held(std::vector<std::uint8_t>(loader_->held()));
  loader_.reset();
  return {};
}

Result<void> ModelHandle::add_adapter(Arguments& in, PlainAnswer& out) {
  AdapterTensors all{in.words(), {}, {}};
  const auto sizes = in.ints();
  all.values = in.floats();
  for (std::size_t i = 0; i + 4 <= sizes.size(); i += 4)
    all.tensors.push_back({sizes[i], sizes[i + 1], sizes[i + 2], sizes[i + 3]});
  const auto added = model_->add_adapter(std::move(all));
  if (!added.ok()) return added.error();
  const AdapterAnswer say{out};
  say.adapter(added.value());
  say.labels(model_->labels_with(added.value()));
  return {};
}
Result<void> ModelHandle::use_adapter(Arguments& in, PlainAnswer&) { return model_->use_adapter(in.integer<int>()); }
Result<void> ModelHandle::delete_adapter(Arguments& in, PlainAnswer&) {
  model_->delete_adapter(in.integer<int>());
  return {};
}
Result<void> ModelHandle::merge_adapter(Arguments& in, PlainAnswer&) { return model_->merge_adapter(in.integer<int>()); }

// The options of one call are mostly those of the last, and a short text takes little longer than reading them.
Result<void> ModelHandle::use_embed_options(std::string_view json) {
  if (json == embed_json_) return {};
  embed_json_.clear();
  EmbedRequest request;
  if (auto read = read_options(json, request); !read.ok()) return read;
  embed_options_ = std::move(request.options);
  if (request.prompt) {
    embed_options_.prompt = *std::move(request.prompt);
  } else {
    auto found = find_prompt(model_->sentence(), request.prompt_name);
    if (!found.ok()) return found.error();
    embed_options_.prompt = std::move(found).value();
  }
  embed_json_ = json;
  return {};
}
Result<void> ModelHandle::embed(Arguments& in, PlainAnswer& out) {
  auto texts = in.texts();
  if (auto used = use_embed_options(in.text()); !used.ok()) return used;
  embed_options_.first_text = in.integer();
  auto job = EmbedJob::begin(*model_, texts->views, embed_options_);
  if (!job.ok()) return job.error();
  const auto report = [](Job& ran, bool more, PlainAnswer& to) {
    if (more) return;
    say_vectors(static_cast<EmbedJob&>(ran).take_result(), to);
  };
  return start({std::move(texts), nullptr, std::move(job).value(), report}, in.integer<int>(), out);
}

Result<void> ModelHandle::predict(Arguments& in, PlainAnswer& out) {
  auto texts = in.texts(), pairs = in.texts();
  PredictOptions options;
  if (auto read = in.options(options); !read.ok()) return read;
  auto job = PredictJob::begin(*model_, texts->views, pairs->views, options);
  if (!job.ok()) return job.error();
  const auto report = [](Job& ran, bool more, PlainAnswer& to) {
    if (more) return;
    const PredictResult& result = to.keep(static_cast<PredictJob&>(ran).take_result());
    FlatEncodings flat;
    for (std::size_t i = 0; i < result.encodings.size(); ++i) flat.add(result.encodings[i], result.text[i]);
    const FlatEncodings& kept = to.keep(std::move(flat));
    const PredictAnswer say{to};
    say.ids(kept.ids);
    say.type_ids(kept.type_ids);
    say.offsets(kept.offset_values());
    say.special_tokens_mask(kept.special_tokens_mask);
    say.word_ids(kept.word_ids);
    say.sequence_ids(kept.sequence_ids);
    say.lengths(kept.lengths);
    say.untruncated(kept.untruncated);
    say.unknown(kept.unknown);
    say.text(kept.text);
    say.logits(result.logits);
    say.rows(result.rows);
    say.labels(result.labels);
  };
  return start({std::move(texts), std::move(pairs), std::move(job).value(), report}, in.integer<int>(), out);
}

Result<void> ModelHandle::generate(Arguments& in, PlainAnswer& out) {
  jobs_.erase(generation_);  // it uses the same slots
  const auto prompts = in.lists_of_ints();
  GenerateRequest request;
  if (auto read = in.options(request); !read.ok()) return read;
  const int steps = in.integer<int>();
  request.defers = steps == 0;  // a device may run them
  auto job = Generation::begin(*model_, prompts, request);
  if (!job.ok()) return job.error();
  const auto report = [](Job& ran, bool more, PlainAnswer& to) {
    auto& generation = static_cast<Generation&>(ran);
    const GenerateAnswer say{to};
    say.phase(generation.phase());
    say.new_tokens(generation.take_new());
    if (more) return;
    std::vector<std::vector<std::int32_t>> sequences;
    std::vector<std::int32_t> counts;
    std::vector<FinishReason> reasons;
    std::vector<float> scores;
    for (const std::vector<Generated>& all : generation.results()) {
      counts.push_back(static_cast<std::int32_t>(all.size()));
      for (const Generated& one : all) {
        sequences.push_back(one.tokens);
        reasons.push_back(one.reason);
        scores.push_back(one.score);
      }
    }
    say.sequences(std::move(sequences));
    say.counts(std::move(counts));
    say.reasons(std::move(reasons));
    say.scores(std::move(scores));
    say.restored(generation.restored());
    say_kept(generation.prefixes(), to);
  };
  generation_ = next_job_;
  is_generation_ = true;
  return start({nullptr, nullptr, std::move(job).value(), report}, steps, out);
}

Generation* ModelHandle::generation() {
  const auto found = is_generation_ ? jobs_.find(generation_) : jobs_.end();
  return found == jobs_.end() ? nullptr : static_cast<Generation*>(found->second.job.get());
}
Result<void> ModelHandle::constrain(Arguments& in, PlainAnswer& out) {
  const auto mask = in.ints(), forced = in.ints();
  std::size_t taken = 0;
  if (Generation* own = generation()) taken = own->constrain(in.integer<std::size_t>(), {mask.begin(), mask.end()}, forced);
  ConstrainAnswer{out}.taken(taken);
  return {};
}
Result<void> ModelHandle::propose(Arguments& in, PlainAnswer&) {
  const auto ids = in.ints();
  if (Generation* own = generation()) own->propose(in.integer<std::size_t>(), ids);
  return {};
}
Result<void> ModelHandle::rows(Arguments&, PlainAnswer& out) {
  Generation* own = generation();
  if (!own) return Error{ErrorCode::kState, "rows: expected a running generation, found none"};
  const RowsAnswer say{out};
  say.rows(std::span<const float>(own->rows()));
  say.prompts(own->prompts_of_rows());
  return {};
}
Result<void> ModelHandle::set_rows(Arguments& in, PlainAnswer&) {
  const auto given = in.floats();
  if (Generation* own = generation(); own && own->rows().size() == given.size())
    std::copy(given.begin(), given.end(), own->rows().begin());
  return {};
}
Result<void> ModelHandle::end_generation(Arguments&, PlainAnswer&) {
  if (Generation* own = generation()) own->end();
  return {};
}
Result<void> ModelHandle::save_prefix(Arguments& in, PlainAnswer& out) {
  jobs_.erase(generation_);  // it uses the same slots
  auto saved = wattn::save_prefix(*model_, in.ints());
  if (!saved.ok()) return saved.error();
  const auto bytes = out.keep(std::move(saved).value()).taken();
  SavePrefixAnswer{out}.bytes(std::span(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
  return {};
}
Result<void> ModelHandle::load_prefix(Arguments& in, PlainAnswer& out) {
  jobs_.erase(generation_);
  const auto ids = in.ints();
  const auto bytes = in.bytes();
  auto arena = Arena::with_bytes(bytes.size(), "a prefix");
  if (!arena.ok()) return arena.error();
  std::copy(bytes.begin(), bytes.end(), arena.value().take<char>(static_cast<std::int64_t>(bytes.size())));
  auto job = LoadPrefixJob::begin(*model_, {ids.begin(), ids.end()}, std::move(arena).value());
  if (!job.ok()) return job.error();
  const auto report = [](Job& ran, bool, PlainAnswer& to) {
    const auto& loading = static_cast<LoadPrefixJob&>(ran);
    LoadPrefixAnswer{to}.kept(loading.kept());
    say_kept(loading.prefixes(), to);
  };
  generation_ = next_job_;
  is_generation_ = false;
  return start({nullptr, nullptr, std::move(job).value(), report}, in.integer<int>(), out);
}
// hold: a number of GenerateRequest::holds.
Result<void> ModelHandle::release_prefix(Arguments& in, PlainAnswer&) {
  model_->slots().prefixes().release(in.integer<std::int32_t>());
  return {};
}
Result<void> ModelHandle::run(Arguments& in, PlainAnswer& out) {
  const int job = in.integer<int>();
  return run_job(job, in.integer<int>(), out);
}
Result<void> ModelHandle::cancel(Arguments& in, PlainAnswer&) {
  jobs_.erase(in.integer<int>());
  return {};
}

Result<void> ModelHandle::forward(Arguments& in, PlainAnswer& out) {
  jobs_.erase(generation_);  // it uses the same slots
  Batch batch;
  ForwardRequest request;
  for (auto* list : {&batch.input_ids, &batch.token_type_ids, &batch.position_ids, &batch.seq_start, &request.source}) {
    const auto values = in.ints();
    list->assign(values.begin(), values.end());
  }
  for (auto* list : {&request.head_mask, &request.cross_head_mask, &request.encoder_head_mask}) {
    const auto values = in.floats();
    list->assign(values.begin(), values.end());
  }
  const auto taps = in.words();
  auto values = in.lists_of_floats();
  for (std::size_t i = 0; i < taps.size(); ++i) request.patches.push_back({taps[i], std::move(values[i])});
  if (auto read = in.options(request); !read.ok()) return read;
  auto result = wattn::forward(*model_, batch, request);
  if (!result.ok()) return result.error();
  const ForwardOutputs& outputs = out.keep(std::move(result).value());
  const ForwardAnswer say{out};
  say.last_hidden_state(outputs.last_hidden_state);
  say.pooler_output(outputs.pooler_output);
  say.logits(outputs.logits);
  const auto set = [&](const auto& list, void (*say_it)(const ForwardAnswer&, const std::vector<std::vector<float>>&)) {
    if (!list.empty()) say_it(say, list);
  };
#define WATTN_LIST(name, list) set(list, [](const ForwardAnswer& to, const auto& values) { to.name(values); })
  WATTN_LIST(hidden_states, outputs.hidden_states);
  WATTN_LIST(attentions, outputs.attentions);
  WATTN_LIST(queries, outputs.qkv[0]);
  WATTN_LIST(keys, outputs.qkv[1]);
  WATTN_LIST(values, outputs.qkv[2]);
  WATTN_LIST(cross_attentions, outputs.cross_attentions);
  WATTN_LIST(cross_queries, outputs.cross_qkv[0]);
  WATTN_LIST(cross_keys, outputs.cross_qkv[1]);
  WATTN_LIST(cross_values, outputs.cross_qkv[2]);
  if (!outputs.lens_ids.empty()) {
    say.lens_ids(outputs.lens_ids);
    say.lens_logits(outputs.lens_logits);
  }
  if (!model_->decoder()) return {};
  say.encoder_last_hidden_state(outputs.encoder.last_hidden_state);
  WATTN_LIST(encoder_hidden_states, outputs.encoder.hidden_states);
  WATTN_LIST(encoder_attentions, outputs.encoder.attentions);
  WATTN_LIST(encoder_queries, outputs.encoder.qkv[0]);
  WATTN_LIST(encoder_keys, outputs.encoder.qkv[1]);
  WATTN_LIST(encoder_values, outputs.encoder.qkv[2]);
#undef WATTN_LIST
  return {};
}

Result<void> ModelHandle::describe_tokenizer(Arguments&, PlainAnswer& out) {
  wattn::describe(model_->tokenizer(), out);
  return {};
}
Result<void> ModelHandle::tokens_to_string(Arguments& in, PlainAnswer& out) {
  auto text = model_->tokenizer().tokens_to_string(in.words());
  if (!text.ok()) return text.error();
  TextAnswer{out}.text(std::move(text).value());
  return {};
}
Result<void> ModelHandle::token_to_id(Arguments& in, PlainAnswer& out) {
  IdAnswer{out}.id(model_->tokenizer().token_to_id(in.text()).value_or(-1));
  return {};
}

Result<void> ModelHandle::info(Arguments&, PlainAnswer& out) {
  const TransformerConfig& config = model_->generator().config();
  const InfoAnswer say{out};
  say.model_type(model_->arch().model_type);
  say.kind(model_->kind());
  say.head(model_->head_kind());
  say.vocab_size(config.vocab_size);
  say.hidden_size(config.hidden_size);
  say.num_hidden_layers(config.num_hidden_layers);
  say.num_attention_heads(config.num_attention_heads);
  say.num_key_value_heads(config.kv_heads());
  say.head_dim(config.head_size());
  say.max_position_embeddings(config.max_position_embeddings);
  say.max_length(model_->max_length());
  say.context_length(model_->context_length());
  say.token_budget(model_->has_lm_head() ? model_->slots().token_budget() : model_->token_budget());
  say.weight_bytes(model_->weight_bytes());
  say.arena_bytes(model_->arena_bytes());
  say.prefix_bytes(model_->slots().prefixes().most_bytes());
  say.pooled(!model_->sentence().pooling.empty());
  say.normalize(model_->sentence().normalize);
  say.kernels(model_->kernels().name);
  std::vector<std::string> names, texts;
  for (const auto& [name, text] : model_->sentence().prompts) {
    names.push_back(name);
    texts.push_back(text);
  }
  say.prompt_names(std::move(names));
  say.prompt_texts(std::move(texts));
  say.adapters(model_->num_adapters());
  if (!model_->decoder()) return {};
  const TransformerConfig& encoder = model_->transformer().config();
  say.encoder_layers(encoder.num_hidden_layers);
  say.encoder_attention_heads(encoder.num_attention_heads);
  say.encoder_head_dim(encoder.head_size());
  say.max_source_length(encoder.max_position_embeddings);
  return {};
}

Result<void> ModelHandle::summary(Arguments& in, PlainAnswer& out) {
  const auto narrow = [](const Shape& shape) { return std::vector<std::int32_t>(shape.begin(), shape.end()); };
  std::vector<std::string> names, types;
  std::vector<std::vector<std::int32_t>> kernels, outputs;
  std::vector<double> parameters, macs;
  for (const SummaryRow& row : inspect(*model_, in.integer())) {
    names.push_back(row.name);
    types.push_back(row.type);
    kernels.push_back(narrow(row.kernel));
    outputs.push_back(narrow(row.output));
    parameters.push_back(static_cast<double>(row.parameters));
    macs.push_back(static_cast<double>(row.macs));
  }
  const SummaryAnswer say{out};
  say.names(std::move(names));
  say.types(std::move(types));
  say.kernels(std::move(kernels));
  say.outputs(std::move(outputs));
  say.parameters(std::move(parameters));
  say.macs(std::move(macs));
  return {};
}

Result<void> ModelHandle::start(Pending pending, int steps, PlainAnswer& out) {
  jobs_.emplace(next_job_, std::move(pending));
  return run_job(next_job_++, steps, out);
}
Result<void> ModelHandle::run_job(int number, int steps, PlainAnswer& out) {
  Job* job = find_job(number);
  Result<bool> more = true;
  int taken = 0;
  for (; job && more.ok() && more.value() && taken < steps; ++taken) more = job->step();
  return say_job(number, more, taken, out);
}
Job* ModelHandle::find_job(int number) const {
  const auto found = jobs_.find(number);
  return found == jobs_.end() ? nullptr : found->second.job.get();
}
Result<void> ModelHandle::say_job(int number, const Result<bool>& more, int steps, PlainAnswer& out) {
  const auto found = jobs_.find(number);
  if (found == jobs_.end()) return Error{ErrorCode::kState, "this call was ended by another call to the same model"};
  if (!more.ok()) {
    jobs_.erase(found);
    return more.error();
  }
  const JobAnswer say{out};
  say.job(number);
  say.more(more.value());
  say.steps(steps);
  found->second.report(*found->second.job, more.value(), out);
  if (!more.value()) jobs_.erase(found);
  return {};
}

// The tokenizer of a model after finish(), for the calls of texts (tokenizer.cpp).
extern "C" EMSCRIPTEN_KEEPALIVE const Tokenizer* model_tokenizer(const ModelHandle* model) { return &model->tokenizer(); }

}  // namespace wattn
