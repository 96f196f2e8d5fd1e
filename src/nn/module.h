// Module: a block with named parameters, named children and a forward, as torch.nn.Module.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/arena.h"
#include "core/random.h"
#include "nn/cache.h"
#include "nn/options.h"
#include "nn/tensor.h"

namespace wattn::nn {

class Generative;
class Module;
using ModulePtr = std::shared_ptr<Module>;

// Shared when weights are tied. set() and change() invalidate what was packed from the value.
class Parameter : public std::enable_shared_from_this<Parameter> {
 public:
  explicit Parameter(Tensor value) : value_(std::move(value)) {}
  // With a node if it requires a gradient: functions of it are then recorded.
  const Tensor& value() const { return value_; }
  std::int64_t version() const { return version_; }
  void set(Tensor value) {
    value.node = value_.node;
    value_ = std::move(value);
    ++version_;
  }
  std::span<float> change() {
    ++version_;
    return value_.data;
  }

  bool requires_grad() const { return value_.node != nullptr; }
  void set_requires_grad(bool yes) {
    if (!leaf_) leaf_ = std::make_shared<Node>(value_.size());
    value_.node = yes ? leaf_ : nullptr;
  }
  bool is_frozen() const { return leaf_ && !requires_grad(); }
  // Requires a gradient from now on, unless the caller has set this before. So a module that is not trained records nothing.
  void track() {
    if (!leaf_) set_requires_grad(true);
  }
  // Empty: no backward pass has reached it since zero_grad().
  std::span<float> grad() const { return leaf_ ? std::span<float>(leaf_->grad) : std::span<float>(); }
  void set_grad(std::vector<float> values) {
    if (!leaf_) leaf_ = std::make_shared<Node>(value_.size());
    leaf_->grad = std::move(values);
  }
  void zero_grad() {
    if (leaf_) leaf_->grad = {};
  }

 private:
  Tensor value_;
  std::int64_t version_ = 0;
  NodePtr leaf_;
};
using ParameterPtr = std::shared_ptr<Parameter>;

// A parameter's initial values: uniform in [-size, size], normal with deviation size, or all equal to size.
struct Draw {
  enum class Kind : std::uint8_t { kUniform, kNormal, kConstant } kind = Kind::kConstant;
  double size = 0;
};

// Called before and after each forward; calls for children are nested in their parent's.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void before(const Module& module, std::string_view name, const Tensor& input) = 0;
  virtual void after(const Module& module, const Outputs& outputs) = 0;
  // Matrix products of so many multiply-accumulates ran in the innermost open forward.
  virtual void multiplied(std::int64_t macs) = 0;
};

// The arguments of a forward; each module uses some of them. Pointers are valid during the call.
struct Arguments {
  const Tensor* input = nullptr;   // query, src or tgt
  const Tensor* key = nullptr;     // null: input
  const Tensor* value = nullptr;   // null: key
  const Tensor* memory = nullptr;  // the encoder's output, for a decoder
  // Masks are added to the scores; -inf hides a key.
  const Tensor* attn_mask = nullptr;         // [queries, keys], or any shape that broadcasts to [batch, heads, queries, keys]
  const Tensor* key_padding_mask = nullptr;  // [batch, keys]
  const Tensor* memory_mask = nullptr;
  const Tensor* memory_key_padding_mask = nullptr;  // [batch, memory]
  const Tensor* src_mask = nullptr;                 // of an encoder beside a decoder
  const Tensor* src_key_padding_mask = nullptr;
  bool is_causal = false;
  bool need_weights = false;
  bool average_attn_weights = true;
  KeyValueCache* cache = nullptr;
  Observer* observer = nullptr;
  Generator* random = nullptr;  // for dropout, in train mode

  void count_macs(std::int64_t macs) const {
    if (observer) observer->multiplied(macs);
  }
  // Whether a trace wants weights of attention that the caller does not get.
  bool traces_weights() const { return need_weights && observer; }
  // x with the same cache, observer and random numbers only.
  Arguments only(const Tensor& x) const {
    Arguments out;
    out.input = &x;
    out.cache = cache;
    out.observer = observer;
    out.random = random;
    return out;
  }
};

class Module {
 public:
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  Result<Outputs> forward(const Arguments& arguments, std::string_view name = "") const;
  Result<Tensor> operator()(const Tensor& x) const;

  const std::string& type() const { return type_; }  // "Linear"
  std::string where() const { return "nn." + type_; }
  virtual const Generative* generative() const { return nullptr; }  // for generate(); null for other models
  virtual Shape kernel_shape() const;                               // for summaries: of `weight`, or a window

  // A parameter or buffer, named as in PyTorch.
  struct Named {
    std::string name;
    ParameterPtr parameter;
    Draw draw;
    bool is_buffer = false;
  };
  std::vector<Named> state() const;  // own, then children's, in PyTorch's order; tied ones under each name
  struct Child {
    std::string name;
    ModulePtr module;
  };
  const std::vector<Named>& own() const { return own_; }
  const std::vector<Child>& children() const { return children_; }

  // In train mode dropout drops and batch norm uses the batch's statistics. Modules begin without it.
  bool training() const { return training_; }
  void train(bool yes) const;
  // The mode of this module and of every part, in the order of children().
  std::vector<bool> modes() const;
  void set_modes(const std::vector<bool>& modes) const;

  // Sets one parameter to a value of the same shape.
  Result<void> load(std::string_view name, Tensor value) const;
  // Initialises all parameters in the order of state() from SplitMix64 (core/random.h), with torch's distributions (uniform in
  // +-1 / sqrt(in) for Linear, Xavier for attention, normal for Embedding).
  void draw(std::uint64_t seed) const;

 protected:
  explicit Module(std::string type) : type_(std::move(type)) {}
  virtual Result<Outputs> run(const Arguments& arguments) const = 0;

  ParameterPtr add_parameter(std::string name, const Shape& dims, Draw draw, bool is_buffer = false);
  template <class M>
  std::shared_ptr<M> add_child(std::string name, std::shared_ptr<M> module) {
    children_.push_back({std::move(name), module});
    return module;
  }
  void replace_own(std::string_view name, const ParameterPtr& parameter);
  static Result<Outputs> call(const Module& child, std::string_view name, const Arguments& arguments) {
    return child.forward(arguments, name);
  }

 private:
  void collect(const std::string& prefix, std::vector<Named>& out) const;
  void each_part(const std::function<void(const Module&)>& visit) const;  // this module first

  std::string type_;
  std::vector<Named> own_;
  std::vector<Child> children_;
  mutable bool training_ = false;
};

// Rows [begin, begin + count) of a weight [out, in] in kernel layout, cached until the parameter changes.
class PackedLinear {
 public:
  // y = x W^T + bias; x [..., in] -> [..., count]. bias: [out], of which the same rows are used, or null.
  Result<Tensor> apply(const Tensor& x, const Parameter& weight, const Parameter* bias, std::int64_t begin,
                       std::int64_t count) const;

 private:
  mutable std::optional<Arena> arena_;
  mutable void* packed_ = nullptr;
  mutable const Parameter* of_ = nullptr;
  mutable std::int64_t version_ = -1;
};

// Makes a module of a type ("Linear") from options named as in PyTorch. parts: of a Sequential.
Result<ModulePtr> make_module(std::string_view type, Options options, std::vector<ModulePtr> parts = {});

}  // namespace wattn::nn
