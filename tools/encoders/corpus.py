"""Gathers the training texts of the models, and removes texts that the evaluation sets share.

Every source may be used in a model that ships; card.py prints the table below. Evaluation text (STS-B, STS 2012-16, SST-2 dev and test, XQuAD,
CISI, MED, the test texts of TREC, HWU64 and SNIPS) is never included: a text is removed if its letters and digits equal those of an evaluation
text, or share 40 in a row with one.
"""

import bz2
import csv
import html
import json
import random
import re
import subprocess
import zipfile
from collections import namedtuple
from pathlib import Path

Source = namedtuple("Source", "name licence origin most read")  # most: texts taken, drawn by seed
LEAST, MOST, LONGEST = 12, 1000, 2600  # characters of a text, and of a passage

# OpenStax textbooks: repositories osbooks-NAME at these commits, the last under CC BY 4.0.
BOOKS = {
    "american-government": "5c90dd79",
    "anatomy-physiology": "b0058a74",
    "astronomy": "63157f37",
    "chemistry-bundle": "32c71962",
    "college-physics-bundle": "f98d7a79",
    "introduction-anthropology": "418eedd9",
    "introduction-philosophy": "d7bd4f0f",
    "introduction-sociology": "d35d5f3b",
    "microbiology": "ecf34dad",
    "psychology": "e061043b",
    "us-history": "046331cf",
}

NLTK = "nltk/nltk_data@5db857e6f7df11eabb5e5665836db9ec8df07e28:packages/corpora/"


def sentences(text):
    """Plain prose in sentences; rough is enough here."""
    text = re.sub(r"\s+", " ", text)
    return re.split(r"(?<=[.!?])[\"')]* (?=[\"'(]?[A-Z0-9])", text)


def windows(parts, rng):
    """Sentences alone, and runs of two to five: paragraphs are embedded too."""
    yield from parts
    at = 0
    while at + 1 < len(parts):
        n = rng.randint(2, 5)
        yield " ".join(parts[at : at + n])[:MOST]
        at += n


def wikitext(text):
    for marked, plain in ((" @-@ ", "-"), (" @,@ ", ","), (" @.@ ", "."), (" 's", "'s"), ("( ", "("), (" )", ")")):
        text = text.replace(marked, plain)
    return re.sub(r" ([.,;:!?])", r"\1", text)


class Reader:
    def __init__(self, data, nltk, openstax=None):
        self.data, self.nltk, self.openstax, self.rng = Path(data), Path(nltk), openstax, random.Random(1)

    def lines(self, *names):
        for name in names:
            yield from (self.data / name).read_text("utf-8", "replace").splitlines()

    def zipped(self, package, ends=""):
        with zipfile.ZipFile(self.nltk / f"{package}.zip") as z:
            for name in sorted(z.namelist()):
                if not name.endswith("/") and name.endswith(ends) and "README" not in name:
                    yield name, z.read(name).decode("utf-8", "replace")

    def prose(self, text):
        for paragraph in re.split(r"\n\s*\n", text):
            yield from windows([s.strip() for s in sentences(paragraph) if s.strip()], self.rng)

    # one function a source
    def tatoeba(self):
        for path in sorted((self.data / "pairs/tatoeba").glob("*-eng.eng")):
            yield from path.read_text("utf-8").splitlines()

    def snli(self):
        for line in self.lines("pairs/snli/dev.txt", "pairs/snli/test.txt"):
            yield from line.split("\t")[:2]

    def wikipedia(self):
        for name in ("valid", "test"):
            for line in self.lines(f"text/wikitext2/wiki.{name}.raw"):
                if line.strip() and not line.startswith(" ="):
                    yield from windows(sentences(wikitext(line.strip())), self.rng)
        import gensim

        sample = Path(gensim.__file__).parent / "test/test_data/enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
        from gensim.corpora.wikicorpus import filter_wiki

        for _, body in re.findall(r"<text([^>]*)>(.*?)</text>", bz2.open(sample, "rt", encoding="utf-8").read(), re.S):
            for paragraph in filter_wiki(body).split("\n"):
                if len(paragraph) > 80 and not re.match(r"[\s*#|=!:;{]", paragraph):
                    yield from windows(sentences(paragraph.replace("'''", "").replace("''", "")), self.rng)

    def wordnet(self):
        for part in ("noun", "verb", "adj", "adv"):
            for line in open(f"/usr/share/wordnet/data.{part}", encoding="utf-8"):
                if line.startswith("  "):
                    continue
                head, gloss = line.split("|", 1)
                fields = head.split()
                words = [w.replace("_", " ").split("(")[0] for w in fields[4 : 4 + 2 * int(fields[3], 16) : 2]]
                examples = re.findall(r'"([^"]+)"', gloss)
                meaning = gloss.split('; "')[0].strip()
                yield f"{words[0]}: {meaning}"
                yield meaning
                if len(words) > 1:
                    yield ", ".join(words)
                yield from examples

    def reviews(self):
        for name, text in self.zipped("movie_reviews", ".txt"):
            yield from windows([line.strip() for line in text.splitlines() if line.strip()], self.rng)

    def polarity(self):
        for package in ("sentence_polarity", "subjectivity"):
            for _, text in self.zipped(package):
                yield from text.splitlines()

    def products(self):
        for _, text in self.zipped("pros_cons", ".txt"):
            yield from re.findall(r"<(?:Pros|Cons)>(.*?)</", text)
        for package in ("product_reviews_1", "product_reviews_2", "comparative_sentences"):
            for _, text in self.zipped(package, ".txt"):
                for line in text.splitlines():
                    if "##" in line:
                        yield line.split("##", 1)[1]

    def masc(self):
        for _, text in self.zipped("masc_tagged", ".txt"):
            plain = re.sub(r"(\S+)_[A-Z.,:()'`$#\"-]+(?=\s|$)", r"\1", text)
            yield from self.prose(re.sub(r" ([.,;:!?]|'\w+|n't)", r"\1", plain))

    def speeches(self):
        for package in ("state_union", "inaugural"):
            if package == "inaugural":
                with zipfile.ZipFile(self.data / "text/inaugural.zip") as z:
                    texts = [z.read(n).decode("latin-1") for n in sorted(z.namelist()) if n.endswith(".txt")]
            else:
                texts = [text for _, text in self.zipped(package, ".txt")]
            for text in texts:
                yield from self.prose(text)

    def books(self):
        for name in ("darwin", "bronte", "shakespeare"):
            yield from self.prose((self.data / f"text/{name}.txt").read_text("utf-8", "replace"))

    def requests(self):
        for path in sorted((self.data / "classification/snips").glob("train_*.json")):
            for item in next(iter(json.loads(path.read_bytes().decode("utf-8", "replace")).values())):
                yield "".join(part["text"] for part in item["data"])
        for row in csv.reader(self.lines("classification/hwu64/kfold1.train.csv")):
            yield row[0]

    def messages(self):
        for line in self.lines("classification/sms-spam/SMSSpamCollection.tsv"):
            yield line.split("\t")[-1]
        for path in sorted((self.data / "ner").rglob("*")):
            if path.is_file() and path.suffix in (".conll", ".txt", ".tsv", ".json", ".bio", ""):
                words = []
                for line in path.read_text("utf-8", "replace").splitlines():
                    fields = line.split()
                    if len(fields) >= 2:
                        words.append(fields[0])
                    elif words:
                        yield " ".join(words)
                        words = []

    def packages(self):
        listing = subprocess.run(["apt-cache", "search", "--names-only", "."], capture_output=True, text=True).stdout.splitlines()
        for line in sorted(listing)[::2]:
            yield line.split(" - ", 1)[-1]

    def textbooks(self):
        """Paragraphs, whole and in windows of sentences, of NAME/modules/*/index.cnxml."""
        rng = random.Random(1)
        for module in self.modules():
            for plain in module:
                yield plain
                yield from windows([s for s in sentences(plain) if s], rng)

    def titled_modules(self):
        """(title, paragraphs) of each section of the textbooks."""
        for book in BOOKS:
            paths = sorted((Path(self.openstax) / f"osbooks-{book}").rglob("*.cnxml"))
            if not paths:
                raise FileNotFoundError(f"{self.openstax}/osbooks-{book}: expected .cnxml files, found none")
            for path in paths:
                plain = lambda body: html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", body))).strip()
                text = re.sub(r"(?s)<m:math.*?</m:math>|<metadata.*?</metadata>|<note.*?>|<link[^>]*/>", " ", path.read_text("utf-8"))
                title = re.search(r"(?s)<title>(.*?)</title>", text)
                yield plain(title[1]) if title else "", [plain(body) for body in re.findall(r"(?s)<para[^>]*>(.*?)</para>", text)]

    def modules(self):
        """The paragraphs of each section of the textbooks."""
        return (paragraphs for _, paragraphs in self.titled_modules())

    def passages(self):
        """Runs of sentences from one text, long ones: what a search index holds. Their lengths are drawn evenly."""
        rng = random.Random(1)
        articles = re.split(r"\n = [^=].* = \n", "\n".join(self.lines("text/wikitext2/wiki.valid.raw", "text/wikitext2/wiki.test.raw")))
        parts = [sentences(wikitext(re.sub(r"(?m)^ =.*$", "", article))) for article in articles]
        parts += [text.splitlines() for _, text in self.zipped("movie_reviews", ".txt")]
        parts += [sentences(text) for _, text in self.zipped("state_union", ".txt")]
        parts += [sentences(" ".join(paragraphs)) for paragraphs in self.modules()]
        for part in parts:
            run, aim = "", rng.randint(MOST // 2, LONGEST)
            for sentence in part:
                if run and len(run) + len(sentence) >= aim:
                    yield run[:LONGEST]
                    run, aim = "", rng.randint(MOST // 2, LONGEST)
                run = f"{run} {sentence}".strip()
            if len(run) > MOST // 2:
                yield run[:LONGEST]


def sources(data, nltk, openstax, passages=None):
    r = Reader(data, nltk, openstax)
    return [
        Source("Tatoeba, English side", "CC BY 2.0 FR", "facebookresearch/LASER data/tatoeba/v1", None, r.tatoeba),
        Source("SNLI dev and test", "CC BY-SA 4.0", "nlp.stanford.edu/projects/snli", None, r.snli),
        Source("Wikipedia: WikiText-2 valid and test, gensim's sample of articles", "CC BY-SA 3.0", "WikiText-2; gensim test data", 35000, r.wikipedia),
        Source("WordNet 3.0 glosses and examples", "WordNet licence", "Debian wordnet-base", 60000, r.wordnet),
        Source("Movie reviews 2.0", "CC BY 4.0", NLTK + "movie_reviews", 30000, r.reviews),
        Source("Sentence polarity 1.0, subjectivity 1.0", "CC BY 4.0", NLTK + "sentence_polarity, subjectivity", None, r.polarity),
        Source("Product reviews, pros and cons, comparative sentences", "CC BY 4.0", NLTK + "pros_cons, product_reviews_*, ...", 20000, r.products),
        Source("MASC", "free for any use", NLTK + "masc_tagged", 15000, r.masc),
        Source("State of the Union, inaugural addresses", "public domain", NLTK + "state_union, inaugural", 6000, r.speeches),
        Source("Darwin, Bronte, Shakespeare", "public domain", "Project Gutenberg", 10000, r.books),
        Source("SNIPS, HWU64 (train)", "CC0, CC BY 4.0", "sonos/nlu-benchmark, xliuhw/NLU-Evaluation-Data", None, r.requests),
        Source("SMS spam, WNUT-17, Broad Twitter Corpus", "CC BY 4.0", "UCI; the corpora's repositories", None, r.messages),
        Source("Debian package descriptions, every second", "DFSG-free", "apt-cache search --names-only .", 8000, r.packages),
        *([Source("OpenStax textbooks", "CC BY 4.0", ", ".join(f"osbooks-{n}@{c}" for n, c in BOOKS.items()), 90000, r.textbooks)] if openstax else []),
        *([Source("Passages of WikiText-2, movie reviews, State of the Union, OpenStax textbooks", "as above", "as above", passages, r.passages)] if passages else []),
    ]


# What training must not see

SHARED = 40  # letters and digits in a row
STRIDE = 8  # evaluation texts keep a part of SHARED - STRIDE + 1 letters at every place, others are asked at every STRIDE-th
PART = SHARED - STRIDE + 1


def letters(text):
    return re.sub(r"[^a-z0-9]", "", text.lower())


def evaluation_texts(data):
    data = Path(data)
    for part in ("dev", "test"):
        for line in (data / f"pairs/stsb/sts-{part}.csv").read_text("utf-8").splitlines():
            yield from line.split("\t")[5:7]
    for path in sorted((data / "pairs/sts2012-16").rglob("*.test.tsv")):
        for line in path.read_text("utf-8", "replace").splitlines():
            yield from line.split("\t")[:3]
    for name in ("sst2-glue-alps/test", "sst2-sentences/dev", "sst2-sentences/test"):
        for line in (data / f"classification/{name}.tsv").read_text("utf-8").splitlines()[1 if "alps" in name else 0 :]:
            yield line.split("\t")[0]
    for article in json.loads((data / "qa/xquad/xquad.en.json").read_text("utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            yield paragraph["context"]
            yield from (qa["question"] for qa in paragraph["qas"])
    for name in ("cisi", "med"):
        for part in ("corpus", "queries"):
            for line in (data / f"retrieval/{name}/{part}.jsonl").read_text("utf-8").splitlines():
                row = json.loads(line)
                yield f"{row.get('title', '')} {row['text']}"
    for path in sorted((data / "classification/trec").rglob("*")):
        if path.is_file():
            yield from (line.split(" ", 1)[-1] for line in path.read_text("latin-1").splitlines())
    rows = csv.reader((data / "classification/hwu64/kfold1.test.tsv").read_text("utf-8").splitlines(), delimiter="\t")
    yield from (row[0] for row in rows if row)
    for path in sorted((data / "classification/snips").glob("validate_*.json")):
        for item in next(iter(json.loads(path.read_bytes().decode("utf-8", "replace")).values())):
            yield "".join(part["text"] for part in item["data"])


class Overlap:
    """Says whether a text shares SHARED letters in a row, or all its letters, with an evaluation text."""

    def __init__(self, evaluated):
        self.whole, self.parts = set(), set()
        for text in evaluated:
            key = letters(text)
            self.whole.add(key)
            self.parts.update(hash(key[i : i + PART]) for i in range(len(key) - PART + 1))

    def __call__(self, text):
        key = letters(text)
        if key in self.whole:
            return True
        return any(hash(key[i : i + PART]) in self.parts for i in range(0, len(key) - PART + 1, STRIDE))


def clean(text, most=MOST):
    return re.sub(r"\s+", " ", text).strip()[:most]


def gather(listed, overlap, out, most=MOST):
    """Writes corpus.txt (one text a line), corpus_sources.txt (the number of its source a line) and corpus.json (what came from where); says what it does."""
    seen, texts, table = set(), [], []
    for source in listed:
        kept = dropped = 0
        candidates = [clean(text, most) for text in source.read()]
        random.Random(1).shuffle(candidates)
        for text in candidates:
            if kept == source.most:
                break
            key = letters(text)
            if len(text) < LEAST or len(key) < 8 or key in seen:
                continue
            seen.add(key)
            if overlap(text):
                dropped += 1
                continue
            texts.append((text, len(table)))
            kept += 1
        table.append({"name": source.name, "licence": source.licence, "origin": source.origin, "texts": kept, "shared_with_evaluation": dropped})
        print(f"{kept:8d} texts, {dropped:6d} taken out as evaluation text: {source.name}", flush=True)
    random.Random(1).shuffle(texts)
    (out / "corpus.txt").write_text("".join(f"{text}\n" for text, _ in texts), "utf-8")
    (out / "corpus_sources.txt").write_text("".join(f"{source}\n" for _, source in texts), "utf-8")
    (out / "corpus.json").write_text(json.dumps(table, indent=1), "utf-8")


if __name__ == "__main__":
    import argparse

    p = argparse.ArgumentParser()
    p.add_argument("--data", required=True, help="the folder of data sets (classification/, pairs/, retrieval/, text/, ...)")
    p.add_argument("--nltk", required=True, help="a folder with the .zip files of nltk_data's packages/corpora")
    p.add_argument("--openstax", help="a folder with the repositories openstax/osbooks-NAME at the commits in BOOKS (CC BY 4.0)")
    p.add_argument("--most", type=int, default=MOST, help="characters of a text")
    p.add_argument("--passages", type=int, help=f"so many runs of sentences too, of up to {LONGEST} characters (needs --openstax)")
    p.add_argument("--out", required=True)
    a = p.parse_args()
    Path(a.out).mkdir(parents=True, exist_ok=True)
    gather(sources(a.data, a.nltk, a.openstax, a.passages), Overlap(evaluation_texts(a.data)), Path(a.out), a.most)
