#!/usr/bin/env python3
"""Writes src/tokenizer/unicode_tables.cpp from the Unicode Character Database.

    python3 tools/make_unicode_tables.py [--ucd /usr/share/unicode]

The tables follow the reference library (`tokenizers`), whose parts were built from different versions of Unicode:
    clean_text, punctuation, strip_accents   8.0
    normal forms, combining classes, marks   9.0
    \\w                                      16.0
    lowercase, numbers                       17.0
UCD files of 15.0 (Debian's unicode-data) are cut down to the older versions by DerivedAge, and what 15.0 does not have yet, or
what changed its category since, is spelled out below. tests/native/tokenizer/unicode_test.cpp compares the result with
tests/goldens/unicode, where every code point was asked of the library itself.
"""
import argparse
import pathlib
import re

NUM_CODE_POINTS = 0x110000
BLOCK = 128  # code points per block of the two-stage table
UCD_VERSION = "15.0.0"  # the exceptions below are right for this version only

# Code points whose category was another one in Unicode 8.0 or 9.0 than it is in 15.0.
PUNCTUATION_IN_8 = {0x166D, 0x111C9}
NONSPACING_IN_8 = {0x1734}
NOT_NONSPACING_IN_8 = {0x1885, 0x1886, 0xA9BD, 0x111C9}
MARK_IN_9 = {0x1CF2, 0x1CF3}
NOT_MARK_IN_9 = {0x111C9}

# Unicode 16.0 and 17.0: lowercase pairs that 15.0 does not have. (first, last, distance)
NEWER_LOWERCASE = [(0x1C89, 0x1C89, 1), (0xA7CB, 0xA7CB, 0x264 - 0xA7CB), (0xA7CC, 0xA7CC, 1), (0xA7CE, 0xA7CE, 1),
                   (0xA7D2, 0xA7D2, 1), (0xA7D4, 0xA7D4, 1), (0xA7DA, 0xA7DA, 1), (0xA7DC, 0xA7DC, 0x19B - 0xA7DC),
                   (0x10D50, 0x10D65, 0x20), (0x16EA0, 0x16EB8, 0x1B)]
# Up to Unicode 17.0: numbers (category N*) that 15.0 does not have.
NEWER_NUMBERS = [(0x10D40, 0x10D49), (0x116D0, 0x116E3), (0x11BF0, 0x11BF9), (0x11DE0, 0x11DE9), (0x16130, 0x16139),
                 (0x16D70, 0x16D79), (0x16FF4, 0x16FF6), (0x1CCF0, 0x1CCF9), (0x1E5F1, 0x1E5FA)]
# Up to Unicode 16.0: \w (Alphabetic, marks, decimal digits, connector punctuation, join controls) that 15.0 does not have.
NEWER_WORD = [(0x897, 0x897), (0x1C89, 0x1C8A), (0xA7CB, 0xA7CD), (0xA7DA, 0xA7DC), (0x105C0, 0x105F3), (0x10D40, 0x10D65),
              (0x10D69, 0x10D6D), (0x10D6F, 0x10D85), (0x10EC2, 0x10EC4), (0x10EFC, 0x10EFC), (0x11380, 0x11389),
              (0x1138B, 0x1138B), (0x1138E, 0x1138E), (0x11390, 0x113B5), (0x113B7, 0x113C0), (0x113C2, 0x113C2),
              (0x113C5, 0x113C5), (0x113C7, 0x113CA), (0x113CC, 0x113D3), (0x113E1, 0x113E2), (0x116D0, 0x116E3),
              (0x11BC0, 0x11BE0), (0x11BF0, 0x11BF9), (0x11F5A, 0x11F5A), (0x13460, 0x143FA), (0x16100, 0x16139),
              (0x16D40, 0x16D6C), (0x16D70, 0x16D79), (0x18CFF, 0x18CFF), (0x1CCF0, 0x1CCF9), (0x1E5D0, 0x1E5FA),
              (0x2EBF0, 0x2EE5D)]
# BertNormalizer's handle_chinese_chars: blocks as the first BERT listed them, not a property (it has a gap at 2B820).
CHINESE = [(0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF), (0x2A700, 0x2B81F), (0x2B920, 0x2CEAF),
           (0x2F800, 0x2FA1F)]

# Names and order of the bits; unicode.h has the same list with what each means.
FLAGS = ["removed", "whitespace", "punctuation", "accent", "mark", "word", "number", "chinese", "has_lowercase",
         "decomposes", "decomposes_compat", "composes_backward", "not_composed"]


def expand(ranges):
    return {cp for low, high in ranges for cp in range(low, high + 1)}


class Ucd:
    def __init__(self, folder):
        self.folder = folder
        self.category, self.combining_class, self.lower = {}, {}, {}
        self.canonical, self.compat = {}, {}  # one step: code point -> [code points]
        self.age = {cp: tuple(map(int, value.split("."))) for cp, value in self.property("DerivedAge.txt")}
        version = re.match(r"# DerivedAge-([\d.]+)\.txt", self.text("DerivedAge.txt"))[1]
        if version != UCD_VERSION:
            raise SystemExit(f"{folder}: expected Unicode {UCD_VERSION}, found {version}; the lists of exceptions in {__file__} "
                             "belong to that version")
        first = None
        for line in self.text("UnicodeData.txt").splitlines():
            field = line.split(";")
            cp = int(field[0], 16)
            if field[1].endswith("First>"):
                first = cp
                continue
            for x in range(first if field[1].endswith("Last>") else cp, cp + 1):
                self.category[x] = field[2]
            self.combining_class[cp] = int(field[3])
            if field[5]:
                parts = field[5].split()
                if parts[0].startswith("<"):
                    self.compat[cp] = [int(p, 16) for p in parts[1:]]
                else:
                    self.canonical[cp] = [int(p, 16) for p in parts]
            if field[13]:
                self.lower[cp] = int(field[13], 16)

    def text(self, name):
        return (self.folder / name).read_text(encoding="utf-8")

    def property(self, file):
        for low, high, value in re.findall(r"^([0-9A-F]+)(?:\.\.([0-9A-F]+))?\s*;\s*([\w.]+)", self.text(file), re.M):
            for cp in range(int(low, 16), int(high or low, 16) + 1):
                yield cp, value

    def having(self, file, name):
        return {cp for cp, value in self.property(file) if value == name}

    def of_category(self, names, newest=(99,)):
        """Code points of these categories (or first letters of categories) that existed in the version."""
        return {cp for cp, category in self.category.items()
                if (category in names or category[0] in names) and self.age.get(cp, (99,)) <= newest}


def full_compat(ucd, cp):
    """NFKD of one code point, before canonical ordering."""
    step = ucd.compat.get(cp) or ucd.canonical.get(cp)
    return [cp] if step is None else [x for part in step for x in full_compat(ucd, part)]


def full_canonical(ucd, cp):
    step = ucd.canonical.get(cp)
    return [cp] if step is None else [x for part in step for x in full_canonical(ucd, part)]


def runs(pairs):
    """[(key, value)] sorted by key -> [(first key, length, step, value - key)] with keys step apart and one distance."""
    out = []
    for key, value in pairs:
        distance = value - key
        if out:
            first, length, step, d = out[-1]
            if d == distance and length == 1 and key - first in (1, 2):
                out[-1] = (first, 2, key - first, d)
                continue
            if d == distance and key == first + length * step:
                out[-1] = (first, length + 1, step, d)
                continue
        out.append((key, 1, 1, distance))
    return out


def c_array(kind, name, values, per_line=24, counted=False):
    lines = [f"const std::size_t kNum{name[1:]} = {len(values)};"] if counted else []
    lines.append(f"const {kind} {name}[] = {{")
    for i in range(0, len(values), per_line):
        lines.append("    " + ", ".join(str(v) for v in values[i:i + per_line]) + ",")
    return "\n".join(lines + ["};", ""])


def build(ucd):
    for table in (ucd.canonical, ucd.compat, ucd.combining_class):  # normal forms are those of Unicode 9.0
        for cp in [cp for cp in table if ucd.age.get(cp, (99,)) > (9, 0)]:
            del table[cp]
    ascii_punctuation = {cp for cp in range(33, 127) if not chr(cp).isalnum()}
    sets = {
        "removed": ucd.of_category(("Cc", "Cf", "Co"), (8, 0)) - {9, 10, 13} | {0xFFFD},
        "whitespace": ucd.having("PropList.txt", "White_Space"),
        "punctuation": ucd.of_category(("P",), (8, 0)) | ascii_punctuation | PUNCTUATION_IN_8,
        "accent": (ucd.of_category(("Mn",), (8, 0)) | NONSPACING_IN_8) - NOT_NONSPACING_IN_8,
        "mark": (ucd.of_category(("M",), (9, 0)) | MARK_IN_9) - NOT_MARK_IN_9,
        "word": ucd.having("DerivedCoreProperties.txt", "Alphabetic") | ucd.having("PropList.txt", "Join_Control")
                | ucd.of_category(("M", "Nd", "Pc")) | expand(NEWER_WORD),
        "number": ucd.of_category(("N",)) | expand(NEWER_NUMBERS),
        "chinese": expand(CHINESE),
    }

    lower = dict(ucd.lower)
    for first, last, distance in NEWER_LOWERCASE:
        lower.update({cp: cp + distance for cp in range(first, last + 1)})
    del lower[0x130]  # the only one with two code points as its lowercase; unicode.cpp knows it
    sets["has_lowercase"] = set(lower) | {0x130}

    hangul = range(0xAC00, 0xD7A4)  # decomposed by arithmetic
    canonical = {cp: parts for cp, parts in ucd.canonical.items()}
    assert all(len(parts) <= 2 and all(second not in canonical for second in parts[1:]) for parts in canonical.values())
    compat = {}
    for cp in sorted({*ucd.compat, *canonical}):
        parts = full_compat(ucd, cp)
        if parts != full_canonical(ucd, cp):
            compat[cp] = parts
    excluded = ucd.having("DerivedNormalizationProps.txt", "Full_Composition_Exclusion")
    compositions = sorted((parts[0], parts[1], cp) for cp, parts in canonical.items() if cp not in excluded)
    sets["decomposes"] = set(canonical)
    sets["not_composed"] = set(canonical) & excluded
    sets["decomposes_compat"] = set(compat)
    sets["composes_backward"] = {second for _, second, _ in compositions} | set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3))
    assert not sets["decomposes"] & set(hangul)

    # Two stages of properties.
    records, blocks, stage1, stage2 = {}, {}, [], []
    for start in range(0, NUM_CODE_POINTS, BLOCK):
        block = []
        for cp in range(start, start + BLOCK):
            flags = sum(1 << bit for bit, name in enumerate(FLAGS) if cp in sets[name])
            record = (flags, ucd.combining_class.get(cp, 0))
            block.append(records.setdefault(record, len(records)))
        block = tuple(block)
        if block not in blocks:
            blocks[block] = len(blocks)
            stage2.extend(block)
        stage1.append(blocks[block])
    assert len(records) <= 256 and len(blocks) <= 256
    while stage1[-1] == stage1[-2]:  # the tail is one block over and over
        stage1.pop()

    keys = sorted(canonical)
    order = {cp: i for i, cp in enumerate(keys)}
    compat_data, compat_ends = [], []
    compat_keys = sorted(compat)
    for cp in compat_keys:
        compat_data.extend(compat[cp])
        compat_ends.append(len(compat_data))
    lower_runs = runs(sorted(lower.items()))
    assert max(len(parts) for parts in compat.values()) == 18  # kLongestDecomposition of unicode.h
    assert max(compat_data) < 0x10000 and len(compat_data) < 0x10000

    parts = [
        c_array("CharProperties", "kRecords", ["{%d, %d}" % r for r in records]),
        c_array("std::uint8_t", "kStage1", stage1, counted=True), c_array("std::uint8_t", "kStage2", stage2),
        c_array("LowercaseRun", "kLowercaseRuns", ["{%d, %d, %d, %d}" % r for r in lower_runs], 8, counted=True),
        c_array("char32_t", "kCanonicalKeys", keys, counted=True), c_array("char32_t", "kCanonicalFirst", [canonical[k][0] for k in keys]),
        c_array("char32_t", "kCanonicalSecond", [canonical[k][1] if len(canonical[k]) == 2 else 0 for k in keys]),
        c_array("std::uint16_t", "kCompositionOrder", [order[cp] for _, _, cp in compositions], counted=True),
        c_array("char32_t", "kCompatKeys", compat_keys, counted=True), c_array("std::uint16_t", "kCompatEnds", compat_ends),
        c_array("char16_t", "kCompatData", compat_data),
    ]
    print(f"{len(records)} records, {len(blocks)} blocks, {len(lower_runs)} lowercase runs, {len(keys)} canonical, "
          f"{len(compositions)} compositions, {len(compat_keys)} compatibility")
    return parts


HEADER = """// Generated by tools/make_unicode_tables.py from the Unicode Character Database %s; do not edit.
#include "tokenizer/unicode_tables.h"

namespace wattn::unicode_tables {

"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ucd", type=pathlib.Path, default=pathlib.Path("/usr/share/unicode"))
    options = parser.parse_args()
    arrays = build(Ucd(options.ucd))
    out = pathlib.Path(__file__).resolve().parents[1] / "src" / "tokenizer" / "unicode_tables.cpp"
    out.write_text(HEADER % UCD_VERSION + "\n".join(arrays) + "\n}  // namespace wattn::unicode_tables\n")


main()
