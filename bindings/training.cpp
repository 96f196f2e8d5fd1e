#include "tokenizer/training.h"

#include <emscripten/bind.h>

#include "bindings/convert.h"
#include "tokenizer/formats/folder.h"

namespace wattn {
namespace {

// Training of a tokenizer: load, feed any number of times, step until done, result.
class TrainingHandle {
 public:
  // description: the bytes of the JSON that tokenizer/training.h describes.
  val load(val description) {
    std::string bytes;
    copy_bytes(description, bytes);
    const auto json = Json::parse(bytes, "train");
    if (!json.ok()) return answer(json.error());
    auto training = Training::from_json(json.value().root());
    if (!training.ok()) return answer(training.error());
    training_.emplace(std::move(training).value());
    return answer();
  }

  // Answer: words (distinct ones so far).
  val feed(val text, val lengths) {
    const Texts texts(text, lengths);
    for (const std::u16string_view view : texts.views) {
      if (const Result<void> fed = training_->feed(view); !fed.ok()) return answer(fed.error());
    }
    return answer("words", training_->num_words());
  }

  // Answer: more and, while true, stage, done, total.
  val step() {
    val out = answer();
    const bool more = training_->step();
    out.set("more", more);
    if (!more) return out;
    const TrainingProgress& progress = training_->progress();
    out.set("stage", std::string(progress.stage));
    out.set("done", static_cast<double>(progress.done));
    out.set("total", static_cast<double>(progress.total));
    return out;
  }

  // Answer: tokenizer_json (bytes).
  val result() const {
    const Result<std::string> text = training_->result();
    if (!text.ok()) return answer(text.error());
    return answer("tokenizer_json",
                  to_typed_array(reinterpret_cast<const unsigned char*>(text.value().data()), text.value().size()));
  }

 private:
  std::optional<Training> training_;  // web/ calls load() first
};

}  // namespace

// Defined here, so that the linker leaves out tokenizer/formats/class_tokenizer.cpp and what only it refers to: web/tokenizer loads
// the full WebAssembly for it.
Result<Tokenizer> class_tokenizer(const FolderFiles&, const std::vector<std::string_view>&) {
  return unsupported_error("the files of this tokenizer: expected wattn-full-simd.wasm or wattn-full-relaxed.wasm, found another");
}

EMSCRIPTEN_BINDINGS(training) {
  emscripten::class_<TrainingHandle>("Training")
      .constructor()
      .function("load", &TrainingHandle::load)
      .function("feed", &TrainingHandle::feed)
      .function("step", &TrainingHandle::step)
      .function("result", &TrainingHandle::result);
}

}  // namespace wattn
