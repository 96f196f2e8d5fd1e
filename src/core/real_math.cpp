#include "core/real_math.h"

#include <algorithm>
#include <cmath>  // floor, frexp and ldexp are exact
#include <cstdint>

namespace wattn {
namespace {

// Parts of ln 2 and of pi / 2: products with whole numbers up to 2^20 are exact in all but the last part.
constexpr double kLn2Head = 6.93147180369123816490e-01;
constexpr double kLn2Tail = 1.90821492927058770002e-10;
constexpr double kHalfPiHead = 1.57079632673412561417e+00;
constexpr double kHalfPiMiddle = 6.07710050630396597660e-11;
constexpr double kHalfPiTail = 2.02226624879595063154e-21;

// Taylor series on |r| <= pi / 4: the first term left out is below 2^-56.
double sin_series(double r) {
  const double u = r * r;
  double sum = 1;
  for (int i = 9; i >= 1; --i) sum = 1 - u / (2 * i * (2 * i + 1)) * sum;
  return r * sum;
}

double cos_series(double r) {
  const double u = r * r;
  double sum = 1;
  for (int i = 9; i >= 1; --i) sum = 1 - u / (2 * i * (2 * i - 1)) * sum;
  return sum;
}

// The sine of x plus quarter_turns quarter turns: 0 for sin(x), 1 for cos(x).
double turn(double x, int quarter_turns) {
  const double n = std::floor(x * 0.63661977236758134308 + 0.5);
  const double r = ((x - n * kHalfPiHead) - n * kHalfPiMiddle) - n * kHalfPiTail;
  switch ((static_cast<std::int64_t>(n) + quarter_turns) & 3) {
    case 0:
      return sin_series(r);
    case 1:
      return cos_series(r);
    case 2:
      return -sin_series(r);
    default:
      return -cos_series(r);
  }
}

}  // namespace

double exp64(double x) {
  if (std::isnan(x)) return x;
  if (x < -708) return 0;
  x = std::min(x, 709.0);
  const double n = std::floor(x * 1.44269504088896340736 + 0.5);
  const double r = (x - n * kLn2Head) - n * kLn2Tail;
  double sum = 1;
  for (int i = 14; i >= 1; --i) sum = 1 + r / i * sum;
  return std::ldexp(sum, static_cast<int>(n));
}

// x = 2^e m with m in [sqrt(1/2), sqrt(2)); log m = 2 atanh((m - 1) / (m + 1)).
double log64(double x) {
  if (std::isnan(x)) return x;
  int e = 0;
  double m = std::frexp(x, &e);
  if (m < 0.70710678118654752440) {
    m *= 2;
    --e;
  }
  const double s = (m - 1) / (m + 1);
  const double u = s * s;
  double sum = 0;
  for (int i = 23; i >= 3; i -= 2) sum = (sum + 1.0 / i) * u;
  return e * kLn2Head + (2 * (s + s * sum) + e * kLn2Tail);
}

double pow64(double base, double power) { return exp64(power * log64(base)); }
double sin64(double x) { return turn(x, 0); }
double cos64(double x) { return turn(x, 1); }

}  // namespace wattn
