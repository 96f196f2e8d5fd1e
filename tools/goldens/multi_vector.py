"""multi-vector/: the tiny ColBERT of late-interaction/ as sentence-transformers' MultiVectorEncoder saves it, with its vectors and scores."""
import json
import pathlib
import tempfile

import torch
from sentence_transformers import MultiVectorEncoder
from sentence_transformers.multi_vector_encoder.modules import HierarchicalTokenPooling

from . import common, tiny

QUERIES = ["who sings?", "", "a boat: 42", "how do birds find their way home in the dark"]
DOCUMENTS = ["The birds sing.", "", "?!., ;:", "An old boat waits below the bridge, where 42 small birds sing"]


def rows(model, how, texts):
    return [getattr(model, how)([text], show_progress_bar=False)[0] for text in texts]


# Settings of HierarchicalTokenPooling, by the folder's name.
POOLINGS = {
    "halves": dict(pool_factor=2),
    "thirds-of-both": dict(pool_factor=2.7, num_protected_tokens=0, tasks=["query", "document"]),
    "as-they-are": dict(pool_factor=1.5, num_protected_tokens=3, normalize_embeddings=False),
    "unit-length": dict(pool_factor=1.0),
}
MORE = ["birds sing and boats wait: an old bridge in the dark, 42 small birds below the river find their way home",
        "the river and the boat and the bridge and the birds and the boat, who sings? the old boat waits for the small birds!"]


def pooled_cases(folder):
    """The model with a HierarchicalTokenPooling at its end: its files but the encoder's, and vectors of texts."""
    texts = DOCUMENTS + MORE
    for name, settings in POOLINGS.items():
        model = MultiVectorEncoder(str(folder / "model"), device="cpu")
        model.append(HierarchicalTokenPooling(**settings))
        with tempfile.TemporaryDirectory() as whole:
            model.save_pretrained(whole, create_model_card=False)
            place = model[-1].__class__.__name__
            for path in sorted(pathlib.Path(whole).rglob("*")):
                if path.is_file() and (path.name == "modules.json" or place in path.parent.name):
                    common.write_bytes(folder / "pooled" / name / path.relative_to(whole).as_posix(), path.read_bytes())
            rows_of = lambda dtype: {how: rows(MultiVectorEncoder(whole, device="cpu", model_kwargs={"dtype": dtype}).to(dtype).eval(), f"encode_{how}", texts)
                                     for how in ("query", "document")}
            exact, single = rows_of(torch.float64), rows_of(torch.float32)
        cases = {how: [{"shape": list(v.shape), "vectors": tiny.floats(torch.as_tensor(v))} for v in exact[how]] for how in exact}
        diff = max(tiny.diff(torch.as_tensor(a), torch.as_tensor(b)) for how in exact for a, b in zip(exact[how], single[how]))
        common.write_json(folder / "pooled" / name / "expected.json", {"texts": texts, "f32_diff": diff, "vectors": cases}, depth=4)
    common.write_json(folder / "pooled" / "cases.json", list(POOLINGS))


def make(_options):
    folder = tiny.begin("multi-vector")
    source = common.OUT / "late-interaction" / "bert"
    MultiVectorEncoder(str(source), device="cpu").save_pretrained(str(folder / "model"), create_model_card=False)
    for file in (folder / "model").rglob("*.json"):
        if "tokenizer" not in file.name:
            common.write_json(file, json.loads(file.read_text()))
    runs = {}
    for dtype in (torch.float64, torch.float32):
        model = MultiVectorEncoder(str(folder / "model"), device="cpu", model_kwargs={"dtype": dtype}).to(dtype).eval()
        vectors = [torch.as_tensor(v) for v in rows(model, "encode_query", QUERIES) + rows(model, "encode_document", DOCUMENTS)]
        runs[dtype] = vectors, model.similarity(vectors[:len(QUERIES)], vectors[len(QUERIES):])
    (exact, scores), (single, _) = runs[torch.float64], runs[torch.float32]
    cases = [{"shape": list(v.shape), "vectors": tiny.floats(v)} for v in exact]
    common.write_json(folder / "expected.json", {
        "queries": QUERIES, "documents": DOCUMENTS, "f32_diff": max(tiny.diff(a, b) for a, b in zip(exact, single)),
        "vectors": {"queries": cases[:len(QUERIES)], "documents": cases[len(QUERIES):]},
        "scores": [[float(x) for x in row] for row in scores]}, depth=3)
    pooled_cases(folder)
    common.update_manifest("multi-vector", common.versions("torch", "transformers", "sentence-transformers"))
