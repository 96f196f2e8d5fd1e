"""marian-tokenizer/: the files of an OPUS-MT repository (source.spm, target.spm, vocab.json) and MarianTokenizer's results for some texts."""
import io
import json
import random
import shutil

import sentencepiece
import transformers

from . import common

FOLDER = common.OUT / "marian-tokenizer"
SUBJECTS = ["the boat", "a bird", "my old friend", "the river", "nobody", "the wind from the hills", "she", "their grey house"]
VERBS = ["waits below", "sings over", "remembers", "walks along", "is painted like", "sleeps beside", "never left"]
OBJECTS = ["the bridge.", "the dark water", "seven small fires!", "the way home?", "an open door;", "the long, cold road"]
ANDERE = ["das Boot wartet unter der Brücke.", "ein Vogel singt über dem Fluss", "niemand ging nach Hause!", "der Wind schläft neben der Tür"]
TEXTS = ["the old boat waits below the bridge.", "", " ", "  two  spaces  ", ">>fra<< a bird sings", ">>fra<<a bird", ">>xyz<< nobody", " >>fra<< nobody",
         "a bird >>fra<< sings", ">>fra<<", ">><<the", ">>fra the", "the</s>river<unk>", "a</s> >>fra<< b", "a</s>>>fra<< b", "The RIVER", "\u6c34\u4e0b the \u6c34", "ﬁre",
         "the\u00a0boat\u200b", "\U0001f600 bird", "\u2581the \u2581", "<pad> the", "caf\u00e9 e\u0301", "line\nend\ttab", "seven small fires! the way home?"]  # fmt: skip


def train(sentences, vocab_size, normalizer="nmt_nfkc"):
    """The bytes of a SentencePiece model as OPUS-MT's are: Unigram, the usual normaliser (whose table alone is 240 kB)."""
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(sentences), model_writer=out, vocab_size=vocab_size, model_type="unigram",
                                             normalization_rule_name=normalizer, character_coverage=0.98, hard_vocab_limit=False, num_threads=1, minloglevel=2)  # fmt: skip
    return out.getvalue()


def write(folder, source, target, rng):
    """A repository's files. Of the pieces some are left out of vocab.json, as those are that were in no training text."""
    folder.mkdir(parents=True, exist_ok=True)
    pieces = set()
    for name, model in (("source.spm", source), ("target.spm", target)):
        (folder / name).write_bytes(model)
        processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        pieces |= {processor.id_to_piece(i) for i in range(processor.vocab_size()) if not processor.is_control(i) and not processor.is_unknown(i)}
    kept = [piece for piece in sorted(pieces) if rng.random() > 0.05]
    rng.shuffle(kept)
    tokens = ["</s>", "<unk>", *kept, ">>fra<<", ">>deu<<", "<pad>"]
    (folder / "vocab.json").write_text(json.dumps({token: i for i, token in enumerate(tokens)}, indent=0), "utf-8")
    config = {"source_lang": "eng", "target_lang": "deu", "model_max_length": 512, "unk_token": "<unk>", "eos_token": "</s>", "pad_token": "<pad>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")
    return transformers.MarianTokenizer.from_pretrained(folder)


def make(_options):
    if FOLDER.exists():
        shutil.rmtree(FOLDER)
    rng = random.Random(3)
    english = [f"{a} {b} {c}" for a in SUBJECTS for b in VERBS for c in OBJECTS]
    tokenizer = write(FOLDER, train(english, 180, "identity"), train([*english[:40], *ANDERE * 4], 160, "identity"), rng)
    cases = []
    for text in TEXTS:
        ids = tokenizer(text)["input_ids"]
        cases.append({"text": text, "ids": ids, "decoded": tokenizer.decode(ids, skip_special_tokens=True), "plain": tokenizer(text, add_special_tokens=False)["input_ids"]})
    for number in range(20):
        ids = [rng.randrange(len(tokenizer)) for _ in range(number)]
        cases.append({"ids": ids, "decoded": tokenizer.decode(ids, skip_special_tokens=True)})
    common.write_json(FOLDER / "cases.json", cases)
    common.update_manifest("marian-tokenizer", common.versions("transformers", "sentencepiece"))
