"""m2m-100-tokenizer/: the files of an M2M-100 repository (vocab.json, sentencepiece.bpe.model) and M2M100Tokenizer's results for some texts."""
import io
import json
import random
import shutil

import sentencepiece
import transformers

from . import common, marian

FOLDER = common.OUT / "m2m-100-tokenizer"
TEXTS = ["the old boat waits below the bridge.", "", " ", "  two  spaces  ", "__fr__ a bird sings", "a bird __fr__sings", "__xx__ nobody", "the</s>river<unk>", "The RIVER",
         "\u6c34\u4e0b the \u6c34", "the\u00a0boat\u200b", "\U0001f600 bird", "\u2581the \u2581", "<pad> the", "<s>the", "caf\u00e9 e\u0301", "line\nend\ttab", "qqq zzz", "seven small fires! the way home?"]
SETTINGS = [{}, {"src_lang": "zu", "tgt_lang": "de"}, {"language_codes": "wmt21", "src_lang": "de", "eos_token": "</s>"}]


def train(kind, sentences):
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(sentences), model_writer=out, vocab_size=150, model_type=kind, normalization_rule_name="identity",
                                             character_coverage=0.98, hard_vocab_limit=False, num_threads=1, minloglevel=2)  # fmt: skip
    return out.getvalue()


def make(_options):
    if FOLDER.exists():
        shutil.rmtree(FOLDER)
    rng = random.Random(3)
    sentences = [f"{a} {b} {c}" for a in marian.SUBJECTS for b in marian.VERBS for c in marian.OBJECTS]
    for kind in ("bpe", "unigram"):
        folder = FOLDER / kind
        model = train(kind, sentences)
        common.write_bytes(folder / "sentencepiece.bpe.model", model)
        processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        pieces = [processor.id_to_piece(i) for i in range(processor.vocab_size()) if not processor.is_control(i) and not processor.is_unknown(i)]
        # As fairseq's dictionary, which has the pieces in another order and lacks those that were in no text.
        kept = [piece for piece in sorted(pieces) if rng.random() > 0.1]
        missing = [piece.replace("\u2581", " ") for piece in pieces if piece not in kept]
        rng.shuffle(kept)
        tokens = ["<s>", "<pad>", "</s>", "<unk>", *kept]
        (folder / "vocab.json").write_text(json.dumps({token: i for i, token in enumerate(tokens)}, indent=0), "utf-8")
        rows = []
        for settings in SETTINGS:
            # special_tokens_map.json of the repositories has the languages.
            codes = transformers.models.m2m_100.tokenization_m2m_100.FAIRSEQ_LANGUAGE_CODES[settings.get("language_codes", "m2m100")]
            tokenizer = transformers.M2M100Tokenizer(str(folder / "vocab.json"), str(folder / "sentencepiece.bpe.model"),
                                                     additional_special_tokens=[f"__{code}__" for code in codes], **settings)
            cases = []
            for text in [*TEXTS, *missing]:
                ids = tokenizer(text)["input_ids"]
                cases.append({"text": text, "ids": ids, "decoded": tokenizer.decode(ids, skip_special_tokens=True), "shown": tokenizer.decode(ids),
                              "plain": tokenizer(text, add_special_tokens=False)["input_ids"]})
            rows.append({"settings": settings, "pair": tokenizer(TEXTS[0], TEXTS[8])["input_ids"], "languages": {code: tokenizer.get_lang_id(code) for code in ("en", "de", "zh")},
                         "cases": cases})
        common.write_json(folder / "cases.json", rows, depth=3)
    common.update_manifest("m2m-100-tokenizer", common.versions("transformers", "sentencepiece"))
