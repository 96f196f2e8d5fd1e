#include "tokenizer/training.h"

#include <emscripten/emscripten.h>

#include <optional>
#include <utility>

#include "bindings/wire.h"
#include "core/part.h"
#include "tokenizer/byte_words.h"
#include "tokenizer/decode_table.h"
#include "tokenizer/formats/folder.h"
#include "tokenizer/stage_words.h"

namespace wattn {
namespace {

[[maybe_unused]] const bool kIsFast =
    Part<ByteWordsMaker>::add(kByteWords) && Part<StageWordsMaker>::add(kStageWords) && Part<DecodeTableMaker>::add(kDecodeTable);
[[maybe_unused]] const bool kAdded = Part<FolderReader>::add(kPlainFolders);  // web/tokenizer loads the full WebAssembly for others

// Training of a tokenizer.
class TrainingHandle final : public Handle {
 public:
#define WIRE_TRAINING_CALL(name, ...) Result<void> name(Arguments& in, PlainAnswer& out);
#include "core/wire.def"

 protected:
  Result<void> answer(std::size_t number, Arguments& in, PlainAnswer& out) override;

 private:
  std::optional<Training> training_;  // web/ calls load() first
};

Result<void> TrainingHandle::answer(std::size_t number, Arguments& in, PlainAnswer& out) {
  constexpr Result<void> (TrainingHandle::* calls[])(Arguments&, PlainAnswer&) = {
#define WIRE_TRAINING_CALL(name, ...) &TrainingHandle::name,
#include "core/wire.def"
  };
  return (this->*calls[number])(in, out);
}

Result<void> TrainingHandle::load(Arguments& in, PlainAnswer&) {
  const auto json = Json::parse(in.bytes(), "train");
  if (!json.ok()) return json.error();
  auto training = Training::from_json(json.value().root());
  if (!training.ok()) return training.error();
  training_.emplace(std::move(training).value());
  return {};
}
// words: distinct ones so far.
Result<void> TrainingHandle::feed(Arguments& in, PlainAnswer& out) {
  const auto texts = in.texts();
  for (const std::u16string_view text : texts->views) {
    if (auto fed = training_->feed(text); !fed.ok()) return fed;
  }
  WordsAnswer{out}.words(training_->num_words());
  return {};
}
Result<void> TrainingHandle::step(Arguments&, PlainAnswer& out) {
  const TokenizerStepAnswer say{out};
  const bool more = training_->step();
  say.more(more);
  if (!more) return {};
  const TrainingProgress& progress = training_->progress();
  say.stage(std::string(progress.stage));
  say.done(progress.done);
  say.total(progress.total);
  return {};
}
Result<void> TrainingHandle::result(Arguments&, PlainAnswer& out) {
  const auto text = training_->result();
  if (!text.ok()) return text.error();
  TokenizerJsonAnswer{out}.tokenizer_json(std::vector<std::uint8_t>(text.value().begin(), text.value().end()));
  return {};
}

}  // namespace

extern "C" EMSCRIPTEN_KEEPALIVE Handle* make_training() { return new TrainingHandle(); }

}  // namespace wattn
