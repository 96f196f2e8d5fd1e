"""tests/goldens/classifier: what scikit-learn's LogisticRegression finds, on small made-up vectors and on those of all-MiniLM-L6-v2."""
import pathlib

import numpy
import torch
from sentence_transformers import SentenceTransformer
from sklearn.linear_model import LogisticRegression

from . import common
from .tasks import rounded

TREC = common.DATA / "classification" / "trec"


def made_up(rng, count, dim, labels, C, weight):
    centres = rng.standard_normal((labels, dim))
    y = numpy.arange(count) % labels if weight is None else numpy.minimum(numpy.arange(count) % (2 * labels), labels - 1)
    x = (centres[y] + 1.2 * rng.standard_normal((count, dim))).astype(numpy.float32)
    model = LogisticRegression(C=C, tol=1e-12, max_iter=100000, class_weight=weight).fit(x.astype(numpy.float64), y)
    probe = rng.standard_normal((5, dim)).astype(numpy.float32)
    return {"C": C, "class_weight": weight, "dim": dim, "vectors": [float(str(v)) for v in x.flatten()], "labels": y.tolist(), "probe": [float(str(v)) for v in probe.flatten()],
            "scores": [[rounded(p) for p in row] for row in model.predict_proba(probe.astype(numpy.float64))]}


def trec(name):
    rows = [line.split(" ", 1) for line in (TREC / name).read_text("latin1").splitlines()]
    return [text for _, text in rows], [label.split(":")[0] for label, _ in rows]


def make(options):
    torch.set_num_threads(2)
    rng = numpy.random.default_rng(7)
    cases = [made_up(rng, *args) for args in ((40, 6, 2, 1.0, None), (60, 5, 4, 1.0, None), (60, 5, 4, 30.0, None), (50, 4, 3, 0.3, "balanced"))]
    folder = options.minilm or pathlib.Path(common.ROOT / ".models" / "all-MiniLM-L6-v2")
    model = SentenceTransformer(str(folder), device="cpu")
    texts, labels = trec("TREC.train.all")
    test_texts, test_labels = trec("TREC.test.all")
    places = {per: [i for label in sorted(set(labels)) for i in [j for j, other in enumerate(labels) if other == label][:per]] for per in (16, 64, 256)}
    train = model.encode([texts[i] for i in places[256]])
    held = model.encode(test_texts)
    accuracy = {}
    for per, some in places.items():
        at = [places[256].index(i) for i in some]
        fitted = LogisticRegression(C=1.0, max_iter=1000).fit(train[at], [labels[i] for i in some])
        accuracy[str(per)] = round(float(fitted.score(held, test_labels)), 4)
        if per == 16:
            first_100 = round(float(fitted.score(held[:100], test_labels[:100])), 4)
    common.write_json(common.OUT / "classifier" / "cases.json", {"made_up": cases, "trec_accuracy": accuracy, "trec_accuracy_16_first_100": first_100}, depth=2)
    common.update_manifest("classifier", common.versions("scikit-learn", "sentence-transformers", "torch", "numpy"))
