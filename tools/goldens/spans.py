"""spans/: tiny random GLiNER models over four encoders, made and saved by the package gliner, and the entities that it finds."""
import json
import tempfile
import warnings

import gliner
import tokenizers
import torch
import transformers

from . import common, tiny

USUAL = dict(hidden_size=24, num_hidden_layers=2, num_attention_heads=4, intermediate_size=32, max_position_embeddings=320)
DEBERTA = dict(USUAL, model_type="deberta-v2", max_position_embeddings=48, relative_attention=True, position_buckets=8, pos_att_type=["p2c", "c2p"],
               share_att_key=True, norm_rel_ebd="layer_norm", position_biased_input=False, type_vocab_size=0)
MODERNBERT = dict(USUAL, model_type="modernbert", pad_token_id=1, local_attention=10, global_attn_every_n_layers=2)
T5 = dict(model_type="t5", d_model=24, d_kv=6, num_heads=4, num_layers=2, num_decoder_layers=1, d_ff=32, is_encoder_decoder=False, use_cache=False, pad_token_id=1)
HEAD = dict(hidden_size=16, max_width=4, max_len=60, dropout=0.0)
# name: (config of the encoder, of GLiNER)
CASES = {
    "deberta": (DEBERTA, dict(HEAD)),
    "modernbert": (MODERNBERT, dict(HEAD, hidden_size=24, num_rnn_layers=0, subtoken_pooling="mean", embed_ent_token=False)),
    "bert": (dict(USUAL, model_type="bert", type_vocab_size=2), dict(HEAD, max_width=2, num_rnn_layers=2, subtoken_pooling="last")),
    "t5": (T5, dict(HEAD, num_rnn_layers=0, subtoken_pooling="max")),
    "deberta-token": (DEBERTA, dict(HEAD, span_mode="token_level")),
}
LABELS = [["person", "place"], ["a", "date of birth", "Person", "organisation", "x-y"], ["boat"]]
TEXTS = ["Ada saw the old boat.", "Who? Ada-Mae van_Dyke, 42; (and) Zoe...", "caf\u00e9 cafe\u0301 \U0001f600\U0001f680 na\u00efve \u65e5\u672c\u8a9e \u200b end", "a",
         tiny.SENTENCE + tiny.SENTENCE[:70], "", " \n\t "]
OPTIONS = [{}, {"threshold": 0.3}, {"threshold": 0.3, "flat_ner": False}, {"threshold": 0.4, "multi_label": True},
           {"threshold": 0.3, "flat_ner": False, "multi_label": True}]


def make_tokenizer(kind):
    specials = ["[UNK]", "[PAD]", "[CLS]", "[SEP]"]
    letters = [c for c in tiny.LETTERS if c not in " \n"]
    if kind == "modernbert":
        letters = [*sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())]
    elif kind == "bert":
        letters += ["##" + c for c in letters]
    else:
        letters += ["\u2581", "\u2581a", "\u2581t"]
    vocab = {word: i for i, word in enumerate([*specials, *letters])}
    if kind == "bert":
        tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocab, unk_token="[UNK]"))
        tokenizer.normalizer = tokenizers.normalizers.BertNormalizer()
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    else:
        merges = [] if kind == "modernbert" else [("\u2581", "a"), ("\u2581", "t")]
        tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocab, merges=merges, unk_token="[UNK]"))
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False) if kind == "modernbert" else tokenizers.pre_tokenizers.Metaspace()
    tokenizer.add_special_tokens(specials)
    named = [(word, vocab[word]) for word in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=named)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]")


def make_model(encoder, head, folder):
    """A model without pretrained parts, whose tokenizer lies in folder."""
    tokenizer = make_tokenizer(encoder["model_type"])
    tokenizer.save_pretrained(folder)
    encoder = dict(encoder, vocab_size=len(tokenizer))
    config = dict(head, model_name=str(folder), encoder_config=encoder)
    kind = gliner.model.UniEncoderTokenGLiNER if head.get("span_mode") == "token_level" else gliner.model.UniEncoderSpanGLiNER
    config.pop("span_mode", None)
    return kind.load_from_config(config, backbone_from_pretrained=False)


def randomize(model, seed):
    """Scores on both sides of a half, and attention far from uniform."""
    generator = torch.Generator().manual_seed(seed)
    for name, weight in model.named_parameters():
        noise = torch.randn(weight.shape, generator=generator)
        if weight.dim() < 2:
            weight.data = (1 if "norm" in name.lower() and name.endswith("weight") else 0) + 0.2 * noise
        else:
            weight.data = noise * (1.0 if "embed" in name else (0.7 if "shared" in name or "encoder.block" in name else 1.3) / weight.shape[1] ** 0.5)
    return model.eval()


def has_words_without_tokens(model, text):
    """The package gives the words after such a word the rows of their neighbours (0.2.29; older versions did not), which wattn does not."""
    tokenizer = model.data_processor.transformer_tokenizer
    return any(not tokenizer(word, add_special_tokens=False)["input_ids"] for word, _, _ in model.data_processor.words_splitter(text))


def answers(model, options, lists):
    texts = [text for text in TEXTS if not has_words_without_tokens(model, text)]
    calls = [(text, labels, each) for text in texts for labels in lists for each in options]
    return [model.predict_entities(text, labels, **each) for text, labels, each in calls], calls


def write_answers(file, name, model, options, lists=LABELS):
    """expected.json: what the model finds in float64; it must find the same in float32. Ends with the model in float64."""
    single, calls = answers(model, options, lists)
    model.model.double()
    exact, _ = answers(model, options, lists)
    rows, apart = [], 0.0
    for one, other, (text, labels, each) in zip(exact, single, calls):
        assert [(e["start"], e["end"], e["label"]) for e in one] == [(e["start"], e["end"], e["label"]) for e in other], (name, text, each)
        apart = max([apart, *(abs(e["score"] - f["score"]) for e, f in zip(one, other))])
        rows.append([TEXTS.index(text), lists.index(labels), options.index(each),
                     [[e["start"], e["end"], labels.index(e["label"]), float(f"{e['score']:.9g}")] for e in one]])
    print(name, len(rows), "calls,", sum(len(row[3]) for row in rows), "entities, f32_diff", apart)
    common.write_json(file, {"f32_diff": float(f"{apart:.3g}"), "calls": rows}, depth=2)


def make(_options):
    folder = tiny.begin("spans")
    warnings.simplefilter("ignore")
    for seed, (name, (encoder, head)) in enumerate(CASES.items()):
        with tempfile.TemporaryDirectory() as temporary:
            model = make_model(encoder, head, temporary)
            randomize(model.model, 70 + seed)
            model.config.model_name = "tiny"
            model.save_pretrained(folder / name, safe_serialization=True)
            model.data_processor.transformer_tokenizer.save_pretrained(folder / name)
            write_answers(folder / name / "expected.json", name, model, OPTIONS)
        config = json.loads((folder / name / "gliner_config.json").read_text())
        common.write_json(folder / name / "gliner_config.json", config)
    common.write_json(folder / "cases.json", {"cases": list(CASES), "texts": TEXTS, "labels": LABELS, "options": OPTIONS}, depth=2)
    common.update_manifest("spans", common.versions("torch", "transformers", "tokenizers", "safetensors", "numpy", "gliner"))
