"""longformer/: a tiny random Longformer with global attention below two heads, their logits, and the gradients of its weights."""
import json

import torch
import transformers
from safetensors.torch import load_file, save_file

from . import common, decoder_heads, tiny

# Texts longer than 96 tokens are read in parts; questions longer than 128 tokens are not put beside a window.
POSITIONS, WINDOW = 300, 10
SPECIALS = ["<s>", "<pad>", "</s>"]
CONFIG = dict(hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=40, max_position_embeddings=POSITIONS + 2, type_vocab_size=1,
              bos_token_id=0, pad_token_id=1, eos_token_id=2, sep_token_id=2, attention_window=[WINDOW, WINDOW])
TEXTS = (2, 3, 5, 6, 7, 40, 97, 98, 200, 300)
QUESTIONS = ((5, 5), (9, 130), (30, 250), (127, 160), (131, 150))
# Without a global token, the derivative of transformers' padding is no number.
GRADIENT_LENGTHS = (11, 3, 130)


def logits_of(model, ids):
    out = []
    for dtype in (torch.float64, torch.float32):
        with torch.no_grad():
            found = model.to(dtype)(input_ids=torch.tensor([ids]))
        out.append(found.logits[0] if "logits" in found else torch.stack([found.start_logits[0], found.end_logits[0]], -1))
    return out


def row(model, tokenizer, texts):
    ids = tokenizer(*texts)["input_ids"]
    exact, single = logits_of(model, ids)
    return {"texts": list(texts), "input_ids": ids, "shape": list(exact.shape), "f32_diff": tiny.diff(exact, single), "logits": tiny.floats(exact)}


def whole(windows, beside, count, tokens):
    """Probabilities of all keys: windows [1, tokens, heads, global + window + 1] of the other tokens, beside [1, heads, global, keys] of global ones."""
    out = torch.zeros(windows.shape[2], tokens, tokens, dtype=windows.dtype)
    for i in range(count, tokens):
        out[:, i, :count] = windows[0, i, :, :count]
        for k in range(WINDOW + 1):
            j = i + k - WINDOW // 2
            if count <= j < tokens:
                out[:, i, j] = windows[0, i, :, count + k]
    out[:, :count] = beside[0, :, :count, :tokens]
    return out


def attentions(model, ids, count):
    found = []
    for dtype in (torch.float64, torch.float32):
        with torch.no_grad():
            out = model.to(dtype)(input_ids=torch.tensor([ids]), output_attentions=True)
        # Tuples of [1, heads, tokens, global + window + 1] and of [1, heads, keys, global].
        layers = zip(out.attentions, out.global_attentions)
        found.append(torch.stack([whole(windows.transpose(1, 2), beside.transpose(2, 3), count, len(ids)) for windows, beside in layers]))
    assert torch.allclose(found[0].sum(-1), torch.ones(found[0].shape[:-1], dtype=torch.float64)), "probabilities of each token"
    return {"input_ids": ids, "shape": list(found[0].shape), "f32_diff": tiny.diff(*found), "probs": tiny.floats(found[0])}


def save_gradients(folder, name, vocab, sep):
    """Of the encoder's last hidden states. sep: the question's tokens are global, else the first token is."""
    torch.manual_seed(23)
    model = transformers.LongformerModel.from_pretrained(folder, attn_implementation="eager").double().eval()
    sequences, gradients, loss = [], [], 0
    for length in GRADIENT_LENGTHS:
        ids = torch.randint(3, vocab, (1, length))
        if sep:
            ids[0, length // 3] = 2
        mask = torch.zeros_like(ids)
        mask[0, :length // 3 if sep else 1] = 1
        hidden = model(input_ids=ids, global_attention_mask=mask).last_hidden_state
        gradient = torch.randn(hidden.shape).double()
        loss = loss + (hidden * gradient).sum()
        sequences.append(ids[0].tolist())
        gradients.append([float(x) for x in gradient.flatten().tolist()])
    loss.backward()
    known, tensors = load_file(folder / "model.safetensors"), {}
    for key, parameter in model.named_parameters():
        stored = f"longformer.{key}"
        if stored in known:
            tensors[stored] = (parameter.grad if parameter.grad is not None else torch.zeros_like(parameter)).float().contiguous()
    save_file(tensors, folder / f"gradients-{name}.safetensors")
    return {"name": name, "input_ids": sequences, "d_hidden": gradients}


def make(_options):
    folder = tiny.begin("longformer")
    tokenizer = tiny.make_tokenizer(SPECIALS, "<s> $A </s>", "<s> $A </s> </s> $B </s>", model_max_length=POSITIONS, bos_token="<s>", eos_token="</s>",
                                    sep_token="</s>", cls_token="<s>", pad_token="<pad>")
    labels = decoder_heads.NLI
    vocab = len(SPECIALS) + len(tiny.LETTERS)
    config = transformers.LongformerConfig(**CONFIG, vocab_size=vocab, id2label=dict(enumerate(labels)), label2id={label: i for i, label in enumerate(labels)})
    model = tiny.randomize(transformers.LongformerForSequenceClassification(config), 31)
    # One folder for both heads, over one encoder.
    answers = transformers.LongformerForQuestionAnswering(transformers.LongformerConfig(**CONFIG, vocab_size=vocab))
    tiny.randomize(answers, 32)
    answers.longformer.load_state_dict(model.longformer.state_dict())
    tiny.save(folder, model, tokenizer)
    tensors = {**model.state_dict(), **{key: value for key, value in answers.state_dict().items() if key.startswith("qa_outputs.")}}
    save_file({key: value.contiguous() for key, value in tensors.items() if "position_ids" not in key}, folder / "model.safetensors", metadata={"format": "pt"})
    words = json.loads((folder / "config.json").read_text())
    words["architectures"] = ["LongformerForSequenceClassification", "LongformerForQuestionAnswering"]
    common.write_json(folder / "config.json", words)
    text = lambda count: tiny.text_of(tokenizer, count)
    texts = [(text(count),) for count in TEXTS] + [(text(40), "This is about birds."), ("ab", "cd")]
    inner = lambda count, rest: (text(count + 2), text(rest + 2))
    expected = {"sequence": [row(model, tokenizer, one) for one in texts],
                "answer": [row(answers, tokenizer, inner(*one)) for one in QUESTIONS]}
    ids = tokenizer(text(20))["input_ids"]
    pair = tokenizer(*inner(6, 12))["input_ids"]
    expected["attentions"] = [attentions(model, ids, 1), attentions(answers, pair, pair.index(2))]
    common.write_json(folder / "expected.json", expected, depth=3)
    zero_shot = [((text(30), ["birds", "boats"]), dict(hypothesis_template="This is about {}.")),
                 ((text(120), ["birds", "boats", "a bridge"]), dict(multi_label=True, hypothesis_template="It has {}."))]
    common.write_json(folder / "cases.json", {
        "text-classification": decoder_heads.answers("text-classification", model, tokenizer, [(([one[0] for one in texts[:-1]],), dict(top_k=None))]),
        "zero-shot-classification": decoder_heads.answers("zero-shot-classification", model, tokenizer, zero_shot)}, depth=3)
    common.write_json(folder / "gradients.json", [save_gradients(folder, "first", vocab, False), save_gradients(folder, "question", vocab, True)], depth=2)
    common.update_manifest("longformer", common.versions("torch", "transformers", "tokenizers", "safetensors"))
