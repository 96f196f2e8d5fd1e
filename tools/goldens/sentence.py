"""sentence/: the tiny BERT with a Dense module behind its pooling, truncated vectors, named prompts, fewer bits."""
import json
import shutil
import tempfile
import pathlib

import numpy
import tokenizers
import torch
import transformers
from sentence_transformers import SentenceTransformer, quantize_embeddings
from sentence_transformers.models import Dense, Dropout, LayerNorm, Normalize, Pooling, Router, StaticEmbedding, Transformer

from . import common

HIDDEN, DIM, CUT = 32, 13, 5
TEXTS = ["The bakery opens at six.", "Trains leave every hour!", "Bread", "one two three four five six seven"]
PROMPTS = {"query": "query: ", "passage": "text: "}


def floats(array):
    return [[float(str(x)) for x in row] for row in numpy.asarray(array).astype(numpy.float32)]


def load(folder, dtype):
    return SentenceTransformer(str(folder), device="cpu", model_kwargs={"dtype": dtype}).to(dtype).eval()


def encode(model, how, **options):
    encoder = getattr(model, how)
    return numpy.concatenate([encoder([text], show_progress_bar=False, **options) for text in TEXTS]).astype(numpy.float64)


def save_model(folder):
    """Lays the modules over bert-tiny/model and keeps only what differs from it."""
    body = common.OUT / "bert-tiny" / "model"
    torch.manual_seed(3)
    model = SentenceTransformer(modules=[Transformer(str(body), max_seq_length=48), Pooling(HIDDEN, "mean"),
                                         Dense(HIDDEN, DIM, activation_function=torch.nn.Tanh()), Normalize()], prompts=PROMPTS, device="cpu")
    with tempfile.TemporaryDirectory() as whole:
        model.save_pretrained(whole, create_model_card=False)
        for name in ("modules.json", "config_sentence_transformers.json", "2_Dense/config.json", "2_Dense/model.safetensors"):
            common.write_bytes(folder / name, (pathlib.Path(whole) / name).read_bytes())


# Modules behind the pooling, by the folder's name.
CASES = {
    "layer-norm": lambda: [LayerNorm(HIDDEN), Normalize()],
    "dense-after-normalize": lambda: [Normalize(), Dropout(0.3), Dense(HIDDEN, DIM, activation_function=torch.nn.Identity()), LayerNorm(DIM)],
    "residual": lambda: [Dense(HIDDEN, HIDDEN, activation_function=torch.nn.GELU(), use_residual=True), Dense(HIDDEN, DIM, bias=False, use_residual=True),
                         Normalize()],
}


def save_modules(folder, make_modules):
    """Like save_model, with these modules; the files of the encoder are those of bert-tiny/model."""
    body = common.OUT / "bert-tiny" / "model"
    modules = make_modules()
    for module in modules:
        for name, weight in module.named_parameters():
            if "norm" in name:
                torch.nn.init.normal_(weight, mean=1.0 if name.endswith("weight") else 0.0, std=0.3)
    model = SentenceTransformer(modules=[Transformer(str(body), max_seq_length=48), Pooling(HIDDEN, "mean"), *modules], device="cpu")
    with tempfile.TemporaryDirectory() as whole:
        model.save_pretrained(whole, create_model_card=False)
        for path in sorted(pathlib.Path(whole).rglob("*")):
            name = path.relative_to(whole).as_posix()
            if path.is_file() and (name == "modules.json" or "/" in name):
                common.write_bytes(folder / name, path.read_bytes())


def static_module(seed):
    """A StaticEmbedding with the words of bert-tiny."""
    tokenizer = tokenizers.Tokenizer.from_file(str(common.OUT / "bert-tiny" / "model" / "tokenizer.json"))
    generator = torch.Generator().manual_seed(seed)
    return StaticEmbedding(tokenizer, embedding_weights=torch.randn(tokenizer.get_vocab_size(), HIDDEN, generator=generator).numpy())


def dense(seed):
    torch.manual_seed(seed)
    return Dense(HIDDEN, DIM, activation_function=torch.nn.Tanh())


def encoder():
    return Transformer(str(common.OUT / "bert-tiny" / "model"), max_seq_length=48)


# Models with a Router, by the folder's name: its modules, and those of each route.
ROUTERS = {
    "two-models": lambda: [Router.for_query_document([static_module(5)], [encoder(), Pooling(HIDDEN, "cls")]), Normalize()],
    "two-layers": lambda: [encoder(), Pooling(HIDDEN, "mean"), Router({"query": [dense(7), LayerNorm(DIM)], "document": [dense(8)]}, allow_empty_key=True)],
    "mapped": lambda: [Router({"small": [static_module(6)], "text": [encoder(), Pooling(HIDDEN, "max"), Normalize()]},
                              route_mappings={("query", None): "small", ("document", "text"): "text"})],
}


def route_cases(folder):
    """What each role gives, and what a text without one does. Files that are bert-tiny's are left out."""
    for name, make_modules in ROUTERS.items():
        with tempfile.TemporaryDirectory() as whole:
            SentenceTransformer(modules=make_modules(), prompts=PROMPTS, device="cpu").save_pretrained(whole, create_model_card=False)
            own = {path.name: path.read_bytes() for path in (common.OUT / "bert-tiny" / "model").iterdir() if path.is_file()}
            for path in sorted(pathlib.Path(whole).rglob("*")):
                if path.is_file() and (path.name != "model.safetensors" or path.stat().st_size != len(own["model.safetensors"])):
                    common.write_bytes(folder / name / path.relative_to(whole).as_posix(), path.read_bytes())
            exact, single = load(whole, torch.float64), load(whole, torch.float32)
            rows = []
            for how in ("encode", "encode_query", "encode_document"):
                vectors = encode(exact, how)
                diff = float(numpy.abs(vectors - encode(single, how)).max())
                rows.append({"how": how, "f32_diff": float(f"{diff:.3g}"), "vectors": floats(vectors)})
        common.write_json(folder / name / "expected.json", rows, depth=2)
    common.write_json(folder / "cases.json", list(ROUTERS))


def in_folder(both):
    """Moves the encoder's files to 0_Transformer, as the first versions of sentence-transformers saved it."""
    both = pathlib.Path(both)
    (both / "0_Transformer").mkdir()
    for path in list(both.iterdir()):
        if path.is_file() and path.name not in ("modules.json", "config_sentence_transformers.json"):
            path.rename(both / "0_Transformer" / path.name)
    modules = json.loads((both / "modules.json").read_text())
    modules[0]["path"] = "0_Transformer"
    (both / "modules.json").write_text(json.dumps(modules))


def module_cases(folder):
    """expected.json of each of CASES, and of the last one with its encoder in a folder."""
    for name, make_modules in CASES.items():
        save_modules(folder / name, make_modules)
        with tempfile.TemporaryDirectory() as both:
            shutil.copytree(common.OUT / "bert-tiny" / "model", both, dirs_exist_ok=True)
            shutil.copytree(folder / name, both, dirs_exist_ok=True)
            exact, single = encode(load(both, torch.float64), "encode"), encode(load(both, torch.float32), "encode")
            in_folder(both)
            assert numpy.array_equal(exact, encode(load(both, torch.float64), "encode")), name
        diff = float(numpy.abs(exact - single).max())
        common.write_json(folder / name / "expected.json", {"f32_diff": float(f"{diff:.3g}"), "vectors": floats(exact)}, depth=2)
    common.write_json(folder / "cases.json", list(CASES))


def make(_options):
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    folder = common.OUT / "sentence"
    if folder.exists():
        shutil.rmtree(folder)
    save_model(folder / "model")
    cases = [("encode", {}), ("encode", {"truncate_dim": CUT}), ("encode", {"truncate_dim": CUT, "normalize_embeddings": True}),
             ("encode_query", {}), ("encode_document", {}), ("encode_document", {"prompt_name": "passage"})]
    with tempfile.TemporaryDirectory() as both:
        shutil.copytree(common.OUT / "bert-tiny" / "model", both, dirs_exist_ok=True)
        shutil.copytree(folder / "model", both, dirs_exist_ok=True)
        exact, single = load(both, torch.float64), load(both, torch.float32)
        rows = []
        for how, options in cases:
            vectors = encode(exact, how, **options)
            diff = float(numpy.abs(vectors - encode(single, how, **options)).max())
            rows.append({"how": how, "options": options, "f32_diff": float(f"{diff:.3g}"), "vectors": floats(vectors)})
    module_cases(folder / "modules")
    route_cases(folder / "routes")
    vectors = numpy.asarray(rows[0]["vectors"], dtype=numpy.float32)
    ranges = numpy.stack([vectors.min(axis=0) - 0.01, vectors.max(axis=0) * 0.5])
    quantized = [{"precision": precision, "values": quantize_embeddings(vectors, precision=precision).tolist(),
                  "with_ranges": quantize_embeddings(vectors, precision=precision, ranges=ranges).tolist()}
                 for precision in ("int8", "uint8", "binary", "ubinary")]
    common.write_json(folder / "expected.json", {"texts": TEXTS, "cases": rows, "ranges": floats(ranges), "quantized": quantized}, depth=3)
    common.update_manifest("sentence", common.versions("torch", "transformers", "sentence-transformers", "numpy"))
