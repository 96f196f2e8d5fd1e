// Additions to the rows of embedding tables. A file of its own: few programs have any.
#include "ops/lora.h"

namespace wattn {

void add_lora_rows(const Lora& lora, const void* table, std::span<const std::int32_t> ids, float* out) {
  const auto add = [&](const LoraRows& rows) {
    float* to = out;
    for (const std::int32_t id : ids) {
      const float* a = rows.a.data() + id * rows.rank;
      for (std::int64_t k = 0; k < rows.rank; ++k) exact_kernels().axpy(a[k], rows.b.data() + k * rows.hidden, to, rows.hidden);
      to += rows.hidden;
    }
  };
  for (const Lora* each = &lora; each; each = each->before) {
    for (const LoraRows& rows : each->rows) {
      if (rows.table == table) add(rows);
    }
  }
}

}  // namespace wattn
