"""tests/goldens/wordpiece: the results of seven BERT-family tokenizers, mostly as hashes of a canonical JSON string."""
import random
import shutil
import sys

import transformers
from tokenizers import Tokenizer
from transformers.models.bert.tokenization_bert import load_vocab

from . import common
from .texts import all_texts, read_surrogates

TOKENIZERS = ["bert-base-uncased", "bert-base-cased", "bert-base-multilingual-cased", "all-MiniLM-L6-v2", "st-all-MiniLM-L6-v2", "baai-bge-small-en", "gte-small"]
IN_FULL = ["bert-base-cased", "bert-base-multilingual-cased"]
NUM_PAIRS, NUM_TRUNCATED = 72, 12


def load(name):
    """(tokenizer without truncation and padding, the files it was read from)"""
    folder = common.DATA / "tokenizers" / name
    if (folder / "tokenizer.json").exists():
        tokenizer, file = Tokenizer.from_file(str(folder / "tokenizer.json")), folder / "tokenizer.json"
    else:
        file = folder / "vocab.txt"
        tokenizer = transformers.BertTokenizer(vocab=dict(load_vocab(str(file))), do_lower_case=False).backend_tokenizer
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer, file


def parts(encoding):
    """[ids, type_ids, special_tokens_mask, offsets]: offsets flat, in code points, each counted in its own text."""
    return [encoding.ids, encoding.type_ids, encoding.special_tokens_mask, [x for pair in encoding.offsets for x in pair]]


def digest(text):
    """The first 16 hex digits of SHA-256 of the UTF-8 bytes."""
    return common.sha256(text.encode("utf-8"))[:16]


def windows(tokenizer, text, pair, how):
    """Canonical JSON of a truncated encoding followed by its overflowing windows; "error" when the library refuses, "panic" when it breaks down."""
    tokenizer.enable_truncation(how["max_length"], stride=how["stride"], strategy=how["strategy"], direction=how["direction"])
    try:
        encoding = tokenizer.encode(text, pair)
    except Exception as error:                  # the library raises plain Exception
        assert "Truncation error" in str(error), error
        return "error"
    except BaseException as panic:              # a Rust panic: a stride that is not below the room left for one of the two texts
        if type(panic).__name__ != "PanicException" or "stride" not in str(panic):
            raise
        return "panic"
    finally:
        tokenizer.no_truncation()
    return common.compact([parts(e) for e in [encoding, *encoding.overflowing]])


def cases(texts):
    rng = random.Random(7)
    short = [i for i, text in enumerate(texts) if len(text) < 400]
    middle = [i for i, text in enumerate(texts) if 20 < len(text) < 400]
    pairs = [[rng.choice(short), rng.choice(short)] for _ in range(NUM_PAIRS)]
    truncated = [[rng.choice(middle), None] for _ in range(NUM_TRUNCATED // 2)] + [[rng.choice(middle), rng.choice(middle)] for _ in range(NUM_TRUNCATED)]
    truncated += [[texts.index(""), None], [texts.index("the"), texts.index("water")], [texts.index("the"), middle[-1]], [middle[-2], texts.index("the")]]
    hows = [{"strategy": strategy, "direction": direction, "max_length": length, "stride": stride}
            for strategy in ("longest_first", "only_first", "only_second") for direction in ("right", "left")
            for length, stride in ((8, 0), (13, 0), (13, 4), (32, 0), (32, 11))]
    return {"pairs": pairs, "truncated": truncated, "truncations": hows}


def make(options):
    if not (common.DATA / "tokenizers").exists():
        sys.exit(f"wordpiece: needs the tokenizers in {common.DATA / 'tokenizers'}")
    folder = common.OUT / "wordpiece"
    if folder.exists():
        shutil.rmtree(folder)
    texts = [read_surrogates(text) for _, text in all_texts()]
    plan = cases(texts)
    common.write_json(folder / "cases.json", plan, depth=2)
    sources, made = {}, {}
    for name in TOKENIZERS:
        tokenizer, file = load(name)
        sources[f"tokenizers/{name}/{file.name}"] = common.sha256(file.read_bytes())
        singles = [tokenizer.encode(text) for text in texts]
        header = {"file": f"tokenizers/{name}/{file.name}", "sha256": sources[f"tokenizers/{name}/{file.name}"]}
        result = {
            "singles": [digest(common.compact(parts(e))) for e in singles],
            "without_specials": [digest(common.compact(parts(tokenizer.encode(text, add_special_tokens=False)))) for text in texts],
            "decoded": [digest(tokenizer.decode(e.ids, skip_special_tokens=False)) for e in singles],
            "decoded_without_specials": [digest(tokenizer.decode(e.ids)) for e in singles],
            "pairs": [digest(common.compact(parts(tokenizer.encode(texts[a], texts[b])))) for a, b in plan["pairs"]],
            "truncated": [],
        }
        for how in plan["truncations"]:
            row = [windows(tokenizer, texts[a], None if b is None else texts[b], how) for a, b in plan["truncated"]]
            result["truncated"].append([x if x in ("error", "panic") else digest(x) for x in row])
        twin = next((other for other in made if made[other] == result), None)
        made[name] = result
        common.write_json(folder / f"{name}.json", {**header, **({"same_as": twin} if twin else result)}, depth=2)
        if name in IN_FULL:
            common.write_json(folder / f"{name}.full.json", {"singles": [[e.ids, [x for pair in e.offsets for x in pair]] for e in singles]}, depth=2)
        if name == "st-all-MiniLM-L6-v2":
            common.write_json(folder / f"{name}.full.json", {
                "pairs": [parts(tokenizer.encode(texts[a], texts[b])) for a, b in plan["pairs"][:12]],
                "decoded": [tokenizer.decode(e.ids, skip_special_tokens=False) for e in singles[:120]],
                "truncated": [{"case": c, "how": h, "windows": windows(tokenizer, texts[plan["truncated"][c][0]],
                              None if plan["truncated"][c][1] is None else texts[plan["truncated"][c][1]], plan["truncations"][h])}
                              for h in range(len(plan["truncations"])) for c in (0, 8)]}, depth=2)
    common.update_manifest("wordpiece", common.versions("tokenizers", "transformers"), {"files in ../shared/data": sources})
