"""Helpers for parts with complete tiny models: tokenizer, weights, texts of a given number of tokens."""
import json
import string

import torch
import tokenizers
import transformers

from . import common

LENGTHS = (1, 2, 47, 48, 49, 113, 130)  # attention processes queries in blocks of 48
LETTERS = string.ascii_letters + string.digits + " .,:;!?'\n\u00e9"
SENTENCE = "The old boat waits below the bridge, where 42 small birds sing: who taught them to find their way home in the dark? "


def make_tokenizer(specials, single, pair=None, **roles):
    """A tokenizer of single characters, whose ids follow those of specials. single, pair: templates; roles: eos_token and others."""
    vocab = {word: i for i, word in enumerate([*specials, *LETTERS])}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocab, merges=[], unk_token="\u00e9"))
    tokenizer.add_special_tokens(list(specials))
    tokenizer.decoder = tokenizers.decoders.Fuse()
    named = [(word, vocab[word]) for word in specials if word in single]
    if named:
        tokenizer.post_processor = tokenizers.processors.TemplateProcessing(single=single, pair=pair or f"{single} $B", special_tokens=named)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **roles)


def text_of(tokenizer, count):
    """A text of count tokens including special ones, or the empty text if that already has more."""
    text = ""
    while len(tokenizer(text)["input_ids"]) < count:
        text += SENTENCE[len(text) % len(SENTENCE)]
    return text


def randomize(model, seed):
    """Weights large enough that attention is far from uniform and every bias shows in the results."""
    generator = torch.Generator().manual_seed(seed)
    words = model.get_input_embeddings().weight
    for name, weight in model.named_parameters():
        noise = torch.randn(weight.shape, generator=generator)
        if weight.dim() == 1:
            weight.data = (1 if "norm" in name.lower() and name.endswith("weight") else 0) + 0.2 * noise
        else:
            weight.data = noise * (1.0 if weight is words or "relative" in name or "embed" in name else 1.3 / weight.shape[1] ** 0.5)
    return model.eval()


def floats(tensor):
    """The shortest decimals that read back as the same float32."""
    return [float(str(x)) for x in tensor.detach().to(torch.float32).flatten().numpy()]


def diff(exact, single):
    return float(f"{float((exact.double() - single.double()).abs().max()):.3g}")


def save(folder, model, tokenizer):
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    common.write_json(folder / "config.json", json.loads((folder / "config.json").read_text()))


def begin(part):
    """Fixes threads and seeds, and returns the part's folder, emptied."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    return common.empty_folder(part)
