// exp, log, sin, cos and pow of doubles: our own, so that tables of positions, random draws and the like have the same bits on
// every machine (C libraries differ in last places). Errors are within 2 units of the last place where nothing else is said.
#pragma once

namespace wattn {

double exp64(double x);                   // 0 below -708, as for 709 above it
double log64(double x);                   // x > 0
double pow64(double base, double power);  // base > 0; relative error 2^-52 * (2 + |power * log(base)|)
double sin64(double x);                   // |x| < 2^20; absolute error within 2^-52
double cos64(double x);

}  // namespace wattn
