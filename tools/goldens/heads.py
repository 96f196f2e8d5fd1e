"""tests/goldens/heads/heads.json: the outputs of each architecture family's heads for given rows, without an encoder."""
import json
import pathlib
import shutil
import tempfile

import numpy
import torch
import transformers
from transformers.modeling_outputs import BaseModelOutputWithPoolingAndCrossAttentions

from . import common

VOCAB, HIDDEN, ROWS = 13, 8, 3
SMALL = {"vocab_size": VOCAB, "hidden_size": HIDDEN, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16, "max_position_embeddings": 16}
FAMILIES = {  # prefix of the class names -> config
    "Bert": transformers.BertConfig(**SMALL),
    "Roberta": transformers.RobertaConfig(**SMALL),
    "Electra": transformers.ElectraConfig(**SMALL, embedding_size=6),
    "Albert": transformers.AlbertConfig(**SMALL, embedding_size=6, hidden_act="gelu"),
    "DistilBert": transformers.DistilBertConfig(vocab_size=VOCAB, dim=HIDDEN, n_layers=1, n_heads=2, hidden_dim=16, max_position_embeddings=16),
    "MPNet": transformers.MPNetConfig(**SMALL),
    "DebertaV2": transformers.DebertaV2Config(**SMALL),
}
# Later cases, so that the random numbers of the earlier ones stay: family, config, kind.
ROPED = {**SMALL, "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3, "cls_token_id": 2, "sep_token_id": 3}
CAUSAL = {**SMALL, "pad_token_id": 1, "bos_token_id": 2, "eos_token_id": 3}
MORE = [("DebertaV2", FAMILIES["DebertaV2"], ["masked_lm"]),
        ("ModernBert", transformers.ModernBertConfig(**ROPED), ["sequence", "token", "answer", "masked_lm"]),
        ("ModernBert", transformers.ModernBertConfig(**ROPED, classifier_pooling="mean", classifier_bias=True, norm_bias=True,
                                                     classifier_activation="silu"), ["sequence"]),
        ("NomicBert", transformers.NomicBertConfig(**SMALL), ["sequence", "token", "masked_lm"]),
        ("Gte", transformers.GteConfig(**SMALL), ["sequence", "token", "masked_lm"]),
        ("Llama", transformers.LlamaConfig(**CAUSAL), ["sequence", "token", "answer"]),
        ("GPT2", transformers.GPT2Config(vocab_size=VOCAB, n_embd=HIDDEN, n_layer=1, n_head=2, n_positions=16, pad_token_id=1, bos_token_id=2, eos_token_id=3), ["sequence", "token", "answer"]),
        *[("EuroBert", transformers.EuroBertConfig(**SMALL, classifier_pooling=pooling, pad_token_id=1), ["sequence"]) for pooling in ("late", "bos", "mean")],
        ("EuroBert", transformers.EuroBertConfig(**CAUSAL), ["token", "masked_lm"]),
        ("EuroBert", transformers.EuroBertConfig(**CAUSAL, tie_word_embeddings=True), ["masked_lm"]),
        ("ModernBert", transformers.ModernBertConfig(**ROPED, classifier_activation="tanh"), ["sequence", "masked_lm"])]
# After those of UNTIED, likewise.
MOBILE = dict(SMALL, embedding_size=6, intra_bottleneck_size=8, num_feedforward_networks=1, hidden_act="gelu")
LATER = [("MobileBert", transformers.MobileBertConfig(**MOBILE), ["sequence", "token", "answer", "masked_lm"]),
         ("MobileBert", transformers.MobileBertConfig(**MOBILE, classifier_activation=False), ["sequence"]),
         ("ConvBert", transformers.ConvBertConfig(**SMALL, embedding_size=6, hidden_act="silu"), ["sequence", "token", "answer", "masked_lm"])]
# Heads over the vocabulary with weights of their own. Their tensors are named as in the checkpoint, without the body's.
UNTIED = [(family, type(config)(**{**config.to_diff_dict(), "tie_word_embeddings": False})) for family, config in FAMILIES.items()]
UNTIED += [("ModernBert", transformers.ModernBertConfig(**ROPED, tie_word_embeddings=False)),
           ("Gte", transformers.GteConfig(**SMALL, tie_word_embeddings=False)),
           ("NomicBert", transformers.NomicBertConfig(**SMALL, tie_word_embeddings=False))]
KINDS = {"sequence": "ForSequenceClassification", "token": "ForTokenClassification", "answer": "ForQuestionAnswering", "masked_lm": "ForMaskedLM"}


def floats(tensor):
    return [float(str(x)) for x in tensor.detach().to(torch.float32).flatten().numpy()]


def make_case(family, config, kind, rng, with_gradients=True):
    name = family + KINDS[kind]
    config.architectures, config.num_labels = [name], 2 if kind == "answer" else 3
    model = getattr(transformers, name)(config).eval()
    base = model.base_model
    head, names = {}, {}
    with torch.no_grad():
        own_output = not config.tie_word_embeddings
        for key, value in sorted(model.state_dict().items()):
            short = key.removeprefix(f"{model.base_model_prefix}.")
            own_bias = family in ("ModernBert", "Gte") and key.endswith("decoder.bias")
            if short != key and not short.startswith("pooler") or "decoder" in key and not (own_bias or own_output) or "position_ids" in key or "vocab_projector.weight" in key and not own_output or "lm_head.weight" in key and not own_output:
                continue
            noise = rng.standard_normal(tuple(value.shape))
            value.copy_(torch.from_numpy((1 + 0.3 * noise if "orm.weight" in key else 0.6 * noise).astype(numpy.float32)))
            names[key] = short.replace("lm_head.layer_norm", "lm_head.norm") if family == "Gte" else short
            head[names[key]] = {"shape": list(value.shape), "values": floats(value)}
        words = model.get_input_embeddings().weight
        words.copy_(torch.from_numpy(rng.standard_normal(tuple(words.shape)).astype(numpy.float32)))
    rows = torch.from_numpy(rng.standard_normal((ROWS, HIDDEN)).astype(numpy.float32))
    logits, gradients = {}, None
    for dtype in (torch.float64, torch.float32):
        model.to(dtype)
        hidden = rows.to(dtype)[None].requires_grad_()
        pooler = getattr(base, "pooler", None)
        pooled = None if pooler is None else pooler(hidden) if family != "Albert" else base.pooler_activation(base.pooler(hidden[:, 0]))
        base.forward = lambda *_args, h=hidden, p=pooled, **_kwargs: BaseModelOutputWithPoolingAndCrossAttentions(last_hidden_state=h, pooler_output=p)
        out = model(input_ids=torch.zeros((1, ROWS), dtype=torch.long), attention_mask=torch.ones((1, ROWS), dtype=torch.long))
        of_dtype = torch.stack([out.start_logits[0], out.end_logits[0]], -1) if kind == "answer" else out.logits[0]
        logits[dtype] = of_dtype.detach()
        if dtype == torch.float64 and with_gradients:
            gradients = gradients_of(model, names, hidden, of_dtype)
    exact, single = logits[torch.float64], logits[torch.float32].double()
    return {"kind": kind, "config": {key: value for key, value in json.loads(config.to_json_string(use_diff=False)).items()
                                     if key in ("model_type", "architectures", "hidden_act", "activation", "pooler_hidden_act", "tie_word_embeddings", "id2label", "classifier_pooling", "classifier_bias",
                                                    "classifier_activation", "norm_bias", "decoder_bias")},
            "norm_eps": getattr(config, "layer_norm_eps", getattr(config, "norm_eps", 1e-12)), "tensors": head, "words": {"shape": list(words.shape), "values": floats(words)} if kind == "masked_lm" else None,
            "rows": floats(rows), "logits": floats(exact), "labels": exact.shape[-1], "f32_diff": float(f"{float((exact - single).abs().max()):.3g}")}, gradients


def gradients_of(model, names, rows, logits):
    """Of the sum of d_logits * logits. The numbers have seven digits."""
    short = lambda tensor: [float(f"{x:.7g}") for x in tensor.flatten().tolist()]
    d_logits = torch.from_numpy(numpy.random.default_rng(logits.numel()).standard_normal(tuple(logits.shape)).astype(numpy.float32))
    (d_logits * logits).sum().backward()
    parameters = dict(model.named_parameters())
    words = model.get_input_embeddings().weight.grad
    return {"d_logits": floats(d_logits), "rows": short(rows.grad), "words": None if words is None else short(words),
            "tensors": {name: short(parameters[key].grad) for key, name in names.items()}}


def save_mean_model(folder):
    """A whole ModernBERT whose sequence head sees the mean of a text's tokens, with its logits for some token ids."""
    config = transformers.ModernBertConfig(**{**ROPED, "vocab_size": 140, "num_hidden_layers": 2}, classifier_pooling="mean", num_labels=3,
                                           architectures=["ModernBertForSequenceClassification"], local_attention=8)
    config._attn_implementation = "eager"
    torch.manual_seed(11)
    model = transformers.ModernBertForSequenceClassification(config).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            weight.copy_(torch.randn(weight.shape) * (0.2 if weight.dim() == 1 else 0.6) + (1 if "norm" in name else 0))
    if folder.exists():
        shutil.rmtree(folder)
    model.save_pretrained(folder)
    common.write_json(folder / "config.json", json.loads((folder / "config.json").read_text()))
    inputs = [[2, 9, 17, 30, 3], [2, 5, 101, 44, 8, 99, 12, 71, 3, 6, 60]]
    logits = {}
    for dtype in (torch.float64, torch.float32):
        model.to(dtype)
        with torch.no_grad():
            logits[dtype] = [model(input_ids=torch.tensor([ids])).logits[0].double() for ids in inputs]
    apart = max(float((a - b).abs().max()) for a, b in zip(*logits.values()))
    common.write_json(folder / "expected.json", {"input_ids": inputs, "logits": [floats(x) for x in logits[torch.float64]],
                                                 "f32_diff": float(f"{apart:.3g}")}, depth=2)


def expect_untied(family, config):
    """transformers ties no output whose file has other weights than the word embeddings, whatever config.json says."""
    torch.manual_seed(2)
    model = getattr(transformers, f"{family}ForMaskedLM")(config)
    with tempfile.TemporaryDirectory() as place:
        model.save_pretrained(place)
        file = pathlib.Path(place) / "config.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), "tie_word_embeddings": True}))
        again = getattr(transformers, f"{family}ForMaskedLM").from_pretrained(place)
    for of_model in (lambda m: m.get_output_embeddings().weight, lambda m: m.get_output_embeddings().bias):
        assert torch.equal(of_model(again), of_model(model)), family
    assert not torch.equal(again.get_input_embeddings().weight, again.get_output_embeddings().weight), family


def make(_options):
    transformers.logging.set_verbosity_error()
    rng = numpy.random.default_rng(5)
    cases = [make_case(family, config, kind, rng) for family, config in FAMILIES.items() for kind in KINDS if (family, kind) != ("DebertaV2", "masked_lm")]
    cases += [make_case(family, config, kind, rng) for family, config, kinds in MORE for kind in kinds]
    untied = [make_case(family, config, "masked_lm", rng, False)[0] for family, config in UNTIED]
    for family, config in UNTIED:
        expect_untied(family, config)
    common.write_json(common.OUT / "heads" / "untied.json", untied, depth=2)
    cases += [make_case(family, config, kind, rng) for family, config, kinds in LATER for kind in kinds]
    common.write_json(common.OUT / "heads" / "heads.json", [case for case, _ in cases], depth=2)
    common.write_json(common.OUT / "heads" / "gradients.json", [gradients for _, gradients in cases], depth=2)
    save_mean_model(common.OUT / "heads" / "modernbert")
    common.update_manifest("heads", common.versions("torch", "transformers", "numpy"))
