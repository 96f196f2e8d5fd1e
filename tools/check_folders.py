#!/usr/bin/env python3
"""Makes random folders of tokenizer files, and writes AutoTokenizer's results for each, one line of JSON per folder.

    python tools/check_folders.py OUT --count 10000 [--first 0] [--other PYTHON]
    node tools/check_folders.mjs OUT/answers.jsonl

--other: a Python with another version of transformers (4.57). Its tokenizer.json files are among the folders' too, and its answers are compared
with those of this one; where the two differ, this one counts. Needs transformers 5.24, sentencepiece and protobuf.
"""
import argparse
import base64
import json
import logging
import os
import pathlib
import pickle
import subprocess
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from transformers import AutoTokenizer  # noqa: E402

from goldens.folder_vocabularies import all_vocabularies, class_files  # noqa: E402
from goldens.random_folders import answer, folder_and_texts  # noqa: E402


def make_bases(out, other):
    path = out / "bases.pickle"
    vocabularies = all_vocabularies()
    bases = {"vocabularies": vocabularies, "files4": {}, "files5": class_files(vocabularies, AutoTokenizer.from_pretrained)}
    path.write_bytes(pickle.dumps(bases))
    if other:
        subprocess.run([other, __file__, str(out), "--only", "files"], check=True)
    return pickle.loads(path.read_bytes())


def write_answers(path, bases, options, whole):
    with open(path, "w") as file:
        for seed in range(options.first, options.first + options.count):
            files, texts = folder_and_texts(seed, bases)
            row = {"seed": seed, "answer": answer(files, texts, AutoTokenizer.from_pretrained)}
            if whole:
                row |= {"files": {name: base64.b64encode(data).decode() for name, data in files.items()}, "texts": texts}
            file.write(json.dumps(row) + "\n")


def compare(out):
    """How often the two versions disagree on ids, where both answer."""
    mine, theirs = ([json.loads(line) for line in open(out / name)] for name in ("answers.jsonl", "answers_other.jsonl"))
    both = [(a, b) for a, b in zip(mine, theirs) if "error" not in a["answer"] and "error" not in b["answer"]]
    different = [a["seed"] for a, b in both if a["answer"]["ids"] != b["answer"]["ids"]]
    print(f"both versions answer {len(both)} folders of {len(mine)}; other ids in {len(different)}: seeds {different[:20]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--other")
    parser.add_argument("--only", choices=["files", "answers"], help=argparse.SUPPRESS)  # what the other Python is asked for
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "bases.pickle"
    if options.only == "files":
        bases = pickle.loads(path.read_bytes())
        path.write_bytes(pickle.dumps({**bases, "files4": class_files(bases["vocabularies"], AutoTokenizer.from_pretrained)}))
    elif options.only == "answers":
        write_answers(options.out / "answers_other.jsonl", pickle.loads(path.read_bytes()), options, False)
    else:
        write_answers(options.out / "answers.jsonl", make_bases(options.out, options.other), options, True)
        if options.other:
            counts = ["--count", str(options.count), "--first", str(options.first)]
            subprocess.run([options.other, __file__, str(options.out), "--only", "answers", *counts], check=True)
            compare(options.out)


if __name__ == "__main__":
    main()
