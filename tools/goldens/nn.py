"""nn/: PyTorch's results for every building block, and transformers' for generation, T5's buckets, ALiBi and rotary positions.

Each result is computed in float64 from numbers with three decimals (as float32) and rounded once; `diff` is the difference to torch's own float32.
"""
import math
import shutil
import sys

import numpy
import torch
from torch import nn
from torch.nn import functional as F

from . import common

CASES = []


def draw(generator, *dims, scale=1.0):
    values = numpy.round(generator.normal(size=dims) * scale, 3).astype(numpy.float32)
    return torch.from_numpy(values)


def encode(value):
    if isinstance(value, torch.Tensor):
        kind = {torch.bool: "bool", torch.int64: "int64"}.get(value.dtype, "float32")
        flat = value.detach().reshape(-1).tolist()
        if kind == "float32":
            flat = [("-inf" if x == -math.inf else float(f"{numpy.float32(x):.9g}")) for x in flat]
        elif kind == "bool":
            flat = [int(x) for x in flat]
        return {"$": [kind, list(value.shape), flat]}
    if isinstance(value, (list, tuple)):
        return [encode(each) for each in value]
    if isinstance(value, dict):
        return {key: encode(each) for key, each in value.items()}
    return value


def to_double(value):
    if isinstance(value, torch.Tensor):
        return value.double() if value.is_floating_point() else value
    if isinstance(value, (list, tuple)):
        return type(value)(to_double(each) for each in value)
    if isinstance(value, dict):
        return {key: to_double(each) for key, each in value.items()}
    return value


def measure(exact, single):
    """[output, weights] of a case."""
    out = []
    for e, s in zip(exact, single):
        if e is None:
            continue
        diff = 0.0 if e.numel() == 0 else float((e - s.double()).abs().max())
        out.append({"value": encode(e), "diff": float(f"{diff:.2g}"), "max": float(f"{float(e.abs().max()) if e.numel() else 0:.3g}")})
    return out


def pair(result):
    return list(result) if isinstance(result, tuple) else [result]


def function(name, target, args, run, *tensors):
    """args: what JS passes. run(*tensors): the reference."""
    with torch.no_grad():
        exact, single = pair(run(*to_double(list(tensors)))), pair(run(*tensors))
    CASES.append({"name": name, "function": target, "args": encode(args), "outputs": measure(exact, single)})


class Lehmer:
    """Numbers of three decimals that a test in any language can draw again: x = 48271 x mod (2^31 - 1)."""
    def __init__(self, seed):
        self.x = seed

    def draw(self, shape, scale):
        count = math.prod(shape)
        values = numpy.empty(count, dtype=numpy.float32)
        for i in range(count):
            self.x = self.x * 48271 % 2147483647
            values[i] = math.floor((self.x / 2147483647 * 2 - 1) * scale * 1000 + 0.5) / 1000
        return torch.from_numpy(values.reshape(shape))


def fill(module, seed, scale=0.6):
    """Parameters of three decimals; variances stay above zero."""
    lehmer, state = Lehmer(seed), {}
    for name, tensor in module.state_dict().items():
        if not tensor.is_floating_point():
            continue
        values = lehmer.draw(tensor.shape, scale)
        state[name] = values.abs() + 0.5 if name.endswith("running_var") else values.clone()
    module.load_state_dict({**module.state_dict(), **state})
    return state


def module(name, target, make, reference, inputs, js_args, run=None):
    """run(reference, *inputs) -> output or (output, weights)."""
    seed = len(CASES) + 1
    state = fill(reference, seed)
    reference.eval()
    run = run or (lambda m, *x: m(*x))
    with torch.enable_grad():  # torch's fast paths for inference have other roundings
        single = [x.detach() if x is not None else None for x in pair(run(reference, *inputs))]
        exact = [x.detach() if x is not None else None for x in pair(run(reference.double(), *to_double(list(inputs))))]
    CASES.append({"name": name, "module": target, "make": make, "seed": seed, "shapes": {key: list(value.shape) for key, value in state.items()}, "args": encode(js_args), "outputs": measure(exact, single)})


# -------------------------------------------------------------------------------------------------------------- functions

def functions():
    g = numpy.random.default_rng(1)
    x = draw(g, 2, 3, 5, scale=2)
    for dim in (0, 1, -1):
        function(f"softmax {dim}", "functional.softmax", [x, {"dim": dim}], lambda x, dim=dim: F.softmax(x, dim), x)
    function("log_softmax", "functional.log_softmax", [x, {"dim": 1}], lambda x: F.log_softmax(x, 1), x)
    for name, ours, run in [("relu", "relu", F.relu), ("silu", "silu", F.silu), ("tanh", "tanh", torch.tanh), ("sigmoid", "sigmoid", torch.sigmoid), ("gelu", "gelu", F.gelu)]:
        function(name, f"functional.{ours}", [x], run, x)
    function("gelu tanh", "functional.gelu", [x, {"approximate": "tanh"}], lambda x: F.gelu(x, approximate="tanh"), x)
    a, b = draw(g, 4, 1, 3, 7), draw(g, 2, 7, 5)
    function("matmul broadcast", "functional.matmul", [a, b], torch.matmul, a, b)
    for shape_a, shape_b in (((7,), (7,)), ((7,), (7, 2)), ((3, 7), (7,))):
        a, b = draw(g, *shape_a), draw(g, *shape_b)
        function(f"matmul {shape_a} {shape_b}", "functional.matmul", [a, b], torch.matmul, a, b)
    a, b = draw(g, 3, 4, 9), draw(g, 3, 9, 11)
    function("bmm", "functional.bmm", [a, b], torch.bmm, a, b)
    w, bias = draw(g, 6, 5), draw(g, 6)
    function("linear", "functional.linear", [x, w, bias], F.linear, x, w, bias)
    function("linear without bias", "functional.linear", [x, w], F.linear, x, w)
    function("similarity", "functional.dot_product_similarity", [x], lambda x: x @ x.transpose(-1, -2), x)
    function("add", "functional.add", [x, bias[:5]], torch.add, x, bias[:5])
    function("mul", "functional.mul", [x, bias[:5]], torch.mul, x, bias[:5])
    ids = torch.tensor([[0, 3, 5], [2, 2, 1]])
    function("embedding", "functional.embedding", [ids, w], F.embedding, ids, w)
    function("one_hot", "functional.one_hot", [ids, {"num_classes": 6}], lambda i: F.one_hot(i, 6).double(), ids)
    function("one_hot times matrix", "functional.matmul", [F.one_hot(ids, 6).float(), w], torch.matmul, F.one_hot(ids, 6).float(), w)
    gamma, beta = draw(g, 5), draw(g, 5)
    function("layer_norm", "functional.layer_norm", [x, 5, {"weight": gamma, "bias": beta}], lambda x, w, b: F.layer_norm(x, (5,), w, b), x, gamma, beta)
    function("layer_norm of two", "functional.layer_norm", [x, [3, 5], {"eps": 0.01}], lambda x: F.layer_norm(x, (3, 5), eps=0.01), x)

    def beside(x, w, b):
        return (x - x.mean(-1, keepdim=True)) / (x.var(-1, unbiased=False, keepdim=True).sqrt() + 0.1) * w + b
    function("layer_norm, sigma + eps", "functional.layer_norm", [x, 5, {"weight": gamma, "bias": beta, "eps": 0.1, "eps_form": "outside"}], beside, x, gamma, beta)
    function("rms_norm", "functional.rms_norm", [x, 5, {"weight": gamma, "eps": 1e-6}], lambda x, w: F.rms_norm(x, (5,), w, 1e-6), x, gamma)
    image = draw(g, 2, 3, 5, 6)
    mean, var, scale, shift = draw(g, 3), draw(g, 3).abs() + 0.5, draw(g, 3), draw(g, 3)
    function("batch_norm", "functional.batch_norm", [image, mean, var, {"weight": scale, "bias": shift}], lambda *t: F.batch_norm(*t), image, mean, var, scale, shift)
    function("instance_norm", "functional.instance_norm", [image, {"weight": scale, "bias": shift}], lambda x, w, b: F.instance_norm(x, weight=w, bias=b), image, scale, shift)
    for order in (1, 2, 3, 0.5):
        function(f"vector_norm {order}", "functional.vector_norm", [x, {"ord": order, "dim": 1}], lambda x, order=order: torch.linalg.vector_norm(x, order, dim=1), x)
    function("normalize", "functional.normalize", [x], F.normalize, x)
    function("normalize p 1", "functional.normalize", [x, {"p": 1, "dim": -1}], lambda x: F.normalize(x, p=1, dim=-1), x)
    for name, options, kwargs in [("", [[2, 3]], {}), (" stride and padding", [[3, 2], {"stride": [1, 2], "padding": [1, 1]}], {"stride": (1, 2), "padding": (1, 1)})]:
        kernel = tuple(options[0])
        function("avg_pool2d" + name, "functional.avg_pool2d", [image, *options], lambda x, k=kernel, o=kwargs: F.avg_pool2d(x, k, **o), image)
        function("max_pool2d" + name, "functional.max_pool2d", [image, *options], lambda x, k=kernel, o=kwargs: F.max_pool2d(x, k, **o), image)
    attention(g)
    positions(g)


def attention(g):
    x = draw(g, 2, 4, 6)
    function("self-attention without parameters", "functional.self_attention", [x], lambda x: ((w := F.softmax(x @ x.transpose(-1, -2), -1)) @ x, w), x)
    q, k, v = draw(g, 2, 3, 4, 8), draw(g, 2, 3, 6, 8), draw(g, 2, 3, 6, 5)
    sdpa, target = F.scaled_dot_product_attention, "functional.scaled_dot_product_attention"
    function("sdpa", target, [q, k, v], sdpa, q, k, v)
    function("sdpa unscaled", target, [q, k, v, {"scale": 1}], lambda *t: sdpa(*t, scale=1.0), q, k, v)
    function("sdpa causal", target, [q, k, v, {"is_causal": True}], lambda *t: sdpa(*t, is_causal=True), q, k, v)
    mask = torch.from_numpy(g.random((2, 1, 4, 6)) < 0.6)
    mask[0, 0, 1] = False  # a query that may look at nothing
    function("sdpa key mask", target, [q, k, v, {"attn_mask": mask}], lambda *t: sdpa(*t, attn_mask=mask), q, k, v)
    bias = draw(g, 3, 4, 6)
    function("sdpa additive bias", target, [q, k, v, {"attn_mask": bias}], lambda q, k, v, b: sdpa(q, k, v, attn_mask=b), q, k, v, bias)
    function("sdpa weights", target, [q, k, v, {"need_weights": True}],
             lambda q, k, v: ((w := F.softmax(q @ k.transpose(-1, -2) / math.sqrt(8), -1)) @ v, w), q, k, v)
    factor = draw(g, 4, 6)
    function("sdpa factor", target, [q, k, v, {"score_factor": factor}],
             lambda q, k, v, f: F.softmax(q @ k.transpose(-1, -2) / math.sqrt(8) * f, -1) @ v, q, k, v, factor)


def sinusoids(length, dim):
    table = torch.zeros(length, dim, dtype=torch.float64)
    position = torch.arange(length, dtype=torch.float64).unsqueeze(1)
    div = torch.exp(torch.arange(0, dim, 2, dtype=torch.float64) * (-math.log(10000.0) / dim))
    table[:, 0::2] = torch.sin(position * div)
    table[:, 1::2] = torch.cos(position * div[: dim // 2])
    return table


def offsets(queries, keys, past=0):
    return torch.arange(keys)[None, :] - (torch.arange(queries)[:, None] + past)


def positions(g):
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor
    from transformers.models.gptj.modeling_gptj import apply_rotary_pos_emb as apply_gptj, create_sinusoidal_positions
    from transformers.models.llama.configuration_llama import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb
    from transformers.models.t5.modeling_t5 import T5Attention

    function("sinusoidal", "positional.sinusoidal", [{"length": 40, "dim": 7}], lambda: sinusoids(40, 7))
    for bidirectional in (True, False):
        def buckets(both=bidirectional):
            return T5Attention._relative_position_bucket(offsets(3, 300, 150), bidirectional=both).double()
        function(f"t5 buckets {bidirectional}", "positional.t5_buckets", [{"queries": 3, "keys": 300, "past": 150, "bidirectional": bidirectional}], buckets)
    for heads in (4, 6, 12):
        def slopes(h=heads):
            return build_alibi_tensor(torch.ones(1, 2), h, torch.float64).reshape(h, 2)[:, 1]
        function(f"alibi slopes {heads}", "positional.alibi_slopes", [heads], slopes)
    table = draw(g, 7, 2)
    function("relative bias", "positional.relative_bias", [table, {"queries": 3, "keys": 6}],
             lambda t: t[offsets(3, 6).clamp(-3, 3) + 3].permute(2, 0, 1), table)
    q, vectors = draw(g, 2, 3, 4), draw(g, 5, 4)
    function("relative scores", "positional.relative_scores", [q, vectors, {"keys": 6}],
             lambda q, t: torch.einsum("bqd,qkd->bqk", q, t[offsets(3, 6).clamp(-2, 2) + 2]), q, vectors)
    x = draw(g, 1, 2, 9, 8)
    config = LlamaConfig(hidden_size=16, num_attention_heads=2, num_hidden_layers=1, intermediate_size=8, vocab_size=8)
    rotary = LlamaRotaryEmbedding(config)

    def llama(x):
        cos, sin = rotary(x.float(), torch.arange(100, 109)[None])
        return apply_rotary_pos_emb(x, x, cos.to(x.dtype), sin.to(x.dtype))[0]
    function("rotary", "positional.rotary", [x, {"first": 100}], llama, x)
    # Far positions show how frequencies are rounded.
    for dim, theta in ((64, 1e4), (128, 1e6)):
        def far(x, dim=dim, theta=theta):
            config = LlamaConfig(hidden_size=2 * dim, num_attention_heads=2, num_hidden_layers=1, intermediate_size=8, vocab_size=8,
                                 rope_parameters={"rope_type": "default", "rope_theta": theta})
            cos, sin = LlamaRotaryEmbedding(config)(x.float(), torch.arange(4000, 4003)[None])
            return apply_rotary_pos_emb(x, x, cos.to(x.dtype), sin.to(x.dtype))[0]
        far_x = draw(numpy.random.default_rng(dim), 1, 1, 3, dim)
        function(f"rotary, {dim} wide, far", "positional.rotary", [far_x, {"first": 4000, "base": theta}], far, far_x)

    def gptj(x):
        table = create_sinusoidal_positions(200, 8)[100:109]
        sin, cos = table[None].to(x.dtype).chunk(2, dim=-1)
        return apply_gptj(x.transpose(1, 2), sin, cos).transpose(1, 2)
    function("rotary, interleaved", "positional.rotary", [x, {"first": 100, "interleaved": True}], gptj, x)


# ---------------------------------------------------------------------------------------------------------------- modules

class Notes(nn.Module):
    """The notes' attention, written out head by head."""
    def __init__(self, k, heads=1, wide=False, bias=False, d_q=None, d_v=None, unify=False, context=None, relative=None):
        super().__init__()
        d_q, d_v, context = d_q or k, d_v or k, context or k
        times = heads if wide else 1
        self.heads, self.kind = heads, relative
        self.W_q, self.W_k = nn.Linear(k, times * d_q, bias=bias), nn.Linear(context, times * d_q, bias=bias)
        self.W_v = nn.Linear(context, times * d_v, bias=bias)
        if unify:
            self.unify = nn.Linear(times * d_v, k)
        head = times * d_q // heads
        shape = {"bias": (9, heads), "multiply": (9, heads), "vector": (9, head), "t5": (8, heads)}.get(relative)
        if shape:
            self.relative = nn.Parameter(torch.zeros(shape))

    def forward(self, x, context=None, causal=False):
        context = x if context is None else context
        split = lambda t: t.unflatten(-1, (self.heads, -1)).transpose(-2, -3)
        q, k, v = split(self.W_q(x)), split(self.W_k(context)), split(self.W_v(context))
        rows = offsets(q.shape[-2], k.shape[-2])
        if self.kind == "rotary":
            q, k = turn(q), turn(k)
        scale = 1 / math.sqrt(q.shape[-1])
        scores = q @ k.transpose(-1, -2) * scale
        table = getattr(self, "relative", None)
        near = rows.clamp(-4, 4) + 4
        if self.kind == "bias":
            scores = scores + table[near].permute(2, 0, 1)
        elif self.kind == "multiply":
            scores = scores * table[near].permute(2, 0, 1)
        elif self.kind == "vector":
            scores = scores + torch.einsum("bhqd,qkd->bhqk", q, table[near]) * scale
        elif self.kind == "t5":
            from transformers.models.t5.modeling_t5 import T5Attention
            scores = scores + table[T5Attention._relative_position_bucket(rows, num_buckets=8, max_distance=20)].permute(2, 0, 1)
        elif self.kind == "alibi":
            slopes = torch.tensor([2.0 ** (-8 * (i + 1) / self.heads) for i in range(self.heads)], dtype=x.dtype)
            scores = scores - slopes[:, None, None] * rows.abs()
        if causal:
            scores = scores.masked_fill(rows > 0, -math.inf)
        weights = F.softmax(scores, -1)
        out = (weights @ v).transpose(-2, -3).flatten(-2)
        return (self.unify(out) if hasattr(self, "unify") else out), weights


def turn(x):
    pairs = x.shape[-1] // 2
    frequency = (1 / 10000 ** (torch.arange(pairs, dtype=torch.float64) / pairs)).float()
    angle = torch.arange(x.shape[-2]).float()[:, None] * frequency
    cos, sin = angle.double().cos().to(x.dtype), angle.double().sin().to(x.dtype)
    a, b = x[..., :pairs], x[..., pairs:]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


class Block(nn.Module):
    def __init__(self, k, heads, n_mlp, activation, pre, rms):
        super().__init__()
        self.attention = Notes(k, heads, unify=True)
        norm = nn.RMSNorm if rms else nn.LayerNorm
        self.norm1, self.norm2 = norm(k, eps=1e-5), norm(k, eps=1e-5)
        self.feed_forward = nn.ModuleDict({"linear1": nn.Linear(k, n_mlp * k), "linear2": nn.Linear(n_mlp * k, k)})
        self.activation, self.pre = activation, pre

    def forward(self, x):
        feed = lambda t: self.feed_forward["linear2"](self.activation(self.feed_forward["linear1"](t)))
        if self.pre:
            x = x + self.attention(self.norm1(x))[0]
            return x + feed(self.norm2(x))
        x = self.norm1(x + self.attention(x)[0])
        return self.norm2(x + feed(x))


def modules():
    g = numpy.random.default_rng(2)
    x = draw(g, 2, 4, 8)
    ids = torch.tensor([[1, 4, 2], [0, 3, 3]])

    def plain(target, make, reference, value):
        module(target, target, make, reference, [value], [value])
    plain("Linear", [8, 3], nn.Linear(8, 3), x)
    plain("Embedding", [5, 4], nn.Embedding(5, 4), ids)
    plain("LayerNorm", [8], nn.LayerNorm(8), x)
    plain("RMSNorm", [8], nn.RMSNorm(8), x)
    plain("BatchNorm1d", [4], nn.BatchNorm1d(4), x)
    plain("BatchNorm2d", [3], nn.BatchNorm2d(3), draw(g, 2, 3, 4, 5))
    plain("InstanceNorm1d", [4, {"affine": True}], nn.InstanceNorm1d(4, affine=True), x)
    plain("InstanceNorm2d", [3], nn.InstanceNorm2d(3), draw(g, 2, 3, 4, 5))
    plain("GELU", [{"approximate": "tanh"}], nn.GELU("tanh"), x)
    plain("Softmax", [{"dim": 1}], nn.Softmax(1), x)
    plain("AvgPool2d", [[2, 4]], nn.AvgPool2d((2, 4)), x)
    plain("MaxPool2d", [2], nn.MaxPool2d(2), x)

    for name, make, kwargs in [
        ("learnable, 24, 24, 28 from 16", {"k": 16, "d_q": 24, "d_v": 28}, dict(d_q=24, d_v=28)),
        ("learnable with bias", {"k": 16, "bias": True}, dict(bias=True)),
        ("narrow", {"k": 16, "heads": 4, "mode": "narrow"}, dict(heads=4, unify=True)),
        ("narrow, other widths", {"k": 16, "heads": 4, "mode": "narrow", "d_q": 8, "d_v": 12}, dict(heads=4, unify=True, d_q=8, d_v=12)),
        ("wide", {"k": 16, "heads": 3, "mode": "wide", "bias": True}, dict(heads=3, wide=True, bias=True, unify=True)),
        *[(f"relative {kind}", {"k": 16, "heads": 2, "relative": kind, "max_distance": 4}, dict(heads=2, unify=True, relative=kind)) for kind in ("bias", "multiply", "vector")],
        ("relative t5", {"k": 16, "heads": 2, "relative": "t5", "max_distance": 20, "num_buckets": 8}, dict(heads=2, unify=True, relative="t5")),
        ("relative alibi", {"k": 16, "heads": 2, "relative": "alibi"}, dict(heads=2, unify=True, relative="alibi")),
        ("relative rotary", {"k": 16, "heads": 2, "relative": "rotary"}, dict(heads=2, unify=True, relative="rotary")),
    ]:
        y = draw(g, 2, 7, 16)
        module(f"SelfAttention {name}", "SelfAttention", [make], Notes(16, **kwargs), [y], [y, {"need_weights": True}])
    y, context = draw(g, 2, 5, 16), draw(g, 2, 3, 12)
    module("SelfAttention causal", "SelfAttention", [{"k": 16, "heads": 2, "causal": True}], Notes(16, 2, unify=True), [y], [y, {"need_weights": True}],
           lambda m, y: m(y, causal=True))
    module("CrossAttention", "CrossAttention", [{"k": 16, "heads": 2, "k_context": 12}], Notes(16, 2, unify=True, context=12), [y, context],
           [y, context, {"need_weights": True}])

    q, k, v = draw(g, 2, 4, 8), draw(g, 2, 6, 8), draw(g, 2, 6, 8)
    padding = torch.tensor([[0, 0, 1, 0, 1, 0], [0, 0, 0, 1, 0, 1]]).bool()
    causal = torch.ones(4, 6).triu(1).bool()
    mha = lambda **kw: nn.MultiheadAttention(8, 2, batch_first=True, **kw)
    module("MultiheadAttention", "MultiheadAttention", [8, 2], mha(), [q, k, v], [q, k, v])
    module("MultiheadAttention masks", "MultiheadAttention", [8, 2], mha(), [q, k, v],
           [q, k, v, {"key_padding_mask": padding, "attn_mask": causal, "average_attn_weights": False}],
           lambda m, q, k, v: m(q, k, v, key_padding_mask=padding, attn_mask=causal, average_attn_weights=False))
    k12, v5 = draw(g, 2, 6, 12), draw(g, 2, 6, 5)
    module("MultiheadAttention kdim vdim", "MultiheadAttention", [8, 2, {"kdim": 12, "vdim": 5, "bias": False}], mha(kdim=12, vdim=5, bias=False), [q, k12, v5],
           [q, k12, v5])

    layer = dict(d_model=8, nhead=2, dim_feedforward=20, dropout=0.0, batch_first=True)
    js = {"d_model": 8, "nhead": 2, "dim_feedforward": 20}
    short = padding[:, :4]
    gelu_tanh = lambda t: F.gelu(t, approximate="tanh")
    for name, extra, kwargs in [("", {}, {}), (" pre-norm gelu", {"norm_first": True, "activation": "gelu"}, dict(norm_first=True, activation="gelu")),
                                (" silu", {"activation": "silu", "bias": False}, dict(activation=F.silu, bias=False)),
                                (" gelu tanh", {"activation": "gelu_tanh"}, dict(activation=gelu_tanh))]:
        module("TransformerEncoderLayer" + name, "TransformerEncoderLayer", [{**js, **extra}], nn.TransformerEncoderLayer(**layer, **kwargs), [q],
               [q, {"src_key_padding_mask": short, "is_causal": True}],
               lambda m, x: m(x, src_mask=torch.ones(4, 4).triu(1).bool(), src_key_padding_mask=short))
        module("TransformerDecoderLayer" + name, "TransformerDecoderLayer", [{**js, **extra}], nn.TransformerDecoderLayer(**layer, **kwargs), [q, k],
               [q, k, {"tgt_is_causal": True, "memory_key_padding_mask": padding}],
               lambda m, x, y: m(x, y, tgt_mask=torch.ones(4, 4).triu(1).bool(), memory_key_padding_mask=padding))
    for pre in (False, True):
        module(f"Transformer, norm_first {pre}", "Transformer", [{**js, "norm_first": pre, "num_encoder_layers": 2, "num_decoder_layers": 2}],
               nn.Transformer(8, 2, 2, 2, 20, 0.0, batch_first=True, norm_first=pre), [k, q],
               [k, q, {"tgt_is_causal": True, "src_key_padding_mask": padding, "memory_key_padding_mask": padding}],
               lambda m, s, t: m(s, t, tgt_mask=torch.ones(4, 4).triu(1).bool(), src_key_padding_mask=padding, memory_key_padding_mask=padding))
    for name, extra, args in [("post relu", {}, (F.relu, False, False)), ("pre gelu rms", {"norm": "pre", "activation": "gelu", "norm_kind": "rms"}, (F.gelu, True, True))]:
        module(f"TransformerBlock {name}", "TransformerBlock", [{"k": 8, "heads": 2, "n_mlp": 3, **extra}], Block(8, 2, 3, *args), [q], [q])

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.positions = nn.Embedding(11, 8), nn.Embedding(6, 8)
            self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(**layer), 2, enable_nested_tensor=False)
            self.classifier = nn.Linear(8, 3)

        def forward(self, ids, padding):
            x = self.embedding(ids) + self.positions(torch.arange(ids.shape[1]))
            x = self.encoder(x, src_key_padding_mask=padding)
            keep = (~padding).to(x.dtype)[..., None]
            return self.classifier((x * keep).sum(1) / keep.sum(1))
    tokens = torch.tensor([[1, 2, 3, 10, 0], [4, 5, 6, 7, 8]])
    mask = tokens == 0
    module("SequenceClassifier", "SequenceClassifier", [{"vocab_size": 11, "d_model": 8, "nhead": 2, "dim_feedforward": 20, "max_len": 6, "num_classes": 3}], Classifier(),
           [tokens, mask], [tokens, {"key_padding_mask": mask}])

    class EncoderDecoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.src_embedding, self.tgt_embedding = nn.Embedding(11, 8), nn.Embedding(9, 8)
            self.transformer = nn.Transformer(8, 2, 1, 1, 20, 0.0, batch_first=True)
            self.head = nn.Linear(8, 9, bias=False)

        def forward(self, src, tgt):
            embed = lambda table, ids: table(ids) * math.sqrt(8) + sinusoids(ids.shape[1], 8).to(table.weight.dtype)
            causal = torch.ones(tgt.shape[1], tgt.shape[1]).triu(1).bool()
            return self.head(self.transformer(embed(self.src_embedding, src), embed(self.tgt_embedding, tgt), tgt_mask=causal))
    target = torch.tensor([[1, 2, 8, 3], [1, 7, 0, 0]])
    module("EncoderDecoder", "EncoderDecoder", [{"src_vocab_size": 11, "tgt_vocab_size": 9, "d_model": 8, "nhead": 2, "dim_feedforward": 20, "num_encoder_layers": 1,
                                                 "num_decoder_layers": 1, "positions": "sinusoidal", "scale_embedding": True, "tie_weights": False, "max_len": 16}],
           EncoderDecoder(), [tokens, target], [tokens, target])


def make(_options):
    from . import nn_models
    torch.manual_seed(0)
    torch.set_num_threads(1)
    CASES.clear()
    functions()
    modules()
    folder = common.OUT / "nn"
    if folder.exists():
        shutil.rmtree(folder)
    common.write_json(folder / "cases.json", CASES)
    common.write_json(folder / "generation.json", nn_models.generation())
    common.write_json(folder / "summaries.json", nn_models.summaries())
    common.write_json(folder / "word_vectors.json", nn_models.word_vectors())
    common.update_manifest("nn", common.versions("torch", "transformers", "torchinfo", "numpy", "gensim"), {})
    print(f"nn: {len(CASES)} cases", file=sys.stderr)
