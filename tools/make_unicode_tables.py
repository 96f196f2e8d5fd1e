#!/usr/bin/env python3
"""Writes src/tokenizer/unicode_tables.cpp and unicode_type_tables.cpp from the Unicode Character Database.

    python3 tools/make_unicode_tables.py [--ucd /usr/share/unicode]

The tables follow the reference library (`tokenizers`), whose parts were built from different versions of Unicode:
    clean_text, punctuation, strip_accents   8.0
    normal forms, combining classes, marks   9.0
    \\w                                      16.0
    lowercase, numbers                       17.0
    categories and scripts of regexes        16.0
    the pre-tokenizer UnicodeScripts         9.0
    grapheme clusters                        17.0
UCD files of 15.0 (Debian's unicode-data) are cut down to the older versions by DerivedAge, and what 15.0 does not have yet, or
what changed its category since, is spelled out below. tests/native/tokenizer/unicode_test.cpp compares the result with
tests/goldens/unicode, where every code point was asked of the library itself.
"""
import argparse
import pathlib
import re

NUM_CODE_POINTS = 0x110000
BLOCK = 128  # code points per block of the two-stage table
TYPES_BLOCK = 256  # the same of the table of categories
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
# Up to Unicode 16.0: categories and scripts that 15.0 does not have.
NEWER_CATEGORIES = [(0x897, 0x897, "Mn"), (0x1B4E, 0x1B4F, "Po"), (0x1B7F, 0x1B7F, "Po"), (0x1C89, 0x1C89, "Lu"),
                    (0x1C8A, 0x1C8A, "Ll"), (0x2427, 0x2429, "So"), (0x2FFC, 0x2FFF, "So"), (0x31E4, 0x31E5, "So"),
                    (0x31EF, 0x31EF, "So"), (0xA7CB, 0xA7CC, "Lu"), (0xA7CD, 0xA7CD, "Ll"), (0xA7DA, 0xA7DA, "Lu"),
                    (0xA7DB, 0xA7DB, "Ll"), (0xA7DC, 0xA7DC, "Lu"), (0x105C0, 0x105F3, "Lo"), (0x10D40, 0x10D49, "Nd"),
                    (0x10D4A, 0x10D4D, "Lo"), (0x10D4E, 0x10D4E, "Lm"), (0x10D4F, 0x10D4F, "Lo"), (0x10D50, 0x10D65, "Lu"),
                    (0x10D69, 0x10D6D, "Mn"), (0x10D6E, 0x10D6E, "Pd"), (0x10D6F, 0x10D6F, "Lm"), (0x10D70, 0x10D85, "Ll"),
                    (0x10D8E, 0x10D8F, "Sm"), (0x10EC2, 0x10EC4, "Lo"), (0x10EFC, 0x10EFC, "Mn"), (0x11380, 0x11389, "Lo"),
                    (0x1138B, 0x1138B, "Lo"), (0x1138E, 0x1138E, "Lo"), (0x11390, 0x113B5, "Lo"), (0x113B7, 0x113B7, "Lo"),
                    (0x113B8, 0x113BA, "Mc"), (0x113BB, 0x113C0, "Mn"), (0x113C2, 0x113C2, "Mc"), (0x113C5, 0x113C5, "Mc"),
                    (0x113C7, 0x113CA, "Mc"), (0x113CC, 0x113CD, "Mc"), (0x113CE, 0x113CE, "Mn"), (0x113CF, 0x113CF, "Mc"),
                    (0x113D0, 0x113D0, "Mn"), (0x113D1, 0x113D1, "Lo"), (0x113D2, 0x113D2, "Mn"), (0x113D3, 0x113D3, "Lo"),
                    (0x113D4, 0x113D5, "Po"), (0x113D7, 0x113D8, "Po"), (0x113E1, 0x113E2, "Mn"), (0x116D0, 0x116E3, "Nd"),
                    (0x1171E, 0x1171E, "Mc"), (0x11BC0, 0x11BE0, "Lo"), (0x11BE1, 0x11BE1, "Po"), (0x11BF0, 0x11BF9, "Nd"),
                    (0x11F5A, 0x11F5A, "Mn"), (0x13460, 0x143FA, "Lo"), (0x16100, 0x1611D, "Lo"), (0x1611E, 0x16129, "Mn"),
                    (0x1612A, 0x1612C, "Mc"), (0x1612D, 0x1612F, "Mn"), (0x16130, 0x16139, "Nd"), (0x16D40, 0x16D42, "Lm"),
                    (0x16D43, 0x16D6A, "Lo"), (0x16D6B, 0x16D6C, "Lm"), (0x16D6D, 0x16D6F, "Po"), (0x16D70, 0x16D79, "Nd"),
                    (0x18CFF, 0x18CFF, "Lo"), (0x1CC00, 0x1CCEF, "So"), (0x1CCF0, 0x1CCF9, "Nd"), (0x1CD00, 0x1CEB3, "So"),
                    (0x1E5D0, 0x1E5ED, "Lo"), (0x1E5EE, 0x1E5EF, "Mn"), (0x1E5F0, 0x1E5F0, "Lo"), (0x1E5F1, 0x1E5FA, "Nd"),
                    (0x1E5FF, 0x1E5FF, "Po"), (0x1F8B2, 0x1F8BB, "So"), (0x1F8C0, 0x1F8C1, "So"), (0x1FA89, 0x1FA89, "So"),
                    (0x1FA8F, 0x1FA8F, "So"), (0x1FABE, 0x1FABE, "So"), (0x1FAC6, 0x1FAC6, "So"), (0x1FADC, 0x1FADC, "So"),
                    (0x1FADF, 0x1FADF, "So"), (0x1FAE9, 0x1FAE9, "So"), (0x1FBCB, 0x1FBEF, "So"), (0x2EBF0, 0x2EE5D, "Lo")]
NEWER_SCRIPTS = [(0x897, 0x897, "Arabic"), (0x1B4E, 0x1B4F, "Balinese"), (0x1B7F, 0x1B7F, "Balinese"),
                 (0x1C89, 0x1C8A, "Cyrillic"), (0x2427, 0x2429, "Common"), (0x2FFC, 0x2FFF, "Common"),
                 (0x31E4, 0x31E5, "Common"), (0x31EF, 0x31EF, "Common"), (0xA7CB, 0xA7CD, "Latin"), (0xA7DA, 0xA7DC, "Latin"),
                 (0x105C0, 0x105F3, "Todhri"), (0x10D40, 0x10D65, "Garay"), (0x10D69, 0x10D85, "Garay"),
                 (0x10D8E, 0x10D8F, "Garay"), (0x10EC2, 0x10EC4, "Arabic"), (0x10EFC, 0x10EFC, "Arabic"),
                 (0x11380, 0x11389, "Tulu_Tigalari"), (0x1138B, 0x1138B, "Tulu_Tigalari"), (0x1138E, 0x1138E, "Tulu_Tigalari"),
                 (0x11390, 0x113B5, "Tulu_Tigalari"), (0x113B7, 0x113C0, "Tulu_Tigalari"), (0x113C2, 0x113C2, "Tulu_Tigalari"),
                 (0x113C5, 0x113C5, "Tulu_Tigalari"), (0x113C7, 0x113CA, "Tulu_Tigalari"), (0x113CC, 0x113D5, "Tulu_Tigalari"),
                 (0x113D7, 0x113D8, "Tulu_Tigalari"), (0x113E1, 0x113E2, "Tulu_Tigalari"), (0x116D0, 0x116E3, "Myanmar"),
                 (0x11BC0, 0x11BE1, "Sunuwar"), (0x11BF0, 0x11BF9, "Sunuwar"), (0x11F5A, 0x11F5A, "Kawi"),
                 (0x13460, 0x143FA, "Egyptian_Hieroglyphs"), (0x16100, 0x16139, "Gurung_Khema"),
                 (0x16D40, 0x16D79, "Kirat_Rai"), (0x18CFF, 0x18CFF, "Khitan_Small_Script"), (0x1CC00, 0x1CCF9, "Common"),
                 (0x1CD00, 0x1CEB3, "Common"), (0x1E5D0, 0x1E5FA, "Ol_Onal"), (0x1E5FF, 0x1E5FF, "Ol_Onal"),
                 (0x1F8B2, 0x1F8BB, "Common"), (0x1F8C0, 0x1F8C1, "Common"), (0x1FA89, 0x1FA89, "Common"),
                 (0x1FA8F, 0x1FA8F, "Common"), (0x1FABE, 0x1FABE, "Common"), (0x1FAC6, 0x1FAC6, "Common"),
                 (0x1FADC, 0x1FADC, "Common"), (0x1FADF, 0x1FADF, "Common"), (0x1FAE9, 0x1FAE9, "Common"),
                 (0x1FBCB, 0x1FBEF, "Common"), (0x2EBF0, 0x2EE5D, "Han")]
# Up to Unicode 17.0: characters that belong to the grapheme cluster before them and that 15.0 does not have.
NEWER_JOINS = [(0x897, 0x897), (0x1ACF, 0x1ADD), (0x1AE0, 0x1AEB), (0x10D69, 0x10D6D), (0x10EFA, 0x10EFC), (0x113B8, 0x113C0),
               (0x113C2, 0x113C2), (0x113C5, 0x113C5), (0x113C7, 0x113CA), (0x113CC, 0x113D0), (0x113D2, 0x113D2),
               (0x113E1, 0x113E2), (0x11B60, 0x11B67), (0x11F5A, 0x11F5A), (0x1611E, 0x1612F), (0x1E5EE, 0x1E5EF),
               (0x1E6E3, 0x1E6E3), (0x1E6E6, 0x1E6E6), (0x1E6EE, 0x1E6EF), (0x1E6F5, 0x1E6F5)]
# Scripts of these code points were others in Unicode 9.0.
SCRIPTS_IN_9 = {0x589: "Common", 0x61C: "Common", 0x953: "Devanagari", 0x954: "Devanagari"}
# BertNormalizer's handle_chinese_chars: blocks as the first BERT listed them, not a property (it has a gap at 2B820).
CHINESE = [(0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF), (0x2A700, 0x2B81F), (0x2B920, 0x2CEAF),
           (0x2F800, 0x2FA1F)]

# Names and order of the bits; unicode.h has the same list with what each means.
FLAGS = ["removed", "whitespace", "punctuation", "accent", "mark", "word", "number", "chinese", "has_lowercase",
         "decomposes", "decomposes_compat", "composes_backward", "not_composed"]

# Order as kCategoryNames and GraphemeKind in unicode.h.
CATEGORIES = ["Cn", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm",
              "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Co", "Cs"]
GRAPHEME_KINDS = {"Extend": 1, "SpacingMark": 1, "ZWJ": 1, "Prepend": 2, "Control": 3, "CR": 3, "LF": 3}
GRAPHEME_PICTOGRAPH = 4


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


def two_stages(values):
    """[value of each code point] -> (stage 1, stage 2, number of blocks)"""
    blocks, stage1, stage2 = {}, [], []
    for start in range(0, NUM_CODE_POINTS, TYPES_BLOCK):
        block = tuple(values[start:start + TYPES_BLOCK])
        if block not in blocks:
            blocks[block] = len(blocks)
            stage2.extend(block)
        stage1.append(blocks[block])
    assert len(blocks) <= 256
    while stage1[-1] == stage1[-2]:  # the tail is one block over and over
        stage1.pop()
    return stage1, stage2, len(blocks)


def build_types(ucd):
    """Categories, grapheme clusters and scripts."""
    types = [0] * NUM_CODE_POINTS
    category = dict(ucd.category)
    for first, last, name in NEWER_CATEGORIES:
        category.update({cp: name for cp in range(first, last + 1)})
    for cp, name in category.items():
        types[cp] = CATEGORIES.index(name)
    grapheme = {cp: GRAPHEME_PICTOGRAPH for cp in ucd.having("emoji/emoji-data.txt", "Extended_Pictographic")}
    grapheme.update({cp: GRAPHEME_KINDS[name] for cp, name in ucd.property("auxiliary/GraphemeBreakProperty.txt") if name in GRAPHEME_KINDS})
    grapheme.update({cp: GRAPHEME_KINDS["Extend"] for cp in expand(NEWER_JOINS)})
    for cp, kind in grapheme.items():
        types[cp] |= kind << 5
    stage1, stage2, num_blocks = two_stages(types)

    script = dict(ucd.property("Scripts.txt"))
    for first, last, name in NEWER_SCRIPTS:
        script.update({cp: name for cp in range(first, last + 1)})
    names = sorted(set(script.values()))
    row = {name: i + 1 for i, name in enumerate(names)}
    runs_of, bytes_of = [], []
    for cp in range(NUM_CODE_POINTS):
        now = row.get(script.get(cp), 0)
        old = SCRIPTS_IN_9.get(cp, script.get(cp)) if ucd.age.get(cp, (99,)) <= (9, 0) else None
        run = (now, row.get(old, 0))
        if runs_of and runs_of[-1][1] == run:
            runs_of[-1][0] += 1
        else:
            runs_of.append([1, run])
    for length, (now, old) in runs_of:
        assert old in (0, now) or old in map(row.get, SCRIPTS_IN_9.values())
        while length >= 128:
            bytes_of.append(length & 127 | 128)
            length >>= 7
        bytes_of += [length, now, old]
    print(f"types: {num_blocks} blocks; {len(runs_of)} script runs in {len(bytes_of)} bytes")
    return [
        c_array("std::uint8_t", "kTypeStage1", stage1, counted=True), c_array("std::uint8_t", "kTypeStage2", stage2),
        c_array("std::uint8_t", "kScriptRuns", bytes_of, counted=True),
        "const char kScriptNames[] =\n" + "\n".join(f'    "{name} "' for name in names) + ";\n",
    ]


HEADER = """// Generated by tools/make_unicode_tables.py from the Unicode Character Database %s; do not edit.
#include "tokenizer/unicode_tables.h"

namespace wattn::unicode_tables {

"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ucd", type=pathlib.Path, default=pathlib.Path("/usr/share/unicode"))
    options = parser.parse_args()
    out = pathlib.Path(__file__).resolve().parents[1] / "src" / "tokenizer"
    for name, make in ("unicode_tables.cpp", build), ("unicode_type_tables.cpp", build_types):
        arrays = make(Ucd(options.ucd))
        (out / name).write_text(HEADER % UCD_VERSION + "\n".join(arrays) + "\n}  // namespace wattn::unicode_tables\n")


main()
