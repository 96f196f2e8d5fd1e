// Additions to the rows of embedding tables. A file of its own: few programs have any.
#include "ops/lora.h"

namespace wattn {

void add_table_rows(const LoraTables& tables, const void* table, std::span<const std::int32_t> ids, float* out) {
  for (const LoraTables::Rows& rows : tables.rows) {
    if (rows.table != table) continue;
    float* to = out;
    for (const std::int32_t id : ids) {
      const float* a = rows.a.data() + id * rows.rank;
      for (std::int64_t k = 0; k < rows.rank; ++k) exact_kernels().axpy(a[k], rows.b.data() + k * rows.hidden, to, rows.hidden);
      to += rows.hidden;
    }
  }
}

}  // namespace wattn
