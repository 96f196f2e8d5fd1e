"""evaluate/: sentence-transformers' evaluators over the tiny model, and scikit-learn's metrics for labels and clusters."""
import json

import numpy
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.evaluation import EmbeddingSimilarityEvaluator, InformationRetrievalEvaluator
from sklearn.metrics import accuracy_score, f1_score, homogeneity_completeness_v_measure

from . import common

FOLDER = common.OUT / "evaluate"
TINY = common.OUT / "bert-tiny" / "model"
SEARCH = common.OUT / "search" / "expected.json"  # texts made of the words of the tiny model


def make(_options):
    common.empty_folder("evaluate")
    rng = numpy.random.default_rng(26)
    model = SentenceTransformer(str(TINY), device="cpu")
    search = json.loads(SEARCH.read_text("utf-8"))
    texts = search["texts"]
    # Few different scores, so that many are equal.
    pairs = [{"sentence1": texts[i], "sentence2": texts[-1 - i], "score": float(rng.integers(0, 6))} for i in range(30)]
    columns = [[pair[name] for pair in pairs] for name in ("sentence1", "sentence2", "score")]
    names = ["cosine", "dot", "euclidean", "manhattan"]
    sts = EmbeddingSimilarityEvaluator(*columns, similarity_fn_names=names)(model)
    sts = {name: {f"{kind}_{name}": float(sts[f"{kind}_{name}"]) for kind in ("pearson", "spearman")} for name in names}

    corpus = {f"d{i}": text for i, text in enumerate(texts)} | {f"e{i}": text + " by the sea" for i, text in enumerate(texts)}
    queries = {f"q{i}": text for i, text in enumerate(search["queries"])}
    relevant = {id: sorted(rng.choice(sorted(corpus), size, replace=False)) for id, size in zip(queries, (1, 2, 12, 3, 30, 4))}
    functions = {"cosine": None, "dot": None}
    for name in functions:
        evaluator = InformationRetrievalEvaluator(
            queries, corpus, {id: set(ids) for id, ids in relevant.items()}, main_score_function=name,
            score_functions={name: {"cosine": cosine, "dot": lambda a, b: a @ b.T}[name]},
        )
        functions[name] = {measure: float(value) for measure, value in evaluator(model).items()}

    labels = [rng.choice(list("abcd"), 50).tolist(), rng.choice(list("abce"), 50).tolist()]
    expected, found = labels
    clusters = [ord(name) for name in found]
    homogeneity, completeness, v_measure = homogeneity_completeness_v_measure(expected, clusters)
    common.write_json(FOLDER / "expected.json", {
        "pairs": pairs, "sts": sts,
        "corpus": corpus, "queries": queries, "relevant": relevant, "retrieval": functions,
        "expected": expected, "found": found, "labels": {"accuracy": accuracy_score(expected, found), "macro_f1": f1_score(expected, found, average="macro")},
        "clusters": {"homogeneity": homogeneity, "completeness": completeness, "v_measure": v_measure},
    }, depth=2)
    common.update_manifest("evaluate", common.versions("sentence-transformers", "scikit-learn", "torch", "numpy"))


def cosine(a, b):
    return (a / a.norm(dim=1, keepdim=True)) @ (b / b.norm(dim=1, keepdim=True)).T
