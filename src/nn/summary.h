// What happens inside a forward, module by module: shapes, parameters and work, as torchinfo counts them.
#pragma once

#include <string>
#include <vector>

#include "nn/module.h"

namespace wattn::nn {

struct TraceRow {
  std::string name;  // as its parent calls it
  std::string type;
  int depth = 0;
  Shape input, output, kernel;
  std::int64_t parameters = 0;      // of it and all in it, each once
  std::int64_t own_parameters = 0;  // not of children
  std::int64_t mult_adds = 0;       // torchinfo's: parameters times the batch (times seq for those of attention); 0 above others
  bool is_leaf = true;
  Outputs outputs;  // where kept
};

class Tracer : public Observer {
 public:
  explicit Tracer(bool keep_outputs) : keep_outputs_(keep_outputs) {}
  void before(const Module& module, std::string_view name, const Tensor& input) override;
  void after(const Module& module, const Outputs& outputs) override;
  const std::vector<TraceRow>& rows() const { return rows_; }

 private:
  bool keep_outputs_;
  std::vector<TraceRow> rows_;
  std::vector<std::size_t> open_;  // rows that have begun and not ended
};

}  // namespace wattn::nn
