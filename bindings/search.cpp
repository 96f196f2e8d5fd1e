// wattn-search: one VectorRows for each instance, by plain exports (web/host/search_host.ts). The host owns the memory: it makes
// room for rows from __heap_base on, and for what these functions read and write behind the last block. Addresses are unsigned.
#include <emscripten/emscripten.h>

#include "search/vector_rows.h"

namespace {

constinit wattn::VectorRows all;

}  // namespace

extern "C" {

EMSCRIPTEN_KEEPALIVE const char* build_id() { return WATTN_BUILD_ID; }

EMSCRIPTEN_KEEPALIVE void make(int precision, int dim, std::byte* memory) {
  all = wattn::VectorRows(static_cast<wattn::RowPrecision>(precision), dim, memory);
}
EMSCRIPTEN_KEEPALIVE int block_rows() { return static_cast<int>(all.block_rows()); }
EMSCRIPTEN_KEEPALIVE int block_bytes() { return static_cast<int>(all.block_bytes()); }
EMSCRIPTEN_KEEPALIVE int query_bytes() { return static_cast<int>(all.query_bytes()); }

EMSCRIPTEN_KEEPALIVE int put(int at, const float* vectors, int n) { return all.put(at, vectors, n); }
EMSCRIPTEN_KEEPALIVE int put_stored(int at, const std::byte* stored, int n) { return all.put_stored(at, stored, n); }
EMSCRIPTEN_KEEPALIVE void get_stored(int at, std::byte* stored, int n) { all.get_stored(at, stored, n); }
EMSCRIPTEN_KEEPALIVE void copy(int to, int from) { all.copy(to, from); }

EMSCRIPTEN_KEEPALIVE int num_candidates(int count, int k) { return static_cast<int>(all.num_candidates(count, k)); }
EMSCRIPTEN_KEEPALIVE int search(std::byte* query, int count, int k, const std::uint8_t* allowed, wattn::RankedRow* ranked) {
  return static_cast<int>(all.search(query, count, k, allowed, ranked));
}
EMSCRIPTEN_KEEPALIVE void scores(std::byte* query, const std::int32_t* rows, int n, float* out) { all.scores(query, rows, n, out); }
}
