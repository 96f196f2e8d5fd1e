// Minimises a smooth convex function by limited-memory BFGS (Liu and Nocedal 1989) in double precision. The caller evaluates the
// function where next() says and tells the result, until tell() returns false; so an evaluation may be divided into any number of
// calls.
#pragma once

#include <utility>
#include <vector>

namespace wattn {

class Lbfgs {
 public:
  Lbfgs() = default;
  explicit Lbfgs(std::vector<double> start) : next_(std::move(start)) {}

  // Where the function is to be evaluated.
  const std::vector<double>& next() const { return next_; }
  // Takes its value and gradient there; the value may be NaN anywhere but at the start. False if the search is over: all components
  // of the gradient at x() are within the tolerance, or rounding hides what could still be gained.
  bool tell(double value, const std::vector<double>& gradient, double tolerance);

  // The best point so far, and the value there.
  const std::vector<double>& x() const { return x_; }
  double value() const { return value_; }
  int iterations() const { return iterations_; }

 private:
  struct Pair {
    std::vector<double> step, change;  // of x and of the gradient
    double rho;                        // 1 / (step change)
  };

  void accept(double value, const std::vector<double>& gradient);
  void choose_direction();
  bool try_length(double length);

  std::vector<double> x_, gradient_;  // empty before the first evaluation
  double value_ = 0;
  std::vector<Pair> pairs_;    // the oldest first
  std::vector<double> along_;  // the direction of the search
  double slope_ = 0;           // of the function along it
  double length_ = 0;          // next_ = x_ + length_ along_
  std::vector<double> next_;
  int iterations_ = 0;
};

}  // namespace wattn
