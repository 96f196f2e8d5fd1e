// build: -Oz
#include "tokenizer/regex/program.h"

#include <utility>

namespace wattn {
namespace {

constexpr std::size_t kMaxNodes = 1000;

using Node = RegexProgram::Node;

// Writes the graph from its end to its beginning, so that every part knows its successor.
class Compiler {
 public:
  std::uint16_t add(Node node) {
    if (nodes.size() < kMaxNodes) {
      nodes.push_back(node);
    } else {
      too_many = true;
    }
    return static_cast<std::uint16_t>(nodes.size() - 1);
  }

  std::uint16_t write(const RegexNode& tree, std::uint16_t next) {
    if (too_many) return next;
    using Kind = RegexNode::Kind;
    switch (tree.kind) {
      case Kind::kSequence:
        for (std::size_t i = tree.children.size(); i-- > 0;) next = write(tree.children[i], next);
        return next;
      case Kind::kAlternatives: {
        std::uint16_t alternatives = write(tree.children.back(), next);
        for (std::size_t i = tree.children.size() - 1; i-- > 0;) {
          alternatives = add({.kind = Node::Kind::kSplit, .next = write(tree.children[i], next), .other = alternatives});
        }
        return alternatives;
      }
      case Kind::kChar:
        return add({.kind = Node::Kind::kChar, .set = tree.set, .next = next});
      case Kind::kRepeat:
        return write_repeat(tree, next);
      case Kind::kLookahead: {
        const std::uint16_t found = write(tree.children[0], add({.kind = Node::Kind::kMatch}));
        return add({.kind = Node::Kind::kLookahead, .negated = tree.negated, .next = next, .other = found});
      }
      case Kind::kLookbehind:
        looks_behind = true;
        return add({.kind = Node::Kind::kLookbehind, .negated = tree.negated, .set = tree.set, .next = next});
      case Kind::kTextBegin:
        looks_behind = true;
        return add({.kind = Node::Kind::kTextBegin, .next = next});
      case Kind::kTextEnd:
        return add({.kind = Node::Kind::kTextEnd, .next = next});
    }
    return next;
  }

  std::vector<Node> nodes;
  bool too_many = false;
  bool looks_behind = false;

 private:
  std::uint16_t split(bool lazy, std::uint16_t body, std::uint16_t next) {
    return add({.kind = Node::Kind::kSplit, .next = lazy ? next : body, .other = lazy ? body : next});
  }

  std::uint16_t write_repeat(const RegexNode& tree, std::uint16_t next) {
    const RegexNode& body = tree.children[0];
    int copies = tree.min;
    if (tree.max == RegexNode::kNoLimit) {
      const std::uint16_t loop = split(tree.lazy, 0, next);
      const std::uint16_t again = write(body, loop);
      (tree.lazy ? nodes[loop].other : nodes[loop].next) = again;
      next = copies > 0 ? again : loop;  // the loop's own body is one of the copies
      --copies;
    } else {
      const std::uint16_t end = next;
      for (int i = tree.min; i < tree.max && !too_many; ++i) next = split(tree.lazy, write(body, next), end);
    }
    for (; copies > 0 && !too_many; --copies) next = write(body, next);
    return next;
  }
};

// Depth first: a node comes after the nodes that it depends on.
void sort_nodes(RegexProgram& program) {
  std::vector<std::uint8_t> seen(program.nodes.size());
  std::vector<std::uint16_t> open;
  for (std::size_t i = 0; i < program.nodes.size(); ++i) {
    open.push_back(static_cast<std::uint16_t>(i));
    while (!open.empty()) {
      const std::uint16_t node = open.back();
      const Node& now = program.nodes[node];
      if (seen[node] == 0) {
        seen[node] = 1;
        const bool has_next = now.kind != Node::Kind::kChar && now.kind != Node::Kind::kMatch;
        const bool has_other = now.kind == Node::Kind::kSplit || now.kind == Node::Kind::kLookahead;
        if (has_next && seen[now.next] == 0) open.push_back(now.next);
        if (has_other && seen[now.other] == 0) open.push_back(now.other);
        continue;
      }
      open.pop_back();
      if (seen[node] == 1) program.order.push_back(node);
      seen[node] = 2;
    }
  }
}

}  // namespace

Result<RegexProgram> compile_regex(RegexSyntax syntax) {
  Compiler compiler;
  const std::uint16_t match = compiler.add({.kind = Node::Kind::kMatch});
  RegexProgram program;
  program.start = compiler.write(syntax.root, match);
  if (compiler.too_many)
    return unsupported_error("a regular expression of more than " + std::to_string(kMaxNodes) + " parts is not supported");
  program.nodes = std::move(compiler.nodes);
  program.looks_behind = compiler.looks_behind;
  program.sets = std::move(syntax.sets);
  for (std::size_t i = 0; i < program.nodes.size(); ++i) {
    if (program.nodes[i].kind != Node::Kind::kChar) continue;
    program.nodes[i].slot = static_cast<std::uint16_t>(program.chars.size());
    program.chars.push_back(static_cast<std::uint16_t>(i));
  }
  sort_nodes(program);
  return program;
}

}  // namespace wattn
