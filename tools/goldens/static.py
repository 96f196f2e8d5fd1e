"""static/: static embeddings as model2vec and sentence-transformers save them, with the vectors that they give, and what model2vec distils
from random encoders with tokenizers of three kinds."""
import json
import pathlib
import shutil
import tempfile

import numpy
import tokenizers
import torch
import transformers
from model2vec import StaticModel
from model2vec.distill import distill_from_model, inference
from model2vec.quantization import DType, quantize_embeddings
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, StaticEmbedding

from . import common, tiny

FOLDER = common.OUT / "static"
TINY = common.OUT / "bert-tiny" / "model"
WIDTH = 24
TEXTS = ["the boat", "", "Small birds sing by the river.", "zzz qqq the zzz", "old, old bridge!", "\u00e9\u0301t\u00e9 \u4e2d\u6587 \U0001F600 home", "[SEP] [UNK] the [MASK]",
         "the wind " * 3, "a \U0001F600" * 300 + " river", "river home boat " * 150]
WORDS = "the boat small birds home dark river sing old bridge wind water light stone tree house cold morning seven silver green path road sea".split()


def rows_of(count, seed):
    return numpy.random.default_rng(seed).normal(size=(count, WIDTH)).astype(numpy.float32)


def tokenizer_of_bert():
    return tokenizers.Tokenizer.from_file(str(TINY / "tokenizer.json"))


def corpus():
    rng = numpy.random.default_rng(5)
    return [" ".join(rng.choice(WORDS, 12)) for _ in range(200)]


def unigram():
    made = tokenizers.Tokenizer(tokenizers.models.Unigram())
    made.normalizer = tokenizers.normalizers.NFKC()
    made.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    trainer = tokenizers.trainers.UnigramTrainer(vocab_size=90, special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"], unk_token="<unk>", show_progress=False)
    made.train_from_iterator(corpus(), trainer)
    made.post_processor = tokenizers.processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", made.token_to_id("<s>")), ("</s>", made.token_to_id("</s>"))])
    return made


def byte_bpe():
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=330, special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"], show_progress=False,
                                             initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet())
    made.train_from_iterator(corpus(), trainer)
    made.post_processor = tokenizers.processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return made


def normalized(vectors):
    return vectors / numpy.maximum(numpy.linalg.norm(vectors, axis=1, keepdims=True), 1e-32)


def expected(exact, single, options=None):
    return {"options": options or {}, "f32_diff": tiny.diff(torch.from_numpy(exact), torch.from_numpy(single.astype(numpy.float64))),
            "vectors": tiny.floats(torch.from_numpy(exact))}


def of_model2vec(folder):
    """The vectors in double precision, of the stored numbers, and how far those in single precision are from them."""
    model = StaticModel.from_pretrained(folder)
    rows, weights = model.embedding, model.weights
    cases = []
    for options in ({}, {"max_length": 5}):
        results = []
        for dtype in (numpy.float64, numpy.float32):
            model.embedding = rows.astype(dtype)
            model.weights = None if weights is None else weights.astype(dtype)
            vectors = model.encode(TEXTS, normalize=False, **options).astype(numpy.float64)
            results.append(normalized(vectors) if model.normalize else vectors)
        cases.append(expected(*results, options))
    return cases


def of_sentence_transformers(folder):
    model = SentenceTransformer(str(folder), device="cpu")
    exact, single = (model.to(dtype).encode(TEXTS, convert_to_tensor=True, show_progress_bar=False).double().numpy() for dtype in (torch.float64, torch.float32))
    return [expected(exact, single)]


def save_model2vec(name, tokenizer, seed, quantize=None, clusters=None, weights=None, **config):
    count = tokenizer.get_vocab_size()
    rows = rows_of(count, seed)
    mapping = None
    if clusters:
        rng = numpy.random.default_rng(seed + 1)
        rows, mapping = rows[:clusters], rng.integers(0, clusters, count).astype(numpy.int32)
        weights = rng.uniform(0.1, 2.0, count)
    if quantize:
        rows = quantize_embeddings(rows, DType(quantize))
    model = StaticModel(rows, tokenizer, config={"model_type": "model2vec", "architectures": ["StaticModel"], "hidden_dim": 7, **config}, weights=weights,
                        token_mapping=mapping, normalize=config.get("normalize", False), max_length=config.get("max_length", 512))
    folder = FOLDER / name
    model.save_pretrained(folder)
    (folder / "README.md").unlink(missing_ok=True)
    return name, of_model2vec(folder)


def save_sentence(name, modules):
    folder = FOLDER / name
    SentenceTransformer(modules=modules, device="cpu").save_pretrained(str(folder), create_model_card=False)
    return name, of_sentence_transformers(folder)


def static_module(seed, truncation=None):
    tokenizer = tokenizer_of_bert()
    if truncation:
        tokenizer.enable_truncation(truncation)
    return StaticEmbedding(tokenizer, embedding_weights=rows_of(tokenizer.get_vocab_size(), seed))


def older_layout(name, source):
    """As sentence-transformers 3 to 5 laid it out: the module in a folder, with the old name of its class."""
    folder = FOLDER / name
    shutil.copytree(FOLDER / source, folder)
    inner = folder / "0_StaticEmbedding"
    inner.mkdir()
    for file in ("model.safetensors", "tokenizer.json"):
        shutil.move(folder / file, inner / file)
    modules = json.loads((folder / "modules.json").read_text())
    modules[0]["path"] = inner.name
    for module in modules:
        module["type"] = "sentence_transformers.models." + module["type"].split(".")[-1]
    common.write_json(folder / "modules.json", modules)
    return name, of_sentence_transformers(folder)


def as_model2vec_reads(name, source):
    """A StaticEmbedding without modules.json, which model2vec reads by config_sentence_transformers.json."""
    folder = FOLDER / name
    folder.mkdir()
    for file in ("model.safetensors", "tokenizer.json"):
        shutil.copy(FOLDER / source / file, folder / file)
    common.write_json(folder / "config_sentence_transformers.json", {"normalize": True})
    return name, of_model2vec(folder)


def encoders():
    """Random encoders with their tokenizers."""
    yield "wordpiece", transformers.AutoModel.from_pretrained(TINY), transformers.AutoTokenizer.from_pretrained(TINY)
    shape = dict(hidden_size=20, num_hidden_layers=2, num_attention_heads=4, intermediate_size=24, max_position_embeddings=34, type_vocab_size=1, pad_token_id=1)
    words = dict(bos_token="<s>", eos_token="</s>", pad_token="<pad>", unk_token="<unk>", mask_token="<mask>", model_max_length=32)
    for name, made, seed in (("byte-bpe", byte_bpe(), 31), ("unigram", unigram(), 32)):
        tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=made, **words)
        yield name, tiny.randomize(transformers.RobertaModel(transformers.RobertaConfig(vocab_size=made.get_vocab_size(), **shape)), seed), tokenizer


def exact_rows(model, tokenized, pooling):
    model = model.double().eval()
    rows = []
    with torch.no_grad():
        for ids in tokenized:
            hidden = model(input_ids=torch.tensor([ids])).last_hidden_state[0]
            rows.append({"mean": hidden.mean(0), "first": hidden[0], "last": hidden[-1]}[pooling])
    model.float()
    return torch.stack(rows).numpy()


def distilled(name, model, tokenizer, options):
    seen = {}
    made = inference.create_embeddings
    from model2vec.distill import distillation

    def watch(**given):
        seen["ids"] = given["tokenized"]
        seen["model"] = given["model"]
        return made(**given)

    distillation.create_embeddings = watch
    with torch.no_grad():
        static = distill_from_model(model=model, tokenizer=tokenizer, quantize_to="float32", device="cpu", **options)
    distillation.create_embeddings = made
    exact = exact_rows(seen["model"], seen["ids"], options.get("pooling", "mean"))
    exact = inference.apply_pca(exact, options.get("pca_dims", 256))
    exact = exact * inference.compute_weights(len(exact), options.get("sif_coefficient", 1e-4))[:, None]
    config = {key: value for key, value in static.config.items() if key != "tokenizer_name"}
    return {"encoder": name, "options": options, "config": config, "tokens": list(static.tokens), "shape": list(exact.shape),
            "f32_diff": tiny.diff(torch.from_numpy(exact), torch.from_numpy(static.embedding.astype(numpy.float64))), "rows": tiny.floats(torch.from_numpy(exact))}, static


def make(_options):
    tiny.begin("static")
    torch.manual_seed(3)
    bert = tokenizer_of_bert()
    models = [save_model2vec("model2vec-float32", bert, 1, normalize=True),
              save_model2vec("model2vec-float16", bert, 2, "float16", normalize=True),
              save_model2vec("model2vec-int8", bert, 3, "int8"),
              save_model2vec("model2vec-quantized", bert, 4, clusters=9, normalize=True),
              save_model2vec("model2vec-unigram", unigram(), 5, weights=None, normalize=True, max_length=7),
              save_sentence("sentence", [static_module(6)]),
              save_sentence("sentence-dense", [static_module(7, 12), Dense(WIDTH, 10, activation_function=torch.nn.Tanh()), Normalize()])]
    models += [older_layout("sentence-folder", "sentence-dense"), as_model2vec_reads("sentence-alone", "sentence")]
    common.write_json(FOLDER / "expected.json", {"texts": TEXTS, "models": dict(models)}, depth=4)

    cases = []
    for name, model, tokenizer in encoders():
        folder = FOLDER / "encoders" / name
        if name != "wordpiece":
            tiny.save(folder, model, tokenizer)
        kinds = [{"pca_dims": 12}, {"pca_dims": "auto", "sif_coefficient": 0.01}, {"pca_dims": None, "sif_coefficient": None, "pooling": "first"}, {"pca_dims": 0.8, "pooling": "last"}]
        for i, options in enumerate(kinds):
            case, static = distilled(name, model, tokenizer, options)
            cases.append(case)
            if i == 0:
                with tempfile.TemporaryDirectory() as saved:
                    static.save_pretrained(saved)
                    made = json.loads((pathlib.Path(saved) / "tokenizer.json").read_text())
                common.write_json(FOLDER / "distilled" / f"{name}-tokenizer.json", made)
                case["texts"] = TEXTS
                case["ids"] = [static.tokenize([text])[0] for text in TEXTS]
    common.write_json(FOLDER / "distilled" / "expected.json", cases, depth=3)
    common.update_manifest("static", common.versions("model2vec", "skeletoken", "torch", "transformers", "sentence-transformers", "tokenizers", "safetensors", "numpy"))
