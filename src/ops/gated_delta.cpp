#include "ops/gated_delta.h"

#include <algorithm>
#include <cmath>
#include <memory>

namespace wattn {
namespace {

// Columns that a convolution or a state is divided into.
constexpr std::int64_t kLanes = 8;

std::int64_t panels_of(std::int64_t width) { return (width + kLanes - 1) / kLanes; }

const GatedDelta& weight_of(const OpCall& call) { return **static_cast<const std::shared_ptr<GatedDelta>*>(call.weight); }

struct Scratch {
  float* mixed;   // [rows, mixed_width] q, k and v
  float* gates;   // [rows, 2 * value_heads]: what S keeps, and how much of a token it takes
  float* states;  // without a cache: as in a slot
};
Scratch take(const OpCall& call) {
  const GatedDelta& of = weight_of(call);
  Arena& arena = *call.scratch;
  return {arena.take<float>(call.rows * of.mixed_width()), arena.take<float>(call.rows * 2 * of.value_heads),
          arena.take<float>(gated_delta_state_size(of, of.filter.in))};
}

class Net {
 public:
  explicit Net(const OpCall& call) : call_(call), of_(weight_of(call)), scratch_(take(call)) {}

  void run() const {
    begin_states();
    convolve();
    normalise_keys();
    set_gates();
    run_states();
    gate_values();
  }

 private:
  const Compute& compute() const { return *call_.pass.compute; }
  const Batch& batch() const { return *call_.pass.batch; }
  const KvCache* cache() const { return call_.pass.states.cache; }
  std::int64_t kernel() const { return of_.filter.in; }
  std::int64_t tail_size() const { return (kernel() - 1) * of_.mixed_width(); }
  const float* x(std::int64_t token) const { return call_.x + token * of_.columns(); }
  float* mixed(std::int64_t token) const { return scratch_.mixed + token * of_.mixed_width(); }
  float* state(std::int64_t sequence) const {
    return cache() ? cache()->states_at(batch().slots[static_cast<std::size_t>(sequence)], call_.state) : scratch_.states;
  }
  template <class Visit>
  void each_sequence(const Visit& visit) const {
    for (std::int64_t i = 0; i < batch().batch(); ++i) visit(i, batch().seq_start[i], batch().seq_start[i + 1]);
  }

  // With a cache; without one, each sequence begins where its state is used.
  void begin_states() const {
    if (!cache()) return;
    each_sequence([&](std::int64_t i, std::int64_t begin, std::int64_t end) {
      if (begin < end && batch().position_ids[begin] == 0) {
        std::fill_n(state(i), gated_delta_state_size(of_, kernel()), 0.0f);
      }
    });
  }

  // The row `before` its sequence's token at `begin` in this pass.
  const float* row_before(std::int64_t sequence, std::int64_t before) const {
    return cache() ? state(sequence) + (kernel() - 1 - before) * of_.mixed_width() : nullptr;
  }

  void convolve() const {
    const std::int64_t width = of_.mixed_width();
    for_parts(compute(), panels_of(width), 1, 16, [&](std::int64_t first_panel, std::int64_t last_panel) {
      const std::int64_t first = first_panel * kLanes, count = std::min(width, last_panel * kLanes) - first;
      each_sequence([&](std::int64_t i, std::int64_t begin, std::int64_t end) {
        for (std::int64_t token = begin; token < end; ++token) {
          float* out = mixed(token) + first;
          std::fill_n(out, count, 0.0f);
          for (std::int64_t k = 0; k < kernel(); ++k) {
            const std::int64_t at = token - kernel() + 1 + k;
            const float* row = at >= begin ? x(at) : row_before(i, begin - at);
            if (row) add_products(first, count, k, row + first, out);
          }
          compute().kernels.activate(static_cast<Activation>(call_.variant), out, out, count);
        }
        if (cache()) keep_rows(i, begin, end, first, count);
      });
    });
  }

  // out[j] += filter[k] of the column * row[j], for columns from `first` on, a multiple of 8.
  void add_products(std::int64_t first, std::int64_t count, std::int64_t k, const float* row, float* out) const {
    const float* filter = static_cast<const float*>(of_.filter.weight) + first * kernel() + k * kLanes;
    for (std::int64_t j = 0; j < count; j += kLanes, filter += kernel() * kLanes) {
      const std::int64_t lanes = std::min(kLanes, count - j);
      for (std::int64_t lane = 0; lane < lanes; ++lane) out[j + lane] += filter[lane] * row[j + lane];
    }
  }

  // Keeps the last rows of these columns, which the next pass reads.
  void keep_rows(std::int64_t sequence, std::int64_t begin, std::int64_t end, std::int64_t first, std::int64_t count) const {
    float* const rows = state(sequence) + first;
    const std::int64_t kept = kernel() - 1, width = of_.mixed_width();
    for (std::int64_t i = 0; i < kept; ++i) {
      const std::int64_t at = end - kept + i;
      const float* from = at >= begin ? x(at) + first : rows + (kept - (begin - at)) * width;  // from rows that are still there
      if (from != rows + i * width) std::copy_n(from, count, rows + i * width);
    }
  }

  void normalise_keys() const {
    constexpr float kEpsilon = 1e-6f;  // of the length's square, as in Python
    const float scale = 1.0f / std::sqrt(static_cast<float>(of_.key_dim));
    for_parts(compute(), call_.rows, 1, 8, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t token = begin; token < end; ++token) {
        float* head = mixed(token);
        for (std::int64_t h = 0; h < 2 * of_.key_heads; ++h, head += of_.key_dim) {
          const float inverse = 1.0f / std::sqrt(compute().kernels.dot(head, head, of_.key_dim) + kEpsilon);
          for (std::int64_t j = 0; j < of_.key_dim; ++j) head[j] *= inverse;
          if (h >= of_.key_heads) continue;
          for (std::int64_t j = 0; j < of_.key_dim; ++j) head[j] *= scale;
        }
      }
    });
  }

  void set_gates() const {
    const std::int64_t heads = of_.value_heads;
    for_parts(compute(), call_.rows, 1, 8, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t token = begin; token < end; ++token) {
        const float* b = call_.other + token * 2 * heads;
        const float* a = b + heads;
        float* const gates = scratch_.gates + token * 2 * heads;
        for (std::int64_t h = 0; h < heads; ++h) {
          const double step = a[h] + of_.step_bias[h], softplus = std::max(step, 0.0) + std::log1p(std::exp(-std::abs(step)));
          gates[h] = static_cast<float>(std::exp(-std::exp(static_cast<double>(of_.decay[h])) * softplus));
        }
        compute().kernels.activate(Activation::kSigmoid, b, gates + heads, heads);
      }
    });
  }

  // Eight columns of a head's S at a time, which no others depend on: all tokens, one after the other.
  void run_states() const {
    const std::int64_t panels = panels_of(of_.value_dim), size = of_.key_dim * kLanes;
    for_parts(compute(), of_.value_heads * panels, 1, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t p = first; p < last; ++p) {
        each_sequence([&](std::int64_t i, std::int64_t begin, std::int64_t end) {
          float* const panel = state(i) + tail_size() + p * size;
          if (!cache()) std::fill_n(panel, size, 0.0f);
          for (std::int64_t token = begin; token < end; ++token) run_token(p / panels, p % panels * kLanes, token, panel);
        });
      }
    });
  }

  void run_token(std::int64_t head, std::int64_t column, std::int64_t token, float* panel) const {
    const std::int64_t key_dim = of_.key_dim, lanes = std::min(kLanes, of_.value_dim - column);
    const float* q = mixed(token) + head / (of_.value_heads / of_.key_heads) * key_dim;
    const float* k = q + of_.key_width();
    const float* v = mixed(token) + 2 * of_.key_width() + head * of_.value_dim + column;
    const float* gates = scratch_.gates + token * 2 * of_.value_heads + head;
    const float keep = gates[0], take = gates[of_.value_heads];
    float found[kLanes] = {}, delta[kLanes] = {}, out[kLanes] = {};
    for (std::int64_t i = 0; i < key_dim; ++i) {
      float* row = panel + i * kLanes;
      for (int lane = 0; lane < kLanes; ++lane) {
        row[lane] *= keep;
        found[lane] += row[lane] * k[i];
      }
    }
    for (std::int64_t lane = 0; lane < lanes; ++lane) delta[lane] = take * (v[lane] - found[lane]);
    for (std::int64_t i = 0; i < key_dim; ++i) {
      float* row = panel + i * kLanes;
      for (int lane = 0; lane < kLanes; ++lane) {
        row[lane] += k[i] * delta[lane];
        out[lane] += row[lane] * q[i];
      }
    }
    std::copy_n(out, lanes, call_.out + token * of_.value_width() + head * of_.value_dim + column);
  }

  void gate_values() const {
    rms_norm(compute(), of_.norm, call_.out, call_.rows * of_.value_heads, call_.out);
    const std::int64_t width = of_.value_width();
    for_parts(compute(), call_.rows, 1, 8, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t token = begin; token < end; ++token) {
        float* const gate = mixed(token);  // which nothing reads any more
        compute().kernels.activate(Activation::kSilu, x(token) + of_.mixed_width(), gate, width);
        for (std::int64_t j = 0; j < width; ++j) call_.out[token * width + j] *= gate[j];
      }
    });
  }

  const OpCall& call_;
  const GatedDelta& of_;
  Scratch scratch_;
};

}  // namespace

void gated_delta(const OpCall& call) { Net(call).run(); }

void gated_delta_scratch(const OpCall& call) { take(call); }

}  // namespace wattn
