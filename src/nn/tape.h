// The tape: how functions of tensors remember what their gradients need, as torch's autograd does. A tensor that came from
// parameters which require gradients has a node. The node knows the nodes of the inputs and a function that adds to their
// gradients. Nodes live as long as somebody holds them; without one, a function records nothing and costs nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/result.h"

namespace wattn::nn {

struct Tensor;
class Parameter;
struct Node;
using NodePtr = std::shared_ptr<Node>;

// What the backward of a function reads and where it adds.
class Flow {
 public:
  Flow(const std::vector<float>& gradient, const std::vector<NodePtr>& inputs) : dy(gradient.data()), inputs_(inputs) {}
  const float* dy;  // the gradient of the result

  bool wants(std::size_t input) const { return inputs_[input] != nullptr; }
  // The gradient of an input, to add to: zeros at first; null: not wanted.
  float* to(std::size_t input) const;
  // For a function that writes a gradient: write(float*) fills zeros, which are then added.
  template <class Write>
  void add(std::size_t input, const Write& write) const {
    if (!wants(input)) return;
    if (is_new(input)) return write(to(input));
    std::vector<float> part(size(input));
    write(part.data());
    add_part(input, part);
  }

 private:
  bool is_new(std::size_t input) const;
  std::size_t size(std::size_t input) const;
  void add_part(std::size_t input, const std::vector<float>& part) const;
  const std::vector<NodePtr>& inputs_;
};
using Backward = std::function<void(const Flow&)>;

struct Node {
  explicit Node(std::int64_t count);
  ~Node();  // without recursion, however long the graph
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  std::int64_t order;           // rises with time: inputs come before results
  std::int64_t size;            // numbers of the tensor
  std::vector<float> grad;      // empty: none yet; kept by leaves only
  std::vector<float> retained;  // of a result whose gradient is wanted: the sum over backward passes; empty: none yet
  bool retains = false;
  std::vector<NodePtr> inputs;  // null: needs no gradient
  Backward backward;            // none: a leaf
  bool released = false;        // a backward pass has used it up
  // Parameters whose values backward reads, and their versions then.
  std::vector<std::pair<std::shared_ptr<const Parameter>, std::int64_t>> reads;
};

// Whether functions record; true at first.
bool grad_enabled();
bool set_grad_enabled(bool enabled);  // returns what it was
// Sets it until the end of the scope.
class GradMode {
 public:
  explicit GradMode(bool enabled);
  ~GradMode();
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;

 private:
  bool before_;
};

// For record(), nn/tensor.h. Inputs may be null.
bool records(std::initializer_list<const Tensor*> inputs);
Node& new_node(Tensor& out, const Tensor* const* inputs, std::size_t count);

// Adds the gradients of a tensor, times gradient (null: 1), to all leaves that it came from. Unless retain_graph, the nodes are
// used up. Fails, before any gradient changes, if there is no graph, if it was used up, or if a parameter that it reads has
// changed.
Result<void> backward(const NodePtr& root, const float* gradient, bool retain_graph);

// Nodes by number, for callers that cannot hold them. A node is forgotten after as many calls of remove() as of add(), or when a
// backward pass has used it up, unless it retains its gradient.
class NodeTable {
 public:
  double add(const NodePtr& node);
  // A node that was used up, if it is not there.
  NodePtr find(double number) const;
  void remove(double number);
  void remove_released();
  std::size_t size() const { return nodes_.size(); }

 private:
  struct Entry {
    NodePtr node;
    std::int64_t count = 0;
  };
  std::unordered_map<double, Entry> nodes_;
};

}  // namespace wattn::nn
