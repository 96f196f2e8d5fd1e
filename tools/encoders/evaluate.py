"""Scores a sentence encoder on sets that are not used for training. An encoder here is a function: texts -> [texts, dim] of unit length."""

import json
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr


def sts_pairs(data, part):
    """[(text, text, score)] of STS-B's part."""
    rows = (line.split("\t") for line in (Path(data) / f"pairs/stsb/sts-{part}.csv").read_text("utf-8").splitlines())
    return [(r[5], r[6], float(r[4])) for r in rows]


def sts_years(data):
    """{year: [(text, text, score)]} of STS 2012 to 2016."""
    years = {}
    for path in sorted((Path(data) / "pairs/sts2012-16").rglob("*.test.tsv")):
        for line in path.read_text("utf-8", "replace").splitlines():
            score, a, b = line.split("\t")[:3]
            if score:
                years.setdefault(path.parent.name, []).append((a, b, float(score)))
    return years


def spearman(embed, pairs):
    a, b = embed([p[0] for p in pairs]), embed([p[1] for p in pairs])
    return float(spearmanr((a * b).sum(1), [p[2] for p in pairs]).statistic)


def retrieval(embed, data):
    """XQuAD English: mean reciprocal rank of a question's own paragraph among all 240."""
    paragraphs, questions, own = [], [], []
    for article in json.loads((Path(data) / "qa/xquad/xquad.en.json").read_text("utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            for qa in paragraph["qas"]:
                questions.append(qa["question"])
                own.append(len(paragraphs))
            paragraphs.append(paragraph["context"])
    scores = embed(questions) @ embed(paragraphs).T
    mine = scores[np.arange(len(own)), own]
    return float((1 / (scores >= mine[:, None]).sum(1)).mean())


def sst2(data, name="sst2-glue-alps/test"):
    """[(text, label)]. sst2-glue-alps/test is GLUE's dev set (872 sentences); sst2-sentences/test SST's test set (1,821)."""
    rows = (Path(data) / f"classification/{name}.tsv").read_text("utf-8").splitlines()
    return [(r.split("\t")[0].strip(), int(r.split("\t")[1])) for r in rows if r != "sentence\tlabel"]


def scores(embed, data):
    out = {"stsb_dev": spearman(embed, sts_pairs(data, "dev")), "stsb_test": spearman(embed, sts_pairs(data, "test"))}
    for year, pairs in sts_years(data).items():
        out[f"sts{year}"] = spearman(embed, pairs)
    out["xquad_mrr"] = retrieval(embed, data)
    return {name: round(value, 4) for name, value in out.items()}
