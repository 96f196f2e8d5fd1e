"""structures/: what gliner2 extracts by whole schemas: structures, relations, entities with descriptions, and classes. The models are those of schemas/, with layers
that expect from no to several instances in the place of their own: count_pred.safetensors has them."""
import json
import warnings

import gliner2
import safetensors.torch
import torch
from gliner2.processing.word_splitter import WhitespaceTokenSplitter

from . import common, tiny

# All end with a full stop or another end, as wattn has no value behind a text.
TEXTS = ["Ada saw the old boat.", "Who? Ada-Mae van_Dyke, 42; (and) Zoe...", "The red boat of Zoe costs 5 pounds! Is it old? Old rivers are blue, and Anna's are not.", "a!",
         "Mail \u0130da@boats.co.uk about \U0001f600 the boat, or ask @ada_b."]
# In the form of Schema.from_dict; a structure may be a list of fields as in extract_json.
SCHEMAS = [
    {"structures": {"product": ["name::str", "price", "colour::[red|blue|The old]::str::what colour it has", "tags::list"], "boat": ["owner::str::who has it", "place::list"]}},
    {"structures": {"thing": [{"name": "kinds", "dtype": "list", "choices": ["boat", "Old", "a river", "boat"], "threshold": 0.4}, {"name": "name", "threshold": 0.7},
                              {"name": "age", "dtype": "str", "choices": ["old", "new"], "description": "how old it is"}]}},
    {"relations": ["saw", "lives in", "a"]},
    {"relations": {"saw": {"threshold": 0.3}, "owner of": {"threshold": 0.9}}},
    {"entities": {"person": "names of people", "place": {"dtype": "str"}, "boat": {"threshold": 0.3, "description": "what floats"}, "x-y": {"dtype": "str", "threshold": 0.9}}},
    {"structures": {"boat": {"fields": [{"name": "colour", "dtype": "str"}, {"name": "kind", "choices": ["old", "new"], "dtype": "str"}]}},
     "entities": ["person", "place"],
     "relations": ["saw", "of"],
     "classifications": [{"task": "mood", "labels": ["happy", "sad"]},
                         {"task": "topic", "labels": {"boats": "on water", "rivers": "of water", "x": "else"}, "multi_label": True, "cls_threshold": 0.3, "prompt": "what it is about",
                          "examples": [["the old boat", "boats"], ["Zoe", "nothing"]]}]},
    {"classifications": [{"task": "kind", "labels": ["a", "b", "old boat"], "multi_label": True, "cls_threshold": 0.2, "top_k": 2},
                         {"task": "kind two", "labels": ["a", "b"], "class_act": "sigmoid"}]},
]
OPTIONS = [{}, {"threshold": 0.3}]
SHOWN = [{"include_confidence": True, "include_spans": True}, {"include_confidence": True}, {"include_spans": True}, {}]
MOST = 4.5  # instances
# A text and a schema, of which scores.json has all scores.
SCORED = [(3, 0), (3, 1), (0, 5)]
KINDS = {"json_structures": "structure", "entities": "entities", "relations": "relation", "classifications": "classes"}


def schema_of(model, schema):
    """The form of extract_json for structures made that of from_dict."""
    def field(spec):
        name, dtype, choices, description = model._parse_field_spec(spec)
        threshold = spec.get("threshold") if isinstance(spec, dict) else None
        made = {"name": name, "dtype": dtype, "choices": choices, "description": description, "threshold": threshold}
        return {key: value for key, value in made.items() if value is not None}
    fields = lambda structure: structure["fields"] if isinstance(structure, dict) else structure
    structures = {name: {"fields": [field(spec) for spec in fields(structure)]} for name, structure in schema.get("structures", {}).items()}
    return gliner2.inference.schema.Schema.from_dict({**schema, **({"structures": structures} if structures else {})})


def texts_of(model):
    return [text for text in TEXTS if all(model.processor.tokenizer.tokenize(word.lower()) for word, _, _ in WhitespaceTokenSplitter()(text))]


def extract(model, text, schema, **options):
    return model.extract(text, schema_of(model, schema), **options)


def parents_of(model):
    """The rows that the counts depend on."""
    seen = []
    handle = model.count_pred.register_forward_hook(lambda _module, inputs, _out: seen.append(inputs[0].detach()))
    for text in texts_of(model):
        for schema in SCHEMAS:
            extract(model, text, schema)
    handle.remove()
    return torch.cat(seen)


def set_counts(model, seed):
    """The count is what is nearest to a number between 0 and MOST that grows with the rows' first component: the logit of k is 2 k x - k^2, whose largest is at k = x."""
    rows = parents_of(model)
    rows = torch.unique(rows, dim=0)
    center = rows.mean(0)
    direction = torch.linalg.svd(rows - center).Vh[0]
    place = (rows - center) @ direction
    ordered = place.sort().values
    low, high = ordered[len(ordered) // 20], ordered[-1 - len(ordered) // 20]
    scale = MOST / (high - low)
    up, down = model.count_pred[0], model.count_pred[2]
    generator = torch.Generator().manual_seed(seed)
    noise = lambda weight, size: torch.randn(weight.shape, generator=generator) * size
    up.weight.data, up.bias.data = noise(up.weight, 0.2), noise(up.bias, 0.2)
    up.weight.data[0] = direction * scale
    up.bias.data[0] = -(center @ direction) * scale - low * scale
    k = torch.arange(20.0)
    down.weight.data = noise(down.weight, 0.01)
    down.weight.data[:, 0] = 2 * k
    down.bias.data = -k * k
    counts = model.count_pred(rows).argmax(-1).bincount(minlength=5).tolist()
    assert all(count > 0 for count in counts[:5]), counts
    return counts


def rounded(value):
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    return [rounded(each) for each in value] if isinstance(value, (list, tuple)) else value


def differences(one, other):
    """Of all confidences; everything else is the same."""
    if isinstance(one, float):
        return [abs(one - other)]
    assert type(one) is type(other), (one, other)
    if isinstance(one, dict):
        assert list(one) == list(other), (one, other)
        return [each for key in one for each in differences(one[key], other[key])]
    if isinstance(one, (list, tuple)):
        assert len(one) == len(other), (one, other)
        return [each for a, b in zip(one, other) for each in differences(a, b)]
    assert one == other, (one, other)
    return []


def answers(model):
    rows = []
    for text in texts_of(model):
        for s, schema in enumerate(SCHEMAS):
            for o, options in enumerate(OPTIONS):
                for h, shown in enumerate(SHOWN if o == 0 and text == TEXTS[2] else SHOWN[:1]):
                    rows.append([TEXTS.index(text), s, o, h, extract(model, text, schema, **options, **shown)])
    return rows


def scores(model, text, schema):
    """The parts of the prompt with the count of each, the words before the text, and all scores: [word, -1, label, instance, score] of these words for structures, and
    [start, end, label, instance, score] of spans; labels are counted over all parts."""
    seen = {}
    inner = model._extract_sample
    model._extract_sample = lambda **given: seen.update(given) or inner(**given)
    extract(model, text, schema)
    del model._extract_sample
    words, starts, ends = seen["text_tokens"], seen["start_mapping"], seen["end_mapping"]
    before = len(words) - len(starts)
    parts, rows, label = [], [], 0
    for tokens, kind, logits, count in zip(seen["schema_tokens_list"], seen["task_types"], seen["raw_span_logits"], seen["pred_counts"]):
        labels = tokens[5:-2:2]
        parts.append([KINDS[kind], tokens[2], labels, count])
        for instance, of_labels in enumerate([] if logits is None else logits.sigmoid().tolist()):
            for i, of_words in enumerate(of_labels):
                for word, of_widths in enumerate(of_words):
                    if word < before and kind != "json_structures":
                        continue
                    places = [(word, -1)] if word < before else [(starts[word - before], end) for end in ends[word - before:]]
                    rows += [[*place, label + i, instance, score] for place, score in zip(places, of_widths)]
        label += len(labels)
    return {"parts": parts, "choices": words[:before], "scores": rows}


def make(_options):
    folder = tiny.begin("structures")
    cases = json.loads((common.OUT / "schemas" / "cases.json").read_text())["cases"]
    warnings.simplefilter("ignore")
    for seed, name in enumerate(cases):
        model = gliner2.GLiNER2.from_pretrained(str(common.OUT / "schemas" / name)).eval()
        counts = set_counts(model, 190 + seed)
        tensors = {f"count_pred.{key}": value.contiguous() for key, value in model.count_pred.state_dict().items()}
        (folder / name).mkdir()
        safetensors.torch.save_file(tensors, folder / name / "count_pred.safetensors")
        all_scores = lambda: [[t, scores(model, TEXTS[t], SCHEMAS[s])] for t, s in SCORED]
        single, single_scores = answers(model), all_scores()
        exact, exact_scores = answers(model.double()), all_scores()
        apart = max(differences(single, exact) + differences(single_scores, exact_scores))
        assert apart > 0
        common.write_json(folder / name / "scores.json", {"f32_diff": float(f"{apart:.3g}"), "calls": rounded(exact_scores)}, depth=2)
        print(name, len(exact), "calls, f32_diff", apart, "counts", counts)
        common.write_json(folder / name / "expected.json", {"f32_diff": float(f"{apart:.3g}"), "calls": rounded(exact)}, depth=2)
    common.write_json(folder / "cases.json", {"cases": cases, "texts": TEXTS, "schemas": SCHEMAS, "options": OPTIONS, "shown": SHOWN}, depth=2)
    common.update_manifest("structures", common.versions("torch", "transformers", "tokenizers", "safetensors", "numpy", "gliner2"))
