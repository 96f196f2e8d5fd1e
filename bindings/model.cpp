// The WebAssembly of the common models, small for pages. Where it answers with an UnsupportedError, web/engine loads the full one.
#include "bindings/model.h"

#include <emscripten/emscripten.h>

#include "engine/model.h"
#include "engine/retrieval.h"
#include "models/activations.h"
#include "models/arch.h"
#include "models/config_fields.h"
#include "models/heads.h"
#include "models/q8_cache.h"
#include "models/transformer.h"
#include "ops/kv_q8.h"
#include "ops/op.h"
#include "tokenizer/formats/folder.h"
#include "tokenizer/models/model.h"

namespace wattn {

// Defined here, so that the linker leaves out models/more_archs.cpp, models/advice.cpp, models/text_part.cpp,
// io/more_gguf_blocks.cpp, engine/span_loader.cpp, models/experts.cpp and what only they refer to.
std::span<const Arch* const> more_archs() { return {}; }
std::string advice_on(std::string_view, ArchName, std::span<const Arch* const>) { return {}; }
std::string text_part(JsonRef) { return {}; }
std::span<const BlockType> more_block_types() { return {}; }
const SpanLoader* span_loader() { return nullptr; }
void take_experts(Arena&, const Kernels&, WeightType, const TransformerConfig&, std::shared_ptr<Experts>&) {}
void add_experts_targets(const TransformerConfig&, const TransformerNames&, const TransformerLayer&, std::size_t, bool,
                         TargetList&) {}
// The same for models/own_output.cpp, models/convolution.cpp, models/rare_adapters.cpp, engine/adapted_words.cpp and
// engine/task_adapters.cpp.
bool Head::may_be_untied() { return false; }
void Head::keep_own_output(std::vector<WeightTarget>&) const {}
Result<void> Head::choose_output(std::span<const WeightTarget>) { return {}; }
void read_convolution(Fields& config, TransformerConfig&) { config.expect("conv_kernel_size", 0); }
void add_short_convolution_targets(const TransformerConfig&, const TransformerNames&, const TransformerLayer&, std::size_t,
                                   TargetList&) {}
void add_convolution_targets(const TransformerConfig&, const TransformerNames&, const Convolution&, TargetList&) {}
const OpRow* more_op_rows() { return nullptr; }
const RareAdapters* rare_adapters() { return nullptr; }
bool take_adapted_words(const LoadOptions&, const Arch&, TransformerConfig&) { return false; }
const TaskAdapters* task_adapters() { return nullptr; }
// The same for models/rope_types.cpp, ops/kv_q8.cpp and kernels/more_activations.cpp.
bool has_q8_cache() { return false; }
void store_q8(const AttentionShape&, std::int64_t, const KvRows&, std::int64_t, const KvHead&) {}
void unpack_q8(const AttentionShape&, const KvHead&, std::int64_t, const KvHead&) {}
void copy_q8(const AttentionShape&, const HeadTokens&, const HeadTokens&, std::int64_t) {}
bool read_more_rope(Fields&, Fields&, RopeScaling&) { return false; }
std::span<const NamedActivation> more_activations() { return {}; }
void activate_more(Activation, const float*, float*, std::int64_t) {}

// The same for tokenizer/formats/class_tokenizer.cpp and what it needs, such as M2M100's known tokens.
Result<Tokenizer> class_tokenizer(const FolderFiles&, const std::vector<std::string_view>&) {
  return unsupported_error("the files of this tokenizer: expected wattn-full-simd.wasm or wattn-full-relaxed.wasm, found another");
}
ModelResult with_known_tokens(std::unique_ptr<TokenModel>, JsonRef) { return unsupported_error("tokenizer: expected wattn-full"); }

// Likewise engine/retrieval.cpp.
Result<std::shared_ptr<RetrievalParts>> read_retrieval(Retrieval, const Documents&, JsonRef) {
  return unsupported_error(
      "late interaction and sparse vectors: expected wattn-full-simd.wasm or wattn-full-relaxed.wasm, found another");
}

extern "C" EMSCRIPTEN_KEEPALIVE Handle* make_model() { return new ModelHandle(); }

}  // namespace wattn
