"""Gathers texts in the languages of wattn-multi, for counting its pieces.

`--debs` is a folder with Debian packages (bookworm): manpages-{de,fr,es,it,pl,pt-br,nl,ru,tr,zh,ja} and fortunes-{de,pl,ru,it,es,br}. `--ud` is a folder with
clones of Universal Dependencies' treebanks, `--data` the folder of data sets. Parallel UD (PUD) is the development set: it is written apart, and nothing is
counted in it. Texts that share 40 letters in a row with an evaluation text (XQuAD, Tatoeba, STS-B), or equal one, do not enter.
"""

import argparse
import gzip
import hashlib
import io
import json
import re
import subprocess
import tarfile
import zipfile
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np

LANGUAGES = {
    "en": "English", "de": "German", "fr": "French", "es": "Spanish", "it": "Italian", "pt": "Portuguese", "nl": "Dutch", "pl": "Polish",
    "ru": "Russian", "tr": "Turkish", "ar": "Arabic", "zh": "Chinese", "ja": "Japanese", "ko": "Korean", "hi": "Hindi",
}  # fmt: skip
TATOEBA = dict(zip(LANGUAGES, "eng deu fra spa ita por nld pol rus tur ara cmn jpn kor hin".split()))
TREEBANKS = {"de": "German-GSD", "fr": "French-GSD", "es": "Spanish-GSD", "pt": "Portuguese-GSD", "nl": "Dutch-Alpino", "pl": "Polish-LFG", "ru": "Russian-GSD", "tr": "Turkish-Kenet", "zh": "Chinese-GSDSimp", "ja": "Japanese-GSD", "ko": "Korean-GSD"}  # fmt: skip
LICENCES = {
    "Universal Dependencies": "CC BY-SA 4.0, Polish-LFG GPL-3.0",
    "manual pages": "free, each page names its own",
    "fortunes": "free, see Debian's copyright files",
    "UDHR": "public domain",
    "WikiText-2": "CC BY-SA 3.0",
}
SHARED = 40
MOST = 900  # characters of a text
TEXTS = {"manual pages": 250, "Universal Dependencies": 1500, "WikiText-2": 2000}  # of a language, from one source
OTHERS = 800


def letters(text):
    return "".join(c for c in text.lower() if c.isalnum())


def evaluation_texts(data):
    for path in sorted((data / "qa/xquad").glob("*.json")):
        for article in json.loads(path.read_text("utf-8"))["data"]:
            for paragraph in article["paragraphs"]:
                yield paragraph["context"]
                yield from (qa["question"] for qa in paragraph["qas"])
    for code in TATOEBA.values():
        for side in (code, "eng"):
            path = data / f"pairs/tatoeba/tatoeba.{code}-eng.{side}"
            if path.exists():
                yield from path.read_text("utf-8").splitlines()
    for part in ("dev", "test"):
        for line in (data / f"pairs/stsb/sts-{part}.csv").read_text("utf-8").splitlines():
            yield from line.split("\t")[5:7]


class Overlap:
    def __init__(self, texts):
        self.whole, self.parts = set(), set()
        for text in texts:
            text = letters(text)
            self.whole.add(text)
            self.parts.update(hash(text[at : at + SHARED]) for at in range(len(text) - SHARED + 1))

    def __call__(self, text):
        text = letters(text)
        return text in self.whole or any(hash(text[at : at + SHARED]) in self.parts for at in range(len(text) - SHARED + 1))


def members(path, wanted):
    """(name, bytes) of the files in a Debian package whose names match."""
    data = subprocess.run(["dpkg-deb", "--fsys-tarfile", str(path)], capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        for member in tar:
            if member.isfile() and re.search(wanted, member.name):
                yield member.name, tar.extractfile(member).read()


def manual(text):
    """Paragraphs of a manual page."""
    text = re.sub(r"^\.(\\\"|ig|de).*$", "", text, flags=re.M)
    text = re.sub(r"^[.'](SH|SS|TP|PP|P|LP|IP|sp|nf|fi|TH|RS|RE|HP|Sh|Ss|Pp|It|Bl|El)\b.*$", "\n", text, flags=re.M)
    text = re.sub(r"^[.'](B|I|BR|IR|RB|RI|IB|BI|SM|SB)\s+", "", text, flags=re.M)
    text = re.sub(r"^[.'].*$", "", text, flags=re.M)
    text = re.sub(r"\\f(\[\w*\]|\(..|.)", "", text)
    text = re.sub(r"\\\((..)", lambda m: {"aq": "'", "dq": '"', "em": "—", "bu": "", "co": "©"}.get(m[1], ""), text)
    text = re.sub(r"\\([-&|%/,:^]|s[-+]?\d)", lambda m: "-" if m[1] == "-" else "", text).replace("\\e", "\\").replace("\\ ", " ")
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", text)]


def debian(folder):
    for path in sorted(folder.glob("*.deb")):
        package = path.name.split("_")[0]
        kind, _, code = package.partition("-")
        code = {"pt-br": "pt", "br": "pt"}.get(code, code)
        if kind == "manpages":
            for _, data in members(path, r"/man[1578]/.*\.gz$"):
                for text in manual(gzip.decompress(data).decode("utf-8", "ignore")):
                    yield code, "manual pages", text
        elif kind == "fortunes":
            for name, data in members(path, r"fortunes/.*[^t]$"):
                if ".u8" not in name and "asciiart" not in name:
                    for text in data.decode("utf-8", "ignore").split("\n%\n"):
                        yield code, "fortunes", " ".join(re.sub(r"\x1b\[[\d;]*m", "", text).split())


def treebank(path):
    text = subprocess.run(["git", "-C", str(path), "ls-tree", "--name-only", "HEAD"], capture_output=True, text=True, check=True).stdout
    for name in text.split():
        if name.endswith(".conllu"):
            shown = subprocess.run(["git", "-C", str(path), "show", f"HEAD:{name}"], capture_output=True)  # the largest files may be absent
            for sentence, line in re.findall(r"^# sent_id = (\S+)$.*?^# text = (.*?)$", shown.stdout.decode("utf-8"), re.M | re.S):
                yield sentence, line.strip()


def udhr(path):
    names = {"ar": "arb", "zh": "cmn_hans", "pt": "por_BR"}
    with zipfile.ZipFile(path) as z:
        for code, three in TATOEBA.items():
            for line in z.read(f"udhr2/{names.get(code, three)}.txt").decode("utf-8").splitlines():
                yield code, "UDHR", line.strip()


def gathered(a):
    yield from udhr(a.data / "text/udhr2.zip")
    for code, name in TREEBANKS.items():
        for _, text in treebank(a.ud / f"UniversalDependencies+UD_{name}/repo"):
            yield code, "Universal Dependencies", text
    for line in sorted((a.data / "text/wikitext2").rglob("*valid*"))[:1]:
        for text in line.read_text("utf-8").splitlines():
            if not text.strip().startswith("="):
                for sentence in re.split(r"(?<=[.?!]) (?=[A-Z])", text.replace("<unk>", "").strip()):
                    yield "en", "WikiText-2", re.sub(r" ([,.;:?!)])", r"\1", re.sub(r" @(.)@ ", r"\1", sentence))
    yield from debian(a.debs)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--debs", type=Path, required=True)
    p.add_argument("--ud", type=Path, required=True)
    p.add_argument("--data", type=Path, required=True)
    p.add_argument("--out", type=Path, required=True)
    a = p.parse_args()
    a.out.mkdir(parents=True, exist_ok=True)
    overlap = Overlap(evaluation_texts(a.data))
    seen, by = set(), defaultdict(list)
    for code, source, text in gathered(a):
        text = text[:MOST]
        if code not in LANGUAGES or sum(c.isalpha() for c in text) < 0.6 * len(text) or len(text) < (12 if code in ("zh", "ja", "ko") else 25):
            continue
        key = letters(text)[:80]
        if key not in seen:
            seen.add(key)
            by[code, source].append(text)
    rng = np.random.default_rng(1)
    report = []
    with (a.out / "texts.tsv").open("w", encoding="utf-8") as out:
        for (code, source), texts in sorted(by.items()):
            chosen = [texts[i] for i in rng.permutation(len(texts))[:9000]]
            kept = [text for text in chosen if not overlap(text)]
            shared = len(chosen) - len(kept)
            kept = kept[: TEXTS.get(source, OTHERS)]
            out.writelines(f"{code}\t{source}\t{text}\n" for text in kept)
            report.append({"language": code, "source": source, "licence": LICENCES[source], "texts": len(kept), "shared_with_evaluation": shared})
            print(code, source, len(kept), shared)
    (a.out / "corpus.json").write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    pud = defaultdict(dict)
    for code, name in LANGUAGES.items():
        folder = a.ud / f"UniversalDependencies+UD_{name}-PUD/repo"
        if folder.exists():
            for sentence, text in treebank(folder):
                pud[sentence][code] = text
    with (a.out / "pud.json").open("w", encoding="utf-8") as out:
        json.dump([texts for _, texts in sorted(pud.items()) if "en" in texts], out, ensure_ascii=False)
    print(len(pud), Counter(code for texts in pud.values() for code in texts), hashlib.sha256((a.out / "texts.tsv").read_bytes()).hexdigest())


if __name__ == "__main__":
    main()
