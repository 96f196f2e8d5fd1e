// torch.nn.functional: stateless functions of tensors, with torch's names, shapes and defaults.
#pragma once

#include <cstdint>
#include <string_view>

#include "nn/elementwise.h"
#include "nn/tensor.h"

namespace wattn::nn {

// exp(x_i) / sum over dim of exp(x_j); a slice of only -inf becomes zeros.
Result<Tensor> softmax(const Tensor& x, std::int64_t dim);
// x_i - log(sum over dim of exp(x_j)).
Result<Tensor> log_softmax(const Tensor& x, std::int64_t dim);

// a [..., m, k] times b [..., k, n] -> [..., m, n]; leading dimensions are broadcast, vectors as in torch.matmul.
Result<Tensor> matmul(const Tensor& a, const Tensor& b);
// a [batch, m, k] times b [batch, k, n].
Result<Tensor> bmm(const Tensor& a, const Tensor& b);
// x [..., in] W^T + bias: weight [out, in], bias [out] or null -> [..., out].
Result<Tensor> linear(const Tensor& x, const Tensor& weight, const Tensor* bias);
// Dot products of the rows of x [..., n, d] and y [..., m, d]: x y^T -> [..., n, m].
Result<Tensor> dot_product_similarity(const Tensor& x, const Tensor& y);

Tensor activate(const Tensor& x, Activation activation);

// Rows of weight [n, d] by ids [...], whole numbers in [0, n) -> [..., d].
Result<Tensor> embedding(const Tensor& ids, const Tensor& weight);
// ids [...] -> [..., classes] with a 1 at each id; classes 0: the largest id + 1.
Result<Tensor> one_hot(const Tensor& ids, std::int64_t classes);

// x [..., n, d] with its rows reordered: out[i] = x[order[i]]; to test equivariance.
Result<Tensor> permute_rows(const Tensor& x, const Tensor& order);

}  // namespace wattn::nn
