"""Compares `wattn tokenize --train` with Hugging Face's trainers: python tools/check_trainers.py CORPUS [--held-out TEXT].

Every line of CORPUS is a text. For each model: our tokenizer.json is loaded by tokenizers and by transformers, gives there the ids
that `wattn tokenize` gives, and has the vocabulary and merges that the reference's trainer makes (Unigram: the same pieces; the
reference gives characters that are no pieces scores by chance). Needs dist/ (npm run build), and the packages of tools/requirements.txt.
"""
import argparse, json, os, pathlib, subprocess, sys, tempfile, time

os.environ["RAYON_NUM_THREADS"] = "1"           # times are for one thread
os.environ["TOKENIZERS_PARALLELISM"] = "false"
from tokenizers import Tokenizer, trainers
from transformers import PreTrainedTokenizerFast

CLI = ["node", str(pathlib.Path(__file__).parent.parent / "dist/cli.js"), "tokenize"]
BPE_FORMS = {"continuing_subword_prefix": "@@", "end_of_word_suffix": "</w>"}
CASES = [("wordpiece", {}), ("wordpiece", {"limit_alphabet": 60, "min_frequency": 5}), ("bpe", {}),
         ("bpe", {"max_token_length": 5, "min_frequency": 3}), ("bpe", {"pre_tokenizer": {"type": "Whitespace"}, **BPE_FORMS}),
         ("bpe", {"pre_tokenizer": None, "vocab_size": 1500}), ("unigram", {}), ("unigram", {"vocab_size": 1000}), ("word", {}), ("char", {})]
TRAINERS = {"WordPiece": trainers.WordPieceTrainer, "BPE": trainers.BpeTrainer, "Unigram": trainers.UnigramTrainer, "WordLevel": trainers.WordLevelTrainer}


def read_lines(path):
    lines = pathlib.Path(path).read_bytes().decode("utf-8").split("\n")
    return [line.removesuffix("\r") for line in (lines[:-1] if lines[-1] == "" else lines)]


def reference(ours, options, lines):
    """The tokenizer that the reference trains with the stages and options that ours was trained with."""
    file = json.loads(ours)
    model, vocab = file["model"], file["model"]["vocab"]
    special = [token["content"] for token in file["added_tokens"]]
    names = {name: value for name, value in options.items() if name not in ("pre_tokenizer", "normalizer", "decoder", "post_processor")}
    if model["type"] in ("WordPiece", "BPE"):
        # The reference gives ids to forms like "##a" in the order of a hash map, another at each run, and breaks ties by them. Made
        # special, characters and forms have the order there that they have here.
        prefix, suffix = model.get("continuing_subword_prefix") or "", model.get("end_of_word_suffix") or ""
        if prefix or suffix:
            forms = [token for token in vocab if len(token.removeprefix(prefix).removesuffix(suffix)) == 1 and token not in special]
            special += sorted(forms, key=vocab.get)
        names.setdefault("continuing_subword_prefix", prefix) if prefix else None
        if file["pre_tokenizer"] and file["pre_tokenizer"]["type"] == "ByteLevel":
            names["initial_alphabet"] = __import__("tokenizers").pre_tokenizers.ByteLevel.alphabet()
        if "max_token_length" not in options and model["type"] == "BPE":
            names["max_token_length"] = None
    if model["type"] == "Unigram":
        names["unk_token"] = "<unk>"
    empty = {**model, "vocab": [["<unk>", 0]] if model["type"] == "Unigram" else {t: i for i, t in enumerate(special)}}
    if "merges" in model:
        empty["merges"] = []
    tokenizer = Tokenizer.from_str(json.dumps({**file, "model": empty, "added_tokens": [], "post_processor": None}))
    trainer = TRAINERS[model["type"]](show_progress=False, special_tokens=special, **names)
    start = time.time()
    tokenizer.train_from_iterator(lines, trainer)
    return tokenizer, time.time() - start


def tokens_per_word(tokenizer, texts):
    encodings = tokenizer.encode_batch(texts, add_special_tokens=False)
    return sum(len(e.ids) for e in encodings) / sum(len(text.split()) for text in texts)


def check(name, options, corpus, lines, held_out, folder):
    path = folder / "tokenizer.json"
    options = {"vocab_size": 4000, **options}
    subprocess.run([*CLI, "--train", name, "--out", path, "--options", json.dumps(options), corpus], check=True)
    ours = Tokenizer.from_file(str(path))
    said = subprocess.run([*CLI, "--model", folder, "--input", "text", "--offsets", "codepoint"], input="\n".join(held_out), text=True,
                          capture_output=True, check=True, encoding="utf-8").stdout
    rows = [json.loads(line) for line in said.split("\n") if line]
    assert len(rows) == len(held_out)
    for text, row in zip(held_out, rows):
        encoding = ours.encode(text)
        assert row["ids"] == encoding.ids and [tuple(o) for o in row["offsets"]] == encoding.offsets, (name, text)
    fast = PreTrainedTokenizerFast(tokenizer_file=str(path))
    assert [fast(text)["input_ids"] for text in held_out[:200]] == [row["ids"] for row in rows[:200]]
    if name == "char":
        return "loads and agrees"
    theirs, seconds = reference(path.read_text(encoding="utf-8"), options, lines)
    a, b = json.loads(ours.to_str())["model"], json.loads(theirs.to_str())["model"]
    if name == "unigram":
        a["vocab"], b["vocab"] = dict(a["vocab"]), dict(b["vocab"])
    assert set(a["vocab"]) == set(b["vocab"]), sorted(set(a["vocab"]) ^ set(b["vocab"]))[:10]
    if "merges" in a:
        assert a["merges"] == b["merges"]
    for token, value in a["vocab"].items():
        assert value == b["vocab"][token] or name == "unigram" and (len(token) == 1 or abs(value - b["vocab"][token]) < 1e-9), token
    words = f"{tokens_per_word(ours, held_out):.4f} tokens a held-out word, " if name == "unigram" else ""
    return f"{len(a['vocab'])} tokens and {len(a.get('merges', []))} merges equal, {words}reference {seconds:.2f} s"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus")
    parser.add_argument("--held-out", help="texts to tokenize (default: the last 1000 lines of the corpus)")
    options = parser.parse_args()
    lines = read_lines(options.corpus)
    held_out = read_lines(options.held_out)[:5000] if options.held_out else lines[-1000:]
    with tempfile.TemporaryDirectory() as folder:
        for name, case in CASES:
            print(f"{name} {json.dumps(case)}: {check(name, case, options.corpus, lines, held_out, pathlib.Path(folder))}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
