// inspect: what a model is made of, layer by layer, as torchinfo prints it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/tensor_view.h"
#include "engine/model.h"

namespace wattn {

struct SummaryRow {
  std::string name;             // the checkpoint's words: "encoder.layer.0.attention.self.query"
  std::string type;             // "Linear", "Embedding", "LayerNorm", "RMSNorm", "Attention"
  Shape kernel;                 // of the weight, [out, in]; empty for none
  Shape output;                 // for one sequence of that many tokens
  std::int64_t parameters = 0;  // weights and biases
  std::int64_t mult_adds = 0;   // for one such sequence
};

// Rows in the order of the computation, for one sequence of seq tokens (and of an encoder-decoder a source of as many). The pooler
// is listed when the checkpoint has one, the lm head when it was loaded.
std::vector<SummaryRow> inspect(const Model& model, std::int64_t seq);

}  // namespace wattn
