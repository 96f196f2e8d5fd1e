"""The tagger: layers of wattn-base with a head of TAGS, and a tokenizer that sees capital letters.

wattn-base reads lower case only, which makes names harder to find. Its vocabulary is unchanged, but the tokenizer puts a marker before a
capitalised word: an existing piece that is rare in these texts.
"""

import json
import sys
from pathlib import Path

import gguf
import torch
from tokenizers import Tokenizer
from transformers import BertConfig, BertForTokenClassification

sys.path.append(str(Path(__file__).parent.parent))  # what both kinds of encoders share

from gguf_bert import gguf_name  # noqa: E402
from tagged import TAGS  # noqa: E402

MARK = "‡"
CAPITALS = "ABCDEFGHIJKLMNOPQRSTUVWXYZÁÅÄÂÆÇĆČĐÉÈÊĒĞÍÎİŁÑÓÖÔØŐŚŞŠÚÜŰÝŽŻÞÐȘȚ"


def read_base(path):
    """{name: array} of the tensors in float32, and the pieces with ## where they continue a word."""
    reader = gguf.GGUFReader(path)
    tensors = {t.name: torch.from_numpy(gguf.quants.dequantize(t.data, t.tensor_type).copy()) for t in reader.tensors}
    field = lambda key: reader.fields[key].contents()
    kinds = field("tokenizer.ggml.token_type")
    pieces = []
    for piece, kind in zip(field("tokenizer.ggml.tokens"), kinds):
        special = kind == gguf.TokenType.CONTROL
        pieces.append(piece if special else piece[1:] if piece.startswith("\u2581") else f"##{piece}")
    shape = {
        "num_hidden_layers": field("bert.block_count"), "max_position_embeddings": field("bert.context_length"), "hidden_size": field("bert.embedding_length"),
        "intermediate_size": field("bert.feed_forward_length"), "num_attention_heads": field("bert.attention.head_count"), "vocab_size": len(pieces),
    }  # fmt: skip
    return tensors, pieces, {key: int(value) for key, value in shape.items()}


def tokenizer_json(pieces):
    """tokenizer.json: the capitals' marks, then what BERT does. A mark has the place of the letter, so that entities begin with their word."""
    marks = [{"type": "Replace", "pattern": {"Regex": f"(?<![\\p{{L}}\\p{{N}}{MARK}]){c}"}, "content": MARK + c} for c in CAPITALS]
    bert = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}
    special = {name: pieces.index(name) for name in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return json.dumps(
        {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [{"id": number, "content": name, **flags} for name, number in special.items()],
            "normalizer": {"type": "Sequence", "normalizers": [*marks, bert]},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", special["[SEP]"]], "cls": ["[CLS]", special["[CLS]"]]},
            "decoder": {
                "type": "Sequence",
                "decoders": [
                    {"type": "WordPiece", "prefix": "##", "cleanup": False},
                    {"type": "Fuse"},
                    {"type": "Replace", "pattern": {"String": f"{MARK} "}, "content": ""},
                ],
            },
            "model": {
                "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
                "vocab": {piece: number for number, piece in enumerate(pieces)},
            },
        },
        ensure_ascii=False,
        separators=(",", ":"),
    )  # fmt: skip


def config_of(shape, layers):
    labels = {"id2label": dict(enumerate(TAGS)), "label2id": {tag: i for i, tag in enumerate(TAGS)}}
    return BertConfig(**{**shape, "num_hidden_layers": layers}, layer_norm_eps=1e-12, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, pad_token_id=0, **labels)


def shape_of_tagger(shape, layers):
    return BertForTokenClassification(config_of(shape, layers)).eval()  # eval: no dropout in training either


@torch.no_grad()
def begin_tagger(base, layers):
    """(tagger, tokenizer) with the base's embeddings and those of its layers. The head is random: seed torch before."""
    tensors, pieces, shape = read_base(base)
    model = shape_of_tagger(shape, len(layers))
    for name, values in model.named_parameters():
        if name.startswith("classifier"):
            continue
        source = name
        if ".layer." in name:
            head, number, rest = name.split(".layer.")[0], *name.split(".layer.")[1].split(".", 1)
            source = f"{head}.layer.{layers[int(number)]}.{rest}"
        values.copy_(tensors[gguf_name(source)].reshape(values.shape))
    return model, Tokenizer.from_str(tokenizer_json(pieces))
