// Traces a forward module by module: shapes, parameters and mult-adds as torchinfo counts them, and what is really multiplied.
#pragma once

#include <string>
#include <vector>

#include "nn/module.h"

namespace wattn::nn {

struct TraceRow {
  std::string name;  // in its parent
  std::string type;
  int depth = 0;
  Shape input, output, kernel;
  std::int64_t parameters = 0;      // including children, each once
  std::int64_t own_parameters = 0;  // without children
  std::int64_t mult_adds = 0;       // as in torchinfo: parameters times the first output dim; 0 unless a leaf
  std::int64_t macs = 0;            // multiply-accumulates of all products inside, attention's too (ops/macs.h)
  bool is_leaf = true;              // without children
  const Module* module = nullptr;   // the same in each of its rows
  Outputs outputs;                  // if kept
};

class Tracer : public Observer {
 public:
  explicit Tracer(bool keep_outputs) : keep_outputs_(keep_outputs) {}
  void before(const Module& module, std::string_view name, const Tensor& input) override;
  void after(const Module& module, const Outputs& outputs) override;
  void multiplied(std::int64_t macs) override;
  const std::vector<TraceRow>& rows() const { return rows_; }

 private:
  bool keep_outputs_;
  std::vector<TraceRow> rows_;
  std::vector<std::size_t> open_;  // rows whose forward is running
};

}  // namespace wattn::nn
