// The gradients of every weight of every architecture against torch in double precision (tests/goldens/gradients). Torch's are
// loaded as if they were a checkpoint, so each must lie where its weight does.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "learn/lora.h"
#include "models/dropout_rates.h"
#include "models/target_list.h"
#include "native/support/goldens.h"
#include "native/support/team.h"
#include "native/support/transformers.h"
#include "pass/training.h"

namespace wattn {
namespace {

using test::golden;
using test::load_transformer;

struct GradientCase {
  std::string name, folder;
  Batch batch;
  std::vector<float> d_hidden;

  explicit GradientCase(const std::string& path) : name(path), folder(golden(path + "/")) {}
  explicit GradientCase(JsonRef one) : GradientCase(one, std::string(one["folder"].as_string().value()) + "/") {}
  GradientCase(JsonRef one, const std::string& path) : name(one["name"].as_string().value()), folder(golden(path)) {
    for (std::size_t i = 0; i < one["input_ids"].size(); ++i) {
      const auto ids = test::to_ids(one["input_ids"][i]);
      batch.add_sequence(ids, std::vector<std::int32_t>(ids.size()));
      const JsonRef numbers = one["d_hidden"][i];
      for (std::size_t j = 0; j < numbers.size(); ++j) d_hidden.push_back(static_cast<float>(numbers[j].as_number().value()));
    }
  }
  Transformer load(const std::string& weights = "") const {
    auto loaded = load_transformer(folder, exact_kernels(), WeightType::kF32, weights);
    EXPECT_TRUE(loaded.ok()) << name << ": " << loaded.error().message;
    return std::move(loaded).value();
  }
  std::string gradients_file() const { return golden("gradients/" + name + ".safetensors"); }
};

template <class Check>
void for_each_case(const Check& check) {
  const Json json = test::read_json("gradients/cases.json");
  ASSERT_EQ(json.root().size(), 33U);
  for (std::size_t i = 0; i < json.root().size(); ++i) {
    const GradientCase one(json.root()[i]);
    SCOPED_TRACE(one.name);
    check(one);
  }
}

// A weight of T5's table is there for each distance of its bucket.
void sum_distances(const Transformer& gradients) {
  const TransformerConfig& config = gradients.config();
  if (config.relative_positions != RelativePositions::kT5Buckets) return;
  const auto sum = [&](DistanceBias bias) {
    sum_t5_buckets(bias, config.num_attention_heads, (config.causal ? 2 : 1) * config.t5.buckets, config.t5.max_distance);
  };
  if (!config.t5.each_layer) return sum(gradients.ends().distances);
  for (std::int64_t i = 0; i < config.own_layers(); ++i) sum(gradients.layer_at(i).distance_bias);
}

// Adds to the gradients, which begin as zeros.
void add_gradients(const GradientCase& one, const Transformer& model, ThreadTeam& team, Transformer& gradients,
                   const BackwardScope& scope = {}, const TapeOptions& options = {}) {
  const std::int64_t tokens = one.batch.tokens();
  std::vector<float> tape(static_cast<std::size_t>(tape_size(model.training_plan(), tokens, options)), NAN),
      hidden(one.d_hidden.size());
  Arena arena =
      Arena::with_bytes(backward_bytes(model.training_plan(), {tokens, one.batch.longest(), 0, 0, team.threads()}, options, scope),
                        "test")
          .value();
  training_forward(model.training_plan(), model.compute(team), one.batch, tape.data(), hidden.data(), arena, options);
  const auto& [embeddings, probabilities, attention, activation, feed_forward, output, head, lora] = options.dropout;
  if (embeddings + probabilities + attention + activation + feed_forward + output + lora == 0) {
    EXPECT_EQ(hidden, test::run(model, team, one.batch));  // no other bits with a tape
  }
  arena.reset();
  std::vector<float> d_hidden = one.d_hidden;
  backward(model.training_plan(), model.compute(team), one.batch, tape.data(), d_hidden.data(), arena, &gradients.training_plan(),
           scope, options);
  sum_distances(gradients);
}

Transformer zeros_like(const Transformer& model) {
  return std::move(Transformer::with_config(model.config(), model.positions(), exact_kernels(), WeightType::kF32)).value();
}

std::vector<float> weights_of(const Transformer& model) {
  const auto weights = model.weights_f32();
  return {weights.begin(), weights.end()};
}

std::int64_t rows_of(const WeightTarget& weight) {
  return std::accumulate(weight.shape.begin(), weight.shape.end() - 1, std::int64_t{1}, std::multiplies<std::int64_t>());
}

// Compares tensor by tensor: `where` has ones where the tensor's weights are. rounding: of sums of gradients, as a share of the
// largest of all tensors.
void expect_gradients(const TransformerNames& names, const Transformer& got, const Transformer& expected, double rounding = 1e-7) {
  const Transformer where = zeros_like(got);
  const std::vector<float> none = weights_of(where);  // computed tables are not zero
  std::vector<float> ones(1 << 16, 123.0f);
  const double of_all = std::abs(*std::max_element(expected.weights_f32().begin(), expected.weights_f32().end(),
                                                   [](float a, float b) { return std::abs(a) < std::abs(b); }));
  for (const WeightTarget& weight : where.weight_targets(names, false)) {
    if (!weight.write_row) continue;
    const std::int64_t rows = rows_of(weight);
    for (std::int64_t i = 0; i < rows; ++i) weight.write_row(i, ones.data());
    double largest = 0, difference = 0;
    std::int64_t count = 0;
    for (std::size_t i = 0; i < none.size(); ++i) {
      if (where.weights_f32()[i] != 123.0f) continue;
      ++count;
      const double value = static_cast<double>(expected.weights_f32()[i]) - weight.offset;  // added by the loader
      EXPECT_TRUE(std::isfinite(got.weights_f32()[i])) << weight.name;
      largest = std::max(largest, std::abs(value));
      difference = std::max(difference, std::abs(value - got.weights_f32()[i]));
    }
    EXPECT_GT(count, 0) << weight.name;
    // Within 1e-5 of the tensor's largest. Key biases change no probability: their gradients are the rounding of sums of larger
    // ones.
    EXPECT_LE(difference, 1e-5 * largest + rounding * of_all) << weight.name << ", of " << largest << ", of all " << of_all;
    std::copy(none.begin(), none.end(), where.weights_f32().begin());
  }
}

TEST(TransformerBackward, GivesTorchsGradients) {
  for_each_case([](const GradientCase& one) {
    const Transformer model = one.load(), expected = one.load(one.gradients_file());
    Transformer gradients = zeros_like(model);
    ThreadTeam alone;
    add_gradients(one, model, alone, gradients);
    const Json config = std::move(Json::parse(test::read_file(one.folder + "config.json"), "config.json")).value();
    expect_gradients(find_arch(config.root()).value()->names, gradients, expected);
  });
}

// Longformer's global tokens, which an encoder has below a head (tests/goldens/longformer).
struct GlobalCase : GradientCase {
  GlobalTokens tokens;
  explicit GlobalCase(JsonRef one)
      : GradientCase(one, "longformer/"), tokens(name == "first" ? GlobalTokens::kFirst : GlobalTokens::kBeforeSeparator) {}
  Transformer load(const std::string& weights = "") const {
    auto loaded = load_transformer(folder, exact_kernels(), WeightType::kF32, weights, false, tokens);
    EXPECT_TRUE(loaded.ok()) << name << ": " << loaded.error().message;
    return std::move(loaded).value();
  }
};

TEST(TransformerBackward, GivesTorchsGradientsOfGlobalTokens) {
  const Json json = test::read_json("longformer/gradients.json");
  ASSERT_EQ(json.root().size(), 2U);
  for (std::size_t i = 0; i < json.root().size(); ++i) {
    const GlobalCase one(json.root()[i]);
    SCOPED_TRACE(one.name);
    const Transformer model = one.load(), expected = one.load(one.folder + "gradients-" + one.name + ".safetensors");
    ThreadTeam alone;
    Transformer gradients = zeros_like(model);
    add_gradients(one, model, alone, gradients);
    const Json config = std::move(Json::parse(test::read_file(one.folder + "config.json"), "config.json")).value();
    // Sums over eight times as many tokens as above.
    expect_gradients(find_arch(config.root()).value()->names, gradients, expected, 1e-7 * std::sqrt(8));
#ifndef __EMSCRIPTEN__  // wasm: the host creates the threads
    // Threads and kept layers change no bit, with dropout either.
    test::TeamOfFour four;
    for (const DropoutRates& rates : {DropoutRates{}, DropoutRates{.probabilities = 0.2f}}) {
      Transformer kept = zeros_like(model), together = zeros_like(model);
      add_gradients(one, model, alone, kept, {}, {.dropout = rates});
      add_gradients(one, model, four.team, together, {}, {.kept_layers = 9, .dropout = rates});
      EXPECT_EQ(weights_of(together), weights_of(kept));
    }
#endif
  }
}

constexpr DropoutRates kAllDropped{
    .embeddings = 0.1f, .probabilities = 0.2f, .attention = 0.3f, .activation = 0.2f, .feed_forward = 0.3f, .output = 0.1f};

// Whether activations are kept or computed again changes no bit.
TEST(TransformerBackward, HasTheSameBitsWithKeptLayers) {
  for_each_case([](const GradientCase& one) {
    const Transformer model = one.load();
    ThreadTeam alone;
    for (const bool all : {false, true}) {
      const BackwardScope scope{.embeddings = all};
      Transformer expected = zeros_like(model);
      add_gradients(one, model, alone, expected, scope);
      for (const std::int64_t layers : {1, 2, 9}) {
        Transformer gradients = zeros_like(model);
        add_gradients(one, model, alone, gradients, scope, {.kept_layers = layers});
        EXPECT_EQ(weights_of(gradients), weights_of(expected)) << layers;
      }
      Transformer dropped = zeros_like(model), kept = zeros_like(model);
      add_gradients(one, model, alone, dropped, scope, {.dropout = kAllDropped});
      add_gradients(one, model, alone, kept, scope, {.kept_layers = 9, .dropout = kAllDropped});
      EXPECT_EQ(weights_of(dropped), weights_of(kept));
    }
  });
}

// A tape that lies in the memory of gradients changes no bit, and is smaller.
TEST(TransformerBackward, HasTheSameBitsInMemoryOfGradients) {
  for_each_case([](const GradientCase& one) {
    const Transformer model = one.load();
    ThreadTeam alone;
    for (const std::int64_t layers : {0, 1, 9}) {
      Transformer expected = zeros_like(model), gradients = zeros_like(model);
      const TapeOptions options{.kept_layers = layers, .dropout = kAllDropped};
      TapeOptions spared = options;
      spared.spare = &gradients.training_plan();
      add_gradients(one, model, alone, expected, {}, options);
      add_gradients(one, model, alone, gradients, {}, spared);
      EXPECT_EQ(weights_of(gradients), weights_of(expected)) << layers;
      const std::int64_t tokens = one.batch.tokens();
      if (!model.config().shares_layers()) {
        EXPECT_LT(tape_size(model.training_plan(), tokens, spared), tape_size(model.training_plan(), tokens, options)) << layers;
      }
    }
  });
}

// Gradients of words are the table's, if the words have rows of their own.
TEST(TransformerBackward, AddsToRowsOfWords) {
  for_each_case([](const GradientCase& one) {
    const Transformer model = one.load();
    const EmbeddingTable table = model.ends().words;
    if (table.rows == 0) return;  // a head holds them
    Transformer expected = zeros_like(model), gradients = zeros_like(model);
    ThreadTeam alone;
    RowTable rows(table.rows, table.hidden);
    ASSERT_TRUE(rows.add(one.batch.input_ids).ok());
    add_gradients(one, model, alone, expected);
    add_gradients(one, model, alone, gradients, {.word_rows = &rows});
    for (std::int32_t id = 0; id < static_cast<std::int32_t>(table.rows); ++id) {
      const auto* row = static_cast<const float*>(expected.ends().words.table) + id * table.hidden;
      const std::vector<float> zeros(static_cast<std::size_t>(table.hidden));
      const float* found = rows.find(id) ? rows.find(id) : zeros.data();
      EXPECT_TRUE(std::equal(row, row + table.hidden, found)) << id;
    }
  });
}

double loss(const GradientCase& one, const Transformer& model, const TapeOptions& options) {
  ThreadTeam alone;
  const std::int64_t tokens = one.batch.tokens();
  std::vector<float> tape(static_cast<std::size_t>(tape_size(model.training_plan(), tokens, options))), hidden(one.d_hidden.size());
  Arena arena = Arena::with_bytes(backward_bytes(model.training_plan(), {tokens, one.batch.longest()}, options), "test").value();
  training_forward(model.training_plan(), model.compute(alone), one.batch, tape.data(), hidden.data(), arena, options);
  double sum = 0;
  for (std::size_t i = 0; i < hidden.size(); ++i) sum += static_cast<double>(hidden[i]) * one.d_hidden[i];
  return sum;
}

// Along the gradient, the loss changes by its length, whatever is dropped: by differences in f32, to two digits. So there are no
// gradients of what is not a weight, such as the biases of norms that have none.
TEST(TransformerBackward, OfDropoutIsTheDerivative) {
  for_each_case([](const GradientCase& one) {
    const Transformer model = one.load();
    if (model.config().relative_positions == RelativePositions::kT5Buckets) return;  // a weight is there for each distance
    const std::vector<float> weights = weights_of(model), none = weights_of(zeros_like(model));
    ThreadTeam alone;
    for (const DropoutRates& rates : {DropoutRates{},
                                      {.embeddings = 0.3f},
                                      {.probabilities = 0.3f},
                                      {.attention = 0.3f},
                                      {.activation = 0.3f},
                                      {.feed_forward = 0.3f},
                                      {.output = 0.3f},
                                      kAllDropped}) {
      const TapeOptions options{.dropout = rates, .seed = 5, .step = 2};
      Transformer gradients = zeros_like(model);
      add_gradients(one, model, alone, gradients, {}, options);
      std::vector<double> along;
      double squares = 0;
      for (std::size_t i = 0; i < weights.size(); ++i) {
        along.push_back(static_cast<double>(gradients.weights_f32()[i]) - none[i]);
        squares += along[i] * along[i];
      }
      const auto loss_at = [&](double by) {
        for (std::size_t i = 0; i < weights.size(); ++i) model.weights_f32()[i] = static_cast<float>(weights[i] + by * along[i]);
        return loss(one, model, options);
      };
      // Short where a longer one would change which experts are chosen.
      const double step = (model.config().experts.count > 0 ? 2e-4 : 2e-3) / std::sqrt(squares);
      const double found = (loss_at(step) - loss_at(-step)) / (2 * step);
      EXPECT_NEAR(found, squares, 0.02 * squares) << rates.embeddings << " " << rates.probabilities << " " << rates.attention << " "
                                                  << rates.activation << " " << rates.feed_forward << " " << rates.output;
      std::copy(weights.begin(), weights.end(), model.weights_f32().begin());
    }
  });
}

// A batch and a gradient of the result for any model.
GradientCase any_case(const std::string& folder, const Transformer& model) {
  GradientCase out(folder);
  for (const std::int64_t length : {7, 1, 4}) {
    std::vector<std::int32_t> ids;
    for (std::int64_t i = 0; i < length; ++i) {
      ids.push_back(static_cast<std::int32_t>((5 + 7 * i * length) % model.config().vocab_size));
    }
    out.batch.add_sequence(ids, std::vector<std::int32_t>(ids.size()));
  }
  std::mt19937 generator(3);
  out.d_hidden.resize(static_cast<std::size_t>(out.batch.tokens() * model.config().hidden_size));
  for (float& d : out.d_hidden) d = static_cast<float>(static_cast<int>(generator() % 17) - 8) / 8;
  return out;
}

// By differences along the gradient of each tensor alone, in f32, of the families that torch's gradients above leave out.
TEST(TransformerBackward, OfEachTensorIsTheDerivative) {
  ThreadTeam alone;
  int tensors = 0;
  for (const char* group : {"architectures/", "hub_layouts/", "variants/encoders/", "variants/decoders/"}) {
    for (const std::string& name : test::case_names(group)) {
      SCOPED_TRACE(group + name);
      auto loaded = load_transformer(golden(group + name + "/"), exact_kernels());
      ASSERT_TRUE(loaded.ok()) << loaded.error().message;
      const Transformer model = std::move(loaded).value();
      if (model.config().is_static() || model.config().learns_nothing()) continue;
      if (model.config().experts.count > 0) continue;  // a difference would change the experts
      const GradientCase one = any_case(group + name, model);
      Transformer gradients = zeros_like(model);
      const Transformer where = zeros_like(model);
      const std::vector<float> none = weights_of(where), weights = weights_of(model), ones(1 << 16, 123.0f);
      add_gradients(one, model, alone, gradients);
      const Json config = std::move(read_config_json(test::read_file(golden(group + name + "/config.json")))).value();
      for (const WeightTarget& weight : where.weight_targets(find_arch(config.root()).value()->names, false)) {
        if (!weight.write_row) continue;
        const std::int64_t rows = rows_of(weight);
        for (std::int64_t i = 0; i < rows; ++i) weight.write_row(i, ones.data());
        double squares = 0;
        std::vector<std::size_t> places;
        for (std::size_t i = 0; i < none.size(); ++i) {
          if (where.weights_f32()[i] != 123.0f) continue;
          places.push_back(i);
          squares += static_cast<double>(gradients.weights_f32()[i]) * gradients.weights_f32()[i];
        }
        std::copy(none.begin(), none.end(), where.weights_f32().begin());
        ASSERT_TRUE(std::isfinite(squares)) << weight.name;
        const auto loss_at = [&](double by) {
          for (const std::size_t i : places) {
            model.weights_f32()[i] = static_cast<float>(weights[i] + by * gradients.weights_f32()[i]);
          }
          return loss(one, model, {});
        };
        if (squares < 1e-3) continue;  // below the rounding of the differences: biases of keys, poolers
        // A long step bends, and a short one is rounded.
        double nearest = HUGE_VAL;
        for (const double length : {4e-3, 1e-3, 2e-4}) {
          const double step = length / std::sqrt(squares);
          nearest = std::min(nearest, std::abs((loss_at(step) - loss_at(-step)) / (2 * step) - squares));
        }
        std::copy(weights.begin(), weights.end(), model.weights_f32().begin());
        EXPECT_LE(nearest, 0.03 * squares) << weight.name << ", of " << squares;
        ++tensors;
      }
    }
  }
  EXPECT_GE(tensors, 700);
}

// Additions to each matrix of each layer, two of them to queries, keys and values.
struct AllLora {
  LoraSet set;

  explicit AllLora(const Transformer& model) {
    Generator generator(3);
    const TransformerConfig& config = model.config();
    using Layer = TransformerLayer;
    for (std::int64_t layer = 0; layer < config.own_layers(); ++layer) {
      for (const auto part : {&Layer::qkv, &Layer::attention_output, &Layer::up, &Layer::down}) {
        const LinearWeights& of = model.layer_at(layer).*part;
        if (of.out == 0) continue;  // a layer with experts
        set.add({of, 0, part == &Layer::qkv ? config.query_width() : of.out}, {.r = 3, .lora_alpha = 2}, generator);
        if (part == &Layer::qkv) set.add({of, of.out - config.kv_width(), config.kv_width()}, {.r = 2}, generator);
      }
    }
    EXPECT_TRUE(set.begin().ok());
    for (LoraMatrix& matrix : set.matrices()) {
      for (float& x : matrix.b()) x = static_cast<float>(generator.uniform(-0.1, 0.1));
    }
    set.merge();
  }
};

// dA = B^T dW and dB = dW A^T, of the gradient dW of the weights with the addition.
TEST(TransformerBackward, GivesLorasGradients) {
  for_each_case([](const GradientCase& one) {
    const Transformer model = one.load();
    AllLora lora(model);
    ThreadTeam alone;
    Transformer gradients = zeros_like(model);
    add_gradients(one, model, alone, gradients, {}, {.lora = lora.set.factors()});
    using Layer = TransformerLayer;
    for (std::size_t i = 0; i < lora.set.matrices().size(); ++i) {
      LoraMatrix& matrix = lora.set.matrices()[i];
      const WeightRows& rows = matrix.rows();
      const std::int64_t in = rows.layer.in, r = matrix.r();
      std::vector<float> d_a(matrix.a().size()), d_b(matrix.b().size()), row(static_cast<std::size_t>(in));
      lora.set.read_gradients(i, d_a, d_b);
      std::vector<double> a(d_a.size()), b(d_b.size());
      const double scale = r == 3 ? 2.0 / 3 : 4;
      for (std::int64_t layer = 0; layer < model.config().num_hidden_layers; ++layer) {
        for (const auto part : {&Layer::qkv, &Layer::attention_output, &Layer::up, &Layer::down}) {
          if ((model.layer_at(layer).*part).weight != rows.layer.weight) continue;
          for (std::int64_t j = 0; j < rows.out; ++j) {
            get_weight_row(gradients.layer_at(layer).*part, rows.first + j, row.data());
            for (std::int64_t k = 0; k < r; ++k) {
              for (std::int64_t c = 0; c < in; ++c) {
                a[k * in + c] += scale * matrix.b()[j * r + k] * row[c];
                b[j * r + k] += scale * row[c] * matrix.a()[k * in + c];
              }
            }
          }
        }
        if (model.config().shares_layers()) break;
      }
      for (const auto& [found, expected] : {std::pair{&d_a, &a}, {&d_b, &b}}) {
        double largest = 0, difference = 0;
        for (std::size_t k = 0; k < expected->size(); ++k) {
          largest = std::max(largest, std::abs((*expected)[k]));
          difference = std::max(difference, std::abs((*found)[k] - (*expected)[k]));
        }
        EXPECT_GT(largest, 0);
        EXPECT_LE(difference, 2e-5 * largest) << i;  // sums of two roundings, as of the gradients of weights
      }
    }
  });
}

// Those of biases that are wanted alone have the bits that they have among all.
TEST(TransformerBackward, GivesTheGradientsOfBiasesAlone) {
  for_each_case([](const GradientCase& one) {
    const Transformer model = one.load();
    const TransformerConfig& config = model.config();
    ThreadTeam alone;
    Transformer all = zeros_like(model), unused = zeros_like(model);
    add_gradients(one, model, alone, all);
    std::vector<std::vector<float>> expected, found;
    std::vector<BiasGradient> biases;
    const auto want = [&](const float* bias, const float* of_all, std::int64_t size) {
      if (!bias) return;
      expected.emplace_back(of_all, of_all + size);
      found.emplace_back(size);
      biases.push_back({bias, found.back().data()});
    };
    using Layer = TransformerLayer;
    for (std::int64_t i = 0; i < config.own_layers(); ++i) {
      const Layer &layer = model.layer_at(i), &gradient = all.layer_at(i);
      for (const auto part : {&Layer::qkv, &Layer::attention_output, &Layer::up, &Layer::down}) {
        want((layer.*part).bias, (gradient.*part).bias, (layer.*part).out);
      }
      for (const auto part : {&Layer::attention_norm, &Layer::ffn_norm}) {
        if (config.norm != NormKind::kRms && config.biases.norms)
          want((layer.*part).beta, (gradient.*part).beta, (layer.*part).hidden);
      }
      want(layer.value.bias, gradient.value.bias, layer.value.out);
      using Span = decltype(layer.span);
      for (const auto part : {&Span::query, &Span::key_value, &Span::pointwise, &Span::kernel, &Span::values}) {
        want((layer.span.*part).bias, (gradient.span.*part).bias, (layer.span.*part).out);
      }
      for (const auto part : {&Layer::narrow, &Layer::shared, &Layer::widen}) {
        want((layer.*part).layer.bias, (gradient.*part).layer.bias, (layer.*part).layer.out);
        want((layer.*part).norm.beta, (gradient.*part).norm.beta, (layer.*part).norm.hidden);
      }
      for (std::size_t k = 0; k < std::size(layer.stacked); ++k) {
        want(layer.stacked[k].norm.beta, gradient.stacked[k].norm.beta, layer.stacked[k].norm.hidden);
      }
    }
    add_gradients(one, model, alone, unused, {.embeddings = false, .layers = false, .biases = biases});
    EXPECT_EQ(found, expected);
    EXPECT_EQ(weights_of(unused), weights_of(zeros_like(model)));
  });
}

// Along the gradient of A and B, the loss changes by its length, whatever LoRA's dropout drops.
TEST(TransformerBackward, OfLorasDropoutIsTheDerivative) {
  for_each_case([](const GradientCase& one) {
    const Transformer model = one.load();
    AllLora lora(model);
    ThreadTeam alone;
    const TapeOptions options{.dropout = {.lora = 0.4f}, .seed = 5, .step = 2, .lora = lora.set.factors()};
    Transformer unused = zeros_like(model);
    add_gradients(one, model, alone, unused, {.embeddings = false, .layers = false}, options);
    std::vector<std::vector<float>> along, before;
    double squares = 0;
    for (std::size_t i = 0; i < lora.set.matrices().size(); ++i) {
      LoraMatrix& matrix = lora.set.matrices()[i];
      for (const std::span<float> values : {matrix.a(), matrix.b()}) {
        before.emplace_back(values.begin(), values.end());
        along.emplace_back(values.size());
      }
      lora.set.read_gradients(i, along[2 * i], along[2 * i + 1]);
    }
    for (const auto& values : along) {
      for (const float x : values) squares += static_cast<double>(x) * x;
    }
    const auto loss_at = [&](double by) {
      for (std::size_t i = 0; i < along.size(); ++i) {
        LoraMatrix& matrix = lora.set.matrices()[i / 2];
        const std::span<float> values = i % 2 == 0 ? matrix.a() : matrix.b();
        for (std::size_t k = 0; k < values.size(); ++k) values[k] = static_cast<float>(before[i][k] + by * along[i][k]);
      }
      lora.set.merge();
      return loss(one, model, options);
    };
    const double step = 2e-3 / std::sqrt(squares);
    EXPECT_NEAR((loss_at(step) - loss_at(-step)) / (2 * step), squares, 0.02 * squares);
    const double dropped = loss_at(0);
    EXPECT_NE(dropped, loss(one, model, {.lora = lora.set.factors()}));
    TapeOptions kept = options;
    kept.kept_layers = 9;
    EXPECT_EQ(dropped, loss(one, model, kept));
  });
}

TEST(TransformerBackward, DropsOthersWithEachSeedAndStep) {
  for_each_case([](const GradientCase& one) {
    const Transformer model = one.load();
    const double first = loss(one, model, {.dropout = kAllDropped, .seed = 1, .step = 1});
    EXPECT_EQ(loss(one, model, {.kept_layers = 1, .dropout = kAllDropped, .seed = 1, .step = 1}), first);
    EXPECT_NE(loss(one, model, {.dropout = kAllDropped, .seed = 1, .step = 2}), first);
    EXPECT_NE(loss(one, model, {.dropout = kAllDropped, .seed = 2, .step = 1}), first);
  });
}

TEST(TransformerBackward, ReadsRatesOfDropout) {
  const auto rates = [](const char* json) {
    const DropoutRates r = read_dropout_rates(std::move(Json::parse(json, "config.json")).value().root());
    return std::vector<float>{r.embeddings, r.probabilities, r.attention, r.activation, r.feed_forward, r.output, r.head};
  };
  using Rates = std::vector<float>;
  EXPECT_EQ(rates("{}"), Rates(7));
  EXPECT_EQ(rates(R"({"hidden_dropout_prob": 0.5, "attention_probs_dropout_prob": 0.25, "classifier_dropout": null})"),
            (Rates{0.5f, 0.25f, 0.5f, 0, 0.5f, 0, 0.5f}));
  EXPECT_EQ(rates(R"({"hidden_dropout_prob": 0.5, "classifier_dropout": 0.75})"), (Rates{0.5f, 0, 0.5f, 0, 0.5f, 0, 0.75f}));
  EXPECT_EQ(rates(R"({"dropout": 0.5, "attention_dropout": 0.25, "seq_classif_dropout": 0.75})"),
            (Rates{0.5f, 0.25f, 0, 0, 0.5f, 0, 0.75f}));
  EXPECT_EQ(rates(R"({"dropout": 0.5, "attention_dropout": 0.25, "activation_dropout": 0.125})"),
            (Rates{0.5f, 0.25f, 0.5f, 0.125f, 0.5f, 0, 0}));
  EXPECT_EQ(rates(R"({"attention_dropout": 0.5, "mlp_dropout": 0.25, "embedding_dropout": 0.125})"),
            (Rates{0.125f, 0.5f, 0.5f, 0.25f, 0, 0, 0}));
  EXPECT_EQ(rates(R"({"embd_pdrop": 0.5, "attn_pdrop": 0.25, "resid_pdrop": 0.125})"),
            (Rates{0.5f, 0.25f, 0.125f, 0, 0.125f, 0, 0}));
  EXPECT_EQ(rates(R"({"dropout_rate": 0.5})"), (Rates{0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0}));
  EXPECT_EQ(rates(R"({"dropout_rate": 1})"), Rates(7));
}

// What is left out stays as it was, and what is not has the same bits.
TEST(TransformerBackward, LeavesOutWhatIsNotWanted) {
  for_each_case([](const GradientCase& one) {
    const Transformer model = one.load();
    ThreadTeam alone;
    Transformer all = zeros_like(model);
    add_gradients(one, model, alone, all);
    const std::vector<float> none = weights_of(zeros_like(model)), whole = weights_of(all);
    const auto touched = [&](const BackwardScope& scope) {
      Transformer some = zeros_like(model);
      add_gradients(one, model, alone, some, scope);
      const std::vector<float> weights = weights_of(some);
      std::int64_t count = 0;
      for (std::size_t i = 0; i < weights.size(); ++i) {
        const bool left = std::bit_cast<std::uint32_t>(weights[i]) == std::bit_cast<std::uint32_t>(none[i]);
        EXPECT_TRUE(left || weights[i] == whole[i]) << i;
        count += !left;
      }
      return count;
    };
    Transformer layers_only = zeros_like(model);
    add_gradients(one, model, alone, layers_only, {.embeddings = false});
    for (const auto part : {&TransformerLayer::attention_norm, &TransformerLayer::ffn_norm}) {
      const LayerNorm &got = layers_only.layer_at(0).*part, &expected = all.layer_at(0).*part;  // a first layer may have none
      EXPECT_EQ(std::vector(got.gamma, got.gamma + got.hidden), std::vector(expected.gamma, expected.gamma + got.hidden));
    }
    const std::int64_t everything = touched({}), layers = touched({.embeddings = false});
    EXPECT_GT(everything, layers);
    EXPECT_GT(layers, 0);
    EXPECT_EQ(touched({.embeddings = false, .layers = false}), 0);
    if (model.config().shares_layers()) return;  // the one layer gets a part of its gradient
    EXPECT_GT(layers, touched({.first_layer = model.config().num_hidden_layers - 1}));
  });
}

// [vocab, hidden] and [vocab]: of a head without a scale, by what it makes of unit vectors.
struct LmHead {
  std::vector<float> weight, bias;

  LmHead(const Transformer& model, std::int64_t hidden, std::int64_t vocab, float scale)
      : weight(static_cast<std::size_t>(vocab * hidden)), bias(run(model, std::vector<float>(static_cast<std::size_t>(hidden)))) {
    for (std::int64_t i = 0; i < hidden; ++i) {
      std::vector<float> unit(static_cast<std::size_t>(hidden));
      unit[i] = 1 / scale;
      const std::vector<float> column = run(model, unit);
      for (std::int64_t j = 0; j < vocab; ++j) weight[j * hidden + i] = column[j] - bias[j];
    }
  }
  static std::vector<float> run(const Transformer& model, std::vector<float> hidden) {
    ThreadTeam alone;
    const std::int64_t rows = static_cast<std::int64_t>(hidden.size()) / model.config().hidden_size;
    std::vector<float> logits(static_cast<std::size_t>(rows * model.config().vocab_size));
    Arena arena = Arena::with_bytes(lm_head_bytes(model.plan(), rows, 1), "test").value();
    lm_head(model.plan(), model.compute(alone), hidden.data(), rows, arena, logits.data());
    return logits;
  }
};

TEST(TransformerBackward, OfTheLmHeadIsItsTranspose) {
  for (const bool tied : {false, true}) {
    const std::int64_t hidden = 5, vocab = 37, rows = 3;
    const float scale = 0.5f;  // exact
    TransformerConfig config;
    config.vocab_size = vocab;
    config.hidden_size = hidden;
    config.num_attention_heads = config.intermediate_size = 1;
    config.max_position_embeddings = 4;
    config.lm_head = config.lm_head_bias = true;
    config.tie_word_embeddings = tied;
    config.lm_head_scale = scale;
    const Transformer model = std::move(Transformer::with_config(config, 4, exact_kernels(), WeightType::kF32)).value();
    Transformer gradients = zeros_like(model);
    std::mt19937 generator(5);
    // Small whole numbers: every sum is exact.
    const auto draw = [&] { return static_cast<float>(static_cast<int>(generator() % 9) - 4); };
    for (float& x : model.weights_f32()) x = draw();
    std::vector<float> states(rows * hidden), d_logits(rows * vocab), d_hidden(rows * hidden, NAN);
    for (auto* list : {&states, &d_logits}) std::generate(list->begin(), list->end(), draw);
    std::vector<float> scaled = states;
    for (float& x : scaled) x *= scale;  // as lm_head() leaves them
    ThreadTeam alone;
    Arena arena = Arena::with_bytes(lm_head_backward_bytes(model.training_plan(), rows, 1), "test").value();
    lm_head_backward(model.training_plan(), model.compute(alone),
                     {scaled.data(), rows, d_logits.data(), d_hidden.data(), &gradients.training_plan()}, arena);
    const LmHead head(model, hidden, vocab, scale), got(gradients, hidden, vocab, scale);
    for (std::int64_t j = 0; j < vocab; ++j) {
      float of_bias = 0;
      for (std::int64_t t = 0; t < rows; ++t) of_bias += d_logits[t * vocab + j];
      EXPECT_EQ(got.bias[j], of_bias);
      for (std::int64_t i = 0; i < hidden; ++i) {
        float of_weight = 0;
        for (std::int64_t t = 0; t < rows; ++t) of_weight += d_logits[t * vocab + j] * scaled[t * hidden + i];
        EXPECT_EQ(got.weight[j * hidden + i], of_weight);
      }
    }
    for (std::int64_t t = 0; t < rows; ++t) {
      for (std::int64_t i = 0; i < hidden; ++i) {
        float sum = 0;
        for (std::int64_t j = 0; j < vocab; ++j) sum += d_logits[t * vocab + j] * head.weight[j * hidden + i];
        EXPECT_EQ(d_hidden[t * hidden + i], scale * sum);
      }
    }
    // Frozen, or without rows.
    std::vector<float> again(d_hidden.size());
    arena.reset();
    lm_head_backward(model.training_plan(), model.compute(alone), {scaled.data(), rows, d_logits.data(), again.data(), nullptr},
                     arena);
    EXPECT_EQ(again, d_hidden);
    Transformer other = zeros_like(model);
    arena.reset();
    lm_head_backward(model.training_plan(), model.compute(alone),
                     {scaled.data(), rows, d_logits.data(), nullptr, &other.training_plan()}, arena);
    EXPECT_EQ(weights_of(other), weights_of(gradients));
  }
}

// By central differences of the head with a cap.
TEST(TransformerBackward, OfCappedLogitsIsTheDerivative) {
  TransformerConfig config;
  config.vocab_size = 11;
  config.hidden_size = 4;
  config.num_attention_heads = config.intermediate_size = 1;
  config.max_position_embeddings = 4;
  config.lm_head = true;
  config.final_logit_softcapping = 2;
  const Transformer model = std::move(Transformer::with_config(config, 4, exact_kernels(), WeightType::kF32)).value();
  std::mt19937 generator(5);
  const auto draw = [&] { return static_cast<float>(static_cast<int>(generator() % 9) - 4) / 4; };
  for (float& x : model.weights_f32()) x = draw();
  std::vector<float> states(4), d_logits(11), d_states(4);
  for (auto* list : {&states, &d_logits}) std::generate(list->begin(), list->end(), draw);
  const auto loss = [&](const std::vector<float>& at) {
    const std::vector<float> logits = LmHead::run(model, at);
    return std::inner_product(logits.begin(), logits.end(), d_logits.begin(), 0.0);
  };
  const std::vector<float> logits = LmHead::run(model, states);
  EXPECT_GT(*std::max_element(logits.begin(), logits.end()), 0.5f);  // the cap bends them
  std::vector<double> expected;
  for (std::size_t i = 0; i < states.size(); ++i) {
    std::vector<float> more = states, less = states;
    more[i] += 0x1p-8f;
    less[i] -= 0x1p-8f;
    expected.push_back((loss(more) - loss(less)) * 0x1p7);
  }
  Transformer gradients = zeros_like(model);
  ThreadTeam alone;
  Arena arena = Arena::with_bytes(lm_head_backward_bytes(model.training_plan(), 1, 1), "test").value();
  lm_head_backward(model.training_plan(), model.compute(alone),
                   {states.data(), 1, d_logits.data(), d_states.data(), &gradients.training_plan(), logits.data()}, arena);
  for (std::size_t i = 0; i < states.size(); ++i) EXPECT_NEAR(d_states[i], expected[i], 1e-3);
}

// The head holds the word embeddings then, and their gradients.
TEST(TransformerBackward, AddsToTheEmbeddingsOfATiedHead) {
  for_each_case([](const GradientCase& one) {
    if (one.name != "gpt2") return;
    const Transformer model = one.load();
    const Transformer tied = std::move(load_transformer(one.folder, exact_kernels(), WeightType::kF32, "", true)).value();
    ASSERT_TRUE(tied.config().lm_head && tied.config().tie_word_embeddings);
    Transformer expected = zeros_like(model), gradients = zeros_like(tied);
    ThreadTeam alone;
    add_gradients(one, model, alone, expected);
    add_gradients(one, tied, alone, gradients);
    const TransformerConfig& config = model.config();
    const LmHead got(gradients, config.hidden_size, config.vocab_size, config.lm_head_scale);
    const auto* table = static_cast<const float*>(expected.word_embeddings().table);
    EXPECT_EQ(got.weight, std::vector<float>(table, table + got.weight.size()));
  });
}

#ifndef __EMSCRIPTEN__  // wasm: the host creates the threads
TEST(TransformerBackward, HasTheSameBitsWithThreads) {
  ThreadTeam alone;
  test::TeamOfFour four;
  ThreadTeam& team = four.team;
  for_each_case([&](const GradientCase& one) {
    const Transformer model = one.load();
    Transformer first = zeros_like(model), second = zeros_like(model);
    const TapeOptions options{.kept_layers = 1, .dropout = kAllDropped};
    add_gradients(one, model, alone, first, {}, options);
    add_gradients(one, model, team, second, {}, options);
    EXPECT_EQ(weights_of(first), weights_of(second));
  });
}
#endif

struct Stacks {
  Transformer encoder, decoder;
};

// Without an lm head.
Stacks load_stacks(const std::string& folder, const Arch& arch, const std::string& weights_file) {
  const Json json = std::move(Json::parse(test::read_file(folder + "config.json"), "config.json")).value();
  ModelConfig config = std::move(parse_model_config(arch, json.root())).value();
  config.decoder->lm_head = false;
  const auto make = [](const TransformerConfig& of) {
    return std::move(Transformer::with_config(of, of.max_position_embeddings, exact_kernels(), WeightType::kF32)).value();
  };
  Stacks out{make(config.transformer), make(*config.decoder)};
  std::vector<WeightTarget> targets = out.encoder.weight_targets(arch.names, false);
  add_targets(out.decoder.weight_targets(arch.decoder_names, false), targets);
  std::vector<std::string> ignored = ignored_tensors(arch, config);
  ignored.insert(ignored.end(), {"lm_head.weight", "final_logits_bias"});
  WeightLoader loader(std::move(targets), ignored, [&](std::string_view name) { return canonical_weight_name(arch, name, false); });
  const std::string weights = test::read_file(weights_file);
  EXPECT_TRUE(loader.begin_file(folder, weights.size()).ok());
  EXPECT_TRUE(loader.push(weights).ok());
  const auto finished = loader.finish();
  EXPECT_TRUE(finished.ok()) << finished.error().message;
  return out;
}

struct Seq2SeqCase {
  const Arch& arch;
  Stacks model;
  Batch source, target;
  std::vector<float> d_hidden;

  explicit Seq2SeqCase(JsonRef one, const Arch& of, const std::string& folder)
      : arch(of), model(load_stacks(folder, of, folder + "model.safetensors")) {
    for (std::size_t i = 0; i < one["sources"].size(); ++i) {
      for (const auto& [batch, key] : {std::pair{&source, "sources"}, {&target, "input_ids"}}) {
        const auto ids = test::to_ids(one[key][i]);
        batch->add_sequence(ids, std::vector<std::int32_t>(ids.size()));
      }
      const auto d = test::to_floats(one["d_hidden"][i]);
      d_hidden.insert(d_hidden.end(), d.begin(), d.end());
    }
  }

  // The sum of d_hidden times the decoder's states; adds to the gradients, if they are wanted.
  double run(ThreadTeam& team, const TapeOptions& options, Stacks* gradients) const {
    const std::int64_t hidden = model.encoder.config().hidden_size;
    const auto floats = [](std::int64_t count) { return std::vector<float>(static_cast<std::size_t>(count)); };
    std::vector<float> states = floats(source.tokens() * hidden), d_states = states, out = floats(target.tokens() * hidden);
    std::vector<float> tape = floats(tape_size(model.encoder.training_plan(), source.tokens(), options));
    std::vector<float> decoder_tape = floats(tape_size(model.decoder.training_plan(), target.tokens(), options));
    const std::uint64_t bytes =
        std::max(backward_bytes(model.encoder.training_plan(), {source.tokens(), source.longest(), 0, 0, team.threads()}, options),
                 backward_bytes(model.decoder.training_plan(),
                                {target.tokens(), target.longest(), source.tokens(), source.longest(), team.threads()}, options));
    Arena arena = Arena::with_bytes(bytes, "test").value();
    training_forward(model.encoder.training_plan(), model.encoder.compute(team), source, tape.data(), states.data(), arena,
                     options);
    arena.reset();
    const CrossSources sources{states.data(), source.seq_start, d_states.data()};
    training_forward(model.decoder.training_plan(), model.decoder.compute(team), target, decoder_tape.data(), out.data(), arena,
                     options, sources);
    double sum = 0;
    for (std::size_t i = 0; i < out.size(); ++i) sum += static_cast<double>(out[i]) * d_hidden[i];
    if (!gradients) return sum;
    std::vector<float> d = d_hidden;
    arena.reset();
    backward(model.decoder.training_plan(), model.decoder.compute(team), target, decoder_tape.data(), d.data(), arena,
             &gradients->decoder.training_plan(), {}, options, sources);
    arena.reset();
    backward(model.encoder.training_plan(), model.encoder.compute(team), source, tape.data(), d_states.data(), arena,
             &gradients->encoder.training_plan(), {}, options);
    sum_distances(gradients->decoder);
    sum_distances(gradients->encoder);
    return sum;
  }
  Stacks zeros() const { return {zeros_like(model.encoder), zeros_like(model.decoder)}; }
};

template <class Check>
void for_each_seq2seq_case(const Check& check) {
  const Json json = test::read_json("gradients/seq2seq.json");
  ASSERT_EQ(json.root().size(), 3U);
  for (std::size_t i = 0; i < json.root().size(); ++i) {
    const std::string name(json.root()[i]["name"].as_string().value());
    const std::string folder = golden(std::string(json.root()[i]["folder"].as_string().value()) + "/");
    const Json config = std::move(Json::parse(test::read_file(folder + "config.json"), "config.json")).value();
    SCOPED_TRACE(name);
    const Seq2SeqCase one(json.root()[i], *find_arch(config.root()).value(), folder);
    check(one, load_stacks(folder, one.arch, golden("gradients/" + name + "-both.safetensors")));
  }
}

TEST(TransformerBackward, OfBothStacksGivesTorchsGradients) {
  for_each_seq2seq_case([](const Seq2SeqCase& one, const Stacks& expected) {
    Stacks gradients = one.zeros();
    ThreadTeam alone;
    one.run(alone, {}, &gradients);
    // The stacks share their word embeddings: torch's gradient is the sum.
    const auto words = [](const Transformer& of) {
      const EmbeddingTable& table = of.word_embeddings();
      return std::span(static_cast<float*>(table.table), static_cast<std::size_t>(table.rows * table.hidden));
    };
    const auto first = words(gradients.encoder), second = words(gradients.decoder);
    for (std::size_t i = 0; i < first.size(); ++i) second[i] = first[i] += second[i];
    expect_gradients(one.arch.names, gradients.encoder, expected.encoder);
    expect_gradients(one.arch.decoder_names, gradients.decoder, expected.decoder);
  });
}

TEST(TransformerBackward, OfBothStacksHasTheSameBitsHoweverItRuns) {
  for_each_seq2seq_case([](const Seq2SeqCase& one, const Stacks&) {
    ThreadTeam alone;
    for (const DropoutRates& rates : {DropoutRates{}, kAllDropped}) {
      Stacks first = one.zeros(), kept = one.zeros();
      const double loss = one.run(alone, {.dropout = rates}, &first);
      EXPECT_EQ(one.run(alone, {.kept_layers = 9, .dropout = rates}, &kept), loss);
      EXPECT_EQ(weights_of(first.encoder), weights_of(kept.encoder));
      EXPECT_EQ(weights_of(first.decoder), weights_of(kept.decoder));
#ifndef __EMSCRIPTEN__  // wasm: the host creates the threads
      test::TeamOfFour four;
      Stacks threads = one.zeros();
      EXPECT_EQ(one.run(four.team, {.kept_layers = 1, .dropout = rates}, &threads), loss);
      EXPECT_EQ(weights_of(first.encoder), weights_of(threads.encoder));
      EXPECT_EQ(weights_of(first.decoder), weights_of(threads.decoder));
#endif
    }
  });
}

std::string hash_of(std::initializer_list<std::vector<float>> lists) {
  std::uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a
  for (const std::vector<float>& list : lists) {
    for (const float x : list) hash = (hash ^ std::bit_cast<std::uint32_t>(x + 0.0f)) * 0x100000001B3u;
  }
  std::ostringstream out;
  out << std::hex << hash;
  return out.str();
}

// The bits of gradients as they were when a derivative was written by hand for each kind of layer (WATTN_WRITE_BITS=1 writes them).
TEST(TransformerBackward, HasItsRecordedBits) {
  std::ostringstream found;
  ThreadTeam alone;
  for_each_case([&](const GradientCase& one) {
    const Transformer model = one.load();
    const auto record = [&](const char* what, const BackwardScope& scope, const TapeOptions& options) {
      Transformer gradients = zeros_like(model);
      add_gradients(one, model, alone, gradients, scope, options);
      found << one.name << " " << what << " " << hash_of({weights_of(gradients)}) << "\n";
    };
    record("all", {}, {});
    record("dropped", {}, {.kept_layers = 9, .dropout = kAllDropped, .seed = 5, .step = 2});
    record("layers", {.embeddings = false}, {.kept_layers = 1});
    if (!model.config().shares_layers()) record("last", {.first_layer = 1}, {.kept_layers = 1});
    AllLora lora(model);
    add_gradients(one, model, alone, *std::make_unique<Transformer>(zeros_like(model)), {.embeddings = false, .layers = false},
                  {.kept_layers = 9, .dropout = {.lora = 0.4f}, .seed = 5, .lora = lora.set.factors()});
    for (const std::size_t i : {std::size_t{0}, lora.set.matrices().size() - 1}) {
      std::vector<float> a(lora.set.matrices()[i].a().size()), b(lora.set.matrices()[i].b().size());
      lora.set.read_gradients(i, a, b);
      found << one.name << " lora " << i << " " << hash_of({a, b}) << "\n";
    }
  });
  for_each_seq2seq_case([&](const Seq2SeqCase& one, const Stacks&) {
    for (const DropoutRates& rates : {DropoutRates{}, kAllDropped}) {
      Stacks gradients = one.zeros();
      one.run(alone, {.kept_layers = 9, .dropout = rates, .seed = 5}, &gradients);
      found << one.arch.model_type << " " << hash_of({weights_of(gradients.encoder), weights_of(gradients.decoder)}) << "\n";
    }
  });
  if (std::getenv("WATTN_WRITE_BITS")) {
    std::ofstream(golden("gradient_bits.txt")) << found.str();
  } else {
    EXPECT_EQ(found.str(), test::read_file(golden("gradient_bits.txt")));
  }
}

}  // namespace
}  // namespace wattn
