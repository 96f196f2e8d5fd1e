"""Small vocabularies of every kind, trained on the sentences of texts.py, and the tokenizer.json that each class makes of one.

Needs sentencepiece. Each is {name: bytes}: what a repository would have beside its configuration.
"""
import io
import json
import pathlib
import random
import tempfile

import sentencepiece
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from .texts import SHORT, sentence

BERT = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
MPNET = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "[UNK]"]
FUNNEL = ["<pad>", "<unk>", "<cls>", "<sep>", "<mask>", "<s>", "</s>"]
RULES = {"e\u0301": "\u00e9", "\ufb01": "fi", "\u3000": " ", "\t": " ", "\u00a0": " ", "\uff11": "1", "\u2460": "1", "\u00bd": "1/2", "\u200b": " ", "\uff21": "A"}
FAIRSEQ = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def corpus():
    rng = random.Random(7)
    lines = [sentence(rng) for _ in range(300)]
    for group in ("Chinese", "Japanese", "Korean", "other scripts", "combining marks", "compatibility forms", "code", "numbers", "case"):
        lines += [text for text in SHORT[group] if len(text) < 80]
    return [line.replace("\n", " ") for line in lines if line.strip()]


def word_pieces(special, lowercase, size=420):
    tokenizer = Tokenizer(models.WordPiece(unk_token=special[1]))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.train_from_iterator(corpus(), trainers.WordPieceTrainer(vocab_size=size, special_tokens=special, limit_alphabet=180, show_progress=False))
    ids = tokenizer.get_vocab()
    return {"vocab.txt": "".join(token + "\n" for token in sorted(ids, key=ids.get)).encode()}


def byte_pairs(special, suffix=None, size=480):
    tokenizer = Tokenizer(models.BPE(**({"end_of_word_suffix": suffix} if suffix else {})))
    options = {"vocab_size": size, "special_tokens": special, "show_progress": False}
    if suffix:
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        options["end_of_word_suffix"] = suffix
        options["limit_alphabet"] = 120
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        options["initial_alphabet"] = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(corpus(), trainers.BpeTrainer(**options))
    model = json.loads(tokenizer.to_str())["model"]
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]]
    return {"vocab.json": json.dumps(model["vocab"], ensure_ascii=False).encode(), "merges.txt": ("#version: 0.2\n" + "".join(m + "\n" for m in merges)).encode()}


def pieces(file, size=330, **options):
    writer = io.BytesIO()
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as rules:  # a table of a few kilobytes; nmt_nfkc has 240
        if options.get("normalization_rule_name") != "identity":
            rules.write("".join(f"{' '.join(f'{ord(c):X}' for c in source)}\t{' '.join(f'{ord(c):X}' for c in target)}\n" for source, target in RULES.items()))
            rules.flush()
            options["normalization_rule_tsv"] = rules.name
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(corpus()), model_writer=writer, vocab_size=size, hard_vocab_limit=False,
                                                 num_threads=1, minloglevel=2, character_coverage=0.98, **options)
    return {file: writer.getvalue()}


T5 = {"unk_id": 2, "eos_id": 1, "pad_id": 0, "bos_id": -1}
ALBERT = {"pad_id": 0, "unk_id": 1, "bos_id": -1, "eos_id": -1, "control_symbols": ["[CLS]", "[SEP]", "[MASK]"]}

# Vocabularies by name, and which classes read them.
MAKERS = {
    "bert": lambda: word_pieces(BERT, True), "bert-cased": lambda: word_pieces(BERT, False), "mpnet": lambda: word_pieces(MPNET, True), "funnel": lambda: word_pieces(FUNNEL, True),
    "roberta": lambda: byte_pairs(FAIRSEQ), "gpt2": lambda: byte_pairs(["<|endoftext|>"]), "deberta": lambda: byte_pairs(["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"]),
    "words": lambda: byte_pairs(["<unk>", "<s>", "</s>", "<pad>", "<mask>"], "</w>"), "clip": lambda: byte_pairs(["<|startoftext|>", "<|endoftext|>"]),
    "fairseq": lambda: pieces("sentencepiece.bpe.model"), "fairseq-plain": lambda: pieces("sentencepiece.bpe.model", normalization_rule_name="identity"),
    "fairseq-bpe": lambda: pieces("sentencepiece.bpe.model", model_type="bpe"),
    "t5": lambda: pieces("spiece.model", **T5), "albert": lambda: pieces("spiece.model", **ALBERT),
    "xlnet": lambda: pieces("spiece.model", unk_id=0, bos_id=1, eos_id=2, control_symbols=["<cls>", "<sep>", "<pad>", "<mask>", "<eop>", "<eod>"], user_defined_symbols=["."]),
    "big_bird": lambda: pieces("spiece.model", pad_id=0, eos_id=1, bos_id=2, unk_id=3, control_symbols=["[SEP]", "[MASK]", "[CLS]"]),
    "pegasus": lambda: pieces("spiece.model", pad_id=0, eos_id=1, unk_id=2, bos_id=-1),
    "reformer": lambda: pieces("spiece.model", model_type="bpe", unk_id=0, eos_id=1, bos_id=-1),
    "rembert": lambda: pieces("sentencepiece.model", pad_id=0, unk_id=2, bos_id=-1, eos_id=1, control_symbols=["[CLS]", "[SEP]", "[MASK]"]),
    "deberta-v2": lambda: pieces("spm.model", pad_id=0, unk_id=3, bos_id=1, eos_id=2, pad_piece="[PAD]", unk_piece="[UNK]", bos_piece="[CLS]", eos_piece="[SEP]"),
    "llama": lambda: pieces("tokenizer.model", size=560, model_type="bpe", byte_fallback=True),
    "gemma": lambda: pieces("tokenizer.model", size=560, model_type="bpe", byte_fallback=True, pad_id=0, eos_id=1, bos_id=2, unk_id=3, bos_piece="<bos>", eos_piece="<eos>", add_dummy_prefix=False, remove_extra_whitespaces=False),
    "none": lambda: {},
}
OF_CLASS = {
    "BertTokenizer": ["bert", "bert-cased"], "DistilBertTokenizer": ["bert"], "ElectraTokenizer": ["bert"], "MobileBertTokenizer": ["bert"], "DPRQuestionEncoderTokenizer": ["bert"],
    "MPNetTokenizer": ["mpnet"], "FunnelTokenizer": ["funnel"], "RobertaTokenizer": ["roberta"], "BartTokenizer": ["roberta"], "LongformerTokenizer": ["roberta"], "GPT2Tokenizer": ["gpt2", "roberta"],
    "GPTNeoXTokenizer": ["gpt2"], "CodeGenTokenizer": ["gpt2"], "Qwen2Tokenizer": ["gpt2"], "CLIPTokenizer": ["clip"], "OpenAIGPTTokenizer": ["words"], "HerbertTokenizer": ["words"], "DebertaTokenizer": ["deberta"],
    "BlenderbotTokenizer": ["roberta"], "CohereTokenizer": ["gpt2"], "XLMRobertaTokenizer": ["fairseq", "fairseq-plain"], "CamembertTokenizer": ["fairseq"], "MBartTokenizer": ["fairseq"], "MBart50Tokenizer": ["fairseq"],
    "BarthezTokenizer": ["fairseq"], "NllbTokenizer": ["fairseq-bpe"], "T5Tokenizer": ["t5"], "AlbertTokenizer": ["albert"], "XLNetTokenizer": ["xlnet"], "BigBirdTokenizer": ["big_bird"], "PegasusTokenizer": ["pegasus"],
    "ReformerTokenizer": ["reformer"], "RemBertTokenizer": ["rembert"], "DebertaV2Tokenizer": ["deberta-v2"], "LlamaTokenizer": ["llama"], "GemmaTokenizer": ["gemma"],
    "ByT5Tokenizer": ["none"],
}


def all_vocabularies():
    return {name: make() for name, make in MAKERS.items()}


def class_files(vocabularies, loader):
    """The tokenizer.json that this version of transformers writes for each class and vocabulary; none where it cannot."""
    out = {}
    for name, names in OF_CLASS.items():
        for vocabulary in names:
            with tempfile.TemporaryDirectory() as folder:
                for file, data in vocabularies[vocabulary].items():
                    pathlib.Path(folder, file).write_bytes(data)
                pathlib.Path(folder, "config.json").write_text("{}")
                pathlib.Path(folder, "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": name}))
                try:
                    out[f"{name}/{vocabulary}"] = loader(folder).backend_tokenizer.to_str().encode()
                except Exception as error:  # Python code of its own, or a class that this version refuses
                    print("no tokenizer.json:", name, vocabulary, str(error)[:100])
    return out
