"""trainers/: the results of Hugging Face's trainers on our own texts."""
import json
import os
import shutil

os.environ["TOKENIZERS_PARALLELISM"] = "false"
from tokenizers import Tokenizer, pre_tokenizers, trainers

from . import common
from .texts import all_texts, read_surrogates

WHITESPACE, BERT = {"type": "Whitespace"}, {"type": "BertPreTokenizer"}
SPACES = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
LOWER = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}
TRAINERS = {"WordPiece": trainers.WordPieceTrainer, "BPE": trainers.BpeTrainer, "Unigram": trainers.UnigramTrainer, "WordLevel": trainers.WordLevelTrainer}


def train(description, texts):
    """description: what tokenizer/training.h takes."""
    options = dict(description["trainer"])
    kind, unk = options.pop("type"), options.get("unk_token")
    if kind != "Unigram":
        options.pop("unk_token", None)
    model = {"BPE": {"vocab": {}, "merges": []}, "WordLevel": {"vocab": {}, "unk_token": unk or "<unk>"}, "Unigram": {"vocab": [["", 0]], "unk_id": 0},
             "WordPiece": {"vocab": {}, "unk_token": unk, "continuing_subword_prefix": "##", "max_input_chars_per_word": 100}}[kind]
    stages = {name: description.get(name) for name in ("normalizer", "pre_tokenizer", "post_processor", "decoder")}
    tokenizer = Tokenizer.from_str(json.dumps({"version": "1.0", "added_tokens": [], **stages, "model": {"type": kind, **model}}))
    tokenizer.train_from_iterator(texts, TRAINERS[kind](show_progress=False, **options))
    return tokenizer


def forms(texts, description, prefix="", suffix=""):
    """Characters, and their forms with prefix and suffix, as special tokens. The reference numbers forms in the order of a hash map,
    another at each run, and breaks ties by these numbers; special tokens have an order."""
    counts = train({**description, "trainer": {"type": "WordLevel", "special_tokens": [], "vocab_size": 10 ** 6}}, texts).get_vocab()
    chars = sorted({c for word in counts for c in word})
    return chars + [p + c + s for p in (["", prefix] if prefix else [""]) for s in (["", suffix] if suffix else [""]) for c in chars if p or s]


def make(options):
    texts = [read_surrogates(text) for _, text in all_texts()]
    everything = list(range(len(texts)))
    ordinary = [i for i, (kind, _) in enumerate(all_texts()) if kind == "sentence"]
    plain = [texts[i] for i in ordinary]
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    suffixed = {"pre_tokenizer": WHITESPACE}
    pieces = {"normalizer": LOWER, "pre_tokenizer": BERT}
    cases = {
        "bpe": (ordinary, {"trainer": {"type": "BPE", "vocab_size": 500, "special_tokens": ["<unk>", "<pad>"]}, "pre_tokenizer": WHITESPACE}),
        "bpe of whole texts": (ordinary, {"trainer": {"type": "BPE", "vocab_size": 400, "special_tokens": []}}),
        "bpe of bytes": (everything, {"trainer": {"type": "BPE", "vocab_size": 600, "special_tokens": ["<|endoftext|>"], "initial_alphabet": alphabet},
                                      "pre_tokenizer": BYTES}),
        "bpe with limits": (ordinary, {"trainer": {"type": "BPE", "vocab_size": 500, "special_tokens": ["a", "q"], "min_frequency": 9, "max_token_length": 5,
                                                   "initial_alphabet": ["\u0436", "z"]}, "pre_tokenizer": WHITESPACE}),
        "bpe with suffixes": (ordinary, {"trainer": {"type": "BPE", "vocab_size": 500, "special_tokens": forms(plain, suffixed, suffix="</w>"), "end_of_word_suffix": "</w>"},
                                         **suffixed}),
        "wordpiece": (ordinary, {"trainer": {"type": "WordPiece", "vocab_size": 500, "special_tokens": ["[UNK]", *forms(plain, pieces, prefix="##")], "unk_token": "[UNK]",
                                             "continuing_subword_prefix": "##"}, **pieces}),
        "words": (everything, {"trainer": {"type": "WordLevel", "vocab_size": 300, "min_frequency": 2, "special_tokens": ["<unk>", "<pad>", "<s>", "</s>"]}, "pre_tokenizer": WHITESPACE}),
        "unigram": (ordinary[::2], {"trainer": {"type": "Unigram", "vocab_size": 120, "special_tokens": ["<unk>"], "unk_token": "<unk>"}, "pre_tokenizer": WHITESPACE}),
        "unigram with options": (ordinary, {"trainer": {"type": "Unigram", "vocab_size": 150, "special_tokens": ["<pad>", "<unk>"], "unk_token": "<unk>", "shrinking_factor": 0.5,
                                                        "n_sub_iterations": 3, "max_piece_length": 6, "initial_alphabet": ["\u0436", "z"]}, "pre_tokenizer": SPACES}),
        "unigram of whole texts": (ordinary, {"trainer": {"type": "Unigram", "vocab_size": 180, "special_tokens": ["<unk>"], "unk_token": "<unk>", "seed_size": 3000}}),
    }
    folder = common.OUT / "trainers"
    if folder.exists():
        shutil.rmtree(folder)
    out = []
    for name, (of, description) in cases.items():
        tokenizer = train(description, [texts[i] for i in of])
        model = json.loads(tokenizer.to_str())["model"]
        case = {"name": name, "texts": of, "description": description}
        if model["type"] == "Unigram":
            # Each run sums in the order of another hash map, so texts with ties would not do. Characters that are no pieces get their
            # scores in such an order.
            again = json.loads(train(description, [texts[i] for i in of]).to_str())["model"]
            assert sorted(t for t, _ in model["vocab"]) == sorted(t for t, _ in again["vocab"]), name
            case |= {"pieces": {t: round(score, 6) if len(t) > 1 else None for t, score in sorted(model["vocab"])}}
        else:
            case |= {"vocab": sorted(model["vocab"], key=model["vocab"].get), "merges": model.get("merges", [])}
            assert sorted(model["vocab"].values()) == list(range(len(model["vocab"])))
        out.append(case)
    common.write_json(folder / "cases.json", out, depth=2)
    common.update_manifest("trainers", common.versions("tokenizers"), {})
