"""insight/: patch maps, head scores and attributions of tiny models, by automatic differentiation and hooks in float64. Where Captum is installed, its own
`IntegratedGradients` and `InputXGradient` must agree with them."""
import contextlib
import json

import numpy
import torch
import transformers
from safetensors.torch import load_file

from . import common

FOLDER = common.OUT / "insight"
STEPS = 50
CLEAN = [2, 9, 17, 30, 12, 25, 3]
CORRUPTED = [2, 9, 17, 41, 12, 8, 3]
PAD = [2, 0, 0, 0, 0, 0, 3]


class Parts:
    """Where a model's embeddings, layers and heads are."""

    def __init__(self, model):
        self.model = model
        body = model.base_model
        kind = model.config.model_type
        if kind == "bert":
            self.embeddings, self.layers = body.embeddings, list(body.encoder.layer)
            self.joins = [layer.attention.output.dense for layer in self.layers]
        elif kind == "gpt2":
            self.embeddings, self.layers = body.drop, list(body.h)
            self.joins = [layer.attn.c_proj for layer in self.layers]
        else:
            self.embeddings, self.layers = body.embed_tokens, list(body.layers)
            self.joins = [layer.self_attn.o_proj for layer in self.layers]
        self.heads = model.config.num_attention_heads

    def entry(self, layer):
        """The module whose output enters a layer."""
        return self.embeddings if layer == 0 else self.layers[layer - 1]


def first(out):
    return out[0] if isinstance(out, tuple) else out


@contextlib.contextmanager
def hooked(module, change, before=False):
    """change: of a module's output, or of its input."""
    def after(_module, _inputs, out):
        new = change(first(out))
        return (new, *out[1:]) if isinstance(out, tuple) else new
    hook = module.register_forward_pre_hook(lambda _module, inputs: (change(inputs[0]),)) if before else module.register_forward_hook(after)
    try:
        yield
    finally:
        hook.remove()


def keep(store, name):
    def change(value):
        store[name] = value
        return value
    return change


def at_token(token, value):
    def change(own):
        own = own.clone()
        own[:, token] = value[:, token]
        return own
    return change


def at_head(head, heads, value):
    """value: None for zeros."""
    def change(own):
        own = own.clone()
        size = own.shape[-1] // heads
        part = slice(head * size, (head + 1) * size)
        own[..., part] = 0 if value is None else value[..., part]
        return own
    return change


def patch_maps(parts, run, clean, corrupted):
    """TransformerLens's get_act_patch_resid_pre and get_act_patch_attn_head_out_all_pos."""
    seen, layers = {}, range(len(parts.layers))
    with contextlib.ExitStack() as stack:
        for layer in layers:
            stack.enter_context(hooked(parts.entry(layer), keep(seen, ("residual", layer))))
            stack.enter_context(hooked(parts.joins[layer], keep(seen, ("head", layer)), before=True))
        high = run(clean)
    low = run(corrupted)
    residual, head = [], []
    for layer in layers:
        row = []
        for token in range(len(corrupted)):
            with hooked(parts.entry(layer), at_token(token, seen["residual", layer])):
                row.append((run(corrupted) - low) / (high - low))
        residual.append(row)
        row = []
        for one in range(parts.heads):
            with hooked(parts.joins[layer], at_head(one, parts.heads, seen["head", layer]), before=True):
                row.append((run(corrupted) - low) / (high - low))
        head.append(row)
    return {"clean": high, "corrupted": low, "residual": residual, "head": head}


def head_scores(parts, run, ids, source, target):
    """Attention less its column mean over the other tokens, and zero ablation."""
    with torch.no_grad():
        attentions = parts.model(torch.tensor([ids]), output_attentions=True).attentions
    causal = parts.model.config.model_type != "bert"
    rows = [i for i in range(len(ids)) if i != source and not (causal and i < target)]
    whole = run(ids)
    contrasts = [[float(head[source, target] - head[rows, target].mean()) for head in layer[0]] for layer in attentions]
    effects = []
    for join in parts.joins:
        row = []
        for head in range(parts.heads):
            with hooked(join, at_head(head, parts.heads, None), before=True):
                row.append(run(ids) - whole)
        effects.append(row)
    return {"from": source, "to": target, "value": whole, "contrasts": contrasts, "effects": effects}


def attributions(parts, metric, ids, baseline):
    store = {}
    def embedded(tokens):
        with torch.no_grad(), hooked(parts.embeddings, keep(store, "x")):
            parts.model(torch.tensor([tokens]))
        return store["x"].detach()
    end = embedded(ids)
    start = torch.zeros_like(end) if baseline is None else embedded(baseline)

    def of(x):
        """The metric of a batch of embeddings."""
        with hooked(parts.embeddings, lambda _own: x):
            return metric(parts.model(torch.tensor([ids] * len(x)), output_hidden_states=True))

    def gradient(x):
        x = x.clone().requires_grad_()
        return torch.autograd.grad(of(x).sum(), x)[0]

    simple = (gradient(end) * end).sum(-1)[0]
    points, weights = numpy.polynomial.legendre.leggauss(STEPS)
    way = end - start
    total = sum(w / 2 * gradient(start + (1 + p) / 2 * way) for p, w in zip(points.tolist(), weights.tolist()))
    integrated = (total * way).sum(-1)[0]
    try:
        from captum.attr import InputXGradient, IntegratedGradients
        theirs = IntegratedGradients(of).attribute(end, start, n_steps=STEPS).sum(-1)[0]
        assert torch.allclose(theirs, integrated, atol=1e-9), (theirs, integrated)
        theirs = InputXGradient(of).attribute(end).sum(-1)[0]
        assert torch.allclose(theirs, simple, atol=1e-9), (theirs, simple)
        print("Captum agrees")
    except ImportError:
        print("Captum is not installed: not compared")
    with torch.no_grad():
        low = float(of(start)[0])
    return simple.tolist(), {"baseline": baseline, "scores": integrated.tolist(), "low": low}


def left_out(parts, metric, ids, value):
    """An encoder's token that nobody attends to; a decoder's that is not there. None: of the token that a classifier reads."""
    scores = []
    for token in range(len(ids)):
        if token == 0 and hasattr(parts.model, "classifier"):
            scores.append(None)
            continue
        if parts.model.config.model_type == "bert":
            mask = torch.tensor([[int(i != token) for i in range(len(ids))]])
            with torch.no_grad():
                out = parts.model(torch.tensor([ids]), attention_mask=mask, output_hidden_states=True)
            scores.append(value - float(metric(out, mask)[0]))
        else:
            rest = [one for i, one in enumerate(ids) if i != token]
            with torch.no_grad():
                scores.append(value - float(metric(parts.model(torch.tensor([rest])))[0]))
    return scores


def case(name, model, metric, about):
    model = model.to(torch.float64).eval()
    model.set_attn_implementation("eager")
    parts = Parts(model)

    def run(ids):
        with torch.no_grad():
            return float(metric(model(torch.tensor([ids]), output_hidden_states=True))[0])
    simple, zero = attributions(parts, metric, CLEAN, None)
    _, padded = attributions(parts, metric, CLEAN, PAD)
    return {"model": name, "metric": about, "clean": CLEAN, "corrupted": CORRUPTED, "patch_map": patch_maps(parts, run, CLEAN, CORRUPTED),
            "head_scores": head_scores(parts, run, CLEAN, 5, 2), "gradient_x_input": simple, "integrated_gradients": [zero, padded],
            "leave_one_out": left_out(parts, metric, CLEAN, run(CLEAN))}


def classifier():
    folder = common.OUT / "tasks" / "sequence"
    model = transformers.BertForSequenceClassification(transformers.BertConfig.from_pretrained(folder))
    state = {f"bert.{key}": value for key, value in load_file(common.OUT / "bert-tiny" / "model" / "model.safetensors").items()}
    model.load_state_dict({**state, **load_file(folder / "head.safetensors")}, strict=False)
    return model


def make(_options):
    torch.set_num_threads(1)
    common.empty_folder("insight")
    cosine = torch.tensor([((7 * i) % 23 - 11) / 8 for i in range(32)], dtype=torch.float64)

    def near(out, mask=None):
        states = out.hidden_states[-1]
        mask = torch.ones(states.shape[:2]) if mask is None else mask
        mean = (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        return torch.nn.functional.cosine_similarity(mean, cosine[None], dim=-1)
    decoders = {name: getattr(transformers, kind).from_pretrained(common.OUT / "decoders" / name)
                for name, kind in (("gpt2", "GPT2LMHeadModel"), ("llama", "LlamaForCausalLM"))}
    cases = [case("bert-tiny/model", transformers.BertModel.from_pretrained(common.OUT / "bert-tiny" / "model"), near, {"cosine": cosine.tolist()}),
             case("tasks/sequence", classifier(), lambda out, _mask=None: out.logits[:, 2] - out.logits[:, 0], {"logit": 2, "against": 0})]
    for name, model in decoders.items():
        cases.append(case(f"decoders/{name}", model, lambda out: out.logits[:, -1, 7] - out.logits[:, -1, 4], {"logit": 7, "against": 4, "position": -1}))
    text = json.dumps(cases)
    rounded = json.loads(text, parse_float=lambda number: float(f"{float(number):.9g}"))
    common.write_json(FOLDER / "cases.json", rounded, depth=3)
    common.update_manifest("insight", common.versions("torch", "transformers", "safetensors", "numpy"))
