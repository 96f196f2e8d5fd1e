"""tests/goldens/unicode: what the `tokenizers` library does with every code point, asked of the library itself."""
import collections
import random
import re

from tokenizers import normalizers, pre_tokenizers

from . import common

BLOCK = 4096
FORMS = ("NFD", "NFC", "NFKD", "NFKC")


def bert(**on):
    """A BertNormalizer with every step off but those named."""
    steps = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    return normalizers.BertNormalizer(**{**steps, **on})


def changed(normalizer):
    """{code point: result} for each one that the normalizer changes when it stands alone."""
    results = {}
    for cp in common.code_points():
        result = normalizer.normalize_str(chr(cp))
        if result != chr(cp):
            results[cp] = result
    return results


def split_kind(pre_tokenizer):
    """({removed as whitespace}, {isolated as punctuation}) when between two letters."""
    removed, isolated = set(), set()
    for cp in common.code_points():
        pieces = [text for text, _ in pre_tokenizer.pre_tokenize_str("a" + chr(cp) + "a")]
        if pieces == ["a", "a"]:
            removed.add(cp)
        elif pieces == ["a", chr(cp), "a"]:
            isolated.add(cp)
        else:
            assert pieces == ["a" + chr(cp) + "a"], (hex(cp), pieces)
    return removed, isolated


def block_hashes(results):
    """{first code point of a block, in hex: SHA-256 of "HEX=HEX HEX\\n" per changed code point}; unchanged blocks are left out."""
    lines = collections.defaultdict(list)
    for cp in sorted(results):
        right = " ".join("%X" % ord(c) for c in results[cp])
        lines[cp // BLOCK * BLOCK].append(f"{cp:X}={right}\n")
    return {"%X" % block: common.sha256("".join(rows)) for block, rows in sorted(lines.items())}


def mapping_rows(results, leave_out=()):
    """[[code point, result...], ...]"""
    return [[cp] + [ord(c) for c in result] for cp, result in sorted(results.items()) if cp not in leave_out]


def combining_classes(nfd):
    """{class: {code points}} found from how the library orders pairs: c comes after p exactly when 0 < ccc(p) < ccc(c)."""
    probes = {1: 0x334, 7: 0x93C, 8: 0x3099, 9: 0x94D, 84: 0xC55, 91: 0xC56, 103: 0xE38, 107: 0xE48, 118: 0xEB8, 122: 0xEC8,
              129: 0xF71, 130: 0xF72, 132: 0xF74, 202: 0x327, 214: 0x1DCE, 216: 0x31B, 218: 0x302A, 220: 0x316, 222: 0x59A,
              224: 0x302E, 226: 0x1D16D, 228: 0x5AE, 230: 0x301, 232: 0x302C, 233: 0x362, 234: 0x35D, 240: 0x345}
    probes.update({cls: cp for cls, cp in zip(range(10, 27), [*range(0x5B0, 0x5BA), 0x5BB, 0x5BC, 0x5BD, 0x5BF, 0x5C1, 0x5C2, 0xFB1E])})
    probes.update({cls: cp for cls, cp in zip(range(27, 36), [*range(0x64B, 0x653), 0x670])})
    probes[36] = 0x711
    values = sorted(probes)
    classes = collections.defaultdict(set)
    for cp in common.code_points():
        c = chr(cp)
        if nfd.normalize_str(c) != c:
            continue
        swaps = lambda first, second: first != second and nfd.normalize_str(first + second) == second + first
        first_probe, last_probe = chr(probes[values[0]]), chr(probes[values[-1]])
        if not swaps(last_probe, c) and not swaps(c, first_probe):      # a starter: nothing moves across it
            continue
        left = [v for v in values if not swaps(c, chr(probes[v])) and not swaps(chr(probes[v]), c)]
        assert len(left) == 1, (hex(cp), left)
        classes[left[0]].add(cp)
    return classes


def sequences(nfd_results):
    """Strings of several code points: ordering, composition, Hangul, final sigma; each with what every normalizer makes of it."""
    rng = random.Random(20)
    marks = [0x300, 0x301, 0x307, 0x308, 0x323, 0x327, 0x328, 0x31B, 0x334, 0x345, 0x5B0, 0x5BC, 0x64B, 0x651, 0x93C, 0x94D,
             0x3099, 0xE38, 0xE48, 0x302E, 0x1D165, 0x1D16D, 0x20DD, 0x903]
    bases = [0x61, 0x41, 0x65, 0x49, 0x3A3, 0x3C3, 0x1E9E, 0x130, 0x131, 0xE9, 0x1EA5, 0x212B, 0xFB01, 0x1100, 0xAC00, 0xAC01, 0x4E00,
             0x915, 0x5D0, 0x627, 0x304B, 0xF73, 0xFF21, 0x1F88, 0x20, 0x2E]
    texts = ["\u039f\u0394\u039f\u03a3", "\u03a3", "\u0391\u03a3 \u0391\u03a3.", "\u1112\u1161\u11ab", "\u1112\u1161 \u11ab", "\uac00\u11a8",
             "a\u0315\u0300\u05ae\u0062", "q\u0307\u0323", "\u0f71\u0f72", "\u0b47\u0b3e", "I\u0307\u0323", "\u0344\u0301", "\u1e9b\u0323"]
    for _ in range(120):
        size = rng.randrange(2, 9)
        texts.append("".join(chr(rng.choice(marks if rng.random() < 0.6 else bases)) for _ in range(size)))
    singles = sorted(nfd_results)
    for _ in range(60):
        texts.append("".join(chr(rng.choice(singles if rng.random() < 0.5 else marks)) for _ in range(rng.randrange(2, 6))))
    tools = {form: getattr(normalizers, form)() for form in FORMS}
    tools.update(Lowercase=normalizers.Lowercase(), StripAccents=normalizers.StripAccents(),
                 bert_uncased=normalizers.BertNormalizer(), bert_cased=normalizers.BertNormalizer(lowercase=False, strip_accents=False),
                 bert_lower_keep_accents=normalizers.BertNormalizer(strip_accents=False))
    return {"columns": ["text", *tools], "rows": [[t, *(n.normalize_str(t) for n in tools.values())] for t in texts]}


def read_ucd(folder):
    """(category, age) by code point out of UnicodeData.txt and DerivedAge.txt, and the version in the latter's first line."""
    category, age, first = {}, {}, None
    for line in (folder / "UnicodeData.txt").read_text().splitlines():
        field = line.split(";")
        cp = int(field[0], 16)
        if field[1].endswith("First>"):
            first = cp
            continue
        for x in range(first if field[1].endswith("Last>") else cp, cp + 1):
            category[x] = field[2]
    text = (folder / "DerivedAge.txt").read_text()
    for low, high, version in re.findall(r"^([0-9A-F]+)(?:\.\.([0-9A-F]+))?\s*;\s*([\d.]+)", text, re.M):
        for x in range(int(low, 16), int(high or low, 16) + 1):
            age[x] = tuple(map(int, version.split(".")))
    return category, age, re.match(r"# DerivedAge-([\d.]+)\.txt", text)[1]


def compare_with_ucd(folder, found, decomposed):
    """How each property differs from a rule written in categories and ages of the Unicode Character Database."""
    category, age, version = read_ucd(folder)
    ascii_punct = {cp for cp in range(33, 127) if not chr(cp).isalnum()}
    old = lambda cp: age.get(cp, (99,)) <= (8, 0)
    space = {cp for cp in category if category[cp] in ("Zs", "Zl", "Zp")} | set(range(9, 14)) | {0x85}
    rules = {
        "removed": {cp for cp in category if category[cp] in ("Cc", "Cf", "Co") and old(cp)} - {9, 10, 13} | {0xFFFD},
        "whitespace": space,
        "punctuation": {cp for cp in category if category[cp][0] == "P" and old(cp)} | ascii_punct,
        "accent": {cp for cp in category if category[cp] == "Mn" and old(cp)} - decomposed,
        "combining_mark": {cp for cp in category if category[cp][0] == "M" and age.get(cp, (99,)) <= (9, 0)},
    }
    report = {}
    for name, rule in rules.items():
        got = found[name]
        note = lambda cps: [["%X" % a, "%X" % b] for a, b in common.to_ranges(cps)]
        report[name] = {"library_only": note(got - rule), "rule_only": note((rule - got) - set(common.SURROGATES))}
    return version, report


def make(options):
    folder = common.OUT / "unicode"
    clean = changed(bert(clean_text=True))
    assert set(clean.values()) == {"", " "}
    removed = {cp for cp, result in clean.items() if result == ""}
    to_space = {cp for cp, result in clean.items() if result == " "} | {0x20}
    chinese = changed(bert(handle_chinese_chars=True))
    assert all(result == f" {chr(cp)} " for cp, result in chinese.items())
    lower = changed(normalizers.Lowercase())
    assert lower == changed(bert(lowercase=True))
    whitespace, punctuation = split_kind(pre_tokenizers.BertPreTokenizer())
    assert split_kind(pre_tokenizers.Punctuation()) == (set(), punctuation)
    assert split_kind(pre_tokenizers.WhitespaceSplit()) == (whitespace, set())
    assert to_space | (removed & whitespace) == whitespace, "clean_text's spaces are the white space that it does not remove first"

    forms = {form: changed(getattr(normalizers, form)()) for form in FORMS}
    strip = changed(bert(strip_accents=True))
    nfd = lambda cp: forms["NFD"].get(cp, chr(cp))
    accent = {cp for cp in strip if nfd(cp) == chr(cp)}
    for cp in common.code_points():       # strip_accents is exactly: NFD, then drop the accents
        assert strip.get(cp, chr(cp)) == "".join(c for c in nfd(cp) if ord(c) not in accent), hex(cp)
    mark = changed(normalizers.StripAccents())
    assert set(mark.values()) == {""}
    hangul = set(range(0xAC00, 0xD7A4))
    for cp in hangul:
        i = cp - 0xAC00
        jamo = [0x1100 + i // 588, 0x1161 + i % 588 // 28] + ([0x11A7 + i % 28] if i % 28 else [])
        assert forms["NFD"][cp] == forms["NFKD"][cp] == "".join(map(chr, jamo))
        assert cp not in forms["NFC"] and cp not in forms["NFKC"]
    nfc = normalizers.NFC()
    recomposed = {cp for cp, result in forms["NFD"].items() if nfc.normalize_str(result) != chr(cp)}

    properties = {
        "clean_text_removed": removed, "clean_text_to_space": to_space, "chinese": set(chinese), "whitespace": whitespace,
        "punctuation": punctuation, "accent": accent, "combining_mark": set(mark), "not_recomposed": recomposed,
    }
    common.write_json(folder / "properties.json", {name: common.to_ranges(cps) for name, cps in properties.items()})
    classes = combining_classes(normalizers.NFD())
    common.write_json(folder / "combining_class.json", {str(cls): common.to_ranges(cps) for cls, cps in sorted(classes.items())})
    mappings = {"lowercase": mapping_rows(lower), "NFD": mapping_rows(forms["NFD"], hangul), "NFC": mapping_rows(forms["NFC"]),
                "NFKD_where_not_NFD": mapping_rows({cp: r for cp, r in forms["NFKD"].items() if r != nfd(cp)})}
    common.write_json(folder / "mappings.json", mappings)
    hashes = {name: block_hashes(results) for name, results in
              {**forms, "lowercase": lower, "bert_strip_accents": strip, "bert_uncased": changed(normalizers.BertNormalizer())}.items()}
    common.write_json(folder / "block_hashes.json", hashes, depth=2)
    common.write_json(folder / "sequences.json", sequences(forms["NFD"]), depth=2)
    sources = {}
    if options.ucd and (options.ucd / "UnicodeData.txt").exists():
        found = {"removed": removed, "whitespace": whitespace, "punctuation": punctuation, "accent": accent, "combining_mark": set(mark)}
        sources["ucd"], report = compare_with_ucd(options.ucd, found, set(forms["NFD"]))
        common.write_json(folder / "ucd_comparison.json", {"unicode": sources["ucd"], **report}, depth=3)
    common.update_manifest("unicode", common.versions("tokenizers"), sources)
