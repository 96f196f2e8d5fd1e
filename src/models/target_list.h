// TargetList: collects the weight targets of a model, by the kind of weight.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/weight_loader.h"
#include "ops/embedding.h"
#include "ops/linear.h"
#include "ops/lstm.h"
#include "ops/norm.h"
#include "ops/position.h"

namespace wattn {

struct TargetList {
  std::vector<WeightTarget> targets;

  // Says where the last target's values are.
  void place(const LinearWeights* layer, float* values, std::int64_t first, std::int64_t of) {
    WeightTarget& target = targets.back();
    target.layer = layer;
    target.values = values;
    target.first = first;
    target.of = of;
  }

  void vector(std::string name, float* values, std::int64_t size, bool required = true) {
    targets.push_back({std::move(name), {size}, required, [values, size](std::int64_t, const float* row) {
                         std::copy(row, row + size, values);
                       }});
    place(nullptr, values, 0, size);
  }
  // A tensor that may repeat another one, or be absent.
  void repeats(std::string name, Shape shape, std::string twin) {
    targets.push_back({std::move(name), std::move(shape), false, nullptr, std::move(twin)});
  }
  void matrix(const std::string& name, std::int64_t rows, std::int64_t width, bool required,
              std::function<void(std::int64_t row, const float* values)> write_row) {
    targets.push_back({name + ".weight", {rows, width}, required, std::move(write_row)});
  }
  // skipped: unused rows at the beginning of the checkpoint's table; negative: rows that it lacks there.
  void table(const std::string& name, const EmbeddingTable& embedding, std::int64_t skipped = 0) {
    matrix(name, skipped + embedding.rows, embedding.hidden, true, [=](std::int64_t i, const float* row) {
      if (i >= skipped) set_row(embedding, i - skipped, row);
    });
    if (skipped != 0 || embedding.type != WeightType::kQ8) return;
    targets.back().blocks = HeldBlocks::kRows;
    targets.back().write_blocks = [=](std::int64_t i, const char* blocks) { return set_row_blocks(embedding, i, blocks); };
  }
  // Adapters may add rows to the last target's table, or to a head in its place.
  void adapts_rows(const EmbeddingTable& embedding, bool summed = false) {
    targets.back().table = embedding.table;
    targets.back().embedding = &embedding;
    targets.back().summed = summed;
  }
  void adapts_rows(const LinearWeights& head) {
    targets.back().table = head.weight;
    targets.back().head = &head;
  }
  // T5's bias by distance, [rows, heads]; buckets: of both directions.
  void distances(const std::string& name, const DistanceBias& bias, std::int64_t heads, std::int64_t rows, std::int64_t buckets,
                 std::int64_t max_distance) {
    matrix(name, rows, heads, true, [=](std::int64_t i, const float* row) {
      DistanceBias out = bias;
      set_t5_bucket(out, heads, i, buckets, max_distance, row);
    });
  }
  // One direction of one layer, named as in torch.nn.LSTM: ending is "_l0" or "_l0_reverse".
  void lstm(const std::string& name, const std::string& ending, const Lstm& layer) {
    const auto add = [&](const char* part, const LinearWeights& weights) {
      const std::string rest = part + ending;
      targets.push_back(
          {name + ".weight" + rest, {weights.out, weights.in}, true, [weights](std::int64_t row, const float* values) {
             set_weight_row(weights, row, values);
           }});
      vector(name + ".bias" + rest, weights.bias, weights.out);
    };
    add("_ih", layer.input);
    add("_hh", layer.recurrent);
  }
  // offset: WeightTarget::offset of the weight. name: empty for a norm without weights.
  void norm(const std::string& name, const LayerNorm& norm, bool bias, float offset = 0) {
    if (name.empty()) return static_cast<void>(std::fill_n(norm.gamma, norm.hidden, 1.0f));
    vector(name + ".weight", norm.gamma, norm.hidden);
    targets.back().offset = offset;
    if (bias) vector(name + ".bias", norm.beta, norm.hidden);
  }
  // Row i of the checkpoint's matrix, [out, in], becomes row row_of(i) of layer.
  template <class RowOf>
  void permuted_linear(const std::string& name, const LinearWeights& layer, std::int64_t out, bool bias, bool required,
                       const RowOf& row_of) {
    matrix(name, out, layer.in, required, [=](std::int64_t i, const float* row) { set_weight_row(layer, row_of(i), row); });
    place(&layer, nullptr, row_of(0), layer.out);
    if (layer.type == WeightType::kQ8) {
      targets.back().blocks = HeldBlocks::kGroups;
      targets.back().write_blocks = [=](std::int64_t i, const char* blocks) { return set_weight_blocks(layer, row_of(i), blocks); };
    }
    if (!bias) return;
    targets.push_back({name + ".bias", {out}, required, [=](std::int64_t, const float* row) {
                         for (std::int64_t i = 0; i < out; ++i) layer.bias[row_of(i)] = row[i];
                       }});
    place(&layer, layer.bias, row_of(0), layer.out);
  }
  // Rows [first, first + out) of a Linear that may hold several of the checkpoint's matrices.
  void linear(const std::string& name, const LinearWeights& layer, std::int64_t first, std::int64_t out, bool bias = true,
              bool required = true) {
    permuted_linear(name, layer, out, bias, required, [=](std::int64_t i) { return first + i; });
  }
  // The same from a matrix stored as [in, out], whose rows are buffered until the last one has arrived.
  void transposed_linear(const std::string& name, const LinearWeights& layer, std::int64_t first, std::int64_t out, bool bias) {
    const auto kept = std::make_shared<std::vector<float>>();
    matrix(name, layer.in, out, true, [=](std::int64_t i, const float* row) {
      if (i == 0) kept->reserve(static_cast<std::size_t>(layer.in * out));
      kept->insert(kept->end(), row, row + out);
      if (i + 1 < layer.in) return;
      std::vector<float> column(static_cast<std::size_t>(layer.in));
      for (std::int64_t j = 0; j < out; ++j) {
        for (std::int64_t k = 0; k < layer.in; ++k) column[k] = (*kept)[k * out + j];
        set_weight_row(layer, first + j, column.data());
      }
      *kept = {};
    });
    place(&layer, nullptr, first, layer.out);
    targets.back().transposed = true;
    if (!bias) return;
    vector(name + ".bias", layer.bias + first, out);
    place(&layer, layer.bias, first, layer.out);
  }
  // The same from a matrix whose rows interleave the two halves of each head.
  void rope_permuted_linear(const std::string& name, const LinearWeights& layer, std::int64_t first, std::int64_t out,
                            std::int64_t head_dim, bool bias) {
    permuted_linear(name, layer, out, bias, true, [=](std::int64_t i) {
      const std::int64_t at = i % head_dim;
      return first + i - at + at % 2 * (head_dim / 2) + at / 2;
    });
  }
};

// Appends more to targets. A tensor shared by two parts of a model (a pooler, word embeddings) has one required target that fills
// both.
inline void add_targets(std::vector<WeightTarget> more, std::vector<WeightTarget>& targets) {
  for (WeightTarget& target : more) {
    const auto at = std::find_if(targets.begin(), targets.end(), [&](const WeightTarget& one) { return one.name == target.name; });
    if (at == targets.end() || at->shape != target.shape) {
      targets.push_back(std::move(target));
      continue;
    }
    at->required = true;
    if (at->blocks != target.blocks) at->blocks = HeldBlocks::kNone;
    const bool both = at->blocks != HeldBlocks::kNone;
    at->write_blocks = both ? [first = std::move(at->write_blocks), second = std::move(target.write_blocks)](
                                  std::int64_t row, const char* blocks) { return first(row, blocks) && second(row, blocks); }
                            : std::function<bool(std::int64_t, const char*)>();
    at->write_row = [first = std::move(at->write_row), second = std::move(target.write_row)](std::int64_t row,
                                                                                             const float* values) {
      first(row, values);
      second(row, values);
    };
  }
}

}  // namespace wattn
