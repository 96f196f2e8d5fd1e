"""hub_layouts/: encoders whose files on the hub have a layout of their own: jina-embeddings-v3 and jina-reranker-v2 (flash names, a matrix for
queries, keys and values, a LoRA for each task), nomic-embed-text-v2-moe."""
import json
import re
import shutil

import torch
import transformers
from safetensors.torch import load_file, save_file

from . import architectures, common

FOLDER = common.OUT / "hub_layouts"
USUAL = dict(architectures.USUAL, type_vocab_size=1, pad_token_id=1)
TASKS = ["retrieval.query", "retrieval.passage", "separation", "classification", "text-matching"]
FLASH = [(r"embeddings\.LayerNorm", "emb_ln"), (r"encoder\.layer\.", "encoder.layers."), (r"attention\.output\.dense", "mixer.out_proj"),
         (r"attention\.output\.LayerNorm", "norm1"), (r"intermediate\.dense", "mlp.fc1"), (r"output\.dense", "mlp.fc2"), (r"output\.LayerNorm", "norm2")]


def flash_names(tensors):
    """The tensors of an XLM-RoBERTa under the names of xlm-roberta-flash-implementation."""
    out = {}
    for name, value in tensors.items():
        if re.search(r"attention\.self\.(key|value)", name):
            continue
        if "attention.self.query" in name:
            value = torch.cat([tensors[name.replace("query", role)] for role in ("query", "key", "value")])
            name = name.replace("attention.self.query", "mixer.Wqkv")
        for pattern, new in FLASH:
            name = re.sub(pattern, new, name)
        out[name] = value.contiguous()
    return out


def with_loras(tensors):
    """As torch.nn.utils.parametrize names them, with random low-rank additions for each task."""
    torch.manual_seed(3)
    out = {}
    for name, value in tensors.items():
        if value.dim() != 2:
            out[f"roberta.{name}"] = value
            continue
        stem = f"roberta.{name.removesuffix('.weight')}.parametrizations.weight"
        out[f"{stem}.original"] = value
        rows, columns = value.shape
        a, b = ((rows, 4), (4, columns)) if "embeddings" in name else ((4, columns), (rows, 4))
        out[f"{stem}.0.lora_A"], out[f"{stem}.0.lora_B"] = torch.randn(len(TASKS), *a), torch.randn(len(TASKS), *b)
    return out


class NomicMoe(torch.nn.Module):
    """NomicBERT's layers, put down again, with a plain feed-forward or, in every second one, experts."""

    def __init__(self, c):
        super().__init__()
        nn, h, f = torch.nn, c["n_embd"], c["n_inner"]
        norm = lambda: nn.LayerNorm(h, eps=c["layer_norm_epsilon"])
        self.c = c
        self.embeddings = nn.ModuleDict({"word_embeddings": nn.Embedding(c["vocab_size"], h), "token_type_embeddings": nn.Embedding(1, h)})
        self.emb_ln = norm()

        def layer(i):
            plain = nn.ModuleDict({"fc1": nn.Linear(h, f), "fc2": nn.Linear(f, h)})
            experts = nn.Module()
            experts.bias = nn.Parameter(torch.zeros(h))
            experts.mlp = nn.Module()
            experts.mlp.w1, experts.mlp.w2 = (nn.Parameter(torch.zeros(c["num_experts"] * f, h)) for _ in range(2))
            mixed = nn.ModuleDict({"router": nn.ModuleDict({"layer": nn.Linear(h, c["num_experts"], bias=False)}), "experts": experts})
            return nn.ModuleDict({"attn": nn.ModuleDict({"Wqkv": nn.Linear(h, 3 * h), "out_proj": nn.Linear(h, h)}), "norm1": norm(),
                                  "mlp": mixed if i % 2 == 1 else plain, "norm2": norm()})
        self.encoder = nn.ModuleDict({"layers": nn.ModuleList(layer(i) for i in range(c["n_layer"]))})

    def rotate(self, x):
        half = x.shape[-1] // 2
        at = torch.arange(x.shape[-2]).float()
        angle = at[:, None] / self.c["rotary_emb_base"] ** (torch.arange(half).float() / half)
        cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        return torch.cat([x[..., :half] * cos - x[..., half:] * sin, x[..., :half] * sin + x[..., half:] * cos], -1)

    def feed_forward(self, mlp, x):
        gelu = torch.nn.functional.gelu
        if "fc1" in mlp:
            return mlp["fc2"](gelu(mlp["fc1"](x)))
        shares, chosen = mlp["router"]["layer"](x).softmax(-1).topk(self.c["moe_top_k"], dim=-1)
        f, experts = self.c["n_inner"], mlp["experts"]
        out = experts.bias.expand_as(x).clone()
        for token in range(x.shape[1]):
            for share, expert in zip(shares[0, token], chosen[0, token]):
                w1, w2 = (w[expert * f:(expert + 1) * f] for w in (experts.mlp.w1, experts.mlp.w2))
                out[0, token] += share * (gelu(x[0, token] @ w1.T) @ w2)
        return out

    def forward(self, input_ids, token_type_ids):
        x = self.emb_ln(self.embeddings["word_embeddings"](input_ids) + self.embeddings["token_type_embeddings"](0 * input_ids))
        states, attentions = [x], []
        for layer in self.encoder["layers"]:
            q, k, v = (part.view(1, x.shape[1], self.c["n_head"], -1).transpose(1, 2) for part in layer["attn"]["Wqkv"](x).chunk(3, -1))
            q, k = self.rotate(q), self.rotate(k)
            probs = (q @ k.transpose(2, 3) / q.shape[-1] ** 0.5).softmax(-1)
            x = layer["norm1"](x + layer["attn"]["out_proj"]((probs @ v).transpose(1, 2).reshape(x.shape)))
            x = layer["norm2"](x + self.feed_forward(layer["mlp"], x))
            states.append(x)
            attentions.append(probs)
        return states, attentions


def run(model, dtype, ids, types):
    if not isinstance(model, NomicMoe):
        return architectures.run(model, dtype, ids, types)
    with torch.no_grad():
        states, attentions = model.to(dtype).eval()(torch.tensor([ids]), None)
    found = {f"hidden_states.{i}": x[0] for i, x in enumerate(states)}
    found.update({f"attentions.{i}": x[0] for i, x in enumerate(attentions)})
    return {name: x.clone() for name, x in found.items()}


def save(name, model, words, tensors):
    folder = FOLDER / name
    folder.mkdir(parents=True)
    common.write_json(folder / "config.json", words)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    architectures.save_expected(folder, model, run)


def make(_options):
    torch.set_num_threads(1)
    transformers.utils.logging.set_verbosity_error()
    if FOLDER.exists():
        shutil.rmtree(FOLDER)
    # jina-embeddings-v3: as transformers saves it, and as it lies on the hub
    model = architectures.save_model(FOLDER / "jina-v3", "JinaEmbeddingsV3", USUAL, {})
    tensors = load_file(FOLDER / "jina-v3" / "model.safetensors")
    architectures.save_expected(FOLDER / "jina-v3", model)
    words = {**USUAL, "model_type": "xlm-roberta", "architectures": ["XLMRobertaModel"], "position_embedding_type": "rotary", "rotary_emb_base": 20000.0,
             "use_flash_attn": True, "hidden_act": "gelu", "layer_norm_eps": 1e-5, "lora_adaptations": TASKS, "lora_rank": 4, "lora_alpha": 1}
    save("jina-v3-first", model.float(), words, with_loras(tensors))
    # jina-reranker-v2's body
    config = dict(USUAL)
    model = transformers.XLMRobertaModel._from_config(transformers.XLMRobertaConfig(**config), attn_implementation="eager")
    architectures.randomize(model)
    words = {**config, "model_type": "xlm-roberta", "architectures": ["XLMRobertaForSequenceClassification"], "position_embedding_type": "absolute",
             "use_flash_attn": True, "hidden_act": "gelu", "layer_norm_eps": 1e-12}
    tensors = {f"roberta.{key}": value for key, value in flash_names(model.state_dict()).items() if "position_ids" not in key}
    save("jina-reranker-v2", model, words, tensors)
    words = {"model_type": "nomic_bert", "architectures": ["NomicBertModel"], "n_embd": 24, "n_layer": 4, "n_head": 3, "n_inner": 40, "n_positions": 40,
             "vocab_size": architectures.VOCAB, "type_vocab_size": 1, "layer_norm_epsilon": 1e-5, "rotary_emb_base": 10000, "rotary_emb_fraction": 1.0,
             "rotary_emb_interleaved": False, "rotary_emb_scale_base": None, "rotary_scaling_factor": None, "activation_function": "gelu", "prenorm": False,
             "qkv_proj_bias": True, "mlp_fc1_bias": True, "mlp_fc2_bias": True, "use_rms_norm": None, "causal": False, "num_experts": 5, "moe_top_k": 2,
             "moe_every_n_layers": 2, "moe_normalize_expert_weights": False, "expert_choice_router": False, "num_shared_experts": 0, "ffn_div": 1}
    model = NomicMoe(words)
    architectures.randomize(model)
    save("nomic-moe", model, words, {key: value.contiguous() for key, value in model.state_dict().items()})
    common.write_json(FOLDER / "cases.json", ["jina-v3", "jina-v3-first", "jina-reranker-v2", "nomic-moe"])
    common.update_manifest("hub_layouts", common.versions("torch", "transformers", "safetensors"))
