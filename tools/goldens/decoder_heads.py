"""decoder-heads/: tiny random decoders and a BART with classification heads, and their logits for texts and pairs."""
import torch
import transformers

from . import common, tasks, tiny

NLI = ["contradiction", "neutral", "entailment"]
USUAL = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=40, max_position_embeddings=132)
BART = dict(d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=2, encoder_ffn_dim=24, decoder_ffn_dim=24,
            max_position_embeddings=132, bos_token_id=0, pad_token_id=1, eos_token_id=2, decoder_start_token_id=2, forced_eos_token_id=2)
# name: (class, config, special tokens, template of a text, of a pair, labels). The padding id is 0 for Qwen3, 1 for BART; Llama has none.
BART_SPECIALS, QWEN3_SPECIALS, LLAMA_SPECIALS = ["<s>", "<pad>", "</s>"], ["<|endoftext|>", "<|im_end|>"], ["<unk>", "<s>", "</s>"]
CASES = {
    "bart-sequence": ("BartForSequenceClassification", BART, BART_SPECIALS, "<s> $A </s>", "<s> $A </s> </s> $B </s>", NLI),
    "qwen3-sequence": ("Qwen3ForSequenceClassification", dict(USUAL, head_dim=10, pad_token_id=0), QWEN3_SPECIALS, "$A", None, NLI),
    "llama-sequence": ("LlamaForSequenceClassification", dict(USUAL, pad_token_id=None, bos_token_id=1), LLAMA_SPECIALS, "<s> $A", None, ["LABEL_0"]),
    "qwen3-token": ("Qwen3ForTokenClassification", dict(USUAL, head_dim=10, pad_token_id=0), QWEN3_SPECIALS, "$A", None, ["O", "PER", "LOC"]),
    "llama-token": ("LlamaForTokenClassification", dict(USUAL, pad_token_id=None, bos_token_id=1), LLAMA_SPECIALS, "<s> $A", None, ["O", "PER", "LOC"]),
}
ROLES = {"<s>": "bos_token", "</s>": "eos_token", "<pad>": "pad_token", "<unk>": "unk_token", "<|endoftext|>": "pad_token", "<|im_end|>": "eos_token"}


def logits_of(model, ids):
    out = []
    for dtype in (torch.float64, torch.float32):
        with torch.no_grad():
            out.append(model.to(dtype)(input_ids=torch.tensor([ids])).logits[0])
    return out


def answers(task, model, tokenizer, calls):
    """In the format of tasks/cases.json."""
    found = []
    for dtype in (torch.float64, torch.float32):
        pipeline = transformers.pipeline(task, model=model.to(dtype), tokenizer=tokenizer, device="cpu")
        found.append([pipeline(*args, **options) for args, options in calls])
    return [{"args": list(args), "options": options, "f32_diff": float(f"{tasks.apart(exact, single):.3g}"), "answer": tasks.clean(exact)}
            for (args, options), exact, single in zip(calls, *found)]


def save_case(folder, seed, kind, config, specials, single, pair, labels):
    tokenizer = tiny.make_tokenizer(specials, single, pair, model_max_length=132, **{ROLES[word]: word for word in specials})
    words = dict(config, vocab_size=len(specials) + len(tiny.LETTERS), id2label=dict(enumerate(labels)), label2id={label: i for i, label in enumerate(labels)})
    settings = getattr(transformers, kind).config_class(**words)
    settings._attn_implementation = "eager"
    model = tiny.randomize(getattr(transformers, kind)(settings), seed)
    tiny.save(folder, model, tokenizer)
    texts = [tiny.text_of(tokenizer, count) for count in (4, 47, 48, 49, 113, 130)]
    inputs = [(text,) for text in texts]
    if pair:
        inputs += [(texts[0], "This is about birds."), (texts[2], "Boats wait."), ("ab", "cd"), ("",)]
    if "Qwen3" in kind and "Sequence" in kind:
        # The head reads the last token that is not padding, wherever the padding is, and the first token if all are padding.
        inputs += [("ab<|endoftext|>",), ("a<|endoftext|>b",), ("<|endoftext|>ab<|endoftext|><|endoftext|>",), ("<|endoftext|>",)]
    rows = []
    for args in inputs:
        ids = tokenizer(*args)["input_ids"]
        exact, single_logits = logits_of(model, ids)
        rows.append({"texts": list(args), "input_ids": ids, "shape": list(exact.shape), "f32_diff": tiny.diff(exact, single_logits), "logits": tiny.floats(exact)})
    expected = {"logits": rows}
    if "Sequence" in kind:
        expected["text-classification"] = answers("text-classification", model, tokenizer, [((text,), {"top_k": None}) for text in texts[:3]])
    if pair:
        calls = [((text, ["birds", "old letters", "a city"]), options) for text in texts[:2] for options in ({}, {"multi_label": True})]
        expected["zero-shot-classification"] = answers("zero-shot-classification", model, tokenizer, calls)
    common.write_json(folder / "expected.json", expected, depth=2)


def make(_options):
    folder = tiny.begin("decoder-heads")
    for i, (name, case) in enumerate(CASES.items()):
        save_case(folder / name, 30 + i, *case)
    common.write_json(folder / "cases.json", list(CASES))
    common.update_manifest("decoder-heads", common.versions("torch", "transformers", "tokenizers", "safetensors", "numpy"))
