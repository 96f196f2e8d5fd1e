"""encodings/: the results of transformers' BatchEncoding for words, sequences and characters, with four types of tokenizers; and its joined
tokens."""
import transformers

from . import common

MODELS = ["bert-tiny/model", "static/encoders/unigram", "static/encoders/byte-bpe", "long/decoders/llama"]
TEXTS = ["The old boats can't wait.", "", "na\u00efve \U0001f600  caf\u00e9, isn't it?"]
PAIRS = ["Small birds", "sing in the wind", "x"]
CASES = [
    {}, {"padding": True}, {"padding": True, "padding_side": "left"}, {"text_pair": PAIRS, "padding": True},
    {"truncation": True, "max_length": 5}, {"add_special_tokens": False},
]


def span(found):
    return None if found is None else {"start": found.start, "end": found.end}


def answers(encoding, row, text, pair):
    size = len(encoding.tokens(row))
    words = [word for word in encoding.word_ids(row) if word is not None]
    places = [(i, char) for i, each in enumerate([text] + ([] if pair is None else [pair])) for char in range(len(each))]
    return {
        "tokens": encoding.tokens(row), "word_ids": encoding.word_ids(row), "sequence_ids": encoding.sequence_ids(row),
        "token_to_chars": [span(encoding.token_to_chars(row, i)) for i in range(size)],
        "token_to_word": [encoding.token_to_word(row, i) for i in range(size)],
        "char_to_token": [encoding.char_to_token(row, char, i) for i, char in places],
        "char_to_word": [encoding.char_to_word(row, char, i) for i, char in places],
        "word_to_tokens": [span(encoding.word_to_tokens(row, word)) for word in range(max(words, default=-1) + 1)],
        "word_to_chars": [encoding.word_to_tokens(row, word) and span(encoding.word_to_chars(row, word)) for word in range(max(words, default=-1) + 1)],
    }


def make(_options):
    folder = common.empty_folder("encodings")
    models = {}
    for model in MODELS:
        tokenizer = transformers.AutoTokenizer.from_pretrained(common.OUT / model)
        cases = []
        for options in CASES:
            if options.get("padding") and tokenizer.pad_token is None:
                continue
            encoding = tokenizer(TEXTS, **options)
            pairs = options.get("text_pair", [None] * len(TEXTS))
            rows = [answers(encoding, i, text, pair) for i, (text, pair) in enumerate(zip(TEXTS, pairs))]
            cases.append({"options": options, "rows": rows})
        known = tokenizer.get_vocab()
        rows = [[token for token in tokenizer.tokenize(text) if token in known] for text in TEXTS[:2] + PAIRS]
        joined = [(tokens, tokenizer.convert_tokens_to_string(tokens)) for tokens in rows if tokens]
        models[model] = {"cases": cases, "joined": joined}
    common.write_json(folder / "cases.json", {"texts": TEXTS, "models": models}, 4)
    common.update_manifest("encodings", common.versions("transformers", "tokenizers"))
