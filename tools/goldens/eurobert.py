"""eurobert/: a tiny random EuroBERT (a bidirectional Llama with grouped heads), and its heads."""
import json

import torch
import transformers

from . import architectures, common, long, tiny

SPECIALS = ["<|begin_of_text|>", "<|end_of_text|>", "<|mask|>"]
VOCAB = len(SPECIALS) + len(tiny.LETTERS)
CONFIG = dict(vocab_size=VOCAB, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=40,
              max_position_embeddings=132, rope_parameters=dict(rope_type="default", rope_theta=250000.0), bos_token_id=0, eos_token_id=1,
              pad_token_id=1, mask_token_id=2)
LABELS = ["O", "PER", "LOC"]
HEADS = {"masked-lm": "MaskedLM", "sequence": "SequenceClassification", "token": "TokenClassification"}


def make_model(kind, seed, **more):
    config = transformers.EuroBertConfig(**CONFIG, **more)
    config._attn_implementation = "eager"
    return tiny.randomize(getattr(transformers, kind)(config), seed)


def save_base(folder, tokenizer):
    """In the format of long/encoders."""
    model = make_model("EuroBertModel", 1)
    tiny.save(folder, model, tokenizer)
    tensors, inputs = long.Tensors(), []
    for length in long.LENGTHS:
        ids = long.make_ids(length, VOCAB)
        exact, single = (architectures.run(model, dtype, ids, [0] * length) for dtype in (torch.float64, torch.float32))
        inputs.append({"input_ids": ids, "token_type_ids": [0] * length, "tensors": tensors.add_all(exact, single, ["hidden_states.2"])})
    common.write_json(folder / "expected.json", {"inputs": inputs}, depth=4)
    tensors.save(folder)


def logits_of(model, ids, changes):
    """The logits in f64 and f32. changes: attributes of the model to set."""
    out = []
    for name, value in changes.items():
        setattr(model, name, value)
    for dtype in (torch.float64, torch.float32):
        with torch.no_grad():
            out.append(model.to(dtype)(input_ids=torch.tensor([ids])).logits[0])
    return out


def save_head(folder, kind, seed, tokenizer):
    more = {} if kind == "MaskedLM" else dict(id2label=dict(enumerate(LABELS)), label2id={label: i for i, label in enumerate(LABELS)})
    model = make_model(f"EuroBertFor{kind}", seed, **more)
    tiny.save(folder, model, tokenizer)
    texts = [tiny.text_of(tokenizer, count) for count in (2, 20, 49, 130)]
    if kind == "MaskedLM":
        texts = [text[:4] + "<|mask|>" + text[5:] for text in texts[1:2]]
    cases = []
    for pooling in ("late", "bos", "mean") if kind == "SequenceClassification" else (None,):
        for text in texts:
            ids = tokenizer(text)["input_ids"]
            exact, single = logits_of(model, ids, {"classifier_pooling": pooling} if pooling else {})
            case = {"text": text, "input_ids": ids, "f32_diff": tiny.diff(exact, single), "shape": list(exact.shape), "logits": tiny.floats(exact)}
            cases.append({"classifier_pooling": pooling, **case} if pooling else case)
    common.write_json(folder / "expected.json", cases, depth=2)


def make(_options):
    folder = tiny.begin("eurobert")
    tokenizer = tiny.make_tokenizer(SPECIALS, "<|begin_of_text|> $A <|end_of_text|>", bos_token=SPECIALS[0], eos_token=SPECIALS[1],
                                    pad_token=SPECIALS[1], mask_token=SPECIALS[2], model_max_length=132)
    save_base(folder / "base", tokenizer)
    for i, (name, kind) in enumerate(HEADS.items()):
        save_head(folder / name, kind, 2 + i, tokenizer)
    # The keys that config.json has in the first repositories, which came with their own code.
    words = json.loads((folder / "base" / "config.json").read_text())
    del words["rope_parameters"], words["dtype"]
    common.write_json(folder / "legacy" / "config.json", {**words, "architectures": ["EuroBertForMaskedLM"], "rope_theta": 250000, "rope_scaling": None,
                                                          "torch_dtype": "float32", "clf_pooling": "late", "mask_token": "<|mask|>"})
    common.write_json(folder / "cases.json", ["base"])
    common.update_manifest("eurobert", common.versions("torch", "transformers", "tokenizers", "safetensors", "numpy"))
