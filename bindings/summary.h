// What a model is made of, across the seam.
#pragma once

#include <vector>

#include "bindings/convert.h"
#include "tasks/inspect.h"

namespace wattn {

// Answer: rows [{name, type, kernel, output, parameters, mult_adds}].
inline val to_summary(const std::vector<SummaryRow>& list) {
  const auto shape = [](const Shape& dims) {
    val out = val::array();
    for (const std::int64_t dim : dims) out.call<void>("push", static_cast<double>(dim));
    return out;
  };
  val rows = val::array();
  for (const SummaryRow& row : list) {
    val out = val::object();
    out.set("name", val(row.name));
    out.set("type", val(row.type));
    out.set("kernel", shape(row.kernel));
    out.set("output", shape(row.output));
    out.set("parameters", static_cast<double>(row.parameters));
    out.set("mult_adds", static_cast<double>(row.mult_adds));
    rows.call<void>("push", out);
  }
  val out = answer();
  out.set("rows", rows);
  return out;
}

}  // namespace wattn
