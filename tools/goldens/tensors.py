"""tensors/: the methods of torch's tensors that wattn.Tensor has, on tensors of many shapes and types."""
import numpy
import torch

from . import common

TYPES = {torch.float32: "float32", torch.int32: "int32", torch.int64: "int64", torch.bool: "bool", torch.uint8: "uint8"}


def stored(tensor):
    flat = tensor.detach().flatten().tolist()
    names = {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}
    data = [names.get(str(value), float(str(numpy.float32(value)))) if isinstance(value, float) else int(value) for value in flat]
    return {"type": TYPES[tensor.dtype], "dims": list(tensor.shape), "data": data}


def make_inputs():
    draw = torch.Generator().manual_seed(11)
    floats = lambda *dims: torch.randn(dims, generator=draw)  # noqa: E731
    whole = lambda dtype, low, high, *dims: torch.randint(low, high, dims, generator=draw, dtype=dtype)  # noqa: E731
    holes = floats(3, 4)
    holes[1, 2] = float("nan")
    ties = whole(torch.int64, 0, 3, 4, 5).to(torch.float32)
    zeros = floats(3, 4)
    zeros[1] = 0
    return {"scalar": floats(), "vector": floats(5), "matrix": floats(3, 4), "cube": floats(2, 3, 4), "flat": floats(1, 3, 1, 4),
            "none": floats(0, 3), "empty_rows": floats(2, 0), "holes": holes, "ties": ties, "zeros": zeros,
            "int32": whole(torch.int32, -9, 9, 3, 4), "int64": whole(torch.int64, -9, 9, 2, 3, 2), "bool": whole(torch.int64, 0, 2, 3, 4).bool(),
            "uint8": whole(torch.uint8, 100, 250, 3, 4)}


def reductions(name, value):
    """[method, arguments as in JavaScript, torch's answer] of each method that reduces."""
    dims = [None, *range(-value.dim(), value.dim())]
    numbers = value.to(torch.int64) if value.dtype in (torch.bool, torch.uint8) else value
    for dim in dims:
        for keepdim in (False, True):
            given = {} if dim is None else {"dim": dim, "keepdim": keepdim}
            shape = [1] * value.dim() if dim is None and keepdim else None
            shaped = (lambda out: out.reshape(shape)) if shape is not None else (lambda out: out)
            total = (numbers if value.dtype != torch.float32 else value.double()).sum(**given)
            yield "sum", [dim, keepdim], shaped(total).to(value.dtype if value.dtype in (torch.float32, torch.int32, torch.int64) else torch.int32)
            yield "mean", [dim, keepdim], shaped(value.double().mean(**given)).float()
            for p in (2, 1, 3, 0, float("inf")):
                reduced = value.shape[dim] if dim is not None else value.numel()
                if p == float("inf") and reduced == 0:
                    continue
                order = "Infinity" if p == float("inf") else p
                yield "norm", [order, dim, keepdim], shaped(torch.linalg.vector_norm(value.double(), p, **given)).float()
            if (value.shape[dim] if dim is not None else value.numel()) == 0:
                continue
            for method in ("max", "min"):
                best = getattr(numbers, method)(**given)
                yield method, [dim, keepdim], shaped(best if dim is None else best.values).to(value.dtype)
                place = getattr(numbers, f"arg{method}")(**given)
                if not (name in ("ties", "int32", "int64", "bool", "uint8", "zeros") and dim is None):  # torch says not which of several
                    yield f"arg{method}", [dim, keepdim], shaped(place)


def others(name, value):
    floating = value.dtype == torch.float32
    ndim = value.dim()
    yield "flatten", [], value.flatten()
    yield "squeeze", [], value.squeeze()
    for dim in range(-ndim, ndim):
        yield "squeeze", [dim], value.squeeze(dim)
        yield "flatten", [dim], value.flatten(dim)
        if value.numel():
            yield "softmax", [dim], value.double().softmax(dim).float()
        yield "normalize", [2, dim], torch.nn.functional.normalize(value.double(), dim=dim).float()
        yield "normalize", [1, dim], torch.nn.functional.normalize(value.double(), p=1, dim=dim).float()
    for dim in range(-ndim - 1, ndim + 1):
        yield "unsqueeze", [dim], value.unsqueeze(dim)
    order = list(range(ndim))[::-1]
    yield "permute", order, value.permute(order)
    yield "transpose", order, value.permute(order)
    yield "sigmoid", [], value.double().sigmoid().float()
    for method in ("gt", "lt"):
        yield method, [0], getattr(value, method)(0)
    if floating:
        yield "mul", [2.5], value * 2.5
        yield "div", [3], value / 3
        yield "add", [-1.25], value + -1.25
        yield "sub", [0.5], value - 0.5
        yield "remainder", [0.75], value.remainder(0.75)
        yield "remainder", [-0.75], value.remainder(-0.75)
        yield "clamp", [-0.5, 0.5], value.clamp(-0.5, 0.5)
        yield "to", ["int64"], value.nan_to_num().long() if name != "holes" else None
    elif value.dtype in (torch.int32, torch.int64):
        yield "mul", [-3], value * -3
        yield "add", [7], value + 7
        yield "sub", [2], value - 2
        yield "remainder", [4], value.remainder(4)
        yield "remainder", [-4], value.remainder(-4)
        yield "div", [2], torch.div(value, 2, rounding_mode="trunc")
        yield "clamp", [-2, 3], value.clamp(-2, 3)
        yield "to", ["float32"], value.float()
    if value.dtype not in (torch.bool, torch.uint8):
        yield "neg", [], -value
    yield "tile", [2], value.tile(2)
    yield "repeat", [2] + [1] * ndim, value.repeat(2, *[1] * ndim)
    if ndim:
        yield "repeat", [3] * ndim, value.repeat(*[3] * ndim)
    if ndim == 3:
        yield "slice", [1, [0, 2]], value[1, 0:2]
        yield "slice", [None, [None, -1], [1, None]], value[:, :-1, 1:]
        yield "slice", [None, [0, 3, 2]], value[:, 0:3:2]
        yield "view", [-1, value.shape[2]], value.reshape(-1, value.shape[2])


def make(_options):
    common.empty_folder("tensors")
    inputs = make_inputs()
    cases = []
    for name, value in inputs.items():
        for method, args, out in [*reductions(name, value), *others(name, value)]:
            if out is not None:
                cases.append([name, method, args, stored(out)])
    draw = torch.Generator().manual_seed(12)
    pairs = []
    for a, b in ([[2, 3], [2, 3]], [[2, 3], [3]], [[2, 3], [2, 1]], [[2, 1], [1, 3]], [[3], [2, 3]], [[2, 3], []], [[2, 1, 4], [3, 1]], [[0, 3], [1, 3]]):
        first, second = torch.randn(a, generator=draw), torch.randn(b, generator=draw)
        results = {"add": first + second, "sub": first - second, "mul": first * second, "div": first / second, "gt": first > second, "lt": first < second}
        pairs.append([stored(first), stored(second), {method: stored(out) for method, out in results.items()}])
    common.write_json(common.OUT / "tensors" / "expected.json", {"inputs": {name: stored(value) for name, value in inputs.items()}, "cases": cases, "pairs": pairs}, depth=2)
    common.update_manifest("tensors", common.versions("torch"))
