// exp, log, sin, cos and pow of doubles. Our own, because C libraries differ in the last place, and position tables, random draws
// and the like must have the same bits on every machine. Errors are within 2 units in the last place unless noted. exp64 and log64
// of NaN are NaN.
#pragma once

namespace wattn {

double exp64(double x);                   // 0 below -708; above 709 the same as at 709
double log64(double x);                   // x > 0
double pow64(double base, double power);  // base > 0; relative error 2^-52 * (2 + |power * log(base)|)
double sin64(double x);                   // |x| < 2^20; absolute error within 2^-52
double cos64(double x);

}  // namespace wattn
