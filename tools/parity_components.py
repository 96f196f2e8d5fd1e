"""Randomly composed tokenizers for tools/parity.py: every component with every setting, and random regular expressions."""
import json

CHARS = "abcst. ,-1\u00e9\u4e2d\u3042\u30a2\u2581_ \n\u0301\u0130\u212a\u017f'"


def regex(rng, depth=0):
    """A pattern of what our engine knows."""
    atoms = ["a", "b", "s", "c", " ", "1", r"\s", r"\S", r"\d", r"\w", r"\W", ".", "[ab]", "[^ab]", r"[^\s\p{L}\p{N}]", r"\p{L}", r"\p{N}", r"\p{P}", r"\p{Lu}",
             r"\P{L}", r"\p{^M}", r"\p{Han}", r"\p{Hiragana}", r"[\p{L}\p{M}]", r"[a-c1-3]", r"[a-z&&[^b]]", r"[^(\s|[.,])]", r"\x61", r"\u00e9", "\u4e2d", r"\n", r"\-", "'"]
    zero = [r"(?!\S)", r"(?=a)", r"(?<=a)", r"(?<!\s)", r"\b", "^", "$", r"\A", r"\z", r"(?=.b)", r"(?!ab|\d)", r"\B"]
    def piece():
        roll = rng.random()
        if roll < 0.12:
            return rng.choice(zero)
        if roll < 0.25 and depth < 2:
            body = regex(rng, depth + 1)
            takes_something = body[0] in "absc1" and not any(c in body for c in "*?|,")  # repeating what can be empty is not supported
            return rng.choice(["(?:%s)", "(%s)"]) % body + rng.choice(["", "", "?", "??"] + ["{2}", "{1,2}", "+", "*"] * takes_something)
        if roll < 0.3:
            return rng.choice(["(?i:'s|'t|'re)", "(?i:[sdmt])", "(?i:k)", "(?i:ab)"])
        atom = rng.choice(atoms)
        return atom + rng.choice(["", "", "", "+", "*", "?", "{2}", "{1,3}", "{,2}", "{2,}", "+?", "*?", "??", "++", "*+", "?+", "{1,3}+"])
    parts = ["".join(piece() for _ in range(rng.randrange(1, 5))) for _ in range(rng.choice([1, 1, 2, 3]))]
    return "|".join(parts)


def pattern(rng):
    return {"Regex": regex(rng)} if rng.random() < 0.6 else {"String": rng.choice(["a", "ab", " ", "  ", ".", "''", "aa", ""])}


BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]


def flag(rng):
    return rng.random() < 0.5


def metaspace(rng):
    scheme = rng.choice(["always", "first", "never"])
    return {"type": "Metaspace", "replacement": rng.choice(["\u2581", "_"]), "prepend_scheme": scheme, "split": flag(rng)}


def normalizer(rng, charsmaps, depth=0):
    kinds = [lambda: {"type": "BertNormalizer", "clean_text": flag(rng), "handle_chinese_chars": flag(rng), "strip_accents": rng.choice([None, True, False]), "lowercase": flag(rng)},
             *[lambda kind=kind: {"type": kind} for kind in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "ByteLevel")],
             lambda: {"type": "Strip", "strip_left": flag(rng), "strip_right": flag(rng)}, lambda: {"type": "Prepend", "prepend": rng.choice(["\u2581", "ab", " "])},
             lambda: {"type": "Replace", "pattern": pattern(rng), "content": rng.choice(["", "x", "bc", "\u2581"])},
             *[lambda: {"type": "Precompiled", "precompiled_charsmap": rng.choice(charsmaps)}] * 4]
    if depth < 1 and rng.random() < 0.4:
        return {"type": "Sequence", "normalizers": [normalizer(rng, charsmaps, 1) for _ in range(rng.randrange(4))]}
    return rng.choice(kinds)()


def pre_tokenizer(rng, depth=0):
    kinds = [*[lambda kind=kind: {"type": kind} for kind in ("BertPreTokenizer", "Whitespace", "WhitespaceSplit", "UnicodeScripts")],
             lambda: {"type": "ByteLevel", "add_prefix_space": flag(rng), "trim_offsets": flag(rng), "use_regex": flag(rng)}, lambda: metaspace(rng),
             lambda: {"type": "Punctuation", "behavior": rng.choice(BEHAVIORS)}, lambda: {"type": "Digits", "individual_digits": flag(rng)},
             lambda: {"type": "CharDelimiterSplit", "delimiter": rng.choice(" a-")}, lambda: {"type": "FixedLength", "length": rng.randrange(1, 5)},
             *[lambda: {"type": "Split", "pattern": pattern(rng), "behavior": rng.choice(BEHAVIORS), "invert": flag(rng)}] * 6]
    if depth < 1 and rng.random() < 0.4:
        return {"type": "Sequence", "pretokenizers": [pre_tokenizer(rng, 1) for _ in range(rng.randrange(4))]}
    return rng.choice(kinds)()


def decoder(rng, depth=0):
    kinds = [lambda: {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}, lambda: metaspace(rng), lambda: {"type": "BPEDecoder", "suffix": "</w>"},
             lambda: {"type": "ByteFallback"}, lambda: {"type": "Fuse"}, lambda: {"type": "WordPiece", "prefix": "##", "cleanup": flag(rng)},
             lambda: {"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "_", "cleanup": flag(rng)},
             lambda: {"type": "Replace", "pattern": pattern(rng), "content": rng.choice(["", " ", "x"])}]
    if depth < 1 and rng.random() < 0.5:
        steps = [decoder(rng, 1) for _ in range(rng.randrange(4))]
        return {"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "Strip", "content": " ", "start": rng.randrange(2), "stop": 0}] if flag(rng) else steps}
    return rng.choice(kinds)()


def words(rng):
    pieces = [c for c in CHARS]
    for _ in range(rng.randrange(10, 60)):
        pieces.append("".join(rng.choice(pieces) for _ in range(rng.randrange(2, 4)))[:12])
    return list(dict.fromkeys(pieces))


def bpe(rng):
    vocab, merges = ["<unk>", *CHARS], []
    if flag(rng):
        vocab += [f"<0x{byte:02X}>" for byte in range(256)]
    prefix, suffix = rng.choice([("", ""), ("", ""), ("", ""), ("##", ""), ("", "</w>")])
    vocab += [prefix + c for c in CHARS] if prefix else [c + suffix for c in CHARS] if suffix else []
    vocab = list(dict.fromkeys(vocab))
    for _ in range(rng.randrange(60)):
        left, right = rng.choice(vocab), rng.choice(vocab)
        if "<" in left + right.replace("</w>", "") or (prefix and not right.startswith(prefix)) or (suffix and left.endswith(suffix)) or " " in left + right or len(left + right) > 14:
            continue
        merges.append([left, right])
        vocab = list(dict.fromkeys([*vocab, left + right[len(prefix):]]))
    return {"type": "BPE", "dropout": None, "unk_token": rng.choice([None, "<unk>"]), "continuing_subword_prefix": prefix, "end_of_word_suffix": suffix, "fuse_unk": flag(rng),
            "byte_fallback": flag(rng) and not prefix and not suffix, "ignore_merges": flag(rng), "vocab": {token: i for i, token in enumerate(vocab)}, "merges": merges}


def model(rng):
    roll = rng.random()
    if roll < 0.4:
        return bpe(rng)
    if roll < 0.7:
        pieces = ["<unk>", *words(rng)] + ([f"<0x{byte:02X}>" for byte in range(256)] if flag(rng) else [])
        return {"type": "Unigram", "unk_id": rng.choice([0, 0, 0, None]), "byte_fallback": flag(rng), "vocab": [[piece, round(-rng.random() * 9, rng.choice([1, 6]))] for piece in pieces]}
    tokens = {token: i for i, token in enumerate(dict.fromkeys(["<unk>", *words(rng), *["##" + c for c in CHARS]]))}
    if roll < 0.85:
        return {"type": "WordLevel", "vocab": tokens, "unk_token": rng.choice(["<unk>", "<unk>", "<none>"])}
    return {"type": "WordPiece", "vocab": tokens, "unk_token": "<unk>", "continuing_subword_prefix": "##", "max_input_chars_per_word": rng.choice([3, 100])}


def post_processor(rng, tokens, depth=0):
    pair = lambda name: [name, tokens[name]]
    special = {name: {"id": name, "ids": [tokens[name]], "tokens": [name]} for name in ("<s>", "</s>")}
    piece = lambda name, kind=0: {"Sequence": {"id": name, "type_id": kind}} if name in "AB" else {"SpecialToken": {"id": name, "type_id": kind}}
    byte_level = {"type": "ByteLevel", "add_prefix_space": flag(rng), "trim_offsets": flag(rng), "use_regex": flag(rng)}
    template = {"type": "TemplateProcessing", "single": [piece(x) for x in rng.choice([["A"], ["<s>", "A", "</s>"], ["A", "</s>"]])],
                "pair": [piece(*x) for x in rng.choice([[("A",), ("B",)], [("<s>",), ("A",), ("</s>",), ("B", 1), ("</s>", 1)], [("A",), ("</s>",), ("<s>",), ("B",)]])], "special_tokens": special}
    kinds = [None, byte_level, template, {"type": "BertProcessing", "sep": pair("</s>"), "cls": pair("<s>")},
             {"type": "RobertaProcessing", "sep": pair("</s>"), "cls": pair("<s>"), "trim_offsets": flag(rng), "add_prefix_space": flag(rng)}]
    if depth == 0 and rng.random() < 0.3:
        return {"type": "Sequence", "processors": [byte_level, rng.choice(kinds[1:])]}
    return rng.choice(kinds)


def random_tokenizer(rng, charsmaps):
    file = {"version": "1.0", "truncation": None, "padding": None, "model": model(rng)}
    size = len(file["model"]["vocab"])
    added, tokens = [], {}
    for content in ["<s>", "</s>", *rng.sample(["ab", "  ", "\u00e9", "[X]", " a", "1"], rng.randrange(3))]:
        vocab = file["model"]["vocab"]
        known = vocab.get(content) if isinstance(vocab, dict) else next((i for i, (piece, _) in enumerate(vocab) if piece == content), None)
        tokens[content] = known if known is not None else size + sum(value >= size for value in tokens.values())
        special = content in ("<s>", "</s>")
        added.append({"id": tokens[content], "content": content, "single_word": not special and rng.random() < 0.2, "lstrip": rng.random() < 0.3, "rstrip": rng.random() < 0.3,
                      "normalized": content.strip() == content and rng.random() < 0.3, "special": special})
    file["added_tokens"] = added
    file["normalizer"] = rng.choice([None, normalizer(rng, charsmaps)])
    file["pre_tokenizer"] = rng.choice([None, pre_tokenizer(rng), pre_tokenizer(rng)])
    file["post_processor"] = post_processor(rng, tokens)
    file["decoder"] = rng.choice([None, decoder(rng)])
    return json.dumps(file)
