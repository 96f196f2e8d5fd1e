// Summary: what an encoder is made of, layer by layer, as torchinfo prints it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/tensor_view.h"
#include "models/encoder.h"

namespace wattn {

struct SummaryRow {
  std::string name;             // the checkpoint's words: "encoder.layer.0.attention.self.query"
  std::string type;             // "Linear", "Embedding", "LayerNorm", "Attention"
  Shape kernel;                 // of the weight, [out, in]; empty for none
  Shape output;                 // for one sequence of the summary's length
  std::int64_t parameters = 0;  // weights and biases
  std::int64_t mult_adds = 0;   // for one sequence of that length
};

// Rows in the order of the computation, for one sequence of seq tokens. The pooler is listed when the encoder has one.
std::vector<SummaryRow> summarize(const Encoder& encoder, const EncoderNames& names, std::int64_t seq);

}  // namespace wattn
