"""labels/: tiny random GLiClass models over four encoders, made and saved by the package gliclass, and the logits of labels that it gives."""
import json
import warnings

import gliclass
import torch
from gliclass.model import GLiClassModel
from gliclass.pipeline import UniEncoderZeroShotClassificationPipeline

from . import common, spans, tiny

BASE = {"hidden_size": None, "max_num_classes": 8, "prompt_first": True, "max_labels_alloc": "dynamic"}
BERT = dict(spans.USUAL, model_type="bert", type_vocab_size=2)
# name: (config of the encoder, of GLiClass)
CASES = {
    "deberta": (spans.DEBERTA, {}),
    "modernbert": (spans.MODERNBERT, dict(pooling_strategy="avg", class_token_pooling="average", scorer_type="weighted-dot", hidden_size=24)),
    "bert": (BERT, dict(pooling_strategy="max", scorer_type="mlp", hidden_size=24, embed_class_token=False, normalize_features=True)),
    "bert-text-first": (BERT, dict(prompt_first=False, pooling_strategy="rms", hidden_size=40, projector_hidden_act="relu", normalize_features=True)),
    "deberta-lstm": (spans.DEBERTA, dict(use_lstm=True, hidden_size=24, pooling_strategy="last", extract_text_features=True, class_token_pooling="average",
                                         embed_class_token=False)),
    "t5": (spans.T5, dict(pooling_strategy="abs_avg", scorer_type="weighted-dot", hidden_size=24, extract_text_features=True)),
    "deberta-max": (spans.DEBERTA, dict(pooling_strategy="max", extract_text_features=True)),
    "bert-sum": (BERT, dict(pooling_strategy="sum", class_token_pooling="average", hidden_size=24)),
    "bert-abs-max": (BERT, dict(pooling_strategy="abs_max", scorer_type="weighted-dot", hidden_size=24)),
}
LABELS = [["sport", "the news"], ["a"], ["Science and art", "food", "x-y", "travel", "ab"]]
TEXTS = ["Ada saw the old boat.", "Who? Ada-Mae, 42; (and) Zoe...", "caf\u00e9 \U0001f600 end", "a", tiny.SENTENCE, "", "see <<SEP>> and <<LABEL>> here"]
PROMPT = "What is it about?"
EXAMPLES = [{"text": "A goal!", "labels": ["sport"]}, {"text": "Soup", "labels": ["food", "x-y"]}]
# The keyword arguments of a call.
CALLS = [{}, {"prompt": PROMPT}, {"examples": EXAMPLES}, {"prompt": PROMPT, "examples": EXAMPLES}]


def make_model(encoder, more):
    tokenizer = spans.make_tokenizer(encoder["model_type"])
    tokenizer.add_tokens(["<<LABEL>>", "<<SEP>>", "<<EXAMPLE>>"], special_tokens=False)
    size = len(tokenizer)
    ids = {"class_token_index": size - 3, "text_token_index": size - 2, "example_token_index": size - 1}
    encoder = dict(encoder, vocab_size=size)
    config = gliclass.GLiClassModelConfig(**dict(BASE, encoder_config=encoder, encoder_model="tiny", vocab_size=size, dropout=0.0, **ids, **more))
    return GLiClassModel(config), tokenizer


def logits_of(pipe, text, labels, call):
    """Of one text, without padding: the package pools over the padding of a batch, too. It takes the <<LABEL>> of a text before its labels for the first."""
    before = 0 if pipe.model.config.prompt_first else text.count("<<LABEL>>")
    inputs = pipe.prepare_inputs([text], labels, True, **call)
    with torch.no_grad():
        return pipe.model(**inputs, max_num_classes=len(labels) + before).logits[0][before:]


def write_answers(file, name, pipe):
    """expected.json: logits in float64, and how far those in float32 are."""
    calls = [(t, l, c) for t in range(len(TEXTS)) for l in range(len(LABELS)) for c in range(len(CALLS))]
    single = [logits_of(pipe, TEXTS[t], LABELS[l], CALLS[c]) for t, l, c in calls]
    pipe.model.double()
    exact = [logits_of(pipe, TEXTS[t], LABELS[l], CALLS[c]) for t, l, c in calls]
    apart = max(float((e - s).abs().max()) for e, s in zip(exact, single))
    spread = torch.cat(exact)
    print(name, len(calls), "calls, f32_diff", apart, "logits", float(spread.min()), "to", float(spread.max()), "std", float(spread.std()))
    rows = [[t, l, c, [float(f"{float(x):.9g}") for x in logits]] for (t, l, c), logits in zip(calls, exact)]
    common.write_json(file, {"f32_diff": float(f"{apart:.3g}"), "calls": rows}, depth=2)


def make(_options):
    folder = tiny.begin("labels")
    warnings.simplefilter("ignore")
    for seed, (name, (encoder, more)) in enumerate(CASES.items()):
        model, tokenizer = make_model(encoder, more)
        spans.randomize(model, 90 + seed)
        if more.get("normalize_features"):
            model.model.logit_scale.data.fill_(2.6592)
        model.save_pretrained(folder / name, safe_serialization=True)
        tokenizer.save_pretrained(folder / name)
        model = GLiClassModel.from_pretrained(folder / name).eval()  # ties the embeddings of T5
        pipe = UniEncoderZeroShotClassificationPipeline(model, tokenizer, progress_bar=False, device="cpu")
        write_answers(folder / name / "expected.json", name, pipe)
        config = json.loads((folder / name / "config.json").read_text())
        common.write_json(folder / name / "config.json", config)
    common.write_json(folder / "cases.json", {"cases": list(CASES), "texts": TEXTS, "labels": LABELS, "options": CALLS}, depth=2)
    common.update_manifest("labels", common.versions("torch", "transformers", "tokenizers", "safetensors", "numpy", "gliclass"))
