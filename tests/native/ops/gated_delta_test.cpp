// Gated DeltaNet against its formula in doubles, and the same bits in pieces, in slots and with threads.
#include "ops/gated_delta.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "native/support/team.h"

namespace wattn {
namespace {

#ifdef __EMSCRIPTEN__  // the host creates the threads
struct Team {
  ThreadTeam team;
};
#else
using Team = test::TeamOfFour;
#endif

using Floats = std::vector<float>;

struct Sizes {
  std::int64_t key_heads, value_heads, key_dim, value_dim, kernel;
};

// Weights and columns of a few sequences.
class Problem {
 public:
  Problem(const Sizes& sizes, const std::vector<std::int64_t>& lengths) : lengths_(lengths) {
    auto net = std::make_shared<GatedDelta>();
    net->key_heads = sizes.key_heads, net->value_heads = sizes.value_heads;
    net->key_dim = sizes.key_dim, net->value_dim = sizes.value_dim;
    const auto fill = [&](Arena& arena) {
      net->filter = take_linear(arena, exact_kernels(), WeightType::kF32, sizes.kernel, net->mixed_width(), false);
      net->decay = arena.take<float>(net->value_heads);
      net->step_bias = arena.take<float>(net->value_heads);
      net->norm = take_layer_norm(arena, net->value_dim, 1e-6f);
    };
    Arena measure;
    fill(measure);
    weights_ = std::move(Arena::with_zeros(measure.used(), "test").value());
    fill(weights_);
    filter = numbers(net->mixed_width() * sizes.kernel);
    for (std::int64_t i = 0; i < net->mixed_width(); ++i) set_weight_row(net->filter, i, filter.data() + i * sizes.kernel);
    // From states that forget at once to those that keep nearly everything.
    for (std::int64_t i = 0; i < net->value_heads; ++i) net->decay[i] = 1.0f - 2.0f * static_cast<float>(i);
    for (const auto& [to, count] : {std::pair(net->step_bias, net->value_heads), {net->norm.gamma, net->value_dim}}) {
      const Floats values = numbers(count);
      std::copy(values.begin(), values.end(), to);
    }
    weight = net;
    x = numbers(tokens() * net->columns());
    gates = numbers(tokens() * 2 * net->value_heads);
  }

  std::int64_t tokens() const {
    std::int64_t out = 0;
    for (const std::int64_t length : lengths_) out += length;
    return out;
  }
  Batch whole() const {
    Batch batch;
    for (const std::int64_t length : lengths_) {
      const std::vector<std::int32_t> ids(static_cast<std::size_t>(length));
      batch.add_sequence(ids, ids);
    }
    return batch;
  }

  // columns and its: those of the batch's tokens.
  Floats run(const Batch& batch, const Floats& columns, const Floats& its, const KvCache* cache, ThreadTeam& team) const {
    const Compute compute{exact_kernels(), team};
    const PassInput pass{.compute = &compute, .batch = &batch, .states = {.cache = cache}};
    OpCall call{.pass = pass, .weight = &weight, .variant = static_cast<std::uint8_t>(Activation::kSilu)};
    Floats out(static_cast<std::size_t>(batch.tokens() * weight->value_width()), 99.0f);
    call.rows = batch.tokens(), call.x_width = weight->columns(), call.width = weight->value_width();
    call.x = columns.data(), call.other = its.data(), call.out = out.data();
    Arena measure;
    call.scratch = &measure;
    op_row(Op::kGatedDelta).scratch(call);
    std::vector<float> memory(measure.used() / sizeof(float) + 16, NAN);
    Arena scratch = Arena::inside(reinterpret_cast<std::byte*>(memory.data()), measure.used());
    call.scratch = &scratch;
    op_row(Op::kGatedDelta).forward(call);
    return out;
  }
  Floats run_whole(ThreadTeam& team) const { return run(whole(), x, gates, nullptr, team); }

  // By the formula, token by token.
  Floats expected() const {
    const GatedDelta& net = *weight;
    const std::int64_t mixed = net.mixed_width(), kernel = net.filter.in, dk = net.key_dim, dv = net.value_dim;
    Floats out;
    std::int64_t begin = 0;
    const auto sigmoid = [](double a) { return 1 / (1 + std::exp(-a)); };
    for (const std::int64_t length : lengths_) {
      std::vector<double> states(static_cast<std::size_t>(net.value_heads * dk * dv));
      for (std::int64_t t = 0; t < length; ++t) {
        const float* columns = x.data() + (begin + t) * net.columns();
        std::vector<double> row(static_cast<std::size_t>(mixed));
        for (std::int64_t j = 0; j < mixed; ++j) {
          double sum = 0;
          for (std::int64_t k = std::max<std::int64_t>(0, kernel - 1 - t); k < kernel; ++k) {
            sum += static_cast<double>(filter[static_cast<std::size_t>(j * kernel + k)]) *
                   columns[(k + 1 - kernel) * net.columns() + j];
          }
          row[static_cast<std::size_t>(j)] = sum * sigmoid(sum);
        }
        for (std::int64_t h = 0; h < net.value_heads; ++h) {
          const auto unit = [&](std::int64_t first, double scale) {
            std::vector<double> head(row.begin() + first, row.begin() + first + dk);
            double squares = 1e-6;
            for (const double value : head) squares += value * value;
            for (double& value : head) value *= scale / std::sqrt(squares);
            return head;
          };
          const std::int64_t key_head = h * net.key_heads / net.value_heads;
          const auto q = unit(key_head * dk, 1 / std::sqrt(static_cast<double>(dk))), k = unit(net.key_width() + key_head * dk, 1);
          const double* v = row.data() + 2 * net.key_width() + h * dv;
          const float* z = columns + mixed + h * dv;
          const float* own = gates.data() + (begin + t) * 2 * net.value_heads;
          const double b = own[h], a = own[net.value_heads + h];
          const double kept = std::exp(-std::exp(static_cast<double>(net.decay[h])) * std::log(1 + std::exp(a + net.step_bias[h])));
          double* state = states.data() + h * dk * dv;
          std::vector<double> found(static_cast<std::size_t>(dv)), read(found);
          for (std::int64_t i = 0; i < dk * dv; ++i) found[i % dv] += (state[i] *= kept) * k[i / dv];
          for (std::int64_t i = 0; i < dk * dv; ++i) {
            state[i] += k[i / dv] * sigmoid(b) * (v[i % dv] - found[i % dv]);
            read[i % dv] += state[i] * q[i / dv];
          }
          double squares = 0;
          for (const double value : read) squares += value * value;
          for (std::int64_t j = 0; j < dv; ++j) {
            const double normed = read[j] / std::sqrt(squares / static_cast<double>(dv) + 1e-6) * net.norm.gamma[j];
            out.push_back(static_cast<float>(normed * z[j] * sigmoid(z[j])));
          }
        }
      }
      begin += length;
    }
    return out;
  }

  std::shared_ptr<GatedDelta> weight;
  Floats filter, x, gates;

 private:
  Floats numbers(std::int64_t count) {
    std::uniform_real_distribution<float> some(-1, 1);
    Floats out(static_cast<std::size_t>(count));
    for (float& value : out) value = some(generator_);
    return out;
  }

  std::vector<std::int64_t> lengths_;
  Arena weights_;
  std::mt19937 generator_{5};
};

// Tails of panels of eight columns, key heads that serve several value heads, and filters of one token to more than a sequence.
constexpr Sizes kSizes[] = {{1, 1, 1, 1, 1}, {2, 4, 6, 10, 4}, {1, 3, 8, 8, 2}, {3, 3, 5, 17, 9}, {2, 2, 16, 3, 3}};
const std::vector<std::int64_t> kLengths{1, 5, 1, 2, 130, 3};

TEST(GatedDelta, IsItsFormula) {
  ThreadTeam alone;
  for (const Sizes& sizes : kSizes) {
    const Problem problem(sizes, kLengths);
    const Floats found = problem.run_whole(alone), expected = problem.expected();
    ASSERT_EQ(found.size(), expected.size());
    // The norm divides by what was read, however small; its epsilon is 1e-3 squared, so roundings of 2^-24 grow a thousand times.
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_NEAR(found[i], expected[i], 1e-3) << "value_dim " << sizes.value_dim << ", element " << i;
    }
    double squares = 0, difference = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      squares += static_cast<double>(expected[i]) * expected[i];
      difference += std::pow(static_cast<double>(found[i]) - expected[i], 2);
    }
    EXPECT_LE(std::sqrt(difference / squares), 3e-5) << "value_dim " << sizes.value_dim;
  }
}

TEST(GatedDelta, HasTheSameBitsInSlotsInPiecesAndWithThreads) {
  ThreadTeam alone;
  Team four;
  for (const Sizes& sizes : kSizes) {
    const Problem problem(sizes, {130, 9});
    const Floats expected = problem.run_whole(alone);
    EXPECT_EQ(problem.run_whole(four.team), expected);
    const GatedDelta& net = *problem.weight;
    KvCache cache;
    cache.slots = 3, cache.state_layers = 1, cache.state_size = gated_delta_state_size(net, sizes.kernel);
    Floats states(static_cast<std::size_t>(cache.slots * cache.state_size), NAN);  // a sequence begins with zeros by itself
    cache.states = states.data();
    for (const std::int64_t piece : {1, 2, 3, 7, 64, 130}) {
      SCOPED_TRACE(piece);
      Floats first, second;
      const std::int64_t width = net.value_width();
      for (std::int64_t begin = 0; begin < 130; begin += piece) {
        // The short sequence goes along for some of the time, in a slot before the other.
        Batch batch;
        Floats columns, gates;
        const auto add = [&](std::int32_t slot, std::int64_t from, std::int64_t length, std::int64_t at) {
          const std::int64_t count = std::min(piece, length - at);
          if (count <= 0) return std::int64_t{0};
          batch.add_to_slot(slot, static_cast<std::int32_t>(at), std::vector<std::int32_t>(static_cast<std::size_t>(count)));
          const auto row = problem.x.begin() + (from + at) * net.columns();
          columns.insert(columns.end(), row, row + count * net.columns());
          const auto its = problem.gates.begin() + (from + at) * 2 * net.value_heads;
          gates.insert(gates.end(), its, its + count * 2 * net.value_heads);
          return count;
        };
        const std::int64_t own = add(0, 130, 9, begin);
        add(2, 0, 130, begin);
        const Floats out = problem.run(batch, columns, gates, &cache, begin % 2 ? four.team : alone);
        second.insert(second.end(), out.begin(), out.begin() + own * width);
        first.insert(first.end(), out.begin() + own * width, out.end());
      }
      first.insert(first.end(), second.begin(), second.end());
      ASSERT_EQ(first, expected);
    }
  }
}

TEST(SigmoidGate, MultipliesByTheLastColumns) {
  Team four;
  const Compute compute{exact_kernels(), four.team};
  const PassInput pass{.compute = &compute};
  const std::int64_t rows = 67, width = 5, other_width = 13;
  Floats x(static_cast<std::size_t>(rows * width)), other(static_cast<std::size_t>(rows * other_width)), out(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17) - 8;
  for (std::size_t i = 0; i < other.size(); ++i) other[i] = static_cast<float>(i % 23) / 4 - 3;
  OpCall call{.pass = pass};
  call.rows = rows, call.x_width = call.width = width, call.other_width = other_width;
  call.x = x.data(), call.other = other.data(), call.out = out.data();
  op_row(Op::kSigmoidGate).forward(call);
  for (std::int64_t i = 0; i < rows * width; ++i) {
    const double gate = other[static_cast<std::size_t>(i / width * other_width + other_width - width + i % width)];
    ASSERT_NEAR(out[static_cast<std::size_t>(i)], x[static_cast<std::size_t>(i)] / (1 + std::exp(-gate)), 1e-5) << i;
  }
}

}  // namespace
}  // namespace wattn
