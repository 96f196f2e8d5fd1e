"""hub_layouts/: encoders whose files on the Hub have a special layout: jina-embeddings-v3 and jina-reranker-v2 (flash names, a matrix for queries,
keys and values, a LoRA for each task), nomic-embed-text-v2-moe."""
import json
import pathlib
import re
import shutil
import tempfile

import torch
import transformers
from safetensors.torch import load_file, save_file

from . import architectures, common, tiny

FOLDER = common.OUT / "hub_layouts"
USUAL = dict(architectures.USUAL, type_vocab_size=1, pad_token_id=1)
RANK, ALPHA = 4, 2
INSTRUCTIONS = {"retrieval.query": "Represent the query for retrieving evidence documents: ", "retrieval.passage": "Represent the document for retrieval: "}
TEXTS = ["Who sings?", "", "The birds sing, and an old boat waits.", tiny.SENTENCE[:60]]
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


def with_loras(tensors, size=1.0):
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
        out[f"{stem}.0.lora_A"], out[f"{stem}.0.lora_B"] = torch.randn(len(TASKS), *a), size * torch.randn(len(TASKS), *b)
    return out


def for_task(tensors, task, dtype):
    """The tensors of with_loras() with a task's additions in the weights: W + alpha / rank B A, for a table alpha / rank A B."""
    out = {}
    for name, value in tensors.items():
        if ".0.lora_" in name:
            continue
        stem = name.removesuffix(".original")
        value = value.to(dtype)
        if stem != name and task is not None:
            a, b = (tensors[f"{stem}.0.lora_{which}"][TASKS.index(task)].to(dtype) for which in "AB")
            value = value + (a @ b if "embeddings" in name else b @ a) * (ALPHA / RANK)
        out[stem.removeprefix("roberta.").replace(".parametrizations.weight", ".weight")] = value
    return out


class Addition(torch.nn.Module):
    """The same numbers in another way: a parametrization of torch that adds while the model runs."""

    def __init__(self, change):
        super().__init__()
        self.change = change

    def forward(self, weight):
        return weight + self.change * (ALPHA / RANK)


def expect_the_same(model, tensors, task, ids, expected):
    """expected, in double, is what torch's own parametrizations make of the model without tasks."""
    for name, module in list(model.named_modules()):
        if not isinstance(module, (torch.nn.Linear, torch.nn.Embedding)):
            continue
        flash = re.sub(r"self_attn\.[qkv]_proj", "mixer.Wqkv", name).replace("self_attn.o_proj", "mixer.out_proj")
        flash = re.sub(r"^layers", "encoder.layers", flash)
        a, b = (tensors[f"roberta.{flash}.parametrizations.weight.0.lora_{which}"][TASKS.index(task)].double() for which in "AB")
        if flash.endswith("Wqkv"):
            b = b.chunk(3)["qkv".index(name[-6])]
        torch.nn.utils.parametrize.register_parametrization(module, "weight", Addition(a @ b if isinstance(module, torch.nn.Embedding) else b @ a))
    with torch.no_grad():
        found = model(input_ids=torch.tensor([ids])).last_hidden_state[0]
    assert float((found - expected).abs().max()) < 1e-12, task


def save_tasks(folder):
    """A repository as jina-embeddings-v3's: its vectors with each task, with its instruction (as its own encode()) and without (as
    sentence-transformers), and without a task."""
    tokenizer = tiny.make_tokenizer(("<s>", "<pad>", "</s>", "<unk>"), "<s> $A </s>", bos_token="<s>", eos_token="</s>", pad_token="<pad>",
                                    unk_token="<unk>", model_max_length=130)
    config = dict(USUAL, vocab_size=len(tokenizer), max_position_embeddings=130)
    model = transformers.JinaEmbeddingsV3Model._from_config(transformers.JinaEmbeddingsV3Config(**config), attn_implementation="eager")
    architectures.randomize(model)
    with tempfile.TemporaryDirectory() as place:
        model.save_pretrained(place)
        tensors = with_loras(load_file(pathlib.Path(place) / "model.safetensors"), 0.3)

    def model_for(task, dtype):
        with tempfile.TemporaryDirectory() as place:
            model.config.save_pretrained(place)
            save_file({k: v.contiguous() for k, v in for_task(tensors, task, dtype).items()}, pathlib.Path(place) / "model.safetensors", metadata={"format": "pt"})
            return transformers.JinaEmbeddingsV3Model.from_pretrained(place, dtype=dtype, attn_implementation="eager").eval()

    tokenizer.save_pretrained(folder)
    prompts = {task: INSTRUCTIONS.get(task, "") for task in TASKS}
    words = {**config, "model_type": "xlm-roberta", "architectures": ["XLMRobertaModel"], "position_embedding_type": "rotary", "rotary_emb_base": 20000.0,
             "use_flash_attn": True, "hidden_act": "gelu", "layer_norm_eps": 1e-5, "load_trained_adapters": True, "lora_adaptations": TASKS, "lora_rank": RANK,
             "lora_alpha": ALPHA, "lora_dropout_p": 0.0, "lora_main_params_trainable": False, "task_instructions": prompts}
    common.write_json(folder / "config.json", words)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    common.write_json(folder / "modules.json", [
        {"idx": 0, "name": "transformer", "path": "", "type": "custom_st.Transformer", "kwargs": ["task"]},
        {"idx": 1, "name": "pooler", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
        {"idx": 2, "name": "normalizer", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}])
    common.write_json(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": config["hidden_size"], "pooling_mode_mean_tokens": True})
    common.write_json(folder / "config_sentence_transformers.json", {"prompts": prompts, "default_prompt_name": None, "similarity_fn_name": "cosine"})
    rows = []
    for task in (None, *TASKS):
        both = {dtype: model_for(task, dtype) for dtype in (torch.float64, torch.float32)}
        for instruction in sorted({"", prompts.get(task, "")}):
            vectors = {}
            for dtype, one in both.items():
                vectors[dtype] = []
                for text in TEXTS:
                    ids = tokenizer(instruction + text)["input_ids"]
                    with torch.no_grad():
                        states = one(input_ids=torch.tensor([ids])).last_hidden_state[0]
                    if task is not None and dtype == torch.float64:
                        expect_the_same(model_for(None, dtype), tensors, task, ids, states)
                    vectors[dtype].append(torch.nn.functional.normalize(states.mean(0), dim=0))
            exact = torch.stack(vectors[torch.float64])
            rows.append({"task": task, "instruction": instruction, "f32_diff": float(f"{float((exact - torch.stack(vectors[torch.float32])).abs().max()):.3g}"),
                         "vectors": [[float(str(x)) for x in row.float().numpy()] for row in exact]})
    common.write_json(folder / "expected.json", {"texts": TEXTS, "rows": rows}, depth=3)


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
    save_tasks(FOLDER / "jina-v3-tasks")
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
    common.update_manifest("hub_layouts", common.versions("torch", "transformers", "tokenizers", "safetensors"))
