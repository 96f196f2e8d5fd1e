// build: -Oz
// Additions to the rows of embedding tables, in a separate file because few programs need them.
#include <algorithm>

#include "ops/lora.h"

namespace wattn {
namespace {

// The addition to a row; null: none.
const float* whole_row(const LoraTables::Rows& rows, std::int32_t id) {
  std::int64_t at = id;
  if (!rows.ids.empty()) {
    const auto found = std::ranges::lower_bound(rows.ids, id);
    if (found == rows.ids.end() || *found != id) return nullptr;
    at = found - rows.ids.begin();
  }
  return rows.rows.data() + at * rows.hidden;
}

}  // namespace

void add_table_rows(const LoraTables& tables, const void* table, std::span<const std::int32_t> ids, float* out) {
  for (const LoraTables::Rows& rows : tables.rows) {
    if (rows.table != table) continue;
    float* to = out;
    for (const std::int32_t id : ids) {
      const float* whole = rows.rank == 0 ? whole_row(rows, id) : nullptr;
      if (whole) exact_kernels().axpy(1.0f, whole, to, rows.hidden);
      const float* a = rows.a.data() + id * rows.rank;
      for (std::int64_t k = 0; k < rows.rank; ++k) exact_kernels().axpy(a[k], rows.b.data() + k * rows.hidden, to, rows.hidden);
      for (std::size_t j = 0; j < rows.factor.size(); ++j) to[j] *= rows.factor[j];
      to += rows.hidden;
    }
  }
}

}  // namespace wattn
