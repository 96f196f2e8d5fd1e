// RetrievalHandle: token vectors and sparse vectors, in the full WebAssembly.
#pragma once

#include "bindings/model.h"
#include "tasks/sparse_vectors.h"
#include "tasks/token_vectors.h"

namespace wattn {

// The facts about texts that both give.
template <class Vectors>
void set_text_facts(val& out, const Vectors& result) {
  out.set("tokens", to_typed_array(result.tokens));
  out.set("untruncated", to_typed_array(result.tokens_untruncated));
  out.set("unknown", to_typed_array(result.unknown));
}

class RetrievalHandle : public ModelHandle {
 public:
  // options: is_query, max_length, split_special_tokens, first_text. Answer: data [sum of rows, dim], dim, ids and offsets (two
  // numbers each) [sum of rows], rows [texts]; tokens, untruncated, unknown [texts].
  val token_vectors(val text, val lengths, val options, int steps) {
    const Options given(options);
    auto texts = std::make_unique<Texts>(text, lengths);
    auto job = TokenVectorsJob::begin(model(), texts->views,
                                      {.is_query = given.flag("is_query"),
                                       .max_length = given.optional_integer("max_length"),
                                       .split_special_tokens = given.flag("split_special_tokens"),
                                       .first_text = given.integer("first_text")});
    if (!job.ok()) return answer(job.error());
    const auto report = [](Job& ran, bool more, val& out) {
      if (more) return;
      const TokenVectorsResult result = static_cast<TokenVectorsJob&>(ran).take_result();
      std::vector<std::int32_t> offsets;
      for (const TextSpan& span : result.offsets) offsets.insert(offsets.end(), {span.begin, span.end});
      out.set("data", to_typed_array(result.data));
      set_number(out, "dim", result.dim);
      out.set("ids", to_typed_array(result.ids));
      out.set("offsets", to_typed_array(offsets));
      out.set("rows", to_typed_array(result.rows));
      set_text_facts(out, result);
    };
    return start({std::move(texts), nullptr, std::move(job).value(), report}, steps);
  }

  // options: as above, and max_active_dims. Answer: indices and values [sum of counts], counts [texts]; tokens, untruncated,
  // unknown [texts].
  val sparse_vectors(val text, val lengths, val options, int steps) {
    const Options given(options);
    auto texts = std::make_unique<Texts>(text, lengths);
    auto job = SparseVectorsJob::begin(model(), texts->views,
                                       {.is_query = given.flag("is_query"),
                                        .max_length = given.optional_integer("max_length"),
                                        .max_active_dims = given.optional_integer("max_active_dims"),
                                        .split_special_tokens = given.flag("split_special_tokens"),
                                        .first_text = given.integer("first_text")});
    if (!job.ok()) return answer(job.error());
    const auto report = [](Job& ran, bool more, val& out) {
      if (more) return;
      const SparseVectorsResult result = static_cast<SparseVectorsJob&>(ran).take_result();
      out.set("indices", to_typed_array(result.indices));
      out.set("values", to_typed_array(result.values));
      out.set("counts", to_typed_array(result.counts));
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
