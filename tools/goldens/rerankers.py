"""rerankers/: tiny cross-encoders as sentence-transformers' CrossEncoder saves them, and how it ranks with them: decoders with LogitScore, chat
templates and pairs, prompts, limits, and torch's activations."""
import inspect
import json
import pathlib
import tempfile

import torch
import transformers
from sentence_transformers import CrossEncoder
from sentence_transformers.base.modules import Transformer
from sentence_transformers.cross_encoder.modules import LogitScore

from . import common, tiny

SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "yes", "no"]
USUAL = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=40, max_position_embeddings=300,
             head_dim=8, pad_token_id=0, bos_token_id=None, eos_token_id=2)
# As Qwen3-Reranker's card has it, in fewer words.
FLAT = ("<|im_start|>system\nAnswer yes or no.<|im_end|>\n<|im_start|>user\n<I>: {{ messages | selectattr('role', 'eq', 'system') | map(attribute='content') | "
        "first | default('Find it') }}\n<Q>: {{ messages | selectattr('role', 'eq', 'query') | map(attribute='content') | first }}\n<D>: "
        "{{ messages | selectattr('role', 'eq', 'document') | map(attribute='content') | first }}<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n")
PARTS = ("{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content[0].text }}<|im_end|>\n{% endfor %}"
         "{% if add_generation_prompt %}<|im_start|>assistant\n{% if mark is defined %}{{ mark }}{% endif %}{% endif %}")
DROPS = "{% for message in messages %}{% if message.role == 'user' %}{{ message.content }}{% endif %}{% endfor %}"
QUERY = "Who sings below the bridge?"
DOCUMENTS = ["The birds.", "Two boats wait.", "42", "", tiny.SENTENCE, "Small birds sing in the dark: who taught them?", tiny.SENTENCE * 2 + "yes"]
PROMPTS = dict(prompts={"query": "Find the answer", "other": "x"}, default_prompt_name="query")
FILES = ("modules.json", "sentence_bert_config.json", "config_sentence_transformers.json", "1_LogitScore/config.json", "chat_template.jinja", "tokenizer_config.json")
# name: (weights, keyword arguments of Transformer, of LogitScore, of CrossEncoder, chat template, most tokens)
CASES = {
    "flat": ("qwen3", {}, dict(true_token_id=3, false_token_id=4), PROMPTS, FLAT, 300),
    "one token, raw": ("qwen3", {}, dict(true_token_id=3), dict(activation_fn=torch.nn.Identity()), FLAT, 300),
    "parts, an answer begins": ("qwen3", {"processing_kwargs": {"chat_template": {"add_generation_prompt": True, "mark": "So: "}}},
                                dict(true_token_id=3, false_token_id=4), {}, PARTS, 300),
    "cut, the end is kept": ("qwen3", {}, dict(true_token_id=3, false_token_id=4), PROMPTS, FLAT, 150),
    "cut, the end is lost": ("qwen3", {"processing_kwargs": {"chat_template": {"restore_suffix": False}}}, dict(true_token_id=3, false_token_id=4), PROMPTS, FLAT, 150),
    "cut by the arguments": ("qwen3", {"processing_kwargs": {"text": {"max_length": 140}}}, dict(true_token_id=3, false_token_id=4), {}, FLAT, 300),
    "pairs": ("qwen3", {}, dict(true_token_id=3, false_token_id=4), PROMPTS, None, 120),
    "a cap on logits": ("gemma2", {}, dict(true_token_id=3, false_token_id=4), dict(activation_fn=torch.nn.Identity()), FLAT, 300),
    "labels, a template": ("qwen3-sequence", {}, None, PROMPTS, FLAT, 300),
    "labels, pairs": ("qwen3-sequence", {}, None, PROMPTS, None, 300),
    "an encoder, a prompt": ("bert", {}, None, PROMPTS, None, 90),
}


def tokenizer(limit, template=None, encoder=False):
    if encoder:
        words = tiny.make_tokenizer(["[PAD]", "[CLS]", "[SEP]"], "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", pad_token="[PAD]", cls_token="[CLS]",
                                    sep_token="[SEP]", model_max_length=limit, model_input_names=["input_ids", "token_type_ids", "attention_mask"])
    else:
        words = tiny.make_tokenizer(SPECIALS, "$A", pad_token="<|endoftext|>", eos_token="<|im_end|>", model_max_length=limit, padding_side="left")
    words.chat_template = template
    return words


def save_models(folder):
    vocab = len(SPECIALS) + len(tiny.LETTERS)
    models = {
        "qwen3": transformers.Qwen3ForCausalLM(transformers.Qwen3Config(**USUAL, vocab_size=vocab, tie_word_embeddings=True)),
        "gemma2": transformers.Gemma2ForCausalLM(transformers.Gemma2Config(**USUAL, vocab_size=vocab, final_logit_softcapping=2.0, query_pre_attn_scalar=8)),
        "qwen3-sequence": transformers.Qwen3ForSequenceClassification(transformers.Qwen3Config(**USUAL, vocab_size=vocab, num_labels=1)),
        "bert": transformers.BertForSequenceClassification(transformers.BertConfig(vocab_size=3 + len(tiny.LETTERS), hidden_size=24, num_hidden_layers=2,
                num_attention_heads=3, intermediate_size=40, max_position_embeddings=90, num_labels=1)),
    }
    for i, (name, model) in enumerate(models.items()):
        tiny.randomize(model, 70 + i)
        if name == "bert":
            # Logits on both sides of every activation's bends.
            model.classifier.weight.data *= 40
            inputs = tokenizer(90, encoder=True)([[QUERY, document] for document in DOCUMENTS[:4]], padding=True, return_tensors="pt")
            model.classifier.bias.data -= model(**inputs).logits.mean()
        if hasattr(model, "tie_weights"):
            model.tie_weights()
        tiny.save(folder / name, model, tokenizer(300, encoder=name == "bert"))
        (folder / name / "generation_config.json").unlink(missing_ok=True)


def files_of(place):
    out = {}
    for name in FILES:
        path = pathlib.Path(place, name)
        if not path.exists():
            continue
        out[name] = path.read_text() if name.endswith(".jinja") else json.loads(path.read_text())
        if name == "config_sentence_transformers.json":
            del out[name]["__version__"]
    return out


def ranked(place, calls, **load):
    found = {}
    for dtype in (torch.float64, torch.float32):
        encoder = CrossEncoder(str(place), device="cpu", **load)
        encoder.model.to(dtype)
        encoder.activation_fn.to(dtype)
        found[dtype] = [encoder.rank(QUERY, DOCUMENTS, batch_size=1, **call) for call in calls]
    out = []
    for call, exact, single in zip(calls, found[torch.float64], found[torch.float32]):
        scores = {row["corpus_id"]: float(row["score"]) for row in single}
        apart = max(abs(float(row["score"]) - scores[row["corpus_id"]]) for row in exact)
        out.append({"options": call, "f32_diff": float(f"{apart:.3g}"), "ranked": [[row["corpus_id"], float(f"{float(row['score']):.9g}")] for row in exact]})
    return out


def case(folder, name, weights, transformer, logits, encoder, template, limit):
    with tempfile.TemporaryDirectory() as place:
        source = pathlib.Path(place, "source")
        source.mkdir()
        for path in (folder / weights).iterdir():
            (source / path.name).write_bytes(path.read_bytes())
        tokenizer(limit, template, weights == "bert").save_pretrained(source)
        task = "text-generation" if logits else "sequence-classification"
        modules = [Transformer(str(source), transformer_task=task, **transformer), *([LogitScore(**logits)] if logits else [])]
        saved = pathlib.Path(place, "saved")
        CrossEncoder(modules=modules, device="cpu", **encoder).save_pretrained(str(saved), create_model_card=False)
        calls = [{}, {"prompt": "Say it"}, {"prompt": ""}] + ([{"prompt_name": "other"}] if "prompts" in encoder else [])
        return {"name": name, "model": weights, "files": files_of(saved), "calls": ranked(saved, calls)}


def plain(folder):
    """A decoder without the files of sentence-transformers, with the template given; and with one that drops the texts, which Python refuses."""
    out = {"template": FLAT, "drops": DROPS, "calls": ranked(folder / "qwen3", [{}, {"prompt": "Say it"}], processor_kwargs={"chat_template": FLAT})}
    try:
        ranked(folder / "qwen3", [{}], processor_kwargs={"chat_template": DROPS})
        assert False
    except ValueError as error:
        assert "cannot carry" in str(error), error
    return out


def activations(folder):
    """Every class of torch's module of activations: its scores, or null where Python cannot make or run it, or draws random numbers."""
    out = {}
    classes = [one for _, one in inspect.getmembers(torch.nn.modules.activation, inspect.isclass) if issubclass(one, torch.nn.Module)]
    for one in [torch.nn.Identity, *(one for one in classes if one.__module__ == "torch.nn.modules.activation" and one is not torch.nn.Module)]:
        path = f"{one.__module__}.{one.__name__}"
        with tempfile.TemporaryDirectory() as place:
            CrossEncoder(str(folder / "bert"), device="cpu").save_pretrained(place, create_model_card=False)
            settings = pathlib.Path(place, "config_sentence_transformers.json")
            common.write_json(settings, {**json.loads(settings.read_text()), "activation_fn": path})
            try:
                first, again = (ranked(place, [{}])[0] for _ in range(2))
                out[path] = {key: first[key] for key in ("f32_diff", "ranked")} if first == again else None
            except Exception as error:
                print(path, type(error).__name__, error)
                out[path] = None
    return out


def make(_options):
    folder = tiny.begin("rerankers")
    save_models(folder)
    cases = [case(folder, name, *rest) for name, rest in CASES.items()]
    common.write_json(folder / "expected.json", {"query": QUERY, "documents": DOCUMENTS, "cases": cases, "plain": plain(folder),
                                                 "activations": activations(folder)}, depth=4)
    common.update_manifest("rerankers", common.versions("torch", "transformers", "sentence-transformers"))
