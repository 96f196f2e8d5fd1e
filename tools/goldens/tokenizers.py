"""tests/goldens/tokenizers: the results of real tokenizers of every model and of randomly composed ones, as one hash per text.

The texts are those of minilm/texts.json. A hash is of the lines: ids, type ids, special-tokens mask, offsets (flat, in code points), word
ids, sequence ids, the tokens' strings (with U+001F between them), the decoded text, and the decoded text without special tokens; of every answer in a list.
"""
import base64
import json
import pathlib
import random
import shutil
import struct
import sys

from tokenizers import Tokenizer
from transformers import AutoTokenizer

from . import common
from .texts import all_texts, read_surrogates
from .wordpiece import digest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import parity  # noqa: E402
from parity_components import random_tokenizer  # noqa: E402

REAL = ["albert-base-v2-derived", "gpt2", "llama2-repaired", "openai-gpt", "phi-2", "roberta-base", "t5-small"]
NUM_RANDOM, TEXTS_EACH = 64, 12


def lines(tokenizer, encoding):
    whole = lambda values: [-1 if value is None else value for value in values]
    arrays = [encoding.ids, encoding.type_ids, encoding.special_tokens_mask, [x for pair in encoding.offsets for x in pair], whole(encoding.word_ids),
              whole(encoding.sequence_ids)]
    return "".join(x + "\n" for x in [*map(common.compact, arrays), "\x1f".join(encoding.tokens), *map(parity.decoded(tokenizer, encoding.ids), (False, True))])


def answer(tokenizer, *texts):
    """The hash; "error" when the reference refuses or breaks down."""
    try:
        return digest(lines(tokenizer, tokenizer.encode(*texts)))
    except BaseException as error:
        if type(error).__name__ not in ("Exception", "PanicException"):
            raise
        return "error"


def small_charsmap():
    """A table of a few replacements, in the layout of normalizers/charsmap.h; made by hand."""
    rules = {"a\u0301": "\u00e1", "A": "a", "\u00e9": "e", "\u0301": "", "\u2581": " ", "\u4e2d": "zh", "\t": " "}
    units, strings, children = {0: 0}, b"", {}
    for key in rules:
        data = key.encode()
        for i in range(len(data)):
            children.setdefault(data[:i], set()).add(data[i])

    def free_base(labels):
        return next(base for base in range(1, 1 << 20) if all(base ^ label not in units for label in labels))

    place = {b"": 0}  # where the unit of a prefix lies
    for prefix in sorted(children, key=lambda p: (len(p), p)):
        base = free_base(children[prefix])
        units[place[prefix]] |= (place[prefix] ^ base) << 10
        for byte in children[prefix]:
            place[prefix + bytes([byte])] = base ^ byte
            units[base ^ byte] = byte
    for key, replacement in rules.items():  # no key begins another, so a leaf needs no label but 0
        own, base = place[key.encode()], free_base([0])
        units[own] |= (own ^ base) << 10 | 1 << 8
        units[base] = len(strings) | 1 << 31
        strings += replacement.encode() + b"\0"
    units = [units.get(i, 0) for i in range(max(units) + 1)]
    blob = struct.pack("<I", 4 * len(units)) + b"".join(struct.pack("<I", unit) for unit in units) + strings
    return base64.b64encode(blob).decode()


def random_tokenizers(texts):
    out = []
    for number in range(NUM_RANDOM):
        rng = random.Random(number)
        text = random_tokenizer(rng, [small_charsmap()])
        try:
            tokenizer = Tokenizer.from_str(text)
        except BaseException:
            continue
        chosen = [rng.randrange(len(texts)) for _ in range(TEXTS_EACH)]
        answers = [answer(tokenizer, texts[i][:300]) for i in chosen]
        answers += [answer(tokenizer, texts[i][:300], texts[j][:300]) for i, j in zip(chosen[::4], chosen[1::4])]
        out.append({"tokenizer": json.loads(text), "texts": chosen, "answers": answers})
    return out


def check_decoding(texts):
    """That parity.decoded is what transformers' class of the model decodes, where `tokenizers` alone would keep special tokens."""
    folder = common.DATA / "tokenizers" / "llama2-repaired"
    reference, _ = parity.load(folder)
    of_class = AutoTokenizer.from_pretrained(folder)
    for text in texts:
        ids = reference.encode(text).ids + [1, 2]
        ours, theirs = parity.decoded(reference, ids)(True), of_class.decode(ids, skip_special_tokens=True)
        assert ours == theirs, (text, ours, theirs)


def make(options):
    texts = [read_surrogates(text) for _, text in all_texts()]
    check_decoding(texts)
    folder = common.OUT / "tokenizers"
    if folder.exists():
        shutil.rmtree(folder)
    sources = {}
    for name in REAL:
        reference, files = parity.load(common.DATA / "tokenizers" / name)
        own = [common.DATA / "tokenizers" / name / file for file in files[::2]]
        header = {f"tokenizers/{name}/{file.name}": common.sha256(file.read_bytes()) for file in own}
        sources.update(header)
        answers = [answer(reference, text) for text in texts]
        pairs = [answer(reference, *pair) for pair in zip(texts[::7], texts[3::7])]
        common.write_json(folder / f"{name}.json", {"files": header, "answers": answers, "pairs": pairs}, depth=2)
    common.write_json(folder / "components.json", random_tokenizers(texts), depth=2)
    common.update_manifest("tokenizers", common.versions("tokenizers", "transformers"), {"files in ../shared/data": sources})
