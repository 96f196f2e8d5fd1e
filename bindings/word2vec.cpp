// Training of word2vec. Words are numbers here; web/ keeps their texts.
#include "learn/word2vec.h"

#include <emscripten/bind.h>

#include "bindings/convert.h"

namespace wattn {
namespace {

// make, feed any number of times, step until there is no more, then vectors.
class Word2VecHandle {
 public:
  val make(const val& given, const val& counts) {
    const Options options(given);
    Word2VecOptions out;
    out.vector_size = options.integer("vector_size");
    out.window = options.integer("window");
    out.skip_gram = options.flag("sg");
    out.hierarchical = options.flag("hs");
    out.negative = options.integer("negative");
    out.sample = options.number("sample");
    out.epochs = options.integer("epochs");
    out.alpha = options.number("alpha");
    out.min_alpha = options.number("min_alpha");
    out.cbow_mean = options.flag("cbow_mean");
    out.ns_exponent = options.number("ns_exponent");
    out.shrink_windows = options.flag("shrink_windows");
    out.seed = static_cast<std::uint64_t>(options.number("seed"));
    auto made = Word2Vec::make(out, emscripten::convertJSArrayToNumberVector<double>(counts));
    if (!made.ok()) return answer(made.error());
    model_.emplace(std::move(made).value());
    return answer();
  }

  val feed(const val& words, const val& lengths) { return answer(model_->feed(to_ids(words), to_ids(lengths))); }

  val step() {
    val out = answer();
    out.set("more", model_->step());
    out.set("done", model_->words_done());
    out.set("total", model_->words_total());
    return out;
  }

  val vectors() const { return answer("vectors", to_typed_array(model_->vectors())); }

 private:
  std::optional<Word2Vec> model_;  // web/ calls make() first
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
