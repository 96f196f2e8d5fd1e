#!/usr/bin/env python3
"""Trains LoRA and DoRA adapters for tiny models with wattn, with and without their own head. PEFT must load each over the base model that it
names, without a warning, and give wattn's results.

    .venv/bin/python tools/check_saved_adapters.py [--keep FOLDER]

Needs a built package (node tools/bundle.mjs).
"""
import argparse
import json
import pathlib
import subprocess
import tempfile
import warnings

import peft
import torch
import transformers

ROOT = pathlib.Path(__file__).resolve().parent.parent


def apart(case):
    """How far PEFT's answers are from wattn's, as a share of the largest."""
    config = peft.PeftConfig.from_pretrained(case["folder"])
    assert config.base_model_name_or_path == case["base"], config.base_model_name_or_path
    more = {} if case["labels"] is None else {"num_labels": case["labels"]}
    with warnings.catch_warnings():
        base = getattr(transformers, "AutoModel" + case["class"].removeprefix("Model")).from_pretrained(
            config.base_model_name_or_path, attn_implementation="eager", **more)
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", FutureWarning)  # how PEFT calls transformers
        model = peft.PeftModel.from_pretrained(base, case["folder"]).eval()
    with torch.no_grad():
        out = model(input_ids=torch.tensor([case["ids"]]))
    values = (out.logits if "logits" in out else out.last_hidden_state).flatten()
    expected = torch.tensor(case["outputs"])
    return float((values - expected).abs().max() / expected.abs().max())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=pathlib.Path, help="where the adapters stay")
    options = parser.parse_args()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    folder = options.keep or pathlib.Path(tempfile.mkdtemp(prefix="wattn-saved-"))
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["node", str(ROOT / "tools/lib/save_adapters.mjs"), str(ROOT / "tests/goldens"), str(folder)], check=True)
    failed = 0
    for case in json.loads((folder / "cases.json").read_text()):
        name = pathlib.Path(case["folder"]).name
        try:
            difference = apart(case)
            failed += difference > 1e-5
            print(f"{name}: {difference:.1e} of the largest")
        except (Warning, AssertionError, RuntimeError, ValueError) as error:
            failed += 1
            print(f"{name}: {type(error).__name__}: {str(error)[:300]}")
    print(f"{failed} failed")
    raise SystemExit(failed > 0)


if __name__ == "__main__":
    main()
