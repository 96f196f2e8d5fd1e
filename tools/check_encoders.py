#!/usr/bin/env python3
"""Compares our tokenizers with libraries other than Hugging Face's: ids of SentencePiece's own for every `.model` under
../shared/data/sentencepiece, and of tiktoken for GPT-2's vocabulary with the patterns of GPT-2, Llama 3 and GPT-4o.

    npm run build; pip install sentencepiece tiktoken
    python tools/check_encoders.py [--texts 20000] [--seed 1]

Prints the first differences of each and exits with 1 when there are any; names the models that we refuse (word models).
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import sentencepiece
import tiktoken

from parity import DATA, ROOT, nasty, plain_texts

GPT2 = r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
LLAMA3 = r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
GPT4O = "|".join([
    r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
    r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
    r"""\p{N}{1,3}""", r""" ?[^\s\p{L}\p{N}]+[\r\n/]*""", r"""\s*[\r\n]+""", r"""\s+(?!\S)""", r"""\s+""",
])  # fmt: skip


def ours(folder, texts):
    """Ids of each text, special tokens neither added nor read; or why the tokenizer was refused."""
    command = ["node", str(ROOT / "dist/cli.js"), "tokenize", "--model", str(folder), "--no-special", "--split-special-tokens", "--input", "json"]
    lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    run = subprocess.run(command, input=lines.encode(), capture_output=True)
    if run.returncode == 2:
        return run.stderr.decode()  # refused, and why
    run.check_returncode()
    return [json.loads(line)["ids"] for line in run.stdout.splitlines()]


def compare(name, folder, texts, theirs):
    differences = 0
    answers = ours(folder, texts)
    if isinstance(answers, str):
        print(f"{name}: refused: {answers.strip()}", flush=True)
        return 0
    for text, mine in zip(texts, answers, strict=True):
        expected = theirs(text)
        if mine == expected:
            continue
        differences += 1
        if differences <= 3:
            print(f"  {text!r}\n    ours   {mine}\n    theirs {expected}")
    print(f"{name}: {len(texts)} texts, {differences} differences", flush=True)
    return differences


def byte_of_char():
    """GPT-2's printable characters back to bytes (encoder.py of openai/gpt-2)."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in printable]
    return {chr(b): b for b in printable} | {chr(256 + i): b for i, b in enumerate(rest)}


def gpt2_tokenizer(pattern):
    """(vocabulary by bytes, tokenizer.json): GPT-2's merges behind another pattern. Whole words of the vocabulary are taken at once, as tiktoken does."""
    folder = DATA / "tokenizers/gpt2"
    vocab = json.loads((folder / "vocab.json").read_text("utf-8"))
    del vocab["<|endoftext|>"]
    merges = [line.split(" ") for line in (folder / "merges.txt").read_text("utf-8").splitlines() if line and not line.startswith("#version")]
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
             "fuse_unk": False, "byte_fallback": False, "ignore_merges": True, "vocab": vocab, "merges": merges}  # fmt: skip
    chars = byte_of_char()
    ranks = {bytes(chars[c] for c in token): rank for token, rank in vocab.items()}
    return ranks, {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
                   "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, level]}, "post_processor": None,
                   "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}, "model": model}  # fmt: skip


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--texts", type=int, default=20000)
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    rng = random.Random(a.seed)
    plain = plain_texts(rng)
    texts = []
    while len(texts) < a.texts:
        text = next(plain) if rng.random() < 0.4 else nasty(rng, ["<s>", "[MASK]", "<unk>"])
        if not any(0xD800 <= ord(c) < 0xE000 for c in text):  # these libraries take UTF-8 only
            texts.append(text)
    differences = 0
    with tempfile.TemporaryDirectory() as made:
        for path in sorted((DATA / "sentencepiece").glob("*.model")) + sorted((DATA / "sentencepiece").glob("*.spm")):
            folder = pathlib.Path(made) / path.stem
            folder.mkdir()
            (folder / "tokenizer.model").write_bytes(path.read_bytes())
            processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
            differences += compare(path.name, folder, texts, processor.encode)
        for name, pattern in (("GPT-2", GPT2), ("Llama 3", LLAMA3), ("GPT-4o", GPT4O)):
            ranks, tokenizer = gpt2_tokenizer(pattern)
            folder = pathlib.Path(made) / name
            folder.mkdir()
            (folder / "tokenizer.json").write_text(json.dumps(tokenizer), "utf-8")
            encoding = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
            differences += compare(f"tiktoken with {name}'s pattern", folder, texts, encoding.encode_ordinary)
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main()
