#!/usr/bin/env python3
"""Compares nDCG@10 of Index with that of bm25s, sentence-transformers and their min-max fusion, on test collections in BEIR's layout.

    .venv/bin/python tools/check_search.py MODEL FOLDER..      needs dist/ (npm run build), bm25s and sentence-transformers

Texts are whole, weights and vectors float32. Fails if a figure differs by more than 0.002.
"""
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import unicodedata

import bm25s
import numpy
from sentence_transformers import SentenceTransformer

ROOT = pathlib.Path(__file__).resolve().parents[1]
LIMIT = 0.002
DEPTH = 200  # candidates of each half


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines() if line]


def words_of(text):
    folded = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c)).lower()
    return re.findall(r"\w+(?:(?<=\d)[.,](?=\d)\w+)*", folded)


def ndcg(order, grades):
    gain = lambda values: sum(value / math.log2(i + 2) for i, value in enumerate(values[:10]))
    return gain([grades.get(d, 0) for d in order]) / gain(sorted(grades.values(), reverse=True))


def best(scores, least=-math.inf):
    return [d for d in numpy.argsort(-scores, kind="stable")[:DEPTH] if scores[d] > least]


def fused(halves):
    total = {}
    for scores, ranked, least in halves:
        if not ranked:
            continue
        most = scores[ranked[0]]
        for d in ranked:
            total[d] = total.get(d, 0) + ((scores[d] - least) / (most - least) if most > least else 1)
    return sorted(total, key=lambda d: (-total[d], d))


def in_python(model, folder):
    documents = [d for d in lines(folder / "corpus.jsonl") if (d.get("text") or d.get("title") or "").strip()]
    ids = [d["_id"] for d in documents]
    texts = [f"{d['title']}\n{d['text']}" if d.get("title") and d["text"].strip() else d["text"].strip() or d["title"] for d in documents]
    judged = {}
    qrels = next(file for file in (folder / "qrels.tsv", folder / "qrels/test.tsv") if file.exists())
    for line in qrels.read_text().splitlines():
        query, document, grade = line.split("\t")
        if grade.isdigit() and int(grade) > 0:
            judged.setdefault(query, {})[document] = int(grade)
    queries = [q for q in lines(folder / "queries.jsonl") if q["_id"] in judged]
    retriever = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
    retriever.index([words_of(text) for text in texts], show_progress=False)
    known = retriever.vocab_dict
    cosines = model.encode_query([q["text"] for q in queries]) @ model.encode_document(texts).T
    sums = numpy.zeros(3)
    for query, cosine in zip(queries, cosines):
        tokens = [word for word in words_of(query["text"]) if word in known]
        words = retriever.get_scores(tokens) if tokens else numpy.zeros(len(ids))
        nearest = best(cosine)
        halves = [(words, best(words, 0), 0), (cosine, nearest, cosine[nearest[-1]])]
        orders = [halves[0][1], halves[1][1], fused(halves)]
        sums += [ndcg([ids[d] for d in order[:10]], judged[query["_id"]]) for order in orders]
    return dict(zip(("words", "meaning", "minmax"), sums / len(queries)))


def main():
    model, *folders = sys.argv[1:]
    name = str(pathlib.Path(model).resolve())  # wattn takes a path without ./ for a name on the hub
    model = SentenceTransformer(name, device="cpu")
    settings = {**os.environ, "MODEL": name, "CHUNK": "false", "DTYPE": "f32", "PRECISION": "float32"}
    wrong = 0
    for folder in folders:
        said = subprocess.run(["node", ROOT / "bench/web/search_quality.mjs", folder], env=settings, check=True, stdout=subprocess.PIPE, text=True).stdout
        own = {way: float(value) for way, value in re.findall(r"(\w+) (\d\.\d+)", said)}
        for way, value in in_python(model, pathlib.Path(folder)).items():
            differs = abs(own[way] - value) > LIMIT
            wrong += differs
            print(f"{pathlib.Path(folder).name} {way}: {own[way]:.3f}, Python {value:.4f}{'  DIFFERS' if differs else ''}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
