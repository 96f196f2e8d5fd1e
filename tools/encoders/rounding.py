"""Weights in blocks of 32 with one scale and whole numbers from -8 to 7 (GGUF's q4_0), and how they begin: GPTQ (Frantar et al. 2022, arXiv 2210.17323).

A column after the other is rounded, and the columns that are still to come take over its error, as the layer's own inputs weigh it.
"""

import torch
import torch.nn.functional as F

BLOCK = 32


def best_scales(blocks, weights=None):
    """Of each row of 32 numbers the scale (as f16) with the least squared error, of 24 near the largest number's."""
    most = blocks.gather(-1, blocks.abs().argmax(-1, keepdim=True))
    best_error, best = None, None
    for share in torch.linspace(0.7, 1.1, 24):
        scale = (most / -8 * share).half().float()
        error = (blocks - rounded(blocks, scale)).square()
        error = (error if weights is None else error * weights).sum(-1, keepdim=True)
        if best is None:
            best_error, best = error, scale
            continue
        better = error < best_error
        best_error, best = torch.where(better, error, best_error), torch.where(better, scale, best)
    return best


def codes_of(values, scale):
    inverse = torch.where(scale == 0, 0, 1 / scale)
    return (values * inverse).round().clamp(-8, 7)


def rounded(values, scale):
    return codes_of(values, scale) * scale


class Rounded(torch.autograd.Function):
    """values as their blocks' scales give them back. The gradient passes straight through where a number is within its block's range."""

    @staticmethod
    def forward(ctx, values, scale):
        blocks = values.reshape(-1, BLOCK)
        scale = scale.reshape(-1, 1)
        scaled = blocks * torch.where(scale == 0, 0, 1 / scale)
        ctx.save_for_backward(((scaled > -8.5) & (scaled < 7.5)).reshape(values.shape))
        return (scaled.round().clamp(-8, 7) * scale).reshape(values.shape)

    @staticmethod
    def backward(ctx, gradient):
        (inside,) = ctx.saved_tensors
        return gradient * inside, None


class RoundedLinear(torch.nn.Linear):
    """A Linear with the buffer `scale` [out, in / 32]."""

    def forward(self, x):
        return F.linear(x, Rounded.apply(self.weight, self.scale), self.bias)


@torch.no_grad()
def gptq(weight, hessian, damping=0.01):
    """weight [out, in], hessian [in, in]: the sum of x x^T over inputs. Returns the rounded weight and the scales [out, in / 32]."""
    w = weight.clone().double()
    h = hessian.double().clone()
    h += damping * h.diagonal().mean() * torch.eye(len(h))
    inverse = torch.linalg.cholesky(torch.cholesky_inverse(torch.linalg.cholesky(h)), upper=True)
    out = torch.zeros_like(w)
    scales = torch.zeros(w.shape[0], w.shape[1] // BLOCK)
    for begin in range(0, w.shape[1], BLOCK):
        columns = slice(begin, begin + BLOCK)
        scale = best_scales(w[:, columns].float())
        scales[:, begin // BLOCK] = scale[:, 0]
        errors = torch.zeros(w.shape[0], BLOCK, dtype=torch.double)
        for i in range(begin, begin + BLOCK):
            out[:, i] = rounded(w[:, i], scale[:, 0].double())
            errors[:, i - begin] = (w[:, i] - out[:, i]) / inverse[i, i]
            w[:, i + 1 : begin + BLOCK] -= errors[:, i - begin, None] * inverse[i, i + 1 : begin + BLOCK]
        w[:, begin + BLOCK :] -= errors @ inverse[columns, begin + BLOCK :]
    return out.float(), scales


@torch.no_grad()
def round_model(model, run):
    """Rounds the model's token embeddings, then its layers' matrices one after the other: the inputs of each are those that the rounded ones before it
    give. run(): calls the model on some texts."""
    table = model.embeddings.word_embeddings
    blocks = table.weight.reshape(-1, BLOCK)
    scale = best_scales(blocks)
    table.weight.copy_(rounded(blocks, scale).reshape(table.weight.shape))
    table.register_buffer("scale", scale.reshape(len(table.weight), -1))
    for layer in model.encoder.layer:
        own = layer.attention
        for group in ([own.self.query, own.self.key, own.self.value], [own.output.dense], [layer.intermediate.dense], [layer.output.dense]):
            hessian = torch.zeros(group[0].in_features, group[0].in_features)

            def note(_, inputs):
                rows = inputs[0][note.mask]
                hessian.addmm_(rows.T, rows)
                raise StopIteration  # what comes after does not matter yet

            handle = group[0].register_forward_pre_hook(note)
            run(note)
            handle.remove()
            for linear in group:
                weight, scales = gptq(linear.weight, hessian)
                linear.weight.copy_(weight)
                linear.register_buffer("scale", scales)
                linear.__class__ = RoundedLinear
