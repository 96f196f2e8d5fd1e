"""Writes tests/goldens/gguf: bert-tiny as GGUF files, and blocks of every type with gguf-py's values.

Run after make_goldens.py, with `pip install gguf numpy safetensors`. f32.gguf holds the very weights of bert-tiny/model, so that its
vectors are the same bits; q8_0.gguf and q4_0.gguf what gguf-py quantizes of them; types.gguf holds a tensor of several blocks a type, types.f32 their values in the order of types.json.
layouts.json: how gguf-py's tables, which llama.cpp's converter uses, name the tensors of the other goldens.
"""

import json
from pathlib import Path

import gguf
import numpy as np
from safetensors.numpy import load_file

ROOT = Path(__file__).resolve().parent.parent / "tests/goldens"
MODEL = ROOT / "bert-tiny/model"
OUT = ROOT / "gguf"
NAMES = [
    ("embeddings.word_embeddings", "token_embd"),
    ("embeddings.position_embeddings", "position_embd"),
    ("embeddings.token_type_embeddings", "token_types"),
    ("embeddings.LayerNorm", "token_embd_norm"),
    ("attention.self.query", "attn_q"),
    ("attention.self.key", "attn_k"),
    ("attention.self.value", "attn_v"),
    ("attention.output.dense", "attn_output"),
    ("attention.output.LayerNorm", "attn_output_norm"),
    ("intermediate.dense", "ffn_up"),
    ("output.dense", "ffn_down"),
    ("output.LayerNorm", "layer_output_norm"),
    ("pooler.dense", "cls"),
]
Type = gguf.GGMLQuantizationType


def gguf_name(name):
    stem, ending = name.rsplit(".", 1)
    parts = stem.split(".")
    layer = f"blk.{parts[2]}." if stem.startswith("encoder.layer.") else ""
    role = ".".join(parts[3:]) if layer else stem
    return layer + dict(NAMES)[role] + "." + ending


def bert(path, kind):
    config = json.loads((MODEL / "config.json").read_text())
    tokenizer = json.loads((MODEL / "tokenizer.json").read_text())
    w = gguf.GGUFWriter(path, "bert")
    w.add_block_count(config["num_hidden_layers"])
    w.add_context_length(config["max_position_embeddings"])
    w.add_embedding_length(config["hidden_size"])
    w.add_feed_forward_length(config["intermediate_size"])
    w.add_head_count(config["num_attention_heads"])
    w.add_layer_norm_eps(config["layer_norm_eps"])
    w.add_pooling_type(gguf.PoolingType.MEAN)
    w.add_tokenizer_model("bert")
    tokens = sorted(tokenizer["model"]["vocab"], key=tokenizer["model"]["vocab"].get)
    special = {t["content"] for t in tokenizer["added_tokens"]}
    w.add_token_list([t if t in special else t[2:] if t.startswith("##") and len(t) > 2 else "\u2581" + t for t in tokens])
    w.add_token_types([gguf.TokenType.CONTROL if t in special else gguf.TokenType.NORMAL for t in tokens])
    for name, values in sorted(load_file(MODEL / "model.safetensors").items()):
        values = values.astype(np.float32)
        if values.ndim == 2 and kind != Type.F32:
            w.add_tensor(gguf_name(name), gguf.quants.quantize(values, kind), raw_dtype=kind)
        else:
            w.add_tensor(gguf_name(name), values)
    finish(w)


def finish(w):
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


# The bytes of a block that are scales in f16; MXFP4's is an exponent.
SCALES = {Type.Q4_0: (0, 2), Type.Q4_1: (0, 4), Type.Q5_0: (0, 2), Type.Q5_1: (0, 4), Type.Q8_0: (0, 2), Type.Q2_K: (80, 84), Type.Q3_K: (108, 110),
          Type.Q4_K: (0, 4), Type.Q5_K: (0, 4), Type.Q6_K: (208, 210), Type.IQ4_NL: (0, 2), Type.IQ4_XS: (0, 2), Type.TQ1_0: (52, 54), Type.TQ2_0: (64, 66)}  # fmt: skip


def random_blocks(rng, kind, blocks):
    """Random bytes with sane scales: any bytes are a block, also those that no quantizer writes."""
    data = rng.integers(0, 256, (blocks, gguf.GGML_QUANT_SIZES[kind][1]), dtype=np.uint8)
    if kind == Type.MXFP4:
        data[:, 0] = rng.integers(110, 130, blocks)
        data[:3, 0] = (0, 1, 2)
        return data
    begin, end = SCALES[kind]
    data[:, begin:end] = rng.normal(0, 0.01, (blocks, (end - begin) // 2)).astype(np.float16).view(np.uint8)
    return data


def types(path):
    rng = np.random.default_rng(7)
    rows, columns = 2, 512
    w = gguf.GGUFWriter(path, "types")
    values, listing = [], []
    for kind in (Type.F32, Type.F16, Type.BF16, *SCALES, Type.MXFP4):
        if kind in (Type.F32, Type.F16, Type.BF16):
            data = gguf.quants.quantize(rng.normal(0, 1, (rows, columns)).astype(np.float32), kind)
        else:
            data = random_blocks(rng, kind, rows * columns // gguf.GGML_QUANT_SIZES[kind][0]).reshape(rows, -1)
        w.add_tensor(kind.name.lower() + ".weight", data, raw_dtype=kind)
        values.append(gguf.quants.dequantize(data, kind).astype(np.float32))
        listing.append(kind.name)
    finish(w)
    np.concatenate([v.ravel() for v in values]).astype("<f4").tofile(OUT / "types.f32")
    import importlib.metadata

    (OUT / "types.json").write_text(json.dumps({"rows": rows, "columns": columns, "types": listing, "gguf": importlib.metadata.version("gguf")}) + "\n")


LAYOUTS = {
    "architectures/roberta": "bert",
    "architectures/xlm-roberta": "bert",
    "architectures/camembert": "bert",
    "architectures/distilbert": "bert",
    "architectures/jina-bert": "jina-bert-v2",
    "architectures/nomic-bert": "nomic-bert",
    "architectures/nomic-bert-first": "nomic-bert",
    "architectures/modernbert": "modern-bert",
    "eurobert/base": "eurobert",
    "seq2seq/t5": "t5",
    "seq2seq/flan-t5": "t5",
    "embedders/sentence-t5/model": "t5encoder",
    "embedders/embeddinggemma/model": "gemma-embedding",
    "decoders/smollm": "llama",
    "decoders/qwen2": "qwen2",
    "decoders/qwen3": "qwen3",
    "decoders/gemma": "gemma",
    "decoders/gemma2": "gemma2",
    "decoders/gemma3": "gemma3",
}


def layouts(path):
    """The poolers that the converter leaves out are left out, and embeddings that repeat shared.weight."""
    arch_of = {name: arch for arch, name in gguf.MODEL_ARCH_NAMES.items()}
    out = {}
    for folder, architecture in LAYOUTS.items():
        names = gguf.get_tensor_name_map(arch_of[architecture], 16)
        tensors = {}
        for name in load_file(ROOT / folder / "model.safetensors"):
            plain = name
            for prefix in ("bert.", "roberta.", "distilbert.", "model."):
                plain = plain.removeprefix(prefix) if names.get_name(plain, (".weight", ".bias")) is None else plain
            if not plain.startswith("pooler.") and not plain.endswith("coder.embed_tokens.weight"):
                tensors[name] = names.get_name(plain, (".weight", ".bias"))
        out[folder] = {"architecture": architecture, "tensors": tensors}
    path.write_text(json.dumps(out, indent=1) + "\n")


OUT.mkdir(exist_ok=True)
layouts(OUT / "layouts.json")
for kind in (Type.F32, Type.Q8_0, Type.Q4_0):
    bert(OUT / f"{kind.name.lower()}.gguf", kind)
types(OUT / "types.gguf")
