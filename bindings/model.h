// ModelHandle: a Model for JS. model.cpp registers it; train.cpp adds training to it in the full WebAssembly.
#pragma once

#include <emscripten/bind.h>

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/model_options.h"
#include "bindings/plain_answer.h"
#include "bindings/tokenizer.h"
#include "engine/model.h"
#include "tasks/inspect.h"
#include "tasks/predict.h"

namespace wattn {

inline constexpr const char* kKinds[] = {"encoder", "decoder", "encoder-decoder"};

template <class Enum, std::size_t N>
val name_of(Enum value, const char* const (&words)[N]) {
  return val(words[static_cast<std::size_t>(value)]);
}

// The names of StackOutputs in answers.
struct StackNames {
  const char *hidden_states, *attentions, *cross_attentions;
  const char *qkv[3], *cross_qkv[3];
};
inline constexpr StackNames kStack = {"hidden_states",
                                      "attentions",
                                      "cross_attentions",
                                      {"queries", "keys", "values"},
                                      {"cross_queries", "cross_keys", "cross_values"}};
inline constexpr StackNames kEncoderStack = {"encoder_hidden_states",
                                             "encoder_attentions",
                                             "encoder_cross_attentions",
                                             {"encoder_queries", "encoder_keys", "encoder_values"},
                                             {"encoder_cross_queries", "encoder_cross_keys", "encoder_cross_values"}};

// Each field that is not empty, as a list of one array per layer.
inline void set_stack_outputs(PlainAnswer& out, const StackOutputs& stack, const StackNames& names) {
  out.set_list(names.hidden_states, stack.hidden_states);
  out.set_list(names.attentions, stack.attentions);
  out.set_list(names.cross_attentions, stack.cross_attentions);
  for (int i = 0; i < 3; ++i) {
    out.set_list(names.qkv[i], stack.qkv[i]);
    out.set_list(names.cross_qkv[i], stack.cross_qkv[i]);
  }
}

inline val to_row(const SummaryRow& row) {
  const auto dims = [](const Shape& shape) {
    return to_array(shape, [](std::int64_t dim) { return val(static_cast<double>(dim)); });
  };
  val out = val::object();
  out.set("name", val(row.name));
  out.set("type", val(row.type));
  out.set("kernel", dims(row.kernel));
  out.set("output", dims(row.output));
  set_number(out, "parameters", row.parameters);
  set_number(out, "macs", row.macs);
  return out;
}

// A model. web/ calls begin; then begin_weight_file and push for each of weight_files; then finish; then any of the others.
class ModelHandle {
 public:
  // files: [[name, Uint8Array], ...], at least config.json. Answer: model_type, kind ("encoder", "decoder" or "encoder-decoder"),
  // heads (those that begin accepts, without "none").
  val describe(val files) const {
    const auto described = ModelLoader::describe(to_files<NamedFile>(files));
    if (!described.ok()) return answer(described.error());
    val out = answer();
    out.set("model_type", val(described.value().model_type));
    out.set("kind", name_of(described.value().kind, kKinds));
    out.set("heads", to_array(described.value().heads, [](HeadKind head) { return name_of(head, kHeads); }));
    return out;
  }
  // The beginning of a GGUF file. Answer: is_cut_off, or files [[name, Uint8Array], ...] (engine/documents.h).
  val gguf_files(val bytes) const {
    std::string beginning;
    copy_bytes(bytes, beginning);
    bool is_cut_off = false;
    const auto found = wattn::gguf_files(beginning, is_cut_off);
    if (!found.ok()) return answer(found.error());
    val out = answer();
    out.set("is_cut_off", is_cut_off);
    out.set("files", to_array(found.value(), [](const NamedFile& file) {
              val pair = val::array();
              pair.call<void>("push", val(file.name));
              pair.call<void>("push", to_typed_array(reinterpret_cast<const std::uint8_t*>(file.bytes.data()), file.bytes.size()));
              return pair;
            }));
    return out;
  }
  // options: of to_load_options(). Answer: weight_files.
  val begin(val files, val options) {
    auto loader = ModelLoader::begin(to_files<NamedFile>(files), to_load_options(Options(options)));
    if (!loader.ok()) return answer(loader.error());
    loader_ = std::move(loader).value();
    return answer("weight_files", to_array(loader_->weight_files(), [](const std::string& name) { return val(name); }));
  }
  val begin_weight_file(std::string name, double bytes) {
    return answer(loader_->begin_weight_file(name, static_cast<std::uint64_t>(bytes)));
  }
  val push(val chunk) {
    copy_bytes(chunk, chunk_);
    return answer(loader_->push(chunk_));
  }
  // Allocates stacks of helper threads, after begin. Answer: team and stacks (addresses), stack_bytes.
  val make_room_for_helpers(int count) {
    for (int i = 0; i < count; ++i) stacks_.push_back(std::make_unique<Stack>());
    loader_->team().expect_helpers(count);
    val out = answer();
    out.set("team", reinterpret_cast<std::uintptr_t>(&loader_->team()));
    out.set("stacks", to_array(stacks_, [](const auto& stack) { return val(reinterpret_cast<std::uintptr_t>(stack.get())); }));
    out.set("stack_bytes", sizeof(Stack));
    return out;
  }
  // Sets how many helpers are running; before or after finish.
  val use_helpers(int count) {
    (model_ ? model_->team() : loader_->team()).set_helpers(count);
    return answer();
  }
  // Answer: held, see WeightLoader.
  val finish() {
    auto loaded = loader_->finish();
    if (!loaded.ok()) return answer(loaded.error());
    model_ = std::move(loaded).value();
    const val held = to_typed_array(loader_->held());
    loader_.reset();
    chunk_ = std::string();
    return answer("held", held);
  }

  // names: array of strings; tensors: {sizes: Int32Array of AdapterTensor's fields, values: Float32Array} (models/adapter.h).
  // Answer: adapter (its number), labels (of the head with it; 0: none).
  val add_adapter(val names, val tensors) {
    const std::vector<std::int32_t> sizes = to_ids(tensors["sizes"]);
    const auto values = Options(tensors).floats("values");
    AdapterTensors all{emscripten::vecFromJSArray<std::string>(names), {}, values};
    for (std::size_t i = 0; i + 4 <= sizes.size(); i += 4)
      all.tensors.push_back({sizes[i], sizes[i + 1], sizes[i + 2], sizes[i + 3]});
    const auto added = model_->add_adapter(std::move(all));
    if (!added.ok()) return answer(added.error());
    val out = answer("adapter", added.value());
    out.set("labels", static_cast<double>(model_->labels_with(added.value())));
    return out;
  }
  // Of the calls that follow; 0: none.
  val use_adapter(int adapter) { return answer(model_->use_adapter(adapter)); }
  val delete_adapter(int adapter) {
    model_->delete_adapter(adapter);
    return answer();
  }
  val merge_adapter(int adapter) { return answer(model_->merge_adapter(adapter)); }

  // The next calls answer by the address of a PlainAnswer, which the host reads before its next call of this model.

  // Calls that may take long are jobs. The call that begins one also takes its first steps. Its answer is that of run(): job (its
  // number), more (whether it is unfinished), steps (taken) and, after the last step, what is said at each call.
  using Address = std::uintptr_t;

  // The address of this handle, for plain exports (plain_calls.cpp).
  Address self() const { return reinterpret_cast<Address>(this); }
  void clear_answer() { answer_.clear(); }

  // Sets the options of embed(), before its first call: those of to_embed_options(), and prompt_name.
  val set_embed_options(val options) {
    const Options given(options);
    EmbedOptions embed_options = to_embed_options(given);
    if (!given.has("prompt")) {
      auto found = find_prompt(model_->sentence(), given.word("prompt_name"));
      if (!found.ok()) return answer(found.error());
      embed_options.prompt = std::move(found).value();
    }
    embed_options_ = std::move(embed_options);
    return answer();
  }
  // first_text: index of the first one in messages. Answer: data, dim, pooled, tokens, untruncated, windows, unknown.
  const PlainAnswer* embed(std::unique_ptr<Texts> texts, std::int64_t first_text, int steps) {
    embed_options_.first_text = first_text;
    auto job = EmbedJob::begin(*model_, texts->views, embed_options_);
    if (!job.ok()) return answer_.end(job.error());
    const auto report = [](Job& ran, bool more, PlainAnswer& out) {
      if (more) return;
      const EmbedResult& result = out.keep(static_cast<EmbedJob&>(ran).take_result());
      out.set("data", result.data);
      out.set_number("dim", result.dim);
      out.set_flag("pooled", result.pooled);
      out.set("tokens", result.tokens);
      out.set("untruncated", result.tokens_untruncated);
      out.set("windows", result.windows);
      out.set("unknown", result.unknown);
    };
    return begin_job({std::move(texts), nullptr, std::move(job).value(), report}, steps);
  }

  // options: flags, max_length and overlap (to_encode_options), at_token, label_ids, tail and first_text. pairs: the second texts
  // in the same form, or null. Answer: that of encode(), and logits [sum of rows, labels], rows [encodings], labels.
  Address predict(val text, val lengths, val pair_text, val pair_lengths, val options, int steps) {
    const Options given(options);
    auto texts = std::make_unique<Texts>(text, lengths), pairs = std::make_unique<Texts>(pair_text, pair_lengths);
    auto job = PredictJob::begin(*model_, texts->views, pairs->views,
                                 {.encode = to_encode_options(static_cast<std::uint32_t>(given.integer("flags")),
                                                              static_cast<std::int32_t>(given.integer("max_length")),
                                                              static_cast<std::int32_t>(given.integer("overlap"))),
                                  .at_token = given.word("at_token"),
                                  .label_ids = given.ids("label_ids"),
                                  .tail = given.ids("tail"),
                                  .first_text = given.integer("first_text")});
    if (!job.ok()) return fail(job.error());
    const auto report = [](Job& ran, bool more, PlainAnswer& out) {
      if (more) return;
      const PredictResult& result = out.keep(static_cast<PredictJob&>(ran).take_result());
      FlatEncodings flat;
      for (std::size_t i = 0; i < result.encodings.size(); ++i) flat.add(result.encodings[i], result.text[i]);
      out.keep(std::move(flat)).set_on(out);
      out.set("logits", result.logits);
      out.set("rows", result.rows);
      out.set_number("labels", result.labels);
    };
    return start({std::move(texts), std::move(pairs), std::move(job).value(), report}, steps);
  }

  // prompts: [Int32Array, ...]; options: of to_generate_request(). Answer of each run: new_tokens, as Generation::take_new(); of
  // the last one: sequences [tokens, ...], text after text, counts [prompts] of them, and their reasons (as in FinishReason) and
  // scores [sequences].
  Address generate(val prompts, val options, int steps) {
    jobs_.erase(generation_);  // it uses the same slots
    auto job = Generation::begin(*model_, to_id_lists(prompts), to_generate_request(Options(options)));
    if (!job.ok()) return fail(job.error());
    const auto report = [](Job& ran, bool more, PlainAnswer& out) {
      auto& generation = static_cast<Generation&>(ran);
      out.set_list("new_tokens", out.keep(generation.take_new()));
      if (more) return;
      std::vector<std::vector<std::int32_t>> sequences;
      std::vector<std::int32_t> counts, reasons;
      std::vector<float> scores;
      for (const std::vector<Generated>& all : generation.results()) {
        counts.push_back(static_cast<std::int32_t>(all.size()));
        for (const Generated& one : all) {
          sequences.push_back(one.tokens);
          reasons.push_back(static_cast<std::int32_t>(one.reason));
          scores.push_back(one.score);
        }
      }
      out.set_list("sequences", out.keep(std::move(sequences)));
      out.set("counts", out.keep(std::move(counts)));
      out.set("reasons", out.keep(std::move(reasons)));
      out.set("scores", out.keep(std::move(scores)));
    };
    generation_ = next_job_;
    return start({nullptr, nullptr, std::move(job).value(), report}, steps);
  }

  // mask, forced: Int32Arrays; see Generation::constrain, of the last generation. Returns how many tokens were forced.
  Address constrain(val mask, val forced, int slot) {
    const auto found = jobs_.find(generation_);
    if (found == jobs_.end()) return 0;
    return static_cast<Generation&>(*found->second.job).constrain(static_cast<std::size_t>(slot), to_ids(mask), to_ids(forced));
  }
  // Takes at most so many steps of a job.
  Address run(int number, int steps) { return reinterpret_cast<Address>(run_job(number, steps)); }
  // Ends a job before its last step; nothing if it has ended.
  val cancel(int number) {
    jobs_.erase(number);
    return answer();
  }

  // A packed batch: Int32Arrays input_ids, token_type_ids, position_ids [tokens] and seq_start [batch + 1]. options: of
  // to_forward_request(). Answer: the fields of ForwardOutputs, and with the prefix "encoder_" those of its encoder.
  Address forward(val input_ids, val token_type_ids, val position_ids, val seq_start, val options) {
    jobs_.erase(generation_);  // it uses the same slots
    Batch batch;
    batch.input_ids = to_ids(input_ids);
    batch.token_type_ids = to_ids(token_type_ids);
    batch.position_ids = to_ids(position_ids);
    batch.seq_start = to_ids(seq_start);
    auto result = wattn::forward(*model_, batch, to_forward_request(Options(options)));
    if (!result.ok()) return fail(result.error());
    PlainAnswer& out = answer_;
    const ForwardOutputs& outputs = out.keep(std::move(result).value());
    out.set("last_hidden_state", outputs.last_hidden_state);
    out.set("pooler_output", outputs.pooler_output);
    out.set("logits", outputs.logits);
    set_stack_outputs(out, outputs, kStack);
    if (!outputs.lens_ids.empty()) {
      out.set("lens_ids", outputs.lens_ids);
      out.set("lens_logits", outputs.lens_logits);
    }
    if (model_->decoder()) {
      out.set("encoder_last_hidden_state", outputs.encoder.last_hidden_state);
      set_stack_outputs(out, outputs.encoder, kEncoderStack);
    }
    return reinterpret_cast<Address>(out.end());
  }

  std::uintptr_t tokenizer() const { return reinterpret_cast<std::uintptr_t>(&model_->tokenizer()); }
  val describe_tokenizer() const { return wattn::describe(model_->tokenizer()); }
  // tokens: an array of strings. Answer: text.
  val tokens_to_string(val tokens) const {
    return text_answer(model_->tokenizer().tokens_to_string(emscripten::vecFromJSArray<std::string>(tokens)));
  }
  // Answer: id, or -1 for an unknown token.
  val token_to_id(std::string token) const { return answer("id", model_->tokenizer().token_to_id(token).value_or(-1)); }

  // Answer: rows [{name, type, kernel, output, parameters, macs}] for one sequence of seq tokens.
  val summary(int seq) const { return answer("rows", to_array(inspect(*model_, seq), to_row)); }
  // Answer: what was loaded and its memory. Config fields are of the decoder, else of the only stack.
  val info() const {
    const TransformerConfig& config = model_->generator().config();
    val out = answer();
    out.set("model_type", val(model_->arch().model_type));
    out.set("kind", name_of(model_->kind(), kKinds));
    out.set("head", name_of(model_->head_kind(), kHeads));
    for (const auto& [key, value] :
         {std::pair{"vocab_size", config.vocab_size},
          {"hidden_size", config.hidden_size},
          {"num_hidden_layers", config.num_hidden_layers},
          {"num_attention_heads", config.num_attention_heads},
          {"num_key_value_heads", config.kv_heads()},
          {"head_dim", config.head_size()},
          {"max_position_embeddings", config.max_position_embeddings},
          {"max_length", model_->max_length()},
          {"context_length", model_->context_length()},
          {"token_budget", model_->has_lm_head() ? model_->slots().token_budget() : model_->token_budget()},
          {"weight_bytes", static_cast<std::int64_t>(model_->weight_bytes())},
          {"arena_bytes", static_cast<std::int64_t>(model_->arena_bytes())}}) {
      set_number(out, key, value);
    }
    out.set("pooled", !model_->sentence().pooling.empty());
    out.set("normalize", model_->sentence().normalize);
    out.set("kernels", val(model_->kernels().name));
    val prompts = val::object();
    for (const auto& [name, text] : model_->sentence().prompts) prompts.set(name, val(text));
    out.set("prompts", prompts);
    out.set("adapters", model_->num_adapters());
    if (!model_->decoder()) return out;
    const TransformerConfig& encoder = model_->transformer().config();
    set_number(out, "encoder_layers", encoder.num_hidden_layers);
    set_number(out, "encoder_attention_heads", encoder.num_attention_heads);
    set_number(out, "encoder_head_dim", encoder.head_size());
    set_number(out, "max_source_length", encoder.max_position_embeddings);
    return out;
  }

 protected:
  // After finish().
  Model& model() { return *model_; }

  struct Pending {
    std::unique_ptr<Texts> texts, pairs;  // what the job reads; may be null
    std::unique_ptr<Job> job;
    void (*report)(Job& job, bool more, PlainAnswer& out);  // sets the fields of an answer
  };
  Address start(Pending pending, int steps) { return reinterpret_cast<Address>(begin_job(std::move(pending), steps)); }
  Address fail(const Error& error) { return reinterpret_cast<Address>(answer_.end(error)); }

  std::unique_ptr<ModelLoader> loader_;  // from begin() to finish()

 private:
  struct alignas(16) Stack {
    std::byte bytes[256 << 10];
  };

  const PlainAnswer* begin_job(Pending pending, int steps) {
    jobs_.emplace(next_job_, std::move(pending));
    return run_job(next_job_++, steps);
  }
  const PlainAnswer* run_job(int number, int steps) {
    const auto found = jobs_.find(number);
    if (found == jobs_.end()) return answer_.end(Error{ErrorCode::kState, "this call was ended by another one of this model"});
    Job& job = *found->second.job;
    bool more = true;
    int taken = 0;
    for (; more && taken < steps; ++taken) {
      const auto stepped = job.step();
      if (!stepped.ok()) {
        jobs_.erase(found);
        return answer_.end(stepped.error());
      }
      more = stepped.value();
    }
    answer_.set_number("job", number);
    answer_.set_flag("more", more);
    answer_.set_number("steps", taken);
    found->second.report(job, more, answer_);
    if (!more) jobs_.erase(found);
    return answer_.end();
  }

  std::unique_ptr<Model> model_;
  std::map<int, Pending> jobs_;
  int next_job_ = 1;
  int generation_ = 0;  // the last one's number
  EmbedOptions embed_options_;
  PlainAnswer answer_;
  std::vector<std::unique_ptr<Stack>> stacks_;  // of the helpers
  std::string chunk_;                           // scratch of push(), reused for every chunk
};

inline void register_model(const char* name) {
  emscripten::class_<ModelHandle>(name)
      .constructor()
      .function("describe", &ModelHandle::describe)
      .function("gguf_files", &ModelHandle::gguf_files)
      .function("begin", &ModelHandle::begin)
      .function("begin_weight_file", &ModelHandle::begin_weight_file)
      .function("push", &ModelHandle::push)
      .function("make_room_for_helpers", &ModelHandle::make_room_for_helpers)
      .function("use_helpers", &ModelHandle::use_helpers)
      .function("finish", &ModelHandle::finish)
      .function("add_adapter", &ModelHandle::add_adapter)
      .function("use_adapter", &ModelHandle::use_adapter)
      .function("delete_adapter", &ModelHandle::delete_adapter)
      .function("merge_adapter", &ModelHandle::merge_adapter)
      .function("self", &ModelHandle::self)
      .function("set_embed_options", &ModelHandle::set_embed_options)
      .function("predict", &ModelHandle::predict)
      .function("forward", &ModelHandle::forward)
      .function("generate", &ModelHandle::generate)
      .function("constrain", &ModelHandle::constrain)
      .function("run", &ModelHandle::run)
      .function("cancel", &ModelHandle::cancel)
      .function("tokenizer", &ModelHandle::tokenizer)
      .function("describe_tokenizer", &ModelHandle::describe_tokenizer)
      .function("tokens_to_string", &ModelHandle::tokens_to_string)
      .function("token_to_id", &ModelHandle::token_to_id)
      .function("summary", &ModelHandle::summary)
      .function("info", &ModelHandle::info);
}

}  // namespace wattn
