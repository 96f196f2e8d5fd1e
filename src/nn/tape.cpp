#include "nn/tape.h"

#include <algorithm>
#include <unordered_set>

#include "nn/module.h"

namespace wattn::nn {
namespace {

std::int64_t next_order = 1;
bool enabled = true;

Error state_error(std::string message) { return {ErrorCode::kState, std::move(message)}; }

// All nodes that root came from, the latest first.
Result<std::vector<NodePtr>> reachable(const NodePtr& root) {
  std::vector<NodePtr> out{root};
  std::unordered_set<const Node*> seen{root.get()};
  for (std::size_t i = 0; i < out.size(); ++i) {
    const NodePtr node = out[i];
    if (node->released) {
      return state_error(
          "backward: expected a graph, found one that an earlier backward() used up; call that one with retain_graph: true, or "
          "detach() what comes from an earlier step");
    }
    for (const auto& [parameter, version] : node->reads) {
      if (parameter->version() != version) {
        return state_error("backward: a parameter that this graph reads was changed after its forward pass");
      }
    }
    for (const NodePtr& input : node->inputs) {
      if (input && seen.insert(input.get()).second) out.push_back(input);
    }
  }
  std::sort(out.begin(), out.end(), [](const NodePtr& a, const NodePtr& b) { return a->order > b->order; });
  return out;
}

}  // namespace

float* Flow::to(std::size_t input) const {
  Node* node = inputs_[input].get();
  if (!node) return nullptr;
  if (node->grad.empty()) node->grad.resize(static_cast<std::size_t>(node->size));
  return node->grad.data();
}

bool Flow::is_new(std::size_t input) const { return inputs_[input]->grad.empty(); }
std::size_t Flow::size(std::size_t input) const { return static_cast<std::size_t>(inputs_[input]->size); }
void Flow::add_part(std::size_t input, const std::vector<float>& part) const {
  compute().kernels.axpy(1.0f, part.data(), to(input), static_cast<std::int64_t>(part.size()));
}

Node::Node(std::int64_t count) : order(next_order++), size(count) {}

Node::~Node() {
  std::vector<NodePtr> last = std::move(inputs);
  while (!last.empty()) {
    const NodePtr node = std::move(last.back());
    last.pop_back();
    if (!node || node.use_count() > 1) continue;
    last.insert(last.end(), std::make_move_iterator(node->inputs.begin()), std::make_move_iterator(node->inputs.end()));
    node->inputs.clear();
  }
}

double NodeTable::add(const NodePtr& node) {
  const auto number = static_cast<double>(node->order);
  Entry& entry = nodes_[number];
  entry.node = node;
  ++entry.count;
  return number;
}

NodePtr NodeTable::find(double number) const {
  const auto at = nodes_.find(number);
  if (at != nodes_.end()) return at->second.node;
  auto out = std::make_shared<Node>(0);
  out->released = true;
  return out;
}

void NodeTable::remove(double number) {
  const auto at = nodes_.find(number);
  if (at != nodes_.end() && --at->second.count == 0) nodes_.erase(at);
}

void NodeTable::remove_released() {
  std::erase_if(nodes_, [](const auto& entry) { return entry.second.node->released && !entry.second.node->retains; });
}

bool grad_enabled() { return enabled; }
bool set_grad_enabled(bool to) { return std::exchange(enabled, to); }
GradMode::GradMode(bool to) : before_(enabled) { enabled = to; }
GradMode::~GradMode() { enabled = before_; }

bool records(std::initializer_list<const Tensor*> inputs) {
  return enabled && std::any_of(inputs.begin(), inputs.end(), [](const Tensor* input) { return input && input->node; });
}

Node& new_node(Tensor& out, const Tensor* const* inputs, std::size_t count) {
  std::vector<NodePtr> nodes;
  nodes.reserve(count);
  for (std::size_t i = 0; i < count; ++i) nodes.push_back(inputs[i] ? inputs[i]->node : nullptr);
  out.node = std::make_shared<Node>(out.size());
  out.node->inputs = std::move(nodes);
  return *out.node;
}

Result<void> backward(const NodePtr& root, const float* gradient, bool retain_graph) {
  auto found = reachable(root);
  if (!found.ok()) return found.error();
  std::vector<NodePtr>& nodes = found.value();
  std::vector<float> first(static_cast<std::size_t>(root->size), 1.0f);
  if (gradient) first.assign(gradient, gradient + root->size);
  if (root->grad.empty()) {
    root->grad = std::move(first);
  } else {
    compute().kernels.axpy(1.0f, first.data(), root->grad.data(), root->size);
  }
  for (const NodePtr& node : nodes) {
    if (!node->backward) continue;  // a leaf keeps its gradient
    if (!node->grad.empty()) node->backward(Flow(node->grad, node->inputs));
    if (node->retains && node->retained.empty()) {
      node->retained = std::move(node->grad);
    } else if (node->retains && !node->grad.empty()) {
      compute().kernels.axpy(1.0f, node->grad.data(), node->retained.data(), node->size);
    }
    node->grad = {};
    if (retain_graph) continue;
    node->backward = nullptr;
    node->reads.clear();
    node->released = true;
  }
  // The list holds all nodes, so that none ends another.
  for (const NodePtr& node : nodes) {
    if (node->released) node->inputs.clear();
  }
  return {};
}

}  // namespace wattn::nn
