#include "nn/generate.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "generation/processors.h"
#include "generation/search.h"

namespace wattn::nn {
namespace {

// Sequences of the same length that grow together.
class Stepper {
 public:
  Stepper(const Generative& model, bool use_cache) : model_(model), use_cache_(use_cache) {}

  Result<void> begin(const std::vector<std::int32_t>& ids, const Tensor* source) {
    sequences_ = {ids};
    if (!source) return {};
    auto memory = model_.encode(*source, nullptr);
    if (!memory.ok()) return memory.error();
    memory_ = std::move(memory).value();
    return {};
  }

  // Logits [sequences, vocab] of the next tokens.
  Result<Tensor> next() {
    if (!use_cache_) cache_ = {};
    const auto seen = static_cast<std::size_t>(cache_.length);
    const auto batch = static_cast<std::int64_t>(sequences_.size());
    const auto length = static_cast<std::int64_t>(sequences_[0].size() - seen);
    Tensor ids{{batch, length}, {}};
    for (const auto& sequence : sequences_)
      ids.data.insert(ids.data.end(), sequence.begin() + static_cast<std::ptrdiff_t>(seen), sequence.end());
    Tensor memory = memory_;
    if (!memory.dims.empty()) {
      memory.dims[0] = batch;
      memory.data.clear();
      for (std::int64_t i = 0; i < batch; ++i) memory.data.insert(memory.data.end(), memory_.data.begin(), memory_.data.end());
    }
    return model_.next_logits(ids, memory.dims.empty() ? nullptr : &memory, cache_);
  }

  Result<void> grow(std::span<const Continuation> continuations) {
    std::vector<std::vector<std::int32_t>> next;
    std::vector<std::int64_t> order;
    for (const Continuation& each : continuations) {
      order.push_back(each.from);
      next.push_back(sequences_[static_cast<std::size_t>(each.from)]);
      next.back().push_back(each.token);
    }
    sequences_ = std::move(next);
    return cache_.reorder(order);
  }

 private:
  const Generative& model_;
  bool use_cache_;
  std::vector<std::vector<std::int32_t>> sequences_;
  KeyValueCache cache_;
  Tensor memory_;  // [1, source, d], or empty
};

Result<void> check(const Generative& model, const std::vector<std::int32_t>& ids, const Tensor* source,
                   const GenerateOptions& options) {
  const auto wrong = [](const std::string& what) { return input_error("nn.generate: " + what); };
  if (ids.empty()) return wrong("expected a prompt of at least one token, found none");
  if (model.has_encoder() != (source != nullptr)) {
    return wrong(model.has_encoder() ? "expected a source, found none" : "expected no source for this model, found one");
  }
  if (source && (source->rank() != 2 || source->dim(0) != 1)) return wrong_shape("nn.generate", "source", "[1, seq]", source->dims);
  const std::int64_t length = static_cast<std::int64_t>(ids.size()) + options.max_new_tokens;
  if (length > model.max_len() + 1) {
    return wrong("expected a prompt and max_new_tokens of at most max_len = " + std::to_string(model.max_len()) +
                 " tokens, found " + std::to_string(length));
  }
  return {};
}

}  // namespace

Result<std::vector<std::int32_t>> generate(const Generative& model, const std::vector<std::int32_t>& ids, const Tensor* source,
                                           const GenerateOptions& options) {
  if (const auto fits = check(model, ids, source, options); !fits.ok()) return fits.error();
  const GradMode no_grad(false);
  Stepper stepper(model, options.use_cache);
  if (const auto begun = stepper.begin(ids, source); !begun.ok()) return begun.error();
  std::unique_ptr<Search> search;
  do {
    auto logits = stepper.next();
    if (!logits.ok()) return logits.error();
    if (!search) {
      const std::int64_t vocab = logits.value().dim(-1);
      if (auto e = Search::check(options, vocab); !e.ok()) return e.error();
      search = Search::make(options, ids, vocab, compute().kernels, nullptr);
    }
    if (auto e = search->take(logits.value().at(0)); !e.ok()) return e.error();
    if (auto e = stepper.grow(search->next()); !e.ok()) return e.error();
  } while (!search->next().empty());
  std::vector<std::int32_t> out = ids;
  const Generated best = search->results()[0];
  out.insert(out.end(), best.tokens.begin(), best.tokens.end());
  return out;
}

Result<Tensor> sampling_probabilities(const Tensor& logits, GenerateOptions options) {
  if (logits.rank() != 1 || logits.size() == 0)
    return wrong_shape("nn.sampling_probabilities", "the input", "[vocab]", logits.dims);
  if (std::any_of(logits.data.begin(), logits.data.end(), [](float x) { return std::isnan(x); })) {
    return input_error("nn.sampling_probabilities: found NaN among the logits");
  }
  options.do_sample = true;
  if (auto e = Search::check(options, logits.size()); !e.ok()) return e.error();
  Tensor out = logits;
  Processors(options, 0, logits.size(), compute().kernels).to_probabilities(out.at(0));
  return out;
}

}  // namespace wattn::nn
