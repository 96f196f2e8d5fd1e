"""architectures/: a tiny random model of every encoder architecture with its hidden states, attentions and pooled vectors."""
import json
import math
import shutil

import gguf
import torch
import transformers
from safetensors.torch import load_file, save_file

from . import common

VOCAB, HIDDEN, LAYERS, HEADS, FFN, POSITIONS = 60, 24, 2, 3, 40, 40
USUAL = dict(vocab_size=VOCAB, hidden_size=HIDDEN, num_hidden_layers=LAYERS, num_attention_heads=HEADS, intermediate_size=FFN,
             max_position_embeddings=POSITIONS)
# (input_ids, token_type_ids); 1 is RoBERTa's padding, which takes no position.
INPUTS = [([2, 5, 1, 9, 7, 3], [0, 0, 0, 1, 1, 1]),
          ([2] + [(7 * i * i + 3 * i) % 53 + 4 for i in range(29)] + [3], [0] * 12 + [1] * 19)]


class JinaBert(torch.nn.Module):
    """modeling_bert.py of jinaai/jina-bert-implementation, put down again: BERT with ALiBi both ways and a gated feed-forward."""

    def __init__(self, config):
        super().__init__()
        nn, c = torch.nn, config
        norm = lambda: nn.LayerNorm(c["hidden_size"], eps=c["layer_norm_eps"])
        square = lambda: nn.Linear(c["hidden_size"], c["hidden_size"])
        self.c = config
        self.embeddings = nn.ModuleDict({"word_embeddings": nn.Embedding(c["vocab_size"], c["hidden_size"]),
                                         "token_type_embeddings": nn.Embedding(2, c["hidden_size"]), "LayerNorm": norm()})
        layer = lambda: nn.ModuleDict({
            "attention": nn.ModuleDict({"self": nn.ModuleDict({name: square() for name in ("query", "key", "value")}),
                                        "output": nn.ModuleDict({"dense": square(), "LayerNorm": norm()})}),
            "mlp": nn.ModuleDict({"gated_layers": nn.Linear(c["hidden_size"], 2 * c["intermediate_size"], bias=False),
                                  "wo": nn.Linear(c["intermediate_size"], c["hidden_size"]), "layernorm": norm()})})
        self.encoder = nn.ModuleDict({"layer": nn.ModuleList(layer() for _ in range(c["num_hidden_layers"]))})
        self.pooler = nn.ModuleDict({"dense": square()})

    @staticmethod
    def slopes(n):
        of_power = lambda m: [2.0 ** (-8.0 * (i + 1) / m) for i in range(m)]
        power = 2 ** math.floor(math.log2(n))
        return of_power(power) + of_power(2 * power)[0::2][:n - power]

    def forward(self, input_ids, token_type_ids):
        x = self.embeddings["word_embeddings"](input_ids) + self.embeddings["token_type_embeddings"](token_type_ids)
        x = self.embeddings["LayerNorm"](x)
        heads, seq = self.c["num_attention_heads"], input_ids.shape[1]
        at = torch.arange(seq)
        bias = -torch.tensor(self.slopes(heads))[:, None, None] * (at[:, None] - at[None, :]).abs()
        states, attentions = [x], []
        for layer in self.encoder["layer"]:
            split = lambda role: layer["attention"]["self"][role](x).view(1, seq, heads, -1).transpose(1, 2)
            q, k, v = split("query"), split("key"), split("value")
            probs = (q @ k.transpose(2, 3) / math.sqrt(q.shape[-1]) + bias.to(x.dtype)).softmax(-1)
            context = (probs @ v).transpose(1, 2).reshape(x.shape)
            x = layer["attention"]["output"]["LayerNorm"](layer["attention"]["output"]["dense"](context) + x)
            gate, other = layer["mlp"]["gated_layers"](x).chunk(2, dim=-1)
            x = layer["mlp"]["layernorm"](layer["mlp"]["wo"](torch.nn.functional.gelu(gate) * other) + x)
            states.append(x)
            attentions.append(probs)
        return states, attentions, self.pooler["dense"](x[:, 0]).tanh()


def stretch(model, factor):
    """The fixed NTK rule of Alibaba-NLP/new-impl (NTKScalingRotaryEmbedding without mixed_b)."""
    dim = HIDDEN // HEADS
    base = model.config.rope_parameters["rope_theta"] * factor
    model.rotary_emb.inv_freq.copy_(1.0 / (base ** (torch.arange(0, dim, 2).float() / dim)) / factor ** (2 / dim))


def first_nomic(config):
    """The words in which nomic-ai's own config.json says the same."""
    return {"model_type": "nomic_bert", "n_embd": HIDDEN, "n_layer": LAYERS, "n_head": HEADS, "n_inner": FFN, "n_positions": POSITIONS,
            "vocab_size": VOCAB, "type_vocab_size": 2, "layer_norm_epsilon": config["layer_norm_eps"], "rotary_emb_base": 1000,
            "rotary_emb_fraction": 1.0, "activation_function": "swiglu", "prenorm": False, "qkv_proj_bias": False, "mlp_fc1_bias": False,
            "mlp_fc2_bias": False, "rotary_scaling_factor": None, "use_rms_norm": False, "causal": False}


def new_gte(config):
    """The words of Alibaba-NLP's config.json, with the stretched angles of gte-base-en-v1.5."""
    return {**{k: v for k, v in config.items() if k != "rope_parameters"}, "model_type": "new", "position_embedding_type": "rope",
            "rope_theta": 500000, "rope_scaling": {"type": "ntk", "factor": 2.0}, "layer_norm_type": "layer_norm", "pack_qkv": True,
            "logn_attention_scale": False}


JINA = {**USUAL, "model_type": "bert", "position_embedding_type": "alibi", "feed_forward_type": "geglu", "hidden_act": "gelu",
        "layer_norm_eps": 1e-12, "type_vocab_size": 2}
# name: (class, config, what else)
CASES = {
    "distilbert": ("DistilBert", dict(vocab_size=VOCAB, dim=HIDDEN, n_layers=LAYERS, n_heads=HEADS, hidden_dim=FFN,
                                      max_position_embeddings=POSITIONS)),
    "roberta": ("Roberta", dict(USUAL, type_vocab_size=1, pad_token_id=1)),
    "xlm-roberta": ("XLMRoberta", dict(USUAL, type_vocab_size=1, pad_token_id=1)),
    "camembert": ("Camembert", dict(USUAL, type_vocab_size=1, pad_token_id=1)),
    "electra": ("Electra", dict(USUAL, embedding_size=16)),
    "albert": ("Albert", dict(USUAL, embedding_size=16)),
    "mpnet": ("MPNet", dict(USUAL)),
    "modernbert": ("ModernBert", dict(USUAL, num_hidden_layers=3, local_attention=10, pad_token_id=0, bos_token_id=2, eos_token_id=3,
                                      cls_token_id=2, sep_token_id=3)),
    "nomic-bert": ("NomicBert", dict(USUAL)),
    "nomic-bert-first": ("NomicBert", dict(USUAL), {"words": first_nomic}),
    "gte": ("Gte", dict(USUAL, type_vocab_size=1)),
    "gte-new": ("Gte", dict(USUAL, type_vocab_size=0, rope_parameters={"rope_type": "default", "rope_theta": 500000.0}),
                {"words": new_gte, "ntk": 2.0}),
    "jina-bert": (JinaBert, JINA),
    "deberta-v3": ("DebertaV2", dict(USUAL, relative_attention=True, position_buckets=8, pos_att_type=["p2c", "c2p"], share_att_key=True,
                                     norm_rel_ebd="layer_norm", position_biased_input=False, type_vocab_size=0)),
    "deberta-v2": ("DebertaV2", dict(USUAL, relative_attention=True, pos_att_type="p2c|c2p", share_att_key=True, type_vocab_size=2)),
}


GGUF = (("nomic-bert", "nomic-bert"), ("jina-bert", "jina-bert-v2"), ("modernbert", "modern-bert"))


def randomize(model):
    """Weights of a size that makes attentions sharp and every bias count."""
    generator = torch.Generator().manual_seed(7)
    for name, weight in model.named_parameters():
        if not weight.requires_grad:
            continue  # RoFormer's sines
        noise = torch.randn(weight.shape, generator=generator)
        if weight.dim() == 1:
            weight.data = (1 if "norm" in name.lower() and name.endswith("weight") else 0) + 0.2 * noise
        else:
            weight.data = noise * (1.0 if "embedding" in name or "relative" in name else 1.5 / math.sqrt(weight.shape[1]))


def run(model, dtype, ids, types):
    model = model.to(dtype).eval()
    inputs = {"input_ids": torch.tensor([ids]), "token_type_ids": torch.tensor([types])}
    with torch.no_grad():
        if not isinstance(model, transformers.PreTrainedModel):
            states, attentions, pooled = model(**inputs)
        else:
            if getattr(model.config, "type_vocab_size", 0) < 2:
                del inputs["token_type_ids"]
            out = model(**inputs, output_hidden_states=True, output_attentions=True)
            states, attentions, pooled = out.hidden_states, out.attentions, getattr(out, "pooler_output", None)
    found = {f"hidden_states.{i}": x[0] for i, x in enumerate(states)}
    found.update({f"attentions.{i}": x[0] for i, x in enumerate(attentions)})
    if pooled is not None:
        found["pooler_output"] = pooled[0]
    return {name: x.clone() for name, x in found.items()}


def save_model(folder, kind, config, extra):
    """A random model of that kind, saved in folder."""
    if not isinstance(kind, str):
        model, words = kind(config), config
    else:
        model = getattr(transformers, f"{kind}Model")._from_config(
            getattr(transformers, f"{kind}Config")(**config), attn_implementation="eager")
        if kind == "Gte":
            model = transformers.GteModel(model.config, add_pooling_layer=True) if "words" not in extra else model
            model.config._attn_implementation = "eager"
    randomize(model)
    for name, weight in model.named_parameters():
        if weight.dim() >= 2 and not name.endswith("_embeddings.weight"):
            weight.data *= extra.get("gain", 1)
    folder.mkdir(parents=True)
    if not isinstance(kind, str):
        save_file(model.state_dict(), folder / "model.safetensors", metadata={"format": "pt"})
    else:
        model.save_pretrained(folder)
        words = json.loads((folder / "config.json").read_text())
        words = extra["words"](words) if "words" in extra else words
    common.write_json(folder / "config.json", words)
    if "ntk" in extra:
        stretch(model, extra["ntk"])
    return model


def save_case(folder, kind, config, extra):
    save_expected(folder, save_model(folder, kind, config, extra))


def save_expected(folder, model, run=run):
    data, inputs, offset = [], [], 0
    for ids, types in INPUTS:
        exact, single = run(model, torch.float64, ids, types), run(model, torch.float32, ids, types)
        tensors = {}
        for name, value in exact.items():
            diff = float((value.double() - single[name].double()).abs().max())
            tensors[name] = {"offset": offset, "shape": list(value.shape), "max_abs": round(float(value.abs().max()), 4),
                             "f32_diff": float(f"{diff:.3g}")}
            data.append(value.to(torch.float32).contiguous().numpy().astype("<f4").tobytes())
            offset += value.numel()
        inputs.append({"input_ids": ids, "token_type_ids": types, "tensors": tensors})
    common.write_json(folder / "expected.json", {"inputs": inputs}, depth=4)
    common.write_bytes(folder / "expected.f32", b"".join(data))


def run_changed(model, dtype, mask, patch):
    """The last hidden state with heads scaled by mask [layers, heads], or with the first layer's output replaced by patch."""
    model = model.to(dtype).eval()
    layers = model.layers if hasattr(model, "layers") else model.encoder.layer
    hooks = []
    for layer, scales in zip(layers, mask if mask is not None else []):
        columns = torch.tensor(scales, dtype=dtype).repeat_interleave(HIDDEN // HEADS)
        out = layer.attn.Wo if hasattr(layer, "attn") else layer.attention.output.dense
        hooks.append(out.register_forward_pre_hook(lambda _module, inputs, columns=columns: (inputs[0] * columns,)))
    if patch is not None:
        change = lambda _module, _inputs, output: (patch.to(dtype),) if isinstance(output, tuple) else patch.to(dtype)
        hooks.append(layers[0].register_forward_hook(change))
    with torch.no_grad():
        out = model(input_ids=torch.tensor([INPUTS[0][0]])).last_hidden_state[0]
    for hook in hooks:
        hook.remove()
    return out


def save_changes(folder):
    """changes.json: what ablation of heads and patching of activations do."""
    floats = lambda x: [float(str(v)) for v in x.to(torch.float32).flatten().numpy()]
    cases = []
    for name in ("roberta", "modernbert"):
        model = transformers.AutoModel.from_pretrained(folder / name, attn_implementation="eager")
        mask = [[0, 1, 0.5], [1, 0, 1], [1, 1, 0]][:model.config.num_hidden_layers]
        patch = torch.sin(torch.arange(len(INPUTS[0][0]) * HIDDEN)).view(1, -1, HIDDEN)
        for kind, change in (("head_mask", (mask, None)), ("layer.0.output", (None, patch))):
            exact, single = run_changed(model, torch.float64, *change), run_changed(model, torch.float32, *change)
            cases.append({"case": name, "change": kind, "numbers": mask if kind == "head_mask" else floats(patch),
                          "f32_diff": float(f"{float((exact - single.double()).abs().max()):.3g}"), "last_hidden_state": floats(exact)})
    common.write_json(folder / "changes.json", {"input_ids": INPUTS[0][0], "cases": cases}, depth=3)


def save_gguf(folder, architecture, apart=False):
    """model.gguf: the weights as llama.cpp's converter lays them; apart: as it laid Jina's before it kept gate and rest together."""
    config = json.loads((folder / "config.json").read_text())
    writer = gguf.GGUFWriter(folder / ("apart.gguf" if apart else "model.gguf"), architecture)
    writer.add_context_length(POSITIONS)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(FFN)
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_head_count(HEADS)
    writer.add_layer_norm_eps(config.get("norm_eps", 0) or config["layer_norm_eps"])
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    if architecture == "nomic-bert":
        writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    if architecture == "modern-bert":
        writer.add_sliding_window(config["local_attention"])
        writer.add_rope_scaling_type(gguf.RopeScalingType.NONE)
    writer.add_tokenizer_model("bert")
    named = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    writer.add_token_list(named + [f"\u2581t{i}" for i in range(VOCAB - len(named))])
    kind = {text: kind for kind, text in gguf.MODEL_ARCH_NAMES.items()}[architecture]
    names = gguf.get_tensor_name_map(kind, config["num_hidden_layers"])
    for name, tensor in load_file(folder / "model.safetensors").items():
        if name.startswith("pooler."):
            continue  # as the converter
        parts = {name: tensor}
        if apart and "gated_layers" in name:
            parts = {name.replace("gated_layers", f"gated_layers_{which}"): part for which, part in zip("wv", tensor.chunk(2))}
        for part, value in parts.items():
            writer.add_tensor(names.get_name(part, (".weight", ".bias")), value.contiguous().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def make(_options):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    folder = common.OUT / "architectures"
    if folder.exists():
        shutil.rmtree(folder)
    for name, (kind, config, *extra) in CASES.items():
        save_case(folder / name, kind, config, extra[0] if extra else {})
    common.write_json(folder / "cases.json", list(CASES))
    save_changes(folder)
    for name, architecture in GGUF:
        save_gguf(folder / name, architecture)
    save_gguf(folder / "jina-bert", "jina-bert-v2", apart=True)
    common.update_manifest("architectures", common.versions("torch", "transformers", "safetensors", "numpy", "gguf"))
