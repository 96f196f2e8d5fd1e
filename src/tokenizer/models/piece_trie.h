// A trie over the UTF-8 of a vocabulary's pieces: a hash table of edges, so that a step of a search is one look-up without strings.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenizer/vocabulary.h"

namespace wattn {

class PieceTrie {
 public:
  static constexpr std::uint32_t kRoot = 0, kNone = UINT32_MAX;
  static constexpr std::size_t kMostBytes = (1 << 24) - 2;  // of all pieces together

  // The last of equal pieces counts. All pieces grow at once, byte by byte: the look-ups for one do not wait for those for another.
  explicit PieceTrie(const Vocabulary& vocabulary) {
    struct Growing {
      std::string_view rest;
      std::int32_t id;
      std::uint32_t node;
    };
    std::vector<Growing> growing;
    std::size_t num_bytes = 0;
    for (std::int32_t id = 0; id < vocabulary.num_ids(); ++id) {
      const std::string_view piece = vocabulary.token(id).value_or("");
      num_bytes += piece.size();
      if (!piece.empty()) growing.push_back({piece, id, kRoot});
    }
    edges_.resize(std::bit_ceil(num_bytes / 2 + 16));
    while (!growing.empty()) {
      std::size_t left = 0;
      for (auto [rest, id, node] : growing) {
        node = with_child(node, rest[0]);
        if (rest.size() == 1) {
          ids_[node] = id;
        } else {
          growing[left++] = {rest.substr(1), id, node};
        }
      }
      growing.resize(left);
    }
  }

  // Where a byte leads from a node; kNone if nowhere.
  std::uint32_t child(std::uint32_t node, char byte) const { return edges_[slot_of(edge_of(node, byte))].child; }
  // The piece that ends at a node, or -1.
  std::int32_t id(std::uint32_t node) const { return ids_[node]; }

 private:
  struct Edge {
    std::uint32_t from = kNone;  // a node and a byte
    std::uint32_t child = kNone;
  };

  static std::uint32_t edge_of(std::uint32_t node, char byte) { return node << 8 | static_cast<unsigned char>(byte); }
  // The slot of an edge, or where it would be.
  std::size_t slot_of(std::uint32_t edge) const {
    const std::size_t mask = edges_.size() - 1;
    std::size_t slot = edge * 0x9E3779B97F4A7C15 >> 32 & mask;
    while (edges_[slot].from != edge && edges_[slot].from != kNone) slot = (slot + 1) & mask;
    return slot;
  }
  std::uint32_t with_child(std::uint32_t node, char byte) {
    const std::uint32_t edge = edge_of(node, byte);
    const std::size_t slot = slot_of(edge);
    if (edges_[slot].from == edge) return edges_[slot].child;
    const auto child = static_cast<std::uint32_t>(ids_.size());
    edges_[slot] = {edge, child};
    ids_.push_back(-1);
    if (ids_.size() * 4 > edges_.size() * 3) grow();
    return child;
  }
  void grow() {
    const std::vector<Edge> old = std::exchange(edges_, std::vector<Edge>(2 * edges_.size()));
    for (const Edge& edge : old) {
      if (edge.from != kNone) edges_[slot_of(edge.from)] = edge;
    }
  }

  std::vector<Edge> edges_;               // a power of two, at most three quarters full
  std::vector<std::int32_t> ids_ = {-1};  // [nodes]
};

}  // namespace wattn
