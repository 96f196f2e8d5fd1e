"""Tagged texts: {"text": .., "spans": [[begin, end, label], ..]}, and functions to join, change and read them."""

import re

LABELS = ["PER", "ORG", "LOC", "ADDRESS", "USERNAME", "BIRTH_DATE", "ID", "EMAIL", "PHONE"]
TAGS = ["O", *(f"{begin}-{label}" for label in LABELS for begin in "BI")]
IGNORED = -100  # torch's word for a token without a loss

NO_SPACE_BEFORE = re.compile(r"^([.,;:!?%)\]}…]+|'(s|m|re|ve|ll|d|t)|n't|’(s|m|re|ve|ll|d|t)|´|-)$", re.I)
NO_SPACE_AFTER = re.compile(r"^([(\[{#$£€@]|-)$")


def joined(parts):
    """A tagged text of (label or None, text) parts."""
    text, spans = "", []
    for label, part in parts:
        if label and part:
            spans.append([len(text), len(text) + len(part), label])
        text += part
    return {"text": text, "spans": spans}


def concatenated(texts, between):
    """Tagged texts one after the other."""
    text, spans = "", []
    for i, one in enumerate(texts):
        text += between if i else ""
        spans += [[b + len(text), e + len(text), label] for b, e, label in one["spans"]]
        text += one["text"]
    return {"text": text, "spans": spans}


def of_words(words, tags):
    """The text of a corpus' words with BIO tags, spaced as people write."""
    text, spans, open_label = "", [], None
    for i, (word, tag) in enumerate(zip(words, tags)):
        if i and not NO_SPACE_BEFORE.match(word) and not NO_SPACE_AFTER.match(words[i - 1]):
            text += " "
        begin = len(text)
        text += word
        label = tag[2:] or None
        if label and tag[0] == "I" and open_label == label:
            spans[-1][1] = len(text)
        elif label:
            spans.append([begin, len(text), label])
        open_label = label
    return {"text": text, "spans": spans}


def lowered(one):
    text = "".join(low if len(low := c.lower()) == 1 else c for c in one["text"])
    return {"text": text, "spans": one["spans"]}


def raised(one):
    text = "".join(up if len(up := c.upper()) == 1 else c for c in one["text"])
    return {"text": text, "spans": one["spans"]}


def without(one, dropped):
    """The text without the characters of dropped that are outside of its entities."""
    inside = [False] * len(one["text"])
    for begin, end, _ in one["spans"]:
        inside[begin:end] = [True] * (end - begin)
    place, text = [], ""
    for character, kept in zip(one["text"], inside):
        place.append(len(text))
        text += character if kept or character not in dropped else ""
    place.append(len(text))
    return {"text": text, "spans": [[place[b], place[e], label] for b, e, label in one["spans"]]}


def varied(one, rng):
    """As people type: in lower case, without punctuation, in capitals."""
    kind = rng.random()
    if kind < 0.04:
        return raised(one)
    if kind < 0.26:
        one = lowered(one)
        return without(one, ".,!?'") if kind < 0.14 else one
    if kind < 0.3:
        return without(one, ".,!?")
    return one


def tags_of(encoding, spans):
    """The number in TAGS of each token: an entity's first token has B, and the mark of a capital letter is a token of its word."""
    out = [IGNORED if special else 0 for special in encoding.special_tokens_mask]
    begun = set()
    for i, (begin, end) in enumerate(encoding.offsets):
        if out[i] == IGNORED or begin == end:
            continue
        for number, (from_, to, label) in enumerate(spans):
            if begin < to and end > from_:
                out[i] = 1 + 2 * LABELS.index(label) + (number in begun)
                begun.add(number)
                break
    return out


def spans_of(encoding, numbers):
    """[(begin, end, label)] of tags by their numbers, as aggregation_strategy 'simple' of transformers groups them."""
    out = []
    open_label = None
    for (begin, end), number in zip(encoding.offsets, numbers):
        if begin == end or number <= 0:
            open_label = None
            continue
        label, inside = LABELS[(number - 1) // 2], (number - 1) % 2
        if inside and open_label == label:
            out[-1] = (out[-1][0], end, label)
        else:
            out.append((begin, end, label))
        open_label = label
    return out
