"""Random folders of tokenizer files, and the results of transformers' AutoTokenizer."""
import json
import pathlib
import random
import shutil
import tempfile

from .folder_vocabularies import OF_CLASS
from .texts import SHORT, sentence

MODEL_TYPES = {
    "BertTokenizer": ["bert", "electra", "distilbert", "nomic_bert"], "DistilBertTokenizer": ["distilbert"], "ElectraTokenizer": ["electra"], "MobileBertTokenizer": ["mobilebert"],
    "DPRQuestionEncoderTokenizer": ["dpr"], "MPNetTokenizer": ["mpnet"], "FunnelTokenizer": ["funnel"], "RobertaTokenizer": ["roberta", "bart", "longformer"], "BartTokenizer": ["bart"],
    "LongformerTokenizer": ["longformer"], "GPT2Tokenizer": ["gpt2", "gpt_neo", "opt", "phi"], "GPTNeoXTokenizer": ["gpt_neox", "olmo"], "CodeGenTokenizer": ["codegen"], "Qwen2Tokenizer": ["qwen2", "qwen3"],
    "CLIPTokenizer": ["clip"], "OpenAIGPTTokenizer": ["openai-gpt"], "HerbertTokenizer": ["herbert"], "DebertaTokenizer": ["deberta"], "BlenderbotTokenizer": ["blenderbot"], "CohereTokenizer": ["cohere"],
    "XLMRobertaTokenizer": ["xlm-roberta", "xmod"], "CamembertTokenizer": ["camembert"], "MBartTokenizer": ["mbart"], "MBart50Tokenizer": ["mbart"], "BarthezTokenizer": ["mbart"], "NllbTokenizer": ["m2m_100"],
    "T5Tokenizer": ["t5", "mt5", "umt5"], "AlbertTokenizer": ["albert"], "XLNetTokenizer": ["xlnet"], "BigBirdTokenizer": ["big_bird"], "PegasusTokenizer": ["pegasus"], "ReformerTokenizer": ["reformer"],
    "RemBertTokenizer": ["rembert"], "DebertaV2Tokenizer": ["deberta-v2"], "LlamaTokenizer": ["llama", "mistral"], "GemmaTokenizer": ["gemma", "gemma2"], "ByT5Tokenizer": ["t5", "byt5"],
}
OTHER_TYPES = ["modernbert", "granite", "phi3", "llama", "bert", "roberta", "t5", "gpt2", "unheard_of"]
OTHER_CLASSES = ["PreTrainedTokenizerFast", "TokenizersBackend", "BertTokenizerFast", "RobertaTokenizer", "LlamaTokenizerFast", "UnheardOfTokenizer", "BertJapaneseTokenizer", "PhobertTokenizer"]
ROLES = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "sep_token": "</s>", "pad_token": "<pad>", "cls_token": "<s>", "mask_token": "<mask>"}
BERT_ROLES = {"unk_token": "[UNK]", "sep_token": "[SEP]", "pad_token": "[PAD]", "cls_token": "[CLS]", "mask_token": "[MASK]", "bos_token": "[CLS]", "eos_token": "[SEP]"}
GPT_ROLES = {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>", "unk_token": "<|endoftext|>", "pad_token": "<|endoftext|>"}
NEW = ["[bla]", "[blub]", "<e1>", "</e1>", "<|user|>", "Zebra", "new word", "\u00e9t\u00e9", "##x", "_b", "<image>"]
FLAGS = {
    "do_lower_case": [True, False], "strip_accents": [True, False, None], "tokenize_chinese_chars": [True, False], "add_prefix_space": [True, False], "add_bos_token": [True, False], "add_eos_token": [True, False],
    "legacy": [True, False, None], "keep_accents": [True, False], "trim_offsets": [True, False], "extra_ids": [0, 3, 100], "split_by_punct": [True, False], "clean_up_tokenization_spaces": [True, False],
    "model_max_length": [16, 512, 1000000000000000019884624838656], "padding_side": ["left", "right"], "truncation_side": ["left", "right"], "src_lang": ["en_XX", "de_DE"], "remove_space": [True], "sp_model_kwargs": [{}],
    "clean_text": [True, False], "errors": ["replace"], "offset": [103, 5], "do_basic_tokenize": [True], "never_split": [None],
}


def roles_of(rng, data):
    text = b"".join(data.values())
    base = BERT_ROLES if b"[CLS]" in text else GPT_ROLES if b"<|endoftext|>" in text and b"<mask>" not in text else ROLES
    return {role: token for role, token in base.items() if rng.random() < 0.9}


def added(rng, content, special, typed):
    flags = {"content": content, "lstrip": rng.random() < 0.3, "normalized": rng.random() < 0.4, "rstrip": rng.random() < 0.15, "single_word": rng.random() < 0.15}
    if typed == "decoder":
        return {**flags, "special": special}
    return {"__type": "AddedToken", **flags} if typed == "config" else flags


def give_roles(rng, roles, typed):
    """A role as a file gives it: a string, an AddedToken, or null."""
    def given(role, token):
        if rng.random() < 0.04:
            return None
        token = token if rng.random() < 0.95 else rng.choice(NEW)
        return token if rng.random() < 0.6 else added(rng, token, True, typed)
    return {role: given(role, token) for role, token in roles.items() if rng.random() < 0.7}


def vocabulary_of(files):
    """Tokens and ids of a folder's vocabulary, as the added ones count on."""
    if "tokenizer.json" in files:
        data = json.loads(files["tokenizer.json"])
        vocab = data["model"]["vocab"]
        ids = dict(vocab) if isinstance(vocab, dict) else {token: i for i, (token, _) in enumerate(vocab)}
        ids.update({token["content"]: token["id"] for token in data["added_tokens"]})
        return ids
    if "vocab.txt" in files:
        return {token: i for i, token in enumerate(files["vocab.txt"].decode().split("\n")[:-1])}
    return json.loads(files["vocab.json"]) if "vocab.json" in files else {}


def change_file(rng, data):
    """tokenizer.json as another hand might have left it."""
    for _ in range(rng.randrange(3)):
        kind = rng.randrange(6)
        if kind == 0:
            data["added_tokens"] = [token for token in data["added_tokens"] if rng.random() < 0.6]
            for i, token in enumerate(data["added_tokens"]):
                token["id"] = token["id"] if token["id"] < len(data["model"]["vocab"]) else len(data["model"]["vocab"]) + i
        elif kind == 1 and data["normalizer"] and data["normalizer"]["type"] == "BertNormalizer":
            data["normalizer"][rng.choice(["lowercase", "handle_chinese_chars"])] = rng.random() < 0.5
        elif kind == 2 and data["pre_tokenizer"] and data["pre_tokenizer"]["type"] == "ByteLevel":
            data["pre_tokenizer"]["add_prefix_space"] = rng.random() < 0.5
        elif kind == 3:
            data["post_processor"] = None
        elif kind == 4:
            data["normalizer"] = rng.choice([None, {"type": "NFC"}, {"type": "Lowercase"}])
        elif kind == 5:
            data["truncation"] = {"direction": "Right", "max_length": 64, "strategy": "LongestFirst", "stride": 0}
    return data


def random_folder(rng, bases):
    name = rng.choice(list(OF_CLASS))
    vocabulary = rng.choice(OF_CLASS[name])
    data = bases["vocabularies"][vocabulary]
    stored = [version for version in ("files4", "files5") if f"{name}/{vocabulary}" in bases[version]]
    files = {}
    if stored and rng.random() < 0.5:
        file = json.loads(bases[rng.choice(stored)][f"{name}/{vocabulary}"])
        files["tokenizer.json"] = json.dumps(change_file(rng, file), ensure_ascii=False).encode()
    if "tokenizer.json" not in files or rng.random() < 0.3:
        files.update(data)
    settings, config = {}, {}
    if rng.random() < 0.65:
        settings["tokenizer_class"] = name + rng.choice(["", "", "Fast"])
    if rng.random() < 0.6:
        config["model_type"] = rng.choice(MODEL_TYPES[name])
    if rng.random() < 0.12:
        config["tokenizer_class"] = name + rng.choice(["", "Fast"])
    if rng.random() < 0.08:
        config["model_type"] = rng.choice(OTHER_TYPES)
    if rng.random() < 0.06:
        (settings if rng.random() < 0.7 else config)["tokenizer_class"] = rng.choice(OTHER_CLASSES)
    if rng.random() < 0.02:
        settings["auto_map"] = {"AutoTokenizer": ["tokenization_own.OwnTokenizer", None]}
    if not settings and not config:
        settings["tokenizer_class"] = name
    for flag in rng.sample(list(FLAGS), rng.randrange(6)):
        settings[flag] = rng.choice(FLAGS[flag])
    roles, known = roles_of(rng, {**data, **files}), vocabulary_of(files)
    if rng.random() < 0.4:
        settings.update(give_roles(rng, roles, "config"))
    new = rng.sample(NEW, rng.randrange(4)) if rng.random() < 0.6 else []
    extra = rng.sample(NEW, rng.randrange(1, 3)) if rng.random() < 0.2 else None
    if extra:
        settings[rng.choice(["additional_special_tokens", "additional_special_tokens", "extra_special_tokens"])] = extra
    if rng.random() < 0.1:
        settings["image_token"] = "<image>"
    first = max(known.values(), default=-1) + 1
    if known and new and rng.random() < 0.5:
        settings["added_tokens_decoder"] = {str(first + i): added(rng, token, rng.random() < 0.4, "decoder") for i, token in enumerate(token for token in new if token not in known)}
        for token in set(roles.values()) & set(known):
            if rng.random() < 0.7:
                settings["added_tokens_decoder"][str(known[token])] = added(rng, token, True, "decoder")
    elif known and new:
        files["added_tokens.json"] = json.dumps({token: first + i for i, token in enumerate(token for token in new if token not in known)}).encode()
    if rng.random() < 0.35:
        tokens = give_roles(rng, roles, "map")
        if rng.random() < 0.2:
            tokens["additional_special_tokens"] = rng.sample(NEW, 2)
        files["special_tokens_map.json"] = json.dumps({role: token for role, token in tokens.items() if token is not None}).encode()
    if settings or rng.random() < 0.5:
        files["tokenizer_config.json"] = json.dumps(settings).encode()
    files["config.json"] = json.dumps(config).encode()
    return files


def random_texts(rng, files, count):
    tokens = [*NEW, *ROLES.values(), *BERT_ROLES.values(), "<|endoftext|>", "<extra_id_0>", "<mask_1>", "<image>"]
    groups = [text for name in SHORT if name != "lone surrogates" for text in SHORT[name]]
    out = []
    for _ in range(count):
        parts = []
        for _ in range(rng.randrange(1, 5)):
            kind = rng.random()
            parts.append(rng.choice(tokens) if kind < 0.35 else sentence(rng)[:60] if kind < 0.7 else rng.choice(groups)[:40])
        out.append("".join(part + rng.choice(["", " ", " ", "  ", "\n"]) for part in parts)[: 160])
    return out


def answers_of(tokenizer, texts):
    """Ids of each text, of pairs of neighbours with their types, decoded texts, and what the tokenizer says of itself."""
    pairs = [tokenizer(first, second, return_token_type_ids=True) for first, second in zip(texts[::4], texts[1::4])]
    ids = [tokenizer(text)["input_ids"] for text in texts]
    limit = tokenizer.model_max_length
    return {
        "ids": ids, "pairs": [pair["input_ids"] for pair in pairs], "types": [pair["token_type_ids"] for pair in pairs],
        "decoded": [tokenizer.decode(row, skip_special_tokens=bool(i % 2)) for i, row in enumerate(ids)],
        "roles": {role: getattr(tokenizer, role) for role in ROLES}, "special": list(tokenizer.all_special_tokens), "side": tokenizer.padding_side, "size": len(tokenizer),
        "limit": limit if limit < 1e9 else None,
    }


def answer(files, texts, loader):
    """An error's text where Python refuses the folder."""
    folder = tempfile.mkdtemp()
    try:
        for name, data in files.items():
            pathlib.Path(folder, name).write_bytes(data)
        tokenizer = loader(folder)
        return answers_of(tokenizer, texts)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return {"error": f"{type(error).__name__}: {error}"[:300]}
    finally:
        shutil.rmtree(folder)


def folder_and_texts(seed, bases, count=20):
    rng = random.Random(seed)
    files = random_folder(rng, bases)
    return files, random_texts(rng, files, count)
