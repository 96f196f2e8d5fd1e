// word2vec in training, across the seam. Words are numbers here; web/word2vec.ts keeps their texts.
#include "learn/word2vec.h"

#include <emscripten/bind.h>

#include "bindings/convert.h"

namespace wattn {
namespace {

// make, feed any number of times, step until there is no more, vectors.
class Word2VecHandle {
 public:
  val make(const val& options, const val& counts) {
    const auto whole = [&](const char* name) { return static_cast<std::int64_t>(options[name].as<double>()); };
    const auto yes = [&](const char* name) { return options[name].as<bool>(); };
    Word2VecOptions out;
    out.vector_size = whole("vector_size");
    out.window = whole("window");
    out.skip_gram = yes("sg");
    out.hierarchical = yes("hs");
    out.negative = whole("negative");
    out.sample = options["sample"].as<double>();
    out.epochs = whole("epochs");
    out.alpha = options["alpha"].as<double>();
    out.min_alpha = options["min_alpha"].as<double>();
    out.cbow_mean = yes("cbow_mean");
    out.ns_exponent = options["ns_exponent"].as<double>();
    out.shrink_windows = yes("shrink_windows");
    out.seed = static_cast<std::uint64_t>(options["seed"].as<double>());
    auto made = Word2Vec::make(out, emscripten::convertJSArrayToNumberVector<double>(counts));
    if (!made.ok()) return answer(made.error());
    model_.emplace(std::move(made).value());
    return answer();
  }

  val feed(const val& words, const val& lengths) {
    return answer(model_->feed(emscripten::convertJSArrayToNumberVector<std::int32_t>(words),
                               emscripten::convertJSArrayToNumberVector<std::int32_t>(lengths)));
  }

  val step() {
    val out = answer();
    out.set("more", model_->step());
    out.set("done", model_->words_done());
    out.set("total", model_->words_total());
    return out;
  }

  val vectors() const {
    val out = answer();
    out.set("vectors", to_typed_array(model_->vectors()));
    return out;
  }

 private:
  std::optional<Word2Vec> model_;  // web/ calls nothing before make() succeeded
};

}  // namespace

EMSCRIPTEN_BINDINGS(word2vec) {
  emscripten::class_<Word2VecHandle>("Word2Vec")
      .constructor()
      .function("make", &Word2VecHandle::make)
      .function("feed", &Word2VecHandle::feed)
      .function("step", &Word2VecHandle::step)
      .function("vectors", &Word2VecHandle::vectors);
}

}  // namespace wattn
