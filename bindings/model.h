// ModelHandle: a Model for JavaScript. model.cpp defines it for the small WebAssembly; train.cpp adds the calls of the full one.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/tokenizer.h"
#include "bindings/wire.h"
#include "engine/model.h"
#include "tasks/embed.h"
#include "tasks/forward.h"
#include "tasks/generate.h"
#include "tasks/predict.h"

namespace wattn {

// What begin() reads: one word names the head.
enum class OtherHead : std::uint8_t { kOwnLm, kTokenVectors, kSparse, kRanking, kNewSequence };
enum class KvCacheType : std::uint8_t { kF32, kQ8 };
struct LoadRequest {
  std::string head;
  KvCacheType kv_cache = KvCacheType::kF32;
  LoadOptions options;
};
// What embed() reads.
struct EmbedRequest {
  std::optional<std::string> prompt;
  std::string prompt_name;
  EmbedOptions options;
};

// A model. The order of calls is that of core/wire.def.
class ModelHandle : public Handle {
 public:
  Result<void> describe(Arguments& in, PlainAnswer& out);
  Result<void> gguf_files(Arguments& in, PlainAnswer& out);
  Result<void> begin(Arguments& in, PlainAnswer& out);
  Result<void> begin_weight_file(Arguments& in, PlainAnswer& out);
  Result<void> push(Arguments& in, PlainAnswer& out);
  Result<void> make_room_for_helpers(Arguments& in, PlainAnswer& out);
  Result<void> use_helpers(Arguments& in, PlainAnswer& out);
  Result<void> finish(Arguments& in, PlainAnswer& out);
  Result<void> add_adapter(Arguments& in, PlainAnswer& out);
  Result<void> use_adapter(Arguments& in, PlainAnswer& out);
  Result<void> delete_adapter(Arguments& in, PlainAnswer& out);
  Result<void> merge_adapter(Arguments& in, PlainAnswer& out);
  // Calls that may take long are jobs. The call that begins one also takes its first steps, and answers as run() does.
  Result<void> embed(Arguments& in, PlainAnswer& out);
  Result<void> predict(Arguments& in, PlainAnswer& out);
  Result<void> generate(Arguments& in, PlainAnswer& out);
  Result<void> constrain(Arguments& in, PlainAnswer& out);
  Result<void> propose(Arguments& in, PlainAnswer& out);
  Result<void> rows(Arguments& in, PlainAnswer& out);
  Result<void> set_rows(Arguments& in, PlainAnswer& out);
  Result<void> end_generation(Arguments& in, PlainAnswer& out);
  Result<void> save_prefix(Arguments& in, PlainAnswer& out);
  Result<void> load_prefix(Arguments& in, PlainAnswer& out);
  Result<void> release_prefix(Arguments& in, PlainAnswer& out);
  Result<void> run(Arguments& in, PlainAnswer& out);
  Result<void> cancel(Arguments& in, PlainAnswer& out);
  Result<void> forward(Arguments& in, PlainAnswer& out);
  Result<void> describe_tokenizer(Arguments& in, PlainAnswer& out);
  Result<void> tokens_to_string(Arguments& in, PlainAnswer& out);
  Result<void> token_to_id(Arguments& in, PlainAnswer& out);
  Result<void> info(Arguments& in, PlainAnswer& out);
  Result<void> summary(Arguments& in, PlainAnswer& out);

  const Tokenizer& tokenizer() const { return model_->tokenizer(); }

 protected:
  static constexpr std::size_t kNumCalls = 0
#define WIRE_MODEL_CALL(name, ...) +1
#include "core/wire.def"
      ;
  Result<void> answer(std::size_t number, Arguments& in, PlainAnswer& out) override;

  // Only after finish().
  Model& model() { return *model_; }

  using Report = void (*)(Job& job, bool more, PlainAnswer& out);  // sets the fields of an answer
  struct Pending {
    std::unique_ptr<Texts> texts, pairs;  // what the job reads; may be null
    std::unique_ptr<Job> job;
    Report report;
  };
  Result<void> start(Pending pending, int steps, PlainAnswer& out);
  // Null if it has ended.
  Job* find_job(int number) const;
  // Writes a job's answer after some steps, and ends the job after the last one.
  Result<void> say_job(int number, const Result<bool>& more, int steps, PlainAnswer& out);

  // The last generation, if it is still running.
  Generation* generation();
  // The same, if it has this number.
  Generation* generation(int job) { return job == generation_ ? generation() : nullptr; }

  std::unique_ptr<ModelLoader> loader_;  // from begin() to finish()

 private:
  struct alignas(16) Stack {
    std::byte bytes[256 << 10];
  };

  Result<void> run_job(int number, int steps, PlainAnswer& out);
  Result<void> use_embed_options(std::string_view json);

  std::unique_ptr<Model> model_;
  std::map<int, Pending> jobs_;
  int next_job_ = 1;
  int generation_ = 0;          // the number of the last job that uses the slots
  bool is_generation_ = false;  // it is a Generation
  std::string embed_json_;      // the options of the last embed(); empty: none
  EmbedOptions embed_options_;
  std::vector<std::unique_ptr<Stack>> stacks_;  // of the helpers
};

using EarlyStopping = GenerateOptions::EarlyStopping;
#define WIRE_OF_POOLING
#define WIRE_OF_MODEL
#include "bindings/wire_section.h"

// The fields of EmbedAnswer beside those of its base.
void say_vectors(EmbedResult made, PlainAnswer& out);

}  // namespace wattn
