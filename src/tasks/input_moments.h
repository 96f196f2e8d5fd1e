// Second moments of what linear layers read while a model runs over texts. Packing rounds weights by them (web/pack/rounding.ts).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/model.h"
#include "ops/lora.h"

namespace wattn {

class InputMoments final : public InputWatch {
 public:
  // Watches the layers of these tensors, by their names in the checkpoint. The model uses no adapter meanwhile.
  InputMoments(Model& model, std::span<const std::string> names);
  InputMoments(const InputMoments&) = delete;
  InputMoments& operator=(const InputMoments&) = delete;
  ~InputMoments() override;

  // [names] the number of the layer, counted from 0, which several tensors may share; -1: the tensor is no matrix [out, in] of a
  // layer in a stack.
  const std::vector<std::int32_t>& layers() const { return layers_; }

  struct Moments {
    std::vector<float> sums;  // [in, in] of x x^T over the tokens; empty before the first one
    std::int64_t tokens = 0;
  };
  // Returns the moments of a layer by its number, and resets them.
  Moments take(int layer);

  void on_inputs(const Compute& compute, const LinearWeights& layer, const float* x, std::int64_t tokens) override;

 private:
  // Where they are in weights_; its size: nowhere.
  std::int32_t number_of(const void* weight) const;

  Model& model_;
  Lora lora_;
  std::vector<std::int32_t> layers_;
  std::vector<const void*> weights_;  // of each watched layer
  std::vector<Moments> moments_;      // the same
  std::vector<float> scratch_;
};

}  // namespace wattn
