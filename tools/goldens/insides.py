"""insides/: the tiny models of decoders/, seq2seq/, architectures/ and bert-tiny/ inspected and changed: queries, keys and values, scaled heads,
patched activations, and the head's output for each layer."""
import json
import re
import shutil

import torch
import transformers
from safetensors.torch import save_file

from . import common, decoders, seq2seq

FOLDER = common.OUT / "insides"
LENS = 3
MASKED = {"albert": "Albert", "camembert": "Camembert", "deberta-v2": "DebertaV2", "deberta-v3": "DebertaV2", "distilbert": "DistilBert",
          "electra": "Electra", "gte": "Gte", "modernbert": "ModernBert", "mpnet": "MPNet", "nomic-bert": "NomicBert", "roberta": "Roberta",
          "xlm-roberta": "XLMRoberta"}
MASKED_INPUT = [2, 5, 1, 9, 7, 3]
# What a tap inside a layer is called in transformers: the input of one of these modules.
INPUTS_OF = {"intermediate": r"mlp\.c_proj|down_proj|fc2|wo", "attention.context": r"attn\.c_proj|self_attn\.(o_proj|out_proj)|SelfAttention\.o",
             "cross_attention.context": r"encoder_attn\.out_proj|EncDecAttention\.o"}


def numbers(*shape):
    """What patches consist of; tests make them again."""
    count = torch.Size(shape).numel()
    return torch.tensor([((7 * i) % 23 - 11) / 8 for i in range(count)], dtype=torch.float64).view(shape)


class Look:
    """Sees queries, keys and values of every attention, and changes what it is told to."""

    def __init__(self, model, masks=None, patches=None):
        self.model, self.masks, self.patches, self.seen, self.hooks = model, masks or {}, patches or {}, {}, []
        self.names = {module: name for name, module in model.named_modules()}
        self.home = __import__(type(model).__module__, fromlist=["eager_attention_forward"])

    def place(self, module):
        """("encoder." or "decoder." or "", "attention" or "cross_attention", the layer's number)"""
        name = self.names[module]
        side = re.search(r"\b(encoder|decoder)\.", name)
        kind = "cross_attention" if "encoder_attn" in name or "EncDecAttention" in name else "attention"
        return side[0] if side else "", kind, int(re.search(r"\.(\d+)\.", name)[1])

    def attention(self, module, query, key, value, mask, **rest):
        side, kind, layer = self.place(module)
        parts = {"query": query, "key": key, "value": value}
        for part, tensor in parts.items():
            patch = self.patches.get(f"{side}layer.{layer}.{kind}.{part}")
            if patch is not None:
                parts[part] = patch.to(tensor.dtype).view(1, tensor.shape[2], tensor.shape[1], -1).transpose(1, 2)
            self.seen[f"{side}layer.{layer}.{kind}.{part}"] = parts[part][0].transpose(0, 1).flatten(1)
        out, probs = self.original(module, parts["query"], parts["key"], parts["value"], mask, **rest)
        scales = self.masks.get(side + kind)
        if scales is not None:
            out = out * torch.tensor(scales[layer], dtype=out.dtype).view(1, 1, -1, 1)
        return out, probs

    def hook(self, tap, patch):
        side, layer, part = re.fullmatch(r"(encoder\.|decoder\.|)layer\.(\d+)\.(.*)", tap).groups()
        if re.fullmatch(r"(cross_)?attention\.(query|key|value)", part):
            return
        inside = [(name, module) for name, module in self.model.named_modules() if side in name and re.search(rf"\.{layer}(\.|$)", name)]
        if part == "output":
            module = min(inside, key=lambda found: len(found[0]))[1]
            change = lambda _module, _inputs, out: (patch.to(out[0].dtype)[None], *out[1:]) if isinstance(out, tuple) else patch.to(out.dtype)[None]
            self.hooks.append(module.register_forward_hook(change))
            return
        module = next(module for name, module in inside if re.search(rf"\b({INPUTS_OF[part]})$", name))
        self.hooks.append(module.register_forward_pre_hook(lambda _module, inputs: (patch.to(inputs[0].dtype).view(inputs[0].shape),)))

    def __enter__(self):
        for tap, patch in self.patches.items():
            self.hook(tap, patch)
        self.original = self.home.eager_attention_forward
        self.home.eager_attention_forward = lambda *inputs, **rest: self.attention(*inputs, **rest)
        return self

    def __exit__(self, *_error):
        self.home.eager_attention_forward = self.original
        for hook in self.hooks:
            hook.remove()


def run(model, dtype, inputs, masks=None, patches=None):
    model = model.to(dtype).eval()
    with torch.no_grad(), Look(model, masks, patches) as look:
        out = model(**{key: torch.tensor([ids]) for key, ids in inputs.items()}, output_hidden_states=True, use_cache=False)
    return out, look.seen


def lens(model, out, norm, head):
    """Of each layer the logits that its output would give: the last layer's are the model's own."""
    states = out.hidden_states if hasattr(out, "hidden_states") else out.decoder_hidden_states
    with torch.no_grad():
        return torch.stack([head(norm(state))[0] for state in states[:-1]] + [out.logits[0]])


class Writer:
    def __init__(self):
        self.data, self.offset = [], 0

    def add(self, exact, single):
        about = {"offset": self.offset, "shape": list(exact.shape), "max_abs": round(float(exact.abs().max()), 4),
                 "f32_diff": float(f"{float((exact - single.double()).abs().max()):.3g}")}
        self.data.append(exact.to(torch.float32).contiguous().numpy().astype("<f4").tobytes())
        self.offset += exact.numel()
        return about

    def add_lens(self, exact, single):
        """The likeliest tokens; -1 where rounding decides which stands there."""
        best = exact.topk(LENS + 1)
        clear = best.values[..., :-1] - best.values[..., 1:] > 50 * float((exact - single.double()).abs().max())
        clear[..., 1:] &= clear[..., :-1].clone()
        ids = best.indices[..., :LENS]
        return {"ids": torch.where(clear, ids, -1).flatten().tolist(), **self.add(best.values[..., :LENS], single.gather(-1, ids))}


def look_into(writer, case, model, inputs, changes, norm, head):
    """changes: [(masks by side and kind, patches by tap)], whose logits of the last two tokens are kept."""
    exact = run(model, torch.float64, inputs)
    exact_lens = lens(model, exact[0], norm, head)
    single = run(model, torch.float32, inputs)
    single_lens = lens(model, single[0], norm, head)
    row = {"case": case, **inputs, "qkv": {name: writer.add(value, single[1][name]) for name, value in exact[1].items()},
           "lens": writer.add_lens(exact_lens, single_lens), "changes": []}
    for masks, patches in changes:
        logits = [run(model, dtype, inputs, masks, patches)[0].logits[0, -2:] for dtype in (torch.float64, torch.float32)]
        assert float((logits[0] - exact[0].logits[0, -2:]).abs().max()) > 1e-3, (case, list(patches))
        row["changes"].append({"masks": masks, "patches": {tap: list(patch.shape) for tap, patch in patches.items()}, "logits": writer.add(*logits)})
    return row


def mask(layers, heads):
    return [[(1, 0.5, 0, 1)[(layer + head) % 4] for head in range(heads)] for layer in range(layers)]


def decoder_case(writer, name):
    folder = common.OUT / "decoders" / name
    config = decoders.CASES[name][1]
    model = decoders.CASES[name][0].from_pretrained(folder, attn_implementation="eager")
    ids = json.loads((folder / "expected.json").read_text())["inputs"][0]["input_ids"]
    heads, tokens = config.num_attention_heads, len(ids)
    size = getattr(config, "head_dim", None) or config.hidden_size // heads
    kv = getattr(config, "num_key_value_heads", None) or heads
    ffn = getattr(config, "intermediate_size", None) or 4 * config.hidden_size
    changes = [({"attention": mask(2, heads)}, {}),
               ({}, {"layer.0.output": numbers(tokens, config.hidden_size), "layer.1.attention.key": numbers(tokens, kv * size)}),
               ({}, {"layer.0.attention.query": numbers(tokens, heads * size), "layer.1.attention.value": numbers(tokens, kv * size)}),
               ({}, {"layer.0.intermediate": numbers(tokens, ffn), "layer.1.attention.context": numbers(tokens, heads * size)})]
    body = model.model if hasattr(model, "model") else model.transformer
    return look_into(writer, f"decoders/{name}", model, {"input_ids": ids}, changes, body.norm if hasattr(body, "norm") else body.ln_f, model.lm_head)


def seq2seq_case(writer, name):
    folder = common.OUT / "seq2seq" / name
    kind, words = seq2seq.CASES[name]
    model = getattr(transformers, {"T5": "T5ForConditionalGeneration", "Bart": "BartForConditionalGeneration", "Marian": "MarianMTModel"}[kind]).from_pretrained(
        folder, attn_implementation="eager")
    given = json.loads((folder / "expected.json").read_text())["inputs"][1]
    inputs = {key: given[key] for key in ("input_ids", "decoder_input_ids")}
    source, target, width = len(inputs["input_ids"]), len(inputs["decoder_input_ids"]), seq2seq.WIDTH
    t5 = kind == "T5"
    layers = (words["num_layers"], words["num_decoder_layers"]) if t5 else (words["encoder_layers"], words["decoder_layers"])
    heads = (words["num_heads"],) * 2 if t5 else (words["encoder_attention_heads"], words["decoder_attention_heads"])
    queries = words["num_heads"] * words["d_kv"] if t5 else width
    ffn = words["d_ff"] if t5 else words["encoder_ffn_dim"]
    changes = [({"encoder.attention": mask(layers[0], heads[0])}, {}), ({"decoder.attention": mask(layers[1], heads[1])}, {}),
               ({"decoder.cross_attention": mask(layers[1], heads[1])}, {}),
               ({}, {"encoder.layer.0.output": numbers(source, width), "decoder.layer.0.output": numbers(target, width)}),
               ({}, {"encoder.layer.1.attention.key": numbers(source, queries), "decoder.layer.1.cross_attention.value": numbers(source, queries),
                     "decoder.layer.0.attention.query": numbers(target, queries), "decoder.layer.1.cross_attention.query": numbers(target, queries)}),
               ({}, {"encoder.layer.0.intermediate": numbers(source, ffn), "encoder.layer.1.attention.context": numbers(source, queries),
                     "decoder.layer.0.cross_attention.context": numbers(target, queries), "decoder.layer.1.cross_attention.key": numbers(source, queries)})]
    if t5:
        norm = model.decoder.final_layer_norm
        head = lambda x: model.lm_head(x * width ** -0.5 if words.get("tie_word_embeddings", True) else x)
    else:
        norm, head = (lambda x: x), (lambda x: model.lm_head(x) + model.final_logits_bias)
    return look_into(writer, f"seq2seq/{name}", model, inputs, changes, norm, head)


def masked_case(writer, name, kind, folder, seed):
    """head.safetensors of that case: what the encoder's own file lacks."""
    model = getattr(transformers, f"{kind}ForMaskedLM").from_pretrained(folder, attn_implementation="eager")
    body = set(model.base_model.state_dict(keep_vars=True).values())
    generator = torch.Generator().manual_seed(seed)
    head = {}
    for key, weight in model.named_parameters():
        if weight in body:
            continue
        noise = torch.randn(weight.shape, generator=generator)
        weight.data = noise * (1.0 / weight.shape[1] ** 0.5 if weight.dim() > 1 else 0.3) + (1 if "orm.weight" in key or "layer_norm.weight" in key else 0)
        # GTE's own repositories have another name for that norm than transformers.
        head[key.replace("lm_head.layer_norm", "lm_head.norm") if kind == "Gte" else key] = weight.detach().clone()
    save_file(head, FOLDER / name / "head.safetensors", metadata={"format": "pt"})
    logits = []
    for dtype in (torch.float64, torch.float32):
        model = model.to(dtype).eval()
        with torch.no_grad():
            out = model(input_ids=torch.tensor([MASKED_INPUT]), output_hidden_states=True)
            rows = []
            norm = model.base_model.final_norm if kind == "ModernBert" else (lambda x: x)
            for i, state in enumerate(out.hidden_states):
                # The class itself over these states: whatever its head is made of.
                last = kind == "ModernBert" and i == len(out.hidden_states) - 1
                given = transformers.modeling_outputs.BaseModelOutput(last_hidden_state=state if last else norm(state))
                forward = model.base_model.forward
                model.base_model.forward = lambda *_args, **_kwargs: given
                rows.append(model(input_ids=torch.tensor([MASKED_INPUT])).logits[0])
                model.base_model.forward = forward
            assert torch.equal(rows[-1], out.logits[0]), name
            logits.append(torch.stack(rows))
    return {"case": name, "model": folder.relative_to(common.OUT).as_posix(), "input_ids": MASKED_INPUT, "lens": writer.add_lens(*logits)}


def make(_options):
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    if FOLDER.exists():
        shutil.rmtree(FOLDER)
    writer = Writer()
    cases = [decoder_case(writer, name) for name in decoders.CASES] + [seq2seq_case(writer, name) for name in seq2seq.CASES]
    masked = []
    for i, (name, kind) in enumerate([("bert", "Bert"), *MASKED.items()]):
        (FOLDER / name).mkdir(parents=True)
        masked.append(masked_case(writer, name, kind, common.OUT / ("bert-tiny/model" if name == "bert" else f"architectures/{name}"), 40 + i))
    common.write_json(FOLDER / "cases.json", {"cases": cases, "masked": masked}, depth=3)
    common.write_bytes(FOLDER / "expected.f32", b"".join(writer.data))
    common.update_manifest("insides", common.versions("torch", "transformers", "safetensors", "numpy"))
