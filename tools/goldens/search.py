"""search/: BM25 as bm25s scores it, the cosines of sentence-transformers, and ranx's fusion of both, over documents made of the words of the
tiny model."""
import bm25s
import numpy
from ranx import Run, fuse
from sentence_transformers import SentenceTransformer

from . import common

FOLDER = common.OUT / "search"
TINY = common.OUT / "bert-tiny" / "model"
WORDS = "the boat small birds home dark river sing old bridge wind water light stone tree house cold morning seven silver green path road sea".split()
QUERIES = ["the old bridge", "small birds sing", "water water river", "seven silver stones at sea", "morning", "nothing of this occurs"]
COUNT = 60


def corpus():
    rng = numpy.random.default_rng(22)
    weights = 1 / numpy.arange(1, len(WORDS) + 1)  # as words of real texts
    return [" ".join(rng.choice(WORDS, rng.integers(3, 40), p=weights / weights.sum())) for _ in range(COUNT)]


def run_of(rows):
    """As ranx takes it: {query: {document: score}}; documents without a score are absent."""
    return Run({str(q): {str(d): float(s) for d, s in scores.items()} for q, scores in enumerate(rows)})


def make(_options):
    common.empty_folder("search")
    texts = corpus()
    tokens = [text.split() for text in texts]
    retriever = bm25s.BM25(method="lucene", k1=1.5, b=0.75, dtype="float64")
    retriever.index(tokens, show_progress=False)
    words = []
    for query in QUERIES:
        known = [word for word in query.split() if any(word in each for each in tokens)]
        words.append([float(score) for score in retriever.get_scores(known)] if known else [0.0] * COUNT)
    model = SentenceTransformer(str(TINY), device="cpu")
    cosines = model.similarity(model.encode_query(QUERIES), model.encode_document(texts)).numpy().astype(float)

    # All documents have both scores, but only those with a word of the query have a rank among the words.
    by_words = run_of([dict(enumerate(row)) for row in words])
    with_words = run_of([{d: s for d, s in enumerate(row) if s > 0} or {0: 0.0} for row in words])
    by_meaning = run_of([dict(enumerate(row)) for row in cosines])
    fused = {}
    for name, run, arguments in (("rrf", with_words, {"method": "rrf", "norm": None}), ("minmax", by_words, {"method": "sum", "norm": "min-max"})):
        runs = fuse(runs=[run, by_meaning], **arguments).run
        # ranx takes no empty run, so a query without known words has no fusion.
        fused[name] = [{int(d): float(s) for d, s in runs[str(q)].items()} if any(words[q]) else None for q in range(len(QUERIES))]
    z = [[(numpy.array(row) - numpy.mean(row)) / (numpy.std(row) or 1) for row in rows] for rows in (words, cosines)]
    fused["zscore"] = [dict(enumerate((a + b).tolist())) for a, b in zip(*z)]

    common.write_json(FOLDER / "expected.json", {"texts": texts, "queries": QUERIES, "words": words, "meaning": cosines.tolist(), "fused": fused}, depth=2)
    common.update_manifest("search", common.versions("bm25s", "ranx", "sentence-transformers", "torch", "numpy"))
