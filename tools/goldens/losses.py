"""losses/: the losses of torch.nn.functional and their gradients, in double precision."""
import numpy
import torch
from torch.nn import functional

from . import common


def rounded(tensor):
    """Numbers of float32, so that a reader of either precision has the same."""
    return tensor.detach().to(torch.float32).to(torch.float64)


def numbers(tensor):
    return [float(str(numpy.float32(x))) for x in tensor.detach().flatten().tolist()]


def case(name, inputs, run, **options):
    """inputs: those with gradients, by name; run(inputs) gives the loss."""
    leaves = {key: rounded(value).requires_grad_() for key, value in inputs.items()}
    loss = run(**leaves)
    loss.backward()
    return {"loss": name, "rows": next(iter(inputs.values())).shape[0], "cols": next(iter(inputs.values())).shape[1], **options,
            "inputs": {key: numbers(value) for key, value in leaves.items()}, "value": loss.item(),
            "gradients": {key: value.grad.flatten().tolist() for key, value in leaves.items()}}


def cross_entropy(draw):
    logits, weight = draw(5, 7) * 3, rounded(torch.rand(7) + 0.5)
    targets = torch.tensor([3, 0, -100, 6, 3])
    for reduction in ("mean", "sum"):
        for smoothing in (0.0, 0.25):
            for with_weight in (False, True):
                yield case("cross_entropy", {"x": logits},
                           lambda x: functional.cross_entropy(x, targets, weight=weight.double() if with_weight else None, reduction=reduction,
                                                              label_smoothing=smoothing),
                           targets=targets.tolist(), reduction=reduction, label_smoothing=smoothing,
                           weight=numbers(weight) if with_weight else None)
    far = torch.tensor([[800.0, -800.0, 0.0], [-90.0, 90.0, 89.0]])
    yield case("cross_entropy", {"x": far}, lambda x: functional.cross_entropy(x, torch.tensor([1, 2])), targets=[1, 2], reduction="mean",
               label_smoothing=0.0, weight=None)


def binary(draw):
    for scale in (1, 60):
        logits, targets = draw(4, 3) * scale, rounded(torch.rand(4, 3))
        weight, pos_weight = rounded(torch.rand(3)), rounded(torch.rand(3) * 4)
        for reduction in ("mean", "sum"):
            for weighted in (False, True):
                more = {"weight": weight, "pos_weight": pos_weight} if weighted else {}
                yield case("binary_cross_entropy_with_logits", {"x": logits},
                           lambda x: functional.binary_cross_entropy_with_logits(x, targets, reduction=reduction, **more),
                           target=numbers(targets), reduction=reduction, weight=numbers(weight) if weighted else None,
                           pos_weight=numbers(pos_weight) if weighted else None)


def elementwise(draw):
    x, target = draw(3, 5), rounded(draw(3, 5))
    target[0, 0] = rounded(x)[0, 0]
    for reduction in ("mean", "sum"):
        for name in ("mse_loss", "l1_loss"):
            yield case(name, {"x": x}, lambda x: getattr(functional, name)(x, target, reduction=reduction), target=numbers(target),
                       reduction=reduction)
    probs = rounded(torch.softmax(draw(3, 5), -1))
    probs[1, 2] = 0
    for reduction in ("mean", "sum", "batchmean"):
        yield case("kl_div", {"x": torch.log_softmax(draw(3, 5), -1)}, lambda x: functional.kl_div(x, probs, reduction=reduction),
                   target=numbers(probs), reduction=reduction)


def embeddings(draw):
    y = torch.tensor([1, -1, -1, 1])
    x1, x2 = draw(4, 6), draw(4, 6)
    x2[2] = -x1[2]
    x1[3] = 0
    for margin in (0.0, 0.1):
        for reduction in ("mean", "sum"):
            yield case("cosine_embedding_loss", {"x1": x1, "x2": x2},
                       lambda x1, x2: functional.cosine_embedding_loss(x1, x2, y, margin=margin, reduction=reduction), targets=y.tolist(),
                       margin=margin, reduction=reduction)
    anchor, positive, negative = draw(5, 6), draw(5, 6), draw(5, 6)
    negative[4] = anchor[4] + 100
    for swap in (False, True):
        for reduction in ("mean", "sum"):
            yield case("triplet_margin_loss", {"anchor": anchor, "positive": positive, "negative": negative},
                       lambda anchor, positive, negative: functional.triplet_margin_loss(anchor, positive, negative, margin=0.75, swap=swap,
                                                                                         reduction=reduction),
                       margin=0.75, swap=swap, reduction=reduction)


def make(_options):
    torch.manual_seed(11)
    folder = common.empty_folder("losses")
    draw = lambda *shape: torch.randn(*shape, dtype=torch.float64)  # noqa: E731
    rows = [one for part in (cross_entropy, binary, elementwise, embeddings) for one in part(draw)]
    common.write_json(folder / "cases.json", rows, 2)
    common.update_manifest("losses", common.versions("torch"))
