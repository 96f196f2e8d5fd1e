"""multi-vector/: the tiny ColBERT of late-interaction/ as sentence-transformers' MultiVectorEncoder saves it, with its vectors and scores."""
import json

import torch
from sentence_transformers import MultiVectorEncoder

from . import common, tiny

QUERIES = ["who sings?", "", "a boat: 42", "how do birds find their way home in the dark"]
DOCUMENTS = ["The birds sing.", "", "?!., ;:", "An old boat waits below the bridge, where 42 small birds sing"]


def rows(model, how, texts):
    return [getattr(model, how)([text], show_progress_bar=False)[0] for text in texts]


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
    common.update_manifest("multi-vector", common.versions("torch", "transformers", "sentence-transformers"))
