// inspect: a model's layers with their shapes, parameters and multiply-accumulates.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/tensor_view.h"
#include "engine/model.h"

namespace wattn {

struct SummaryRow {
  std::string name;             // as in the checkpoint: "encoder.layer.0.attention.self.query"
  std::string type;             // "Linear", "Embedding", "LayerNorm", "RMSNorm", "Attention"
  Shape kernel;                 // of the weight, [out, in]; empty for none
  Shape output;                 // for one sequence
  std::int64_t parameters = 0;  // weights and biases
  std::int64_t macs = 0;        // multiply-accumulates for one sequence (ops/macs.h)
};

// Rows in the order of computation, for one sequence of seq tokens and, in an encoder-decoder, a source of the same length. The
// pooler is listed if the checkpoint has one, the lm head if it was loaded.
std::vector<SummaryRow> inspect(const Model& model, std::int64_t seq);

}  // namespace wattn
