"""autograd/: torch's gradients of every function and module of nn, in float64, and the losses of two models that train.

The cases of nn.py again: the loss is the sum of all outputs times numbers that Lehmer(7) draws. Gradients are float32 in base64.
"""
import base64
import math

import numpy
import torch
import transformers
from torch import nn
from torch.nn import functional as F

from . import common
from . import nn as blocks

CASES = []
# Cases of nn/cases.json, by their names there: they are only named here.
KNOWN = []


def pack(tensor):
    return base64.b64encode(tensor.detach().numpy().astype("<f4").tobytes()).decode()


def is_float(value):
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def places(args, inputs):
    """{"1.weight": index of the input} for each float tensor among the arguments that JS passes."""
    found = {}
    for i, arg in enumerate(args):
        for key, value in (arg.items() if isinstance(arg, dict) else [("", arg)]):
            for index, one in enumerate(inputs):
                if is_float(value) and value is one:
                    found.setdefault(f"{i}.{key}".rstrip("."), index)
    return found


def backward(outputs):
    lehmer = blocks.Lehmer(7)
    outputs = [out for out in outputs if is_float(out) and out.requires_grad]
    if outputs:
        sum((out * lehmer.draw(out.shape, 1.0).double()).sum() for out in outputs).backward()
    return bool(outputs)


def leaves(inputs):
    return [value.detach().double().requires_grad_() if is_float(value) else value for value in inputs]


def function(name, target, args, run, *tensors):
    if KNOWN:
        KNOWN.append(name)
    given = leaves(tensors)
    if target == "functional.batch_norm":  # running statistics have none
        given[1:3] = [one.detach() for one in given[1:3]]
    if not backward(blocks.pair(run(*given))):
        return
    gradients = {place: pack(given[i].grad) for place, i in places(args, tensors).items() if given[i].grad is not None}
    case = {} if KNOWN else {"function": target, "args": blocks.encode(args)}
    CASES.append({"name": name, **case, "gradients": gradients})


def module(name, target, make, reference, inputs, js_args, run=None, train=False):
    seed = len(KNOWN or CASES) + (not KNOWN)
    if KNOWN:
        KNOWN.append(name)
    state = blocks.fill(reference, seed)
    reference.double().train(train)
    given = leaves(inputs)
    backward(blocks.pair((run or (lambda m, *x: m(*x)))(reference, *given)))
    gradients = {place: pack(given[i].grad) for place, i in places(js_args, inputs).items()}
    parameters = {key: pack(value.grad) for key, value in reference.named_parameters()}
    buffers = {key: pack(value) for key, value in reference.named_buffers() if value.is_floating_point()} if train else {}
    case = {} if KNOWN else {"module": target, "make": make, "seed": seed, "train": train, "shapes": {key: list(value.shape) for key, value in state.items()},
                             "args": blocks.encode(js_args)}
    CASES.append({"name": name, **case, "gradients": gradients, "parameters": parameters, "buffers": buffers})


def method(name, path, args, run, *tensors):
    """args[0].path(*the rest), and its value."""
    given = leaves(tensors)
    out = run(*given)
    backward(blocks.pair(out))
    CASES.append({"name": name, "method": path, "args": blocks.encode(args), "gradients": {place: pack(given[i].grad) for place, i in places(args, tensors).items()},
                  "values": [pack(each) for each in blocks.pair(out) if is_float(each)]})


def methods(g):
    x, y, row, one = blocks.draw(g, 2, 3, 4), blocks.draw(g, 2, 3, 4), blocks.draw(g, 4), blocks.draw(g, 1, 3, 1)
    above = x.abs() + 0.5
    for name in ("add", "sub", "mul", "div"):
        for what, other in (("", y), (" row", row), (" column", one)):
            method(name + what, name, [x, other], lambda a, b, n=name: getattr(a, n)(b), x, other)
        method(name + " wider", name, [row, x], lambda a, b, n=name: getattr(a, n)(b), row, x)
        method(name + " number", name, [x, 0.75], lambda a, n=name: getattr(a, n)(0.75), x)
    for name, of in (("exp", x), ("log", above), ("sqrt", above), ("abs", x), ("sin", x), ("cos", x), ("neg", x), ("tanh", x), ("sigmoid", x), ("relu", x), ("sum", x), ("mean", x), ("max", x),
                     ("min", x), ("var", x), ("std", x), ("clone", x)):
        method(name, name, [of], lambda a, n=name: getattr(a, n)(), of)
    for exponent, of in ((2, x), (3, x), (-1, x), (0.5, above), (-1.5, above), (0, x)):
        method(f"pow {exponent}", "pow", [of, exponent], lambda a, e=exponent: a.pow(e), of)
    method("clamp", "clamp", [x, {"min": -0.5, "max": 0.7}], lambda a: a.clamp(-0.5, 0.7), x)
    for name in ("sum", "mean", "var", "std"):
        for dim, keep in ((1, False), (-1, True), ([0, 2], False)):
            method(f"{name} {dim} {keep}", name, [x, dim, {"keepdim": keep}], lambda a, n=name, d=dim, k=keep: getattr(a, n)(dim=d, keepdim=k), x)
    ties = torch.tensor([[1.0, 3.0, 3.0], [3.0, 2.0, 3.0]])
    for name in ("max", "min"):
        method(f"{name} of equals", name, [ties], lambda a, n=name: getattr(a, n)(), ties)
        for dim in (0, 1):
            method(f"{name} {dim}", name, [x, dim], lambda a, n=name, d=dim: getattr(a, n)(d)[0], x)
    for name, args, run in (("softmax", [1], lambda a: a.softmax(1)), ("log_softmax", [-1], lambda a: a.log_softmax(-1)), ("permute", [2, 0, 1], lambda a: a.permute(2, 0, 1)),
                            ("transpose", [0, -1], lambda a: a.transpose(0, -1)), ("reshape", [3, -1], lambda a: a.reshape(3, -1)), ("view", [6, 4], lambda a: a.view(6, 4)),
                            ("flatten", [1], lambda a: a.flatten(1)), ("unsqueeze", [1], lambda a: a.unsqueeze(1)), ("narrow", [2, 1, 2], lambda a: a.narrow(2, 1, 2)),
                            ("slice", [1, [0, 3, 2], [-3, -1]], lambda a: a[1, 0:3:2, -3:-1]), ("get", [1], lambda a: a[1])):
        method(name, name, [x, *args], run, x)
    method("squeeze", "squeeze", [one], lambda a: a.squeeze(), one)
    method("expand", "expand", [one, 2, -1, 4], lambda a: a.expand(2, -1, 4), one)
    index = torch.tensor([2, 0, 2])
    method("index_select", "index_select", [x, 1, index], lambda a: a.index_select(1, index), x)
    mask = x > 0.3
    method("masked_fill", "masked_fill", [x, mask, -2], lambda a: a.masked_fill(mask, -2), x)
    method("masked_fill row", "masked_fill", [x, mask[0, 0], 1.5], lambda a: a.masked_fill(mask[0, 0], 1.5), x)
    z = blocks.draw(g, 2, 4, 5)
    method("matmul", "matmul", [x, z], lambda a, b: a.matmul(b), x, z)
    method("bmm", "bmm", [x, z], lambda a, b: a.bmm(b), x, z)
    for dim in (0, -1):
        function(f"cat {dim}", "cat", [[x, y], dim], lambda a, b, d=dim: torch.cat([a, b], d), x, y)
        CASES[-1]["gradients"] = stacked(torch.cat, x, y, dim)
        function(f"stack {dim}", "stack", [[x, y], dim], lambda a, b, d=dim: torch.stack([a, b], d), x, y)
        CASES[-1]["gradients"] = stacked(torch.stack, x, y, dim)


def stacked(join, x, y, dim):
    a, b = leaves([x, y])
    backward([join([a, b], dim)])
    return {"0.0": pack(a.grad), "0.1": pack(b.grad)}


def losses(g):
    logits, weight = blocks.draw(g, 5, 7, scale=2), blocks.draw(g, 7).abs() + 0.2
    targets, wide = torch.tensor([3, 0, -100, 6, 3]), blocks.draw(g, 2, 4, 3)
    ids = torch.tensor([[1, 3, 0], [2, 2, 3]])
    for options in ({}, {"reduction": "sum", "label_smoothing": 0.25}, {"ignore_index": 3}):
        function(f"cross_entropy {options}", "functional.cross_entropy", [logits, targets.clamp(0) if options else targets, options],
                 lambda x, o=options: F.cross_entropy(x, targets.clamp(0) if o else targets, **o), logits)
    function("cross_entropy weight", "functional.cross_entropy", [logits, targets, {"weight": weight}], lambda x: F.cross_entropy(x, targets, weight.double()), logits)
    function("cross_entropy of sequences", "functional.cross_entropy", [wide, ids], lambda x: F.cross_entropy(x, ids), wide)
    x, y = blocks.draw(g, 3, 4), blocks.draw(g, 3, 4)
    part = y.sigmoid()
    for name in ("mse_loss", "l1_loss"):
        function(name, f"functional.{name}", [x, y], lambda a, b, n=name: getattr(F, n)(a, b), x, y)
    function("bce", "functional.binary_cross_entropy_with_logits", [x, part, {"pos_weight": x[0].abs()}],
             lambda a: F.binary_cross_entropy_with_logits(a, part.double(), pos_weight=x[0].abs().double()), x)
    for reduction in ("mean", "batchmean"):
        function(f"kl_div {reduction}", "functional.kl_div", [x, part, {"reduction": reduction}], lambda a, r=reduction: F.kl_div(a, part.double(), reduction=r), x)
    signs = torch.tensor([1, -1, -1])
    function("cosine_embedding_loss", "functional.cosine_embedding_loss", [x, y, signs, {"margin": -0.5}], lambda a, b: F.cosine_embedding_loss(a, b, signs, -0.5), x, y)
    z = blocks.draw(g, 3, 4)
    function("triplet_margin_loss", "functional.triplet_margin_loss", [x, y, z, {"swap": True}], lambda a, p, n: F.triplet_margin_loss(a, p, n, swap=True), x, y, z)


def losses_alone(g):
    """Not reduced, and with probabilities as targets."""
    logits, weight, wide = blocks.draw(g, 5, 7, scale=2), blocks.draw(g, 7).abs() + 0.2, blocks.draw(g, 2, 4, 3)
    targets, ids = torch.tensor([3, 0, -100, 6, 3]), torch.tensor([[1, 3, 0], [2, 2, 3]])
    x, y, z, signs = *(blocks.draw(g, 3, 4) for _ in range(3)), torch.tensor([1, -1, -1])
    none = {"reduction": "none"}

    def both(name, path, args, run, *tensors):
        function(name, f"functional.{path}", args, run, *tensors)
        CASES[-1]["values"] = [pack(run(*leaves(tensors)))]

    both("cross_entropy alone", "cross_entropy", [logits, targets, {**none, "weight": weight, "label_smoothing": 0.25}],
         lambda a: F.cross_entropy(a, targets, weight=weight.double(), label_smoothing=0.25, reduction="none"), logits)
    both("cross_entropy of sequences alone", "cross_entropy", [wide, ids, none], lambda a: F.cross_entropy(a, ids, reduction="none"), wide)
    part = y.sigmoid()
    both("bce alone", "binary_cross_entropy_with_logits", [x, part, none], lambda a: F.binary_cross_entropy_with_logits(a, part.double(), reduction="none"), x)
    for name in ("mse_loss", "l1_loss"):
        both(f"{name} alone", name, [x, y, none], lambda a, b, n=name: getattr(F, n)(a, b, reduction="none"), x, y)
    both("kl_div alone", "kl_div", [x, part, none], lambda a: F.kl_div(a, part.double(), reduction="none"), x)
    both("cosine_embedding_loss alone", "cosine_embedding_loss", [x, y, signs, none], lambda a, b: F.cosine_embedding_loss(a, b, signs, reduction="none"), x, y)
    both("triplet_margin_loss alone", "triplet_margin_loss", [x, y, z, none], lambda a, p, n: F.triplet_margin_loss(a, p, n, reduction="none"), x, y, z)
    soft, soft_wide = torch.softmax(blocks.draw(g, 5, 7), -1), torch.softmax(blocks.draw(g, 2, 4, 3), 1)
    for options in ({}, {"reduction": "sum"}, none):
        both(f"cross_entropy of probabilities {options}", "cross_entropy", [logits, soft, options], lambda a, t, o=options: F.cross_entropy(a, t, **o), logits, soft)
        both(f"cross_entropy of probabilities of sequences {options}", "cross_entropy", [wide, soft_wide, options], lambda a, t, o=options: F.cross_entropy(a, t, **o), wide, soft_wide)
    both("cross_entropy of probabilities weight", "cross_entropy", [logits, soft, {"weight": weight, "label_smoothing": 0.25}],
         lambda a, t: F.cross_entropy(a, t, weight=weight.double(), label_smoothing=0.25), logits, soft)
    both("cross_entropy of one row's probabilities", "cross_entropy", [logits[0], soft[0]], lambda a, t: F.cross_entropy(a, t), logits[0], soft[0])


def training_modules(g):
    module("BatchNorm1d in training", "BatchNorm1d", [4, {"momentum": 0.3}], nn.BatchNorm1d(4, momentum=0.3), [x := blocks.draw(g, 3, 4, 5)], [x], train=True)
    module("BatchNorm1d of rows in training", "BatchNorm1d", [4], nn.BatchNorm1d(4), [x := blocks.draw(g, 6, 4)], [x], train=True)
    module("BatchNorm2d in training", "BatchNorm2d", [3], nn.BatchNorm2d(3), [x := blocks.draw(g, 2, 3, 4, 5)], [x], train=True)
    for shape in ((1, 1, 8), (2, 1, 8), (1, 50, 8)):  # one token; more than a block of queries
        x = blocks.draw(g, *shape)
        module(f"TransformerEncoderLayer {shape}", "TransformerEncoderLayer", [{"d_model": 8, "nhead": 2, "dim_feedforward": 12, "dropout": 0}],
               nn.TransformerEncoderLayer(8, 2, 12, 0.0, batch_first=True), [x], [x])


# ------------------------------------------------------------------------------------------------------- models that train

class Classifier(nn.Module):
    def __init__(self, vocab, k, heads, length, classes):
        super().__init__()
        self.embedding = nn.Embedding(vocab, k)
        self.positions = nn.Parameter(torch.zeros(length, k))
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(k, heads, 2 * k, 0.0, batch_first=True), 2)
        self.head = nn.Linear(k, classes)

    def forward(self, ids):
        x = self.embedding(ids) + self.positions
        return self.head(self.encoder(x).mean(dim=1))


class SelfAttention(nn.Module):
    def __init__(self, k, heads):
        super().__init__()
        self.heads = heads
        self.tokeys, self.toqueries, self.tovalues = nn.Linear(k, k, bias=False), nn.Linear(k, k, bias=False), nn.Linear(k, k, bias=False)
        self.unifyheads = nn.Linear(k, k)

    def forward(self, x):
        b, t, k = x.shape
        h, s = self.heads, k // self.heads
        split = lambda y: y.view(b, t, h, s).transpose(1, 2).reshape(b * h, t, s)
        queries, keys, values = split(self.toqueries(x)), split(self.tokeys(x)), split(self.tovalues(x))
        dot = torch.bmm(queries, keys.transpose(1, 2)) / s ** 0.5
        dot = dot.masked_fill(torch.triu(torch.ones(t, t), 1).bool(), -math.inf)
        out = torch.bmm(F.softmax(dot, dim=2), values).view(b, h, t, s)
        return self.unifyheads(out.transpose(1, 2).reshape(b, t, k))


class Block(nn.Module):
    def __init__(self, k, heads):
        super().__init__()
        self.attention, self.norm1, self.norm2 = SelfAttention(k, heads), nn.LayerNorm(k), nn.LayerNorm(k)
        self.ff1, self.ff2 = nn.Linear(k, 4 * k), nn.Linear(4 * k, k)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.ff2(F.relu(self.ff1(self.norm2(x))))


class Characters(nn.Module):
    def __init__(self, vocab, k, heads, length):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocab, k), nn.Embedding(length, k)
        self.block0, self.block1 = Block(k, heads), Block(k, heads)
        self.out = nn.Linear(k, vocab)

    def forward(self, ids):
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
        return self.out(self.block1(self.block0(x)))


def whole(lehmer, shape, below):
    values = []
    for _ in range(math.prod(shape)):
        lehmer.draw((1,), 1.0)
        values.append(lehmer.x % below)
    return torch.tensor(values).reshape(shape)


def fit(model, make_optimizer, batch, loss_of, clip=None, warmup=None):
    state = blocks.fill(model, 3, 0.2)
    optimizer, lehmer, losses = make_optimizer(model), blocks.Lehmer(5), []
    schedule = transformers.get_linear_schedule_with_warmup(optimizer, 4, 30) if warmup else None
    model.train()
    for _ in range(20):
        inputs, targets = batch(lehmer)
        optimizer.zero_grad()
        loss = loss_of(model(inputs), targets)
        loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        if schedule:
            schedule.step()
        losses.append(loss.item())
    return {"shapes": {key: list(value.shape) for key, value in state.items()}, "losses": losses}


def decay_groups(model):
    decayed = [p for p in model.parameters() if p.ndim > 1]
    others = [p for p in model.parameters() if p.ndim <= 1]
    return torch.optim.AdamW([{"params": decayed}, {"params": others, "weight_decay": 0.0}], lr=3e-3, weight_decay=0.1, foreach=False)


def make(_options):
    torch.manual_seed(1)
    CASES.clear()
    KNOWN.append("")  # so that the first has number 1
    original = blocks.function, blocks.module
    blocks.function, blocks.module = function, module
    blocks.functions()
    blocks.modules()
    blocks.function, blocks.module = original
    KNOWN.clear()
    g = numpy.random.default_rng(4)
    methods(g)
    losses(g)
    training_modules(g)
    losses_alone(g)

    def sentences(lehmer):
        ids = whole(lehmer, (8, 6), 10)
        return ids, (ids[:, 0] > ids[:, 1]).long()

    def text(lehmer):
        ids = whole(lehmer, (4, 13), 9)
        return ids[:, :-1], ids[:, 1:]
    runs = {"classifier": fit(Classifier(10, 16, 2, 6, 2), decay_groups, sentences, F.cross_entropy, 1.0, True),
            "characters": fit(Characters(9, 16, 2, 12), lambda m: torch.optim.Adam(m.parameters(), lr=1e-2, foreach=False), text,
                              lambda logits, ids: F.cross_entropy(logits.transpose(1, 2), ids))}
    folder = common.empty_folder("autograd")
    common.write_json(folder / "cases.json", CASES, 2)
    common.write_json(folder / "training.json", runs, 2)
    common.update_manifest("autograd", common.versions("torch", "transformers"))
