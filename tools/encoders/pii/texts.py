"""Makes the tagged training texts of wattn-pii: templates filled with names, two corpora tagged by people, and plain sentences.

TEXTS/train.jsonl and dev.jsonl; the same seed, Faker and data give the same bytes.
"""

import argparse
import json
import random
import re
from collections import Counter
from pathlib import Path

from tagged import concatenated, joined, of_words, varied
from values import HERE, KNOWN_PLACES, MONTHS, NATIONALITIES, WEEKDAYS, Values

TOM = "Tom Mary John Jack Bob Jane Bill Jim Ken Alice Sami Layla Ziri Yanni Tony Mike Nancy Fred Betty Dan Linda Peter Paul Jiro Taro Emily Kate Marie Lucy Susan Jill George Boris Skura".split()
PLAIN_CAPITALS = {
    "I", "Mr", "Mrs", "Ms", "Dr", "OK", "TV", "Mom", "Dad", "God", "Christmas", "Internet", "Earth", "Easter", "CD", "DVD", "PC", "Christian", "Bible", "Latin", "Esperanto", "Spaniard",
    *MONTHS, *WEEKDAYS, *NATIONALITIES,
}  # fmt: skip
WNUT = {"person": "PER", "location": "LOC", "group": "ORG", "corporation": "ORG"}


class Templates:
    def __init__(self, values):
        self.values, self.rng = values, values.rng
        self.sections, section = {}, None
        for line in (HERE / "templates.txt").read_text("utf-8").splitlines():
            if re.fullmatch(r"\[\w+\]", line):
                section = self.sections.setdefault(line[1:-1], [])
            elif line and not line.startswith("# "):
                section.append(line.replace("\\n", "\n"))

    def one(self, section):
        """A tagged text of a template: of alternatives one, then names in their places."""
        text = self.rng.choice(self.sections[section])
        chosen = lambda m: self.rng.choice(m[1].split("|"))
        # {"a": 1} in a log is no place, and (###) no alternative: values are put in last.
        text = re.sub(r"\(([^()]*\|[^()]*)\)", chosen, text)
        parts = re.split(r"\{([a-z]+)\}", text)
        return joined([self.values.make(part) if i % 2 else (None, part) for i, part in enumerate(parts)])

    def some(self, sections, least, most, between):
        count = self.rng.randint(least, most)
        return concatenated([self.one(self.rng.choice(sections)) for _ in range(count)], between)

    def mail(self):
        rng, parts = self.rng, []
        if rng.random() < 0.5:
            parts.append(self.one("greet"))
        body = self.some(["say", "say", "plain"] if rng.random() < 0.75 else ["plain"], 1, 4, " ")
        parts.append(body)
        if rng.random() < 0.5:
            parts.append(self.one("close"))
        return concatenated(parts, rng.choice(["\n", "\n\n", " "]))

    def chat(self):
        one = self.some(self.rng.choice([["chat"], ["chat"], ["chat", "say", "plain"]]), 1, 3, self.rng.choice(["\n", " ", ", "]))
        return one

    def lines(self):
        section = self.rng.choice(["note", "note", "note", "form", "form", "log", "log", "ticket", "ticket", "say", "plain"])
        most = {"form": 5, "say": 1, "plain": 2}.get(section, 2)
        return self.some([section] if self.rng.random() < 0.8 else [section, "say", "plain"], 1, most, "\n" if section in ("form", "log") else self.rng.choice(["\n", " ", ". ", "; "]))

    def text(self):
        kind = self.rng.random()
        return self.mail() if kind < 0.4 else self.chat() if kind < 0.6 else self.lines()


def conll(path):
    """[(words, tags)] of a file with a word and a tag a line."""
    words, tags = [], []
    for line in [*path.read_text("utf-8").splitlines(), ""]:
        word, _, tag = line.partition("\t")
        if word.strip():
            words.append(word.strip())
            tags.append(tag.strip() or "O")
        elif words:
            yield words, tags
            words, tags = [], []


def with_handles(words, tags):
    """'@', 'name' as one word, and handles as USERNAME, whoever they are of."""
    out, at = [], 0
    while at < len(words):
        word, tag = words[at], tags[at]
        if word == "@" and at + 1 < len(words) and tags[at + 1] != "O":
            word, at = f"@{words[at + 1]}", at + 1
        out.append((word, "B-USERNAME" if re.fullmatch(r"@\w+", word) else tag))
        at += 1
    return [w for w, _ in out], [t for _, t in out]


def broad_twitter(path):
    return [of_words(*with_handles(words, tags)) for words, tags in conll(path)]


def wnut(path):
    named = lambda tag: f"{tag[:2]}{WNUT[tag[2:]]}" if tag[2:] in WNUT else "O"
    return [of_words(*with_handles(words, [named(t.split(",")[0]) for t in tags])) for words, tags in conll(path)]


def sentences(data):
    """Tatoeba's English sentences and SNLI's."""
    out = dict.fromkeys(line for path in sorted((data / "pairs/tatoeba").glob("*-eng.eng")) for line in path.read_text("utf-8").splitlines())
    for name in ("dev", "test"):
        for line in (data / f"pairs/snli/{name}.txt").read_text("utf-8").splitlines():
            out.update(dict.fromkeys(line.split("\t")[:2]))
    return [line for line in out if 8 <= len(line) <= 300]


def with_names(lines, values):
    """(sentences with names, sentences without): those whose capital letters are all known. Tom and the others become names of anywhere."""
    common = Counter(word for line in lines for word in re.findall(r"[a-z]+", line))
    places = sorted(KNOWN_PLACES, key=len, reverse=True)
    entity = re.compile(rf"\b({'|'.join(map(re.escape, TOM))})\b|(?<!\w)({'|'.join(map(re.escape, places))})(?!\w)")
    named, plain = [], []
    for line in lines:
        parts, at, known = [], 0, True
        for found in entity.finditer(line):
            parts += [(None, line[at : found.start()]), values.per() if found[1] else ("LOC", found[2])]
            at = found.end()
        parts.append((None, line[at:]))
        for i, (label, part) in enumerate(parts):
            if label is None:
                for word in re.finditer(r"[A-ZÀ-Þ]\w*", part):
                    first = (i == 0 and part[: word.start()].strip(" \"'") == "") or re.search(r"[.?!:\"] ?\"?$", part[: word.start()])
                    known &= word[0] in PLAIN_CAPITALS or (bool(first) and common[word[0].lower()] > 4)
        if known:
            (named if len(parts) > 1 else plain).append(joined(parts))
    return named, plain


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", required=True, type=Path)
    p.add_argument("--out", required=True, type=Path)
    p.add_argument("--made", type=int, default=60000, help="texts of templates")
    a = p.parse_args()
    a.out.mkdir(parents=True, exist_ok=True)
    values = Values(1)
    templates, rng = Templates(values), random.Random(2)
    named, plain = with_names(sentences(a.data), values)
    rng.shuffle(plain)
    tweets, odd = broad_twitter(a.data / "ner/btc/btc.train"), wnut(a.data / "ner/wnut17/wnut17train.conll")
    parts = {
        "templates": [varied(templates.text(), rng) for _ in range(a.made)],
        "named": [varied(one, rng) for one in named],
        "plain": [varied(one, rng) for one in plain[: len(named)]],
        "btc": [varied(one, rng) if i else one for i in range(3) for one in tweets],
        "wnut": [varied(one, rng) if i > 1 else one for i in range(5) for one in odd],
    }
    train = [one for part in parts.values() for one in part]
    rng.shuffle(train)
    held = Templates(Values(3))
    dev = {
        "made": [varied(held.text(), rng) for _ in range(400)],
        "btc": broad_twitter(a.data / "ner/btc/btc.dev"),
        "wnut": wnut(a.data / "ner/wnut17/emerging.dev.conll"),
    }
    write = lambda name, rows: (a.out / name).write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    write("train.jsonl", train)
    write("dev.jsonl", [{**one, "set": name} for name, part in dev.items() for one in part])
    write("wnut_test.jsonl", wnut(a.data / "ner/wnut17/emerging.test.annotated"))  # for judge.mjs
    labels = Counter(label for one in train for *_, label in one["spans"])
    counts = {name: len(part) for name, part in parts.items()}
    (a.out / "parts.json").write_text(json.dumps(counts) + "\n")  # for the card
    print(counts, dict(labels))


if __name__ == "__main__":
    main()
