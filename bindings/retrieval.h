// RetrievalHandle: token vectors and sparse vectors, in the full WebAssembly.
#pragma once

#include "bindings/model.h"
#include "tasks/sparse_vectors.h"
#include "tasks/token_vectors.h"

namespace wattn {

// The facts about texts that both give.
template <class Vectors>
void set_text_facts(PlainAnswer& out, const Vectors& result) {
  out.set("tokens", result.tokens);
  out.set("untruncated", result.tokens_untruncated);
  out.set("unknown", result.unknown);
}

class RetrievalHandle : public ModelHandle {
 public:
  // options: is_query, max_length, split_special_tokens, first_text. Answer: data [sum of rows, dim], dim, ids and offsets (two
  // numbers each) [sum of rows], rows [texts]; tokens, untruncated, unknown [texts]; with a LexicalHead
  // dense [texts, hidden], and indices, values, counts as below.
  Address token_vectors(val text, val lengths, val options, int steps) {
    const Options given(options);
    auto texts = std::make_unique<Texts>(text, lengths);
    auto job = TokenVectorsJob::begin(model(), texts->views,
                                      {.is_query = given.flag("is_query"),
                                       .max_length = given.optional_integer("max_length"),
                                       .split_special_tokens = given.flag("split_special_tokens"),
                                       .first_text = given.integer("first_text")});
    if (!job.ok()) return fail(job.error());
    const auto report = [](Job& ran, bool more, PlainAnswer& out) {
      if (more) return;
      const TokenVectorsResult& result = out.keep(static_cast<TokenVectorsJob&>(ran).take_result());
      out.set("data", result.data);
      out.set_number("dim", result.dim);
      out.set("ids", result.ids);
      out.set("offsets", &result.offsets.data()->begin, 2 * result.offsets.size());
      out.set("rows", result.rows);
      if (!result.dense.empty()) {
        out.set("dense", result.dense);
        out.set("indices", result.indices);
        out.set("values", result.values);
        out.set("counts", result.counts);
      }
      set_text_facts(out, result);
    };
    return start({std::move(texts), nullptr, std::move(job).value(), report}, steps);
  }

  // options: as above, and max_active_dims. Answer: indices and values [sum of counts], counts [texts]; tokens, untruncated,
  // unknown [texts].
  Address sparse_vectors(val text, val lengths, val options, int steps) {
    const Options given(options);
    auto texts = std::make_unique<Texts>(text, lengths);
    auto job = SparseVectorsJob::begin(model(), texts->views,
                                       {.is_query = given.flag("is_query"),
                                        .max_length = given.optional_integer("max_length"),
                                        .max_active_dims = given.optional_integer("max_active_dims"),
                                        .split_special_tokens = given.flag("split_special_tokens"),
                                        .first_text = given.integer("first_text")});
    if (!job.ok()) return fail(job.error());
    const auto report = [](Job& ran, bool more, PlainAnswer& out) {
      if (more) return;
      const SparseVectorsResult& result = out.keep(static_cast<SparseVectorsJob&>(ran).take_result());
      out.set("indices", result.indices);
      out.set("values", result.values);
      out.set("counts", result.counts);
      set_text_facts(out, result);
    };
    return start({std::move(texts), nullptr, std::move(job).value(), report}, steps);
  }
};

inline void register_retrieval(const char* name) {
  emscripten::class_<RetrievalHandle, emscripten::base<ModelHandle>>(name)
      .function("token_vectors", &RetrievalHandle::token_vectors)
      .function("sparse_vectors", &RetrievalHandle::sparse_vectors);
}

}  // namespace wattn
