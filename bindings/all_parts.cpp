// Programs that link this file have all of wattn: the full WebAssembly and native ones.
#include "core/part.h"
#include "engine/model.h"
#include "engine/retrieval.h"
#include "io/gguf_blocks.h"
#include "kernels/more_activations.h"
#include "models/adapter.h"
#include "models/arch.h"
#include "models/config_fields.h"
#include "models/heads.h"
#include "models/transformer.h"
#include "ops/kv_q8.h"
#include "ops/op.h"
#include "tokenizer/byte_words.h"
#include "tokenizer/decode_table.h"
#include "tokenizer/formats/folder.h"
#include "tokenizer/models/model.h"
#include "tokenizer/stage_words.h"

namespace wattn {
namespace {

template <class... Functions>
bool add(const Functions&... parts) {
  return (Part<Functions>::add(parts) && ...);
}

[[maybe_unused]] const bool kAdded =
    add(kMoreActivations, kMoreBlockTypes, kMoreOps, kQ8Cache, kKnownTokenModels, kClassFolders, kMoreArchs, kMoreRopeTypes,
        kExpertLayers, kConvolutions, kGatedDeltas, kOwnOutputs, kRareAdapters, kSpanLoader, kLabelLoader, kTaskAdapters,
        kAdaptedWords, kRetrievalReader, kDecodeTable, Prefixes::kRecurrent);

#ifndef __EMSCRIPTEN__  // 8 kB that pages with models do without
[[maybe_unused]] const bool kIsFast = add(kByteWords, kStageWords);
#endif

}  // namespace
}  // namespace wattn
