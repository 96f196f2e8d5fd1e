#!/usr/bin/env python3
"""Compares adapters of random configurations with PEFT: each is saved by PEFT over a tiny model, and wattn must give PEFT's results, or reject it
with a reason.

    .venv/bin/python tools/check_adapters.py [--count 200] [--seed 0] [--keep FOLDER]

Needs a built package (node tools/bundle.mjs) and the goldens' models. Prints what differs and how many were equal and refused; fails if any differs.
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import warnings

import peft
import torch
import transformers

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from goldens import adapters as goldens  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
FAMILIES = {
    "bert": ("bert-tiny/model", "Model", None,
             ["query", "key", "value", "attention.output.dense", "intermediate.dense", "output.dense"], ["word_embeddings", "token_type_embeddings", "position_embeddings"],
             ["LayerNorm", "query", "pooler"], r"{}encoder\.layer\.\d\..*\.({})", "layer"),
    "llama": ("decoders/llama", "ForCausalLM", None, ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj", "lm_head"], ["embed_tokens"],
              ["lm_head", "embed_tokens", "norm", "v_proj"], r"{}model\.layers\.\d\..*\.({})", "layers"),
    "tied": ("decoders/smollm", "ForCausalLM", None, ["q_proj", "v_proj", "o_proj", "up_proj", "down_proj"], ["embed_tokens"], ["embed_tokens", "lm_head", "input_layernorm"],
             r"{}model\.layers\.\d\..*\.({})", "layers"),
    "gpt2": ("decoders/gpt2", "ForCausalLM", None, ["c_attn", "attn.c_proj", "c_fc", "mlp.c_proj"], ["wte"], ["attn.c_proj", "ln_1", "ln_f"], r"{}transformer\.h\.\d\..*({})", "h"),
}  # fmt: skip


def some(random_, of, least=1):
    return random_.sample(of, random_.randint(least, len(of)))


def lora(random_, family):
    """LoraConfig's fields."""
    base, kind, labels, linear, tables, saved, pattern, layers = FAMILIES[family]
    fields = {"r": random_.randint(1, 5), "lora_alpha": random_.choice([1, 4, 8, 13])}
    targets = some(random_, linear)
    if random_.random() < 0.25:
        targets.append(random_.choice(tables))
    if random_.random() < 0.2:
        flag = random_.choice(["", "", "(?i)"])
        names = "|".join(name.replace(".", r"\.") for name in targets)
        targets = pattern.format(flag, names.upper() if flag else names)
    elif random_.random() < 0.15:
        targets = "all-linear"
    fields["target_modules"] = targets
    for field, share in (("use_rslora", 0.3), ("use_dora", 0.35), ("lora_bias", 0.15), ("ensure_weight_tying", 0.1)):
        if random_.random() < share:
            fields[field] = True
    if family == "gpt2":
        fields["fan_in_fan_out"] = True
    if random_.random() < 0.3:
        fields["bias"] = random_.choice(["all", "lora_only"])
    if random_.random() < 0.25 and isinstance(targets, list):
        fields["layers_to_transform"] = random_.choice([0, [1], [0, 1]])
        if random_.random() < 0.5:
            fields["layers_pattern"] = layers
    if random_.random() < 0.2:
        fields["exclude_modules"] = random_.choice([random_.sample(linear, 1), r".*\.0\..*"])
    for field in ("rank_pattern", "alpha_pattern"):
        if random_.random() < 0.3:
            fields[field] = {random_.choice([name, f"^.*{name}", f"0.*{name}"]): random_.randint(1, 6) for name in some(random_, linear)[:2]}
    if random_.random() < 0.3:
        fields["modules_to_save"] = some(random_, saved)[:2]
    if random_.random() < 0.15:
        tokens = random_.sample(range(50), random_.randint(1, 4))
        heads = random_.choice([{}, {"lm_head": tokens}, {"lm_head": random_.sample(range(50), 2)}]) if family in ("llama", "tied") else {}
        fields["trainable_token_indices"] = tokens if random_.random() < 0.6 or family == "bert" else {tables[0]: tokens, **heads}
    if random_.random() < 0.1:
        fields["init_lora_weights"] = random_.choice(["gaussian", "pissa", "olora", "orthogonal"])
    return "LoraConfig", fields


def other(random_, family):
    """The fields of another config."""
    base, kind, labels, linear, tables, saved, pattern, layers = FAMILIES[family]
    targets = [name for name in some(random_, linear) if name != "lm_head"] or linear[:1]
    name = random_.choice(["IA3Config", "LoHaConfig", "LoKrConfig", "AdaLoraConfig", "LNTuningConfig", "TrainableTokensConfig", "VeraConfig", "OFTConfig", "PromptTuningConfig", "MissConfig"])
    fields = {"target_modules": targets}
    if name == "IA3Config":
        fields["feedforward_modules"] = [name for name in targets if random_.random() < 0.5]
        fields["fan_in_fan_out"] = family == "gpt2"
    elif name in ("LoHaConfig", "LoKrConfig"):
        fields |= {"r": random_.randint(1, 6), "alpha": random_.randint(1, 9)}
        if name == "LoKrConfig":
            fields |= {"decompose_both": random_.random() < 0.5, "decompose_factor": random_.choice([-1, 2, 4])}
        if random_.random() < 0.3:
            fields["alpha_pattern"] = {targets[0]: 3}
    elif name == "AdaLoraConfig":
        fields |= {"init_r": random_.randint(1, 6), "target_r": 1, "total_step": 10, "fan_in_fan_out": family == "gpt2", "lora_alpha": random_.choice([0, 4])}
    elif name == "LNTuningConfig":
        fields["target_modules"] = [one for one in saved if "norm" in one.lower() or "ln_" in one]
    elif name == "TrainableTokensConfig":
        fields = {"token_indices": random_.sample(range(50), 3)}
    elif name == "PromptTuningConfig":
        fields = {"num_virtual_tokens": 2, "task_type": "CAUSAL_LM" if kind == "ForCausalLM" else "FEATURE_EXTRACTION"}
    elif name == "MissConfig":
        fields["r"] = 2
    elif name == "OFTConfig":
        fields |= {"oft_block_size": 4, "r": 0}
    elif name == "VeraConfig":
        fields["r"] = 3
    return name, fields


def make(folder, family, name, fields, generator):
    """An adapter, and what PEFT answers with it; None: PEFT does not make it."""
    base, kind, labels, *_ = FAMILIES[family]
    torch.manual_seed(1)
    try:
        model = peft.get_peft_model(goldens.load(base, kind, labels), getattr(peft, name)(**fields))
    except (ValueError, TypeError, KeyError, RuntimeError, AttributeError, NotImplementedError, AssertionError) as error:
        return {"made": False, "why": str(error)[:120]}
    goldens.randomize(model, generator)
    model.save_pretrained(folder)
    try:
        fresh = peft.PeftModel.from_pretrained(goldens.load(base, kind, labels), folder).eval()
        outputs = [x.flatten().tolist() for x in goldens.answer(fresh, kind, torch.float64)]
    except (ValueError, TypeError, KeyError, RuntimeError, AttributeError) as error:
        return {"made": False, "why": f"loading: {str(error)[:120]}"}
    return {"made": True, "class": kind, "base": base, "outputs": outputs}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200, help="of each family")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=pathlib.Path, help="where the adapters stay")
    parser.add_argument("--families", nargs="+", default=list(FAMILIES))
    options = parser.parse_args()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    warnings.simplefilter("ignore")
    folder = options.keep or pathlib.Path(tempfile.mkdtemp(prefix="wattn-adapters-"))
    cases = []
    for family in options.families:
        random_ = random.Random(f"{family} {options.seed}")
        generator = torch.Generator().manual_seed(options.seed)
        for i in range(options.count):
            name, fields = (lora if random_.random() < 0.8 else other)(random_, family)
            place = folder / f"{family}-{i}"
            cases.append({"folder": str(place), "name": f"{family}-{i}", "config": name, "fields": fields, **make(place, family, name, fields, generator)})
    (folder / "cases.json").write_text(json.dumps({"goldens": str(ROOT / "tests/goldens"), "ids": goldens.IDS, "cases": cases}))
    made = sum(case["made"] for case in cases)
    print(f"{len(cases)} configurations, of which PEFT makes {made}")
    raise SystemExit(subprocess.run(["node", str(ROOT / "tools/lib/check_adapters.mjs"), str(folder / "cases.json")]).returncode)


if __name__ == "__main__":
    main()
