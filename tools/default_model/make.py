"""All steps in order; each goes on where an earlier run stopped."""

import argparse
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", required=True)
    p.add_argument("--nltk", required=True)
    p.add_argument("--teacher", required=True)
    p.add_argument("--judge", required=True)
    p.add_argument("--out", required=True)
    a = p.parse_args()
    out, model = Path(a.out), ROOT / "models/default/wattn-default.gguf"

    def python(script, *args):
        print(f"== {script}", flush=True)
        subprocess.run([sys.executable, HERE / script, *args], check=True)

    if not (out / "corpus.txt").exists():
        python("../encoders/corpus.py", "--data", a.data, "--nltk", a.nltk, "--most", "600", "--out", a.out)
    if not (out / "tokenizer.json").exists():
        train = ["tokenize", "--train", "wordpiece", "--vocab-size", "8192", "--out", out / "tokenizer.json", out / "corpus.txt"]
        subprocess.run(["node", ROOT / "dist/cli.js", *train], check=True)
    python("teacher.py", "--teacher", a.teacher, "--out", a.out)
    python("sentiment.py", "--data", a.data, "--nltk", a.nltk, "--judge", a.judge, "--out", a.out)
    python("train.py", "--data", a.data, "--teacher", a.teacher, "--out", a.out)
    python("export.py", "--data", a.data, "--teacher", a.teacher, "--out", a.out, "--model", str(model))
    scores = ROOT / "models/scores.json"
    subprocess.run(["node", ROOT / "tools/score_models.mjs", "--data", a.data, "--out", scores, f"wattn-default={model}"], check=True)
    python("card.py", "--model", str(model), "--scores", str(scores))


if __name__ == "__main__":
    main()
