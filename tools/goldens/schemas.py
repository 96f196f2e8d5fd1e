"""schemas/: tiny random GLiNER2 models over three encoders, made and saved by the package gliner2, the entities that it finds, its logits of classes, and how it
divides texts."""
import json
import random
import tempfile
import warnings

import gliner2
import torch
import transformers
from gliner2.processing.word_splitter import WhitespaceTokenSplitter

from . import common, spans, tiny

# name: (config of the encoder, of the head)
CASES = {
    "deberta": (spans.DEBERTA, dict(max_width=4, counting_layer="count_lstm_v2")),
    "bert": (dict(spans.USUAL, model_type="bert", type_vocab_size=2), dict(max_width=3, counting_layer="count_lstm", token_pooling="mean")),
    "modernbert": (spans.MODERNBERT, dict(max_width=5, counting_layer="count_lstm", token_pooling="max")),
}
TEXTS = [*spans.TEXTS, "Mail \u0130da@boats.co.uk, or ask @ada_b; www.boats.org.", "IT IS \u03a3\u0391\u03a3 at HTTPS://a.b/?x=1!"]
LABELS = [["person", "place"], ["a", "date of birth", "Person", "organisation", "x-y"], ["boat"]]
OPTIONS = [{}, {"threshold": 0.3}, {"threshold": 0.8}]
# The name of a task, its labels, and examples.
CLASSES = [
    ["category", ["person", "place"], []],
    ["the kind of river", ["old", "a boat", "x-y", "Blue"], []],
    ["mood", ["happy"], []],
    ["mood", ["happy", "sad"], [["the old boat", "sad"], ["Anna", "happy"]]],
]
# How texts are divided into words: addresses, marks, joiners, and letters that only case-folding makes Latin.
DIVIDED = [
    *TEXTS, "http://x", "https:// x", "HTTPS://X.y/z?q=1 end", "www. www.x", "http\u017f://a", "a.b+c%d-e_f@g.h-i.co.uk.", "@a_1 @ @- a@b a@b.c a@b.cd a@b.cd1 a@b..cd @a@b.cd",
    "a@b.cd.e a@b.cd.ef \u017f@\u212a.\u0130\u0131", "x@y.z w@v.uu@tt.ss", "cafe\u0301-au_lait -a a- a--b a-_b a_-b _ __ -_-", "\u0928\u092e\u0938\u094d\u0924\u0947 \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \U0001f468\u200d\U0001f469 \u200b\u200d",
    "a\u00a0b\u3000c\u001cd\u0085e\u2028f", "\u0661\u0662 \u00b2\u00bd \u2160 x\u0301\u0302y", "\u03a3 \u03a3\u03a3 a\u03a3 a\u03a3b \u03a3-\u03a3 \u0130I\u0131i \u01c5 \ua64a \U00010400",
]
# The same kinds at random, with what a final sigma depends on.
SIGNS = [*"aZ09_-.@:/%+ \n", "http", "https://", "WWW.", ".co", "\u03a3", "\u03a3", "\u0391", "\u0301", "\u00b7", "\u2019", "\u200d", "\u00ad", "\u02b0", "\u0345", "\u01c5", "\u00aa", "\u2160",
         "\u0130", "\u017f", "\u212a", "\u65e5", "\U0001f600"]


def random_texts(count, most=30):
    rng = random.Random(1)
    return ["".join(rng.choices(SIGNS, k=rng.randint(1, most))) for _ in range(count)]


def make_model(encoder, head):
    """A model without pretrained parts."""
    tokenizer = spans.make_tokenizer(encoder["model_type"])
    kind = transformers.CONFIG_MAPPING[encoder["model_type"]]
    config = kind(**{key: value for key, value in encoder.items() if key != "model_type"}, vocab_size=len(tokenizer))
    return gliner2.SpanExtractor(gliner2.ExtractorConfig(model_name="tiny", **head), encoder_config=config, tokenizer=tokenizer)


def randomize(model, seed):
    """Scores on both sides of a half."""
    spans.randomize(model, seed)
    for name, weight in model.named_parameters():
        if name.startswith("count_embed") and weight.dim() > 1 and "pos_embedding" not in name:  # as an embedding they would be larger
            weight.data *= 1.3 / weight.shape[1] ** 0.5
        if "out_project.3" in name:
            weight.data *= 0.35


def sometimes_none(model):
    """Raises the logit of no entities until there are none for a fourth of the calls."""
    while sum(not found for found in answers(model)[0]) < 0.25 * len(answers(model)[1]):
        model.count_pred[2].bias.data[0] += 0.25


def answers(model):
    texts = [text for text in TEXTS if all(model.processor.tokenizer.tokenize(word.lower()) for word, _, _ in WhitespaceTokenSplitter()(text))]  # others get rows of neighbours
    calls = [(text, labels, each) for text in texts for labels in LABELS for each in OPTIONS]
    run = lambda text, labels, each: model.extract_entities(text, labels, include_confidence=True, include_spans=True, **each)["entities"]
    found = lambda labels, entities: [(label, e["start"], e["end"], e["confidence"]) for label in labels for e in entities.get(label, [])]
    return [found(labels, run(text, labels, each)) for text, labels, each in calls], calls


def write_answers(file, name, model):
    """expected.json: what the model finds in float64; it must find the same in float32. Offsets may be one behind the text: the full stop that is added."""
    single, calls = answers(model)
    model.double()
    exact, _ = answers(model)
    rows, apart = [], 0.0
    for one, other, (text, labels, each) in zip(exact, single, calls):
        assert [e[:3] for e in one] == [e[:3] for e in other], (name, text, each)
        apart = max([apart, *(abs(e[3] - f[3]) for e, f in zip(one, other))])
        rows.append([TEXTS.index(text), LABELS.index(labels), OPTIONS.index(each), [[start, end, labels.index(label), float(f"{score:.9g}")] for label, start, end, score in one]])
    none = sum(not row[3] for row in rows)
    print(name, len(rows), "calls,", sum(len(row[3]) for row in rows), "entities, f32_diff", apart, "none of", none)
    assert apart > 0 and none > 0
    common.write_json(file, {"f32_diff": float(f"{apart:.3g}"), "calls": rows}, depth=2)


def logits_of(model):
    seen = []
    handle = model.classifier.register_forward_hook(lambda _module, _inputs, out: seen.append(out.detach().reshape(-1).double().tolist()))
    for text in TEXTS:
        for task, labels, examples in CLASSES:
            model.extract(text, model.create_schema().classification(task, labels, examples=[tuple(each) for each in examples]))
    handle.remove()
    return torch.tensor([value for each in seen for value in each]), seen


def write_classes(file, name, model):
    """classes.json: the logits of each text's labels in float64, and how far those of float32 are."""
    single, _ = logits_of(model.float())
    exact, rows = logits_of(model.double())
    apart = (single - exact).abs().max().item()
    calls = [(t, c) for t in range(len(TEXTS)) for c in range(len(CLASSES))]
    assert len(calls) == len(rows) and apart > 0 and exact.std() > 0.1, (len(rows), apart, exact.std())
    print(name, len(rows), "calls for classes, f32_diff", apart, "logits", exact.mean().item(), exact.std().item())
    common.write_json(file, {"f32_diff": float(f"{apart:.3g}"), "calls": [[*call, [float(f"{value:.9g}") for value in row]] for call, row in zip(calls, rows)]}, depth=2)


def make(_options):
    folder = tiny.begin("schemas")
    warnings.simplefilter("ignore")
    for seed, (name, (encoder, head)) in enumerate(CASES.items()):
        randomize(model := make_model(encoder, head), 90 + seed)
        with tempfile.TemporaryDirectory() as temporary:
            model.save_pretrained(temporary)
            model = gliner2.GLiNER2.from_pretrained(temporary).eval()
            sometimes_none(model)
            model.save_pretrained(folder / name)
        write_answers(folder / name / "expected.json", name, model)
        write_classes(folder / name / "classes.json", name, model)
        for file in ("config.json", "encoder_config/config.json"):
            common.write_json(folder / name / file, json.loads((folder / name / file).read_text()))
    divided = [[text, [[word, begin, end] for word, begin, end in WhitespaceTokenSplitter()(text, lower=True)]] for text in [*DIVIDED, *random_texts(300)]]
    common.write_json(folder / "cases.json", {"cases": list(CASES), "texts": TEXTS, "labels": LABELS, "options": OPTIONS, "classes": CLASSES, "divided": divided}, depth=3)
    common.update_manifest("schemas", common.versions("torch", "transformers", "tokenizers", "safetensors", "numpy", "gliner2"))
