"""spans_hub/: tiny random GLiNER models in the layout of their Hub repositories: some of the encoder's files are in another repository, which
gliner_config.json names. Each is loaded by the package gliner, beside that repository, and the entities are those that it finds."""
import os
import warnings

import gliner
import sentencepiece
import torch

from . import common, spans, tiny

DEBERTA = dict(spans.DEBERTA, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24)
BERT = dict(spans.USUAL, model_type="bert", hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24, type_vocab_size=2)
HEAD = dict(hidden_size=12, max_width=4, max_len=60, dropout=0.0, fine_tune=True, subtoken_pooling="first")
# What version 0.1 of the package wrote: no encoder_config, class_token_index or vocab_size, and the settings of its training.
OLDEST = dict(HEAD, name="span level gliner", span_mode="markerV0", lr_encoder="1e-5", num_steps=3000, train_data="data.json", max_types=25,
              shuffle_types=True, random_drop=True, max_neg_type_ratio=1)
LABELS = spans.LABELS
TEXTS = spans.TEXTS
OPTIONS = [{}, {"threshold": 0.3, "flat_ner": False, "multi_label": True}]


def write_deberta(folder):
    """As microsoft/deberta-v3-small: spm.model without tokenizer.json, and a table with more rows than the tokenizer has tokens."""
    folder.mkdir(parents=True)
    with open(folder / "spm.model", "wb") as out:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter([tiny.SENTENCE, tiny.LETTERS.replace("\n", " "), "Ada-Mae van_Dyke; (and) Zoe"] * 20), model_writer=out,
            vocab_size=90, model_type="unigram", normalization_rule_name="identity", pad_id=0, bos_id=1, eos_id=2, unk_id=3, pad_piece="[PAD]", bos_piece="[CLS]",
            eos_piece="[SEP]", unk_piece="[UNK]", num_threads=1, minloglevel=2)
    common.write_json(folder / "tokenizer_config.json", {"do_lower_case": False, "vocab_type": "spm"})
    common.write_json(folder / "config.json", dict(DEBERTA, vocab_size=130))


def write_bert(folder):
    """As bert-base-cased: tokenizer.json, and a name without an organisation."""
    tokenizer = spans.make_tokenizer("bert")
    tokenizer.save_pretrained(folder)
    common.write_json(folder / "config.json", dict(BERT, vocab_size=len(tokenizer)))


def write_model(folder, config, seed, own_tokenizer=False):
    """pytorch_model.bin with random weights, beside a gliner_config.json with these settings."""
    common.write_json(folder / "gliner_config.json", config)
    made = gliner.GLiNER.from_config(str(folder / "gliner_config.json"), backbone_from_pretrained=False)
    spans.randomize(made.model, seed)
    torch.save(made.model.state_dict(), folder / "pytorch_model.bin")
    if own_tokenizer:
        tokenizer = made.data_processor.transformer_tokenizer
        tokenizer.save_pretrained(folder)
        indices = dict(class_token_index=tokenizer.convert_tokens_to_ids("<<ENT>>"), vocab_size=len(tokenizer))
        common.write_json(folder / "gliner_config.json", dict(config, **indices))


def make(_options):
    folder = tiny.begin("spans_hub")
    warnings.simplefilter("ignore")
    before = os.getcwd()
    os.chdir(folder)  # the names of the repositories are paths, too
    write_deberta(folder / "microsoft" / "tiny-deberta")
    write_bert(folder / "tiny-bert")
    rest = dict(encoder_config=None, class_token_index=-1, vocab_size=-1)
    cases = {  # name: (settings, seed that gives entities, whether the tokenizer lies in the repository)
        "org/tiny-v2.1": (dict(OLDEST, model_name="microsoft/tiny-deberta"), 92, False),
        "org/tiny-token": (dict(HEAD, model_name="tiny-bert", span_mode="token_level", **dict(rest, encoder_config=BERT)), 91, False),
        "org/tiny-own": (dict(HEAD, model_name="microsoft/tiny-deberta", **rest), 93, True),
    }
    listed = []
    for name, (config, seed, own_tokenizer) in cases.items():
        (folder / name).mkdir(parents=True)
        write_model(folder / name, config, seed, own_tokenizer)
        model = gliner.GLiNER.from_pretrained(name).eval()
        tokenizer = model.data_processor.transformer_tokenizer
        added = {token: tokenizer.convert_tokens_to_ids(token) for token in ("[FLERT]", "<<ENT>>", "<<SEP>>")}
        spans.write_answers(folder / name / "expected.json", name, model, OPTIONS)
        listed.append({"name": name, "base": config["model_name"], "class_token_index": model.config.class_token_index,
                       "rows": model.config.vocab_size, "added": added, "vocab_size": len(tokenizer),
                       "ids": [tokenizer(text)["input_ids"] for text in TEXTS]})
    os.chdir(before)
    common.write_json(folder / "cases.json", {"cases": listed, "texts": TEXTS, "labels": LABELS, "options": OPTIONS}, depth=2)
    common.update_manifest("spans_hub", common.versions("torch", "transformers", "tokenizers", "sentencepiece", "numpy", "gliner"))
