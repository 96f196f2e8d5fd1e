#!/usr/bin/env python3
"""Loads an adapter with PEFT over its base model and prints the model's outputs, to compare them with wattn's.

    python tools/check_peft.py BASE ADAPTER [--ids 2,9,17] [--task SEQ_CLS] [--labels 3] [--expect FILE.json]

BASE, ADAPTER: folders. --expect: a JSON list of numbers that the answers must equal within 1e-4 of the largest.
"""
import argparse
import json
import pathlib

import peft
import torch
import transformers

CLASSES = {"SEQ_CLS": "ForSequenceClassification", "TOKEN_CLS": "ForTokenClassification", "CAUSAL_LM": "ForCausalLM", "SEQ_2_SEQ_LM": "ForSeq2SeqLM",
           "QUESTION_ANS": "ForQuestionAnswering"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", type=pathlib.Path)
    parser.add_argument("adapter", type=pathlib.Path)
    parser.add_argument("--ids", default="2,9,17,30,3", help="token ids, separated by commas")
    parser.add_argument("--task", help="default: task_type of adapter_config.json")
    parser.add_argument("--labels", type=int, help="default: those of the adapter's own classifier")
    parser.add_argument("--expect", type=pathlib.Path)
    options = parser.parse_args()
    transformers.logging.set_verbosity_error()
    config = peft.PeftConfig.from_pretrained(options.adapter)
    kind = CLASSES.get(options.task or config.task_type, "")
    labels = options.labels
    if labels is None and kind in ("ForSequenceClassification", "ForTokenClassification"):
        from safetensors.torch import load_file
        heads = [w for name, w in load_file(options.adapter / "adapter_model.safetensors").items() if name.endswith(("classifier.weight", "score.weight", "out_proj.weight"))]
        labels = heads[-1].shape[0] if heads else None
    more = {} if labels is None else {"num_labels": labels}
    base = getattr(transformers, f"AutoModel{kind}").from_pretrained(options.base, attn_implementation="eager", **more)
    model = peft.PeftModel.from_pretrained(base, options.adapter).eval()
    ids = torch.tensor([[int(each) for each in options.ids.split(",")]])
    with torch.no_grad():
        out = model(input_ids=ids, **({"decoder_input_ids": ids} if kind == "ForSeq2SeqLM" else {}))
    values = (out.logits if "logits" in out else out.last_hidden_state).flatten()
    print(json.dumps([round(float(x), 6) for x in values[:16]]), "..." if len(values) > 16 else "")
    if options.expect:
        expected = torch.tensor(json.loads(options.expect.read_text())).flatten()
        apart = float((values - expected).abs().max() / expected.abs().max())
        print(f"apart: {apart:.2e} of the largest")
        raise SystemExit(0 if apart <= 1e-4 else 1)


if __name__ == "__main__":
    main()
