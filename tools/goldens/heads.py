"""tests/goldens/heads/heads.json: what the heads of each family of architectures make of given rows, alone, without an encoder."""
import json

import numpy
import torch
import transformers
from transformers.modeling_outputs import BaseModelOutputWithPooling

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
KINDS = {"sequence": "ForSequenceClassification", "token": "ForTokenClassification", "answer": "ForQuestionAnswering", "masked_lm": "ForMaskedLM"}


def floats(tensor):
    return [float(str(x)) for x in tensor.detach().to(torch.float32).flatten().numpy()]


def make_case(family, config, kind, rng):
    name = family + KINDS[kind]
    config.architectures, config.num_labels = [name], 2 if kind == "answer" else 3
    model = getattr(transformers, name)(config).eval()
    base = model.base_model
    head = {}
    with torch.no_grad():
        for key, value in sorted(model.state_dict().items()):
            short = key.removeprefix(f"{model.base_model_prefix}.")
            if short != key and not short.startswith("pooler") or "decoder" in key or "position_ids" in key or "vocab_projector.weight" in key or "lm_head.weight" in key:
                continue
            noise = rng.standard_normal(tuple(value.shape))
            value.copy_(torch.from_numpy((1 + 0.3 * noise if "orm.weight" in key else 0.6 * noise).astype(numpy.float32)))
            head[short] = {"shape": list(value.shape), "values": floats(value)}
        words = model.get_input_embeddings().weight
        words.copy_(torch.from_numpy(rng.standard_normal(tuple(words.shape)).astype(numpy.float32)))
    rows = torch.from_numpy(rng.standard_normal((ROWS, HIDDEN)).astype(numpy.float32))
    logits = {}
    for dtype in (torch.float64, torch.float32):
        model.to(dtype)
        hidden = rows.to(dtype)[None]
        pooler = getattr(base, "pooler", None)
        pooled = None if pooler is None else pooler(hidden) if family != "Albert" else base.pooler_activation(base.pooler(hidden[:, 0]))
        base.forward = lambda *_args, h=hidden, p=pooled, **_kwargs: BaseModelOutputWithPooling(last_hidden_state=h, pooler_output=p)
        with torch.no_grad():
            out = model(input_ids=torch.zeros((1, ROWS), dtype=torch.long), attention_mask=torch.ones((1, ROWS), dtype=torch.long))
        logits[dtype] = torch.stack([out.start_logits[0], out.end_logits[0]], -1) if kind == "answer" else out.logits[0]
    exact, single = logits[torch.float64], logits[torch.float32].double()
    return {"kind": kind, "config": {key: value for key, value in json.loads(config.to_json_string(use_diff=False)).items()
                                     if key in ("model_type", "architectures", "hidden_act", "activation", "pooler_hidden_act", "tie_word_embeddings", "id2label")},
            "norm_eps": getattr(config, "layer_norm_eps", 1e-12), "tensors": head, "words": {"shape": list(words.shape), "values": floats(words)} if kind == "masked_lm" else None,
            "rows": floats(rows), "logits": floats(exact), "labels": exact.shape[-1], "f32_diff": float(f"{float((exact - single).abs().max()):.3g}")}


def make(_options):
    transformers.logging.set_verbosity_error()
    rng = numpy.random.default_rng(5)
    cases = [make_case(family, config, kind, rng) for family, config in FAMILIES.items() for kind in KINDS if (family, kind) != ("DebertaV2", "masked_lm")]
    common.write_json(common.OUT / "heads" / "heads.json", cases, depth=2)
    common.update_manifest("heads", common.versions("torch", "transformers", "numpy"))
