// The rarer architectures, which only the full WebAssembly has. Adding one takes its file and a line here.
#include "models/arch.h"

namespace wattn {

#define WATTN_MORE_ARCHS(ARCH) \
  ARCH(kAlbert)                \
  ARCH(kArcee)                 \
  ARCH(kBlenderbot)            \
  ARCH(kBlenderbotSmall)       \
  ARCH(kBloom)                 \
  ARCH(kCodeGen)               \
  ARCH(kCohere)                \
  ARCH(kCohere2)               \
  ARCH(kConvBert)              \
  ARCH(kDeberta)               \
  ARCH(kDpr)                   \
  ARCH(kElectra)               \
  ARCH(kErnie)                 \
  ARCH(kErnie45)               \
  ARCH(kEsm)                   \
  ARCH(kEuroBert)              \
  ARCH(kExaone)                \
  ARCH(kExaone4)               \
  ARCH(kGemma)                 \
  ARCH(kGemma2)                \
  ARCH(kGemma3)                \
  ARCH(kGemmaEmbedding)        \
  ARCH(kGlm)                   \
  ARCH(kGlm4)                  \
  ARCH(kGptBigCode)            \
  ARCH(kGptJ)                  \
  ARCH(kGptNeo)                \
  ARCH(kGptNeoX)               \
  ARCH(kGranite)               \
  ARCH(kGraniteMoeHybrid)      \
  ARCH(kGte)                   \
  ARCH(kHelium)                \
  ARCH(kHunyuan)               \
  ARCH(kJinaV3)                \
  ARCH(kLed)                   \
  ARCH(kLfm2)                  \
  ARCH(kLongformer)            \
  ARCH(kLongT5)                \
  ARCH(kM2M100)                \
  ARCH(kMBart)                 \
  ARCH(kMegatronBert)          \
  ARCH(kMiniCpm)               \
  ARCH(kMinistral)             \
  ARCH(kMinistral3)            \
  ARCH(kMobileBert)            \
  ARCH(kMobileLlm)             \
  ARCH(kModel2Vec)             \
  ARCH(kModernBertDecoder)     \
  ARCH(kMpt)                   \
  ARCH(kMt5)                   \
  ARCH(kNanoChat)              \
  ARCH(kNeoBert)               \
  ARCH(kNewGte)                \
  ARCH(kNomicBertMoe)          \
  ARCH(kOlmo)                  \
  ARCH(kOlmo2)                 \
  ARCH(kOlmo3)                 \
  ARCH(kOpt)                   \
  ARCH(kPegasus)               \
  ARCH(kPhiFused)              \
  ARCH(kPhi)                   \
  ARCH(kPhi3)                  \
  ARCH(kQwen35)                \
  ARCH(kRoFormer)              \
  ARCH(kSmolLm3)               \
  ARCH(kSqueezeBert)           \
  ARCH(kStableLm)              \
  ARCH(kStarCoder2)            \
  ARCH(kStaticEmbedding)       \
  ARCH(kT5Encoder)             \
  ARCH(kUmT5)                  \
  ARCH(kVaultGemma)            \
  ARCH(kXglm)                  \
  ARCH(kXlm)                   \
  ARCH(kXlmRobertaRotary)      \
  ARCH(kXlmRobertaFlash)

#define WATTN_DECLARE(name) extern const Arch name;
WATTN_MORE_ARCHS(WATTN_DECLARE)
#undef WATTN_DECLARE

namespace {

#define WATTN_ADDRESS(name) &(name),
constexpr const Arch* kArchs[] = {WATTN_MORE_ARCHS(WATTN_ADDRESS)};
#undef WATTN_ADDRESS

}  // namespace

const MoreArchs kMoreArchs{kArchs, advice_on, text_part};

}  // namespace wattn
