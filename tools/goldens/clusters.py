"""tests/goldens/clusters: results of sentence_transformers.util and scikit-learn's KMeans on made-up vectors."""
import numpy
import torch
from sentence_transformers import util
from sklearn.cluster import KMeans

from . import common
from .tasks import rounded

ROWS, DIM = 60, 5


def make(_options):
    rng = numpy.random.default_rng(21)
    centres = rng.standard_normal((6, DIM))
    vectors = (centres[rng.integers(0, 6, ROWS)] + 0.35 * rng.standard_normal((ROWS, DIM))).astype(numpy.float32)
    exact = torch.from_numpy(vectors.astype(numpy.float64))
    pairs = [{"options": {"top_k": k, "max_pairs": most}, "pairs": [[rounded(score), i, j] for score, i, j in util.paraphrase_mining_embeddings(exact, top_k=k, max_pairs=most)]}
             for k, most in ((100, 30), (2, 500000), (5, 40))]
    communities = [{"options": {"threshold": t, "min_community_size": n}, "communities": [[int(i) for i in c] for c in util.community_detection(exact, threshold=t, min_community_size=n)]}
                   for t, n in ((0.75, 10), (0.8, 3), (0.9, 2), (0.95, 1))]
    inertia = {str(k): rounded(KMeans(k, n_init=20, random_state=0, tol=0).fit(vectors.astype(numpy.float64)).inertia_) for k in (1, 2, 6, 60)}
    common.write_json(common.OUT / "clusters" / "cases.json", {"vectors": [[float(str(x)) for x in row] for row in vectors], "paraphrases": pairs, "communities": communities,
                                                               "inertia": inertia}, depth=2)
    common.update_manifest("clusters", common.versions("sentence-transformers", "scikit-learn", "torch", "numpy"))
