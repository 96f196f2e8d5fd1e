"""Writes checkpoints for tools/check_llama.mjs: `python tools/llama_checkpoints.py OUT [DATA]`, with numpy and safetensors.

Random weights of 256 or so to a row, 4 or 6 layers, large enough to matter, and real tokenizers from DATA/tokenizers (../shared/data).
"""

import gzip
import json
import math
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

OUT = Path(sys.argv[1])
DATA = Path(sys.argv[2] if len(sys.argv) > 2 else Path(__file__).resolve().parent.parent / "../shared/data")
WIDTH, LAYERS, HEADS, INNER = 256, 4, 4, 512
rng = np.random.default_rng(7)
SIZES = {"hidden_size": WIDTH, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "intermediate_size": INNER, "pad_token_id": 0}


def matrix(rows, columns, gain=1.0):
    return (rng.standard_normal((rows, columns)) * gain / math.sqrt(columns)).astype(np.float32)


def table(rows, width=None, scale=0.5):
    return (rng.standard_normal((rows, width or WIDTH)) * scale).astype(np.float32)


def vector(size, middle=0.0):
    return (middle + 0.1 * rng.standard_normal(size)).astype(np.float32)


def linear(weights, name, rows, columns, gain=1.0, bias=True):
    weights[f"{name}.weight"] = matrix(rows, columns, gain)
    if bias:
        weights[f"{name}.bias"] = vector(rows)


def norm(weights, name, bias=True, middle=1.0, size=None):
    weights[f"{name}.weight"] = vector(size or WIDTH, middle)
    if bias:
        weights[f"{name}.bias"] = vector(size or WIDTH)


def tokenizer(name):
    folder = DATA / "tokenizers" / name
    path = folder / "tokenizer.json"
    out = json.loads(path.read_text() if path.exists() else gzip.open(folder / "tokenizer.json.gz").read())
    model = out["model"]
    model.setdefault("type", "Unigram" if isinstance(model["vocab"], list) else "BPE" if "merges" in model else "WordPiece")
    return out


def byte_level(first, last, pattern=None):
    """GPT-2's pieces between two special tokens."""
    folder = DATA / "tokenizers/gpt2"
    vocab = json.loads((folder / "vocab.json").read_text())
    merges = [line for line in (folder / "merges.txt").read_text().split("\n") if line and not line.startswith("#version")]
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    added = []
    for token in (first, last):
        vocab[token] = len(vocab)
        added.append({"id": vocab[token], "content": token, **flags})
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": pattern is None}
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    special = lambda token: {"SpecialToken": {"id": token, "type_id": 0}}
    single = [special(first), {"Sequence": {"id": "A", "type_id": 0}}, special(last)]
    pair = single + [{"Sequence": {"id": "B", "type_id": 0}}, special(last)]
    ids = {token: {"id": token, "ids": [vocab[token]], "tokens": [token]} for token in (first, last)}
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, level]} if pattern else level,
        "post_processor": {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": ids},
        "decoder": level,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "", "end_of_word_suffix": "",
                  "fuse_unk": False, "byte_fallback": False, "ignore_merges": pattern is not None, "vocab": vocab, "merges": merges},
    }  # fmt: skip


def write(name, config, weights, pieces, sentence=True, pooling="mean_tokens", dense=()):
    """dense: the widths of the layers between pooling and normalization, in and out."""
    folder = OUT / name
    folder.mkdir(parents=True, exist_ok=True)
    files = {"config.json": config, "tokenizer.json": pieces, "tokenizer_config.json": {}}
    if sentence:
        kinds = [("", "Transformer"), ("1_Pooling", "Pooling")] + [(f"{i + 2}_Dense", "Dense") for i in range(len(dense))]
        kinds += [(f"{len(kinds)}_Normalize", "Normalize")]
        files["modules.json"] = [{"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
                                 for i, (path, kind) in enumerate(kinds)]  # fmt: skip
        files["1_Pooling/config.json"] = {"word_embedding_dimension": WIDTH, f"pooling_mode_{pooling}": True}
        for i, (width, to) in enumerate(dense):
            files[f"{i + 2}_Dense/config.json"] = {"in_features": width, "out_features": to, "bias": False,
                                                   "activation_function": "torch.nn.modules.linear.Identity"}  # fmt: skip
    for file, value in files.items():
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_text(json.dumps(value))
    save_file({key: np.ascontiguousarray(value) for key, value in weights.items()}, folder / "model.safetensors")
    for i, (width, to) in enumerate(dense):
        save_file({"linear.weight": matrix(to, width)}, folder / f"{i + 2}_Dense/model.safetensors")
    print(folder)


def embeddings(vocab, types=2, positions=512):
    out = {"embeddings.word_embeddings.weight": table(vocab)}
    if types:
        out["embeddings.token_type_embeddings.weight"] = table(types, scale=0.15)
    if positions:
        out["embeddings.position_embeddings.weight"] = table(positions, scale=0.15)
    return out


def bert_attention(weights, at):
    for role in ("self.query", "self.key", "self.value", "output.dense"):
        linear(weights, f"{at}attention.{role}", WIDTH, WIDTH, 1.5 if role in ("self.query", "self.key") else 1)
    norm(weights, f"{at}attention.output.LayerNorm")


def classes(kind):
    return {"architectures": [f"{kind}ForSequenceClassification"], "id2label": {"0": "bad", "1": "fair", "2": "good"}}


def bert_like(name, model_type, vocab, pieces, pad=0, types=2, positions=512, head=None):
    weights = embeddings(vocab, types, positions)
    norm(weights, "embeddings.LayerNorm")
    for i in range(LAYERS):
        at = f"encoder.layer.{i}."
        bert_attention(weights, at)
        linear(weights, at + "intermediate.dense", INNER, WIDTH)
        linear(weights, at + "output.dense", WIDTH, INNER)
        norm(weights, at + "output.LayerNorm")
    if head == "roberta":
        linear(weights, "classifier.dense", WIDTH, WIDTH)
        linear(weights, "classifier.out_proj", 3, WIDTH, 3)
    else:
        linear(weights, "pooler.dense", WIDTH, WIDTH)
        if head:
            linear(weights, "classifier", 3, WIDTH, 3)
    if head:
        prefixed = {key if key.startswith("classifier") else f"{head}.{key}": value for key, value in weights.items()}
    config = {**SIZES, "model_type": model_type, "vocab_size": vocab, "max_position_embeddings": positions, "type_vocab_size": types}
    config |= {"hidden_act": "gelu", "layer_norm_eps": 1e-5, "pad_token_id": pad, **(classes(head.capitalize()) if head else {})}
    write(name, config, prefixed if head else weights, pieces, sentence=not head)


def distilbert():
    weights = embeddings(30522, types=0)
    norm(weights, "embeddings.LayerNorm")
    for i in range(LAYERS):
        at = f"transformer.layer.{i}."
        for role in "qkv":
            linear(weights, f"{at}attention.{role}_lin", WIDTH, WIDTH, 1 if role == "v" else 1.5)
        linear(weights, at + "attention.out_lin", WIDTH, WIDTH)
        norm(weights, at + "sa_layer_norm")
        linear(weights, at + "ffn.lin1", INNER, WIDTH)
        linear(weights, at + "ffn.lin2", WIDTH, INNER)
        norm(weights, at + "output_layer_norm")
    config = {"model_type": "distilbert", "vocab_size": 30522, "dim": WIDTH, "n_layers": LAYERS, "n_heads": HEADS, "hidden_dim": INNER}
    config |= {"max_position_embeddings": 512, "activation": "gelu", "sinusoidal_pos_embds": False, "pad_token_id": 0}
    write("distilbert", config, weights, tokenizer("bert-base-uncased"))


def jina():
    weights = embeddings(30522, positions=0)
    norm(weights, "embeddings.LayerNorm")
    for i in range(LAYERS):
        at = f"encoder.layer.{i}."
        bert_attention(weights, at)
        linear(weights, at + "mlp.gated_layers", 2 * INNER, WIDTH, bias=False)
        linear(weights, at + "mlp.wo", WIDTH, INNER, 2)
        norm(weights, at + "mlp.layernorm")
    config = {**SIZES, "model_type": "bert", "vocab_size": 30522, "type_vocab_size": 2, "layer_norm_eps": 1e-12, "hidden_act": "gelu"}
    config |= {"position_embedding_type": "alibi", "feed_forward_type": "geglu", "max_position_embeddings": 8192}
    write("jina-v2", config, weights, tokenizer("bert-base-uncased"))


def nomic():
    weights = embeddings(30528, positions=0)
    norm(weights, "emb_ln")
    for i in range(LAYERS):
        at = f"encoder.layers.{i}."
        linear(weights, at + "attn.Wqkv", 3 * WIDTH, WIDTH, 1.3, bias=False)
        linear(weights, at + "attn.out_proj", WIDTH, WIDTH, bias=False)
        linear(weights, at + "mlp.fc11", INNER, WIDTH, bias=False)
        linear(weights, at + "mlp.fc12", INNER, WIDTH, bias=False)
        linear(weights, at + "mlp.fc2", WIDTH, INNER, bias=False)
        norm(weights, at + "norm1")
        norm(weights, at + "norm2")
    config = {"model_type": "nomic_bert", "vocab_size": 30528, "n_embd": WIDTH, "n_layer": LAYERS, "n_head": HEADS, "n_inner": INNER}
    config |= {"n_positions": 8192, "max_trained_positions": 2048, "type_vocab_size": 2, "layer_norm_epsilon": 1e-12}
    config |= {"rotary_emb_base": 1000, "activation_function": "swiglu"}
    write("nomic", config, weights, tokenizer("bert-base-uncased"))


def modernbert(name, head=False):
    layers, vocab = 6, 50304
    weights = {"embeddings.tok_embeddings.weight": table(vocab)}
    norm(weights, "embeddings.norm", bias=False)
    norm(weights, "final_norm", bias=False)
    for i in range(layers):
        at = f"layers.{i}."
        if i > 0:
            norm(weights, at + "attn_norm", bias=False)
        norm(weights, at + "mlp_norm", bias=False)
        linear(weights, at + "attn.Wqkv", 3 * WIDTH, WIDTH, 1.3, bias=False)
        linear(weights, at + "attn.Wo", WIDTH, WIDTH, bias=False)
        linear(weights, at + "mlp.Wi", 2 * INNER, WIDTH, bias=False)
        linear(weights, at + "mlp.Wo", WIDTH, INNER, 2, bias=False)
    config = {**SIZES, "model_type": "modernbert", "vocab_size": vocab, "num_hidden_layers": layers, "max_position_embeddings": 8192}
    config |= {"hidden_activation": "gelu", "local_attention": 16, "global_attn_every_n_layers": 3}
    if head:
        weights = {f"model.{key}": value for key, value in weights.items()}
        linear(weights, "head.dense", WIDTH, WIDTH, bias=False)
        norm(weights, "head.norm", bias=False)
        linear(weights, "classifier", 3, WIDTH, 3)
        config |= {**classes("ModernBert"), "classifier_pooling": "mean"}
    write(name, config, weights, byte_level("[CLS]", "[SEP]"), sentence=not head)


def llama_layers(weights, layers, kv_heads, head, gemma=0, biases=(), heads_norm=False):
    middle = 0.0 if gemma else 1.0  # Gemma multiplies by 1 + weight
    norms = ["input_layernorm", "post_attention_layernorm"] + (["pre_feedforward_layernorm", "post_feedforward_layernorm"] if gemma > 1 else [])
    for i in range(layers):
        at = f"layers.{i}."
        for role, heads in (("q", HEADS), ("k", kv_heads), ("v", kv_heads)):
            linear(weights, f"{at}self_attn.{role}_proj", heads * head, WIDTH, 1.0 if role == "v" else 1.3, bias=role in biases)
        linear(weights, at + "self_attn.o_proj", WIDTH, HEADS * head, bias=False)
        linear(weights, at + "mlp.gate_proj", INNER, WIDTH, bias=False)
        linear(weights, at + "mlp.up_proj", INNER, WIDTH, bias=False)
        linear(weights, at + "mlp.down_proj", WIDTH, INNER, 2, bias=False)
        for name in norms:
            norm(weights, at + name, bias=False, middle=middle)
        for role in ("q", "k") if gemma > 2 or heads_norm else ():
            norm(weights, f"{at}self_attn.{role}_norm", bias=False, middle=middle, size=head)


def eurobert():
    pattern = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
    weights = {"embed_tokens.weight": table(50304)}
    norm(weights, "norm", bias=False)
    llama_layers(weights, LAYERS, 2, 64)
    config = {**SIZES, "model_type": "eurobert", "vocab_size": 50304, "num_key_value_heads": 2, "hidden_act": "silu"}
    config |= {"max_position_embeddings": 8192, "rms_norm_eps": 1e-5, "rope_theta": 250000}
    write("eurobert", config, weights, byte_level("<|begin_of_text|>", "<|end_of_text|>", pattern))


QWEN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def qwen(name, model_type, sentence=False):
    """A sentence encoder takes the vector of the last token, which is the special one at the end."""
    pieces = byte_level("<|im_start|>", "<|endoftext|>", QWEN)
    tokens = pieces["added_tokens"]
    special = {"id": "<|endoftext|>", "ids": [tokens[1]["id"]], "tokens": ["<|endoftext|>"]}
    single = [{"Sequence": {"id": "A", "type_id": 0}}] + [{"SpecialToken": {"id": "<|endoftext|>", "type_id": 0}}] * sentence
    pieces["normalizer"] = {"type": "NFC"}
    pieces["post_processor"] = {"type": "TemplateProcessing", "single": single, "pair": single + [{"Sequence": {"id": "B", "type_id": 0}}],
                                "special_tokens": {"<|endoftext|>": special}}  # fmt: skip
    pieces["model"]["ignore_merges"] = False
    weights = {"embed_tokens.weight": table(50304, scale=0.15)}
    norm(weights, "norm", bias=False)
    is_third = model_type == "qwen3"
    llama_layers(weights, LAYERS, 2, 64, biases=() if is_third else "qkv", heads_norm=is_third)
    config = {**SIZES, "model_type": model_type, "vocab_size": 50304, "num_key_value_heads": 2, "head_dim": 64, "hidden_act": "silu"}
    config |= {"max_position_embeddings": 2048, "rms_norm_eps": 1e-6, "rope_theta": 1e6, "tie_word_embeddings": True}
    config |= {"bos_token_id": None, "eos_token_id": tokens[1]["id"], "pad_token_id": tokens[1]["id"]}
    prefix = "" if sentence else "model."
    write(name, config, {prefix + key: value for key, value in weights.items()}, pieces, sentence, pooling="lasttoken")


def llama():
    weights = {"model.embed_tokens.weight": table(32000, scale=0.15), "lm_head.weight": table(32000, scale=0.15)}
    own = {}
    norm(own, "norm", bias=False)
    llama_layers(own, LAYERS, 2, 64)
    weights |= {f"model.{key}": value for key, value in own.items()}
    config = {**SIZES, "model_type": "llama", "vocab_size": 32000, "num_key_value_heads": 2, "hidden_act": "silu", "rms_norm_eps": 1e-5}
    config |= {"max_position_embeddings": 2048, "rope_theta": 10000.0, "tie_word_embeddings": False, "bos_token_id": 1, "eos_token_id": 2}
    write("llama", config, weights, tokenizer("llama2-repaired"), sentence=False)


def gemma(name, version, both=False, dense=()):
    prefix, layers = ("" if both else "model."), 6
    weights = {"embed_tokens.weight": table(32000, scale=0.15 if both else 0.01)}  # larger ones would decide the next token alone
    norm(weights, "norm", bias=False, middle=0.0)
    llama_layers(weights, layers, 1, 64, gemma=version)
    model_type = {1: "gemma", 2: "gemma2", 3: "gemma3_text"}[version]
    config = {**SIZES, "model_type": model_type, "vocab_size": 32000, "num_hidden_layers": layers, "num_key_value_heads": 1, "head_dim": 64}
    config |= {"max_position_embeddings": 2048, "bos_token_id": 1, "eos_token_id": 2}
    config |= {"hidden_act": "gelu_pytorch_tanh", "hidden_activation": "gelu_pytorch_tanh"}
    if version > 1:
        config |= {"query_pre_attn_scalar": 64, "sliding_window": 16}
    if version > 2:
        config |= {"use_bidirectional_attention": both}
    write(name, config, {prefix + key: value for key, value in weights.items()}, tokenizer("llama2-repaired"), sentence=both, dense=dense)


def t5(name, pair):
    weights = {"shared.weight": table(32128, scale=0.05 if pair else 0.5)}
    for stack in ("encoder", "decoder") if pair else ("encoder",):
        parts = ["SelfAttention"] + (["EncDecAttention"] if stack == "decoder" else [])
        for i in range(LAYERS):
            at = f"{stack}.block.{i}.layer."
            for j, part in enumerate(parts):
                for role in "qkvo":
                    linear(weights, f"{at}{j}.{part}.{role}", WIDTH, WIDTH, 0.4 if role == "q" else 1, bias=False)
            for role, (rows, columns) in {"wi_0": (INNER, WIDTH), "wi_1": (INNER, WIDTH), "wo": (WIDTH, INNER)}.items():
                linear(weights, f"{at}{len(parts)}.DenseReluDense.{role}", rows, columns, bias=False)
            for j in range(len(parts) + 1):
                norm(weights, f"{at}{j}.layer_norm", bias=False)
        weights[f"{stack}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"] = table(32, HEADS, 1)
        norm(weights, f"{stack}.final_layer_norm", bias=False)
    config = {"model_type": "t5", "vocab_size": 32128, "d_model": WIDTH, "d_kv": 64, "d_ff": INNER, "num_layers": LAYERS, "num_heads": HEADS}
    config |= {"feed_forward_proj": "gated-gelu", "eos_token_id": 1, "pad_token_id": 0, "decoder_start_token_id": 0}
    write(name, config, weights, tokenizer("t5-small"), sentence=not pair)


bert_like("bert", "bert", 30522, tokenizer("bert-base-uncased"))
bert_like("bert-class", "bert", 30522, tokenizer("bert-base-uncased"), head="bert")
bert_like("roberta", "roberta", 50265, tokenizer("roberta-base"), pad=1, types=1, positions=514)
bert_like("roberta-class", "roberta", 50265, tokenizer("roberta-base"), pad=1, types=1, positions=514, head="roberta")
distilbert()
jina()
nomic()
modernbert("modernbert")
modernbert("modernbert-class", head=True)
eurobert()
llama()
qwen("qwen2", "qwen2")
qwen("qwen3", "qwen3")
qwen("qwen3-embedding", "qwen3", sentence=True)
gemma("gemma", 1)
gemma("gemma2", 2)
gemma("gemma3", 3)
gemma("embeddinggemma", 3, both=True)
gemma("embeddinggemma-dense", 3, both=True, dense=((WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH)))
t5("t5-encoder", pair=False)
t5("flan-t5", pair=True)
WIDTH, INNER = 64, 128  # as there are 250,002 pieces
SIZES |= {"hidden_size": WIDTH, "intermediate_size": INNER}
bert_like("xlm-roberta", "xlm-roberta", 250002, tokenizer("paraphrase-multilingual-mpnet-base-v2"), pad=1, types=1, positions=514)
