"""The texts that tokenizers and embeddings are compared on: hostile ones first, then ordinary sentences from a seeded generator."""
import json
import random

WHITE_SPACE = [*range(9, 14), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000]

SHORT = {
    "empty": ["", " ", "   ", "\t\n\r "],
    "one token": ["the", "a", "I", "hello", "water", "Zurich", "running", "."],
    "single character": ["b", "Z", "7", "\u00e9", "\u00df", "\u00d8", "\u0416", "\u03a9", "\u4e2d", "\u3042", "\u30ab", "\ud55c", "\u0e01", "\u05d0", "\u0639", "\u0915", "\u2603", "\u20ac", "\u00bd", "\u2160",
                         "\u2014", "\u2026", "\u201c", "\u3002", "\uff01", "-", "'", "#", "@", "\\", "/", "|", "~", "^", "$", "<"],
    "emoji": ["\U0001f600", "I \u2764\ufe0f you", "party \U0001f389\U0001f389!!", "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466", "family: \U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 done",
              "\U0001f44d\U0001f3fd ok", "\U0001f1ef\U0001f1f5 and \U0001f1e9\U0001f1ea", "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "\U0001f3f3\ufe0f\u200d\U0001f308 flag",
              "a\U0001f600b\U0001f600c", "\U0001f9d1\U0001f3ff\u200d\U0001f4bb writes code", "\u263a \u263a\ufe0f \u263a\ufe0e", "1\ufe0f\u20e3 2\ufe0f\u20e3", "so good\U0001f602\U0001f602\U0001f602wow"],
    "Chinese": ["\u4f60\u597d\uff0c\u4e16\u754c\u3002", "\u6211\u4eec\u660e\u5929\u53bb\u5317\u4eac\u5927\u5b66\u56fe\u4e66\u9986\u3002", "abc\u4e2d\u6587def", "\u4e2d 1 \u6587", "\U00020000\U0002a6df\u9fff\u3400", "\U0002a700\U0002b740\U0002b820\U0002ceb0\uf900\U0002f800",
                "\u7e41\u9ad4\u4e2d\u6587\u6e2c\u8a66", "\u3007\u3005\u2e80\u31c0"],
    "Japanese": ["\u6771\u4eac\u3067\u3059\u3002", "\u3053\u3093\u306b\u3061\u306f\u3001\u5143\u6c17\u3067\u3059\u304b\uff1f", "\u30ac\u30ae\u30b0 \u304c\u304e\u3050 \uff76\uff9e", "\u30c7\u30fc\u30bf\u30d9\u30fc\u30b9\u306e\u691c\u7d22", "\u304b\u3099\u304d\u3099"],
    "Korean": ["\uc548\ub155\ud558\uc138\uc694", "\ud55c\uad6d\uc5b4 \ubb38\uc7a5\uc785\ub2c8\ub2e4.", "\uac00\uac01\uac02", "\u1112\u1161\u11ab\u1100\u1173\u11af", "\uc11c\uc6b8\uc740 \ud070 \ub3c4\uc2dc\uc608\uc694", "\u3131\u314f\u314b\u314b"],
    "Thai": ["\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35\u0e04\u0e23\u0e31\u0e1a", "\u0e19\u0e49\u0e33 \u0e01\u0e33", "\u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22\u0e07\u0e48\u0e32\u0e22"],
    "Arabic": ["\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645", "\u0627\u0644\u0652\u0639\u064e\u0631\u064e\u0628\u0650\u064a\u0651\u064e\u0629\u064f", "\u0622\u0623\u0625\u0626 \u0661\u0662\u0663", "\ufefb \ufdfa", "\u067e\u0686\u06af \u06f4\u06f5\u06f6\u061f"],
    "Hebrew": ["\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd", "\u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd", "\ufb2a\ufb4b \u05d0\u05be\u05d1"],
    "Devanagari": ["\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e", "\u0915\u094d\u0937\u0924\u094d\u0930\u093f\u092f \u0958\u093c", "\u0967\u0968\u0969 \u0964 \u0965"],
    "other scripts": ["\u0bb5\u0ba3\u0b95\u0bcd\u0b95\u0bae\u0bcd", "\u0995\u09bf \u0995\u09cb \u0995\u09cc", "\u0d2e\u0d32\u0d2f\u0d3e\u0d33\u0d02", "\u1019\u103c\u1014\u103a\u1019\u102c", "\u0f56\u0f7c\u0f51\u0f0b\u0f66\u0f90\u0f51\u0f0b", "\u10e5\u10d0\u10e0\u10d7\u10e3\u10da\u10d8 \u1c90\u1c91", "\u0540\u0561\u0575\u0565\u0580\u0565\u0576 \u0587",
                      "\u13a0\u13b3 \uab70", "\u1681\u1682 \u1680\u169b", "\U00010400\U00010428", "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440! \u0401\u0436 \u0419\u043e\u0434", "\u1ee4\u1e3f\u1e63\u0323 Vi\u1ec7t Nam ti\u1ebfng Vi\u1ec7t"],
    "combining marks": ["a\u0301\u0323\u0308", "a\u0323\u0301\u0308\u0334", "e" + "\u0301" * 30 + "nd", "\u0301start", "x \u0301 y", "Z\u0351\u036b\u0343\u032a\u0302a\u0321\u034el\u0324g\u0325o\u0330", "q\u0307\u0323 q\u0323\u0307", "\u1e9b\u0323 \u212b \u2126 \u212a", "cafe\u0301 caf\u00e9 CAF\u00c9 CAFE\u0301",
                        "\u0344\u0340\u0341", "n\u0303o sen\u0303or \u00f1", "a\u05b0\u05bc\u064b\u093c\u094d", "\u0b95\u0bca \u0b95\u0bc6\u0bbe", "\u302a\u302ea\u302e\u302a", "a\U0001d165\U0001d16d b", "o\u20dd o\u20e3", "\u0f73\u0f75\u0f81",
                        "\u1885a\u1886 \ua9bd \u1734", "\u0898x\u089f \U00011241 \U0001133b"],
    "control characters": ["a\u0000b", "\u0000", "bell\u0007 back\b space", "\u001b[31mred\u001b[0m", "del\u007f c1\u0080\u0099", "next\u0085line", "vt\u000bff\u000cfs\u001cgs\u001d", "soft\u00adhyphen", "a\u0000\u0001\u0002\u0003b c"],
    "zero width": ["zero\u200bwidth", "zero\u200cnon\u200djoiner", "\ufeffbom first", "word\u2060joiner", "mongolian\u180evowel", "rtl \u202eoverride\u202c end", "\u2066isolate\u2069", "invisible\u2062times\u2063", "a\u200b \u200bb", "tag\U000e0001\U000e0061 x", "\u061calm \u06ddayah \u08e2disputed",
                   "\U000110bd\U000110cd \U00013430", "\ufff9a\ufffab\ufffb"],
    "white space": ["a" + "a".join(map(chr, WHITE_SPACE)) + "a", "".join(map(chr, WHITE_SPACE)), "non\u00a0breaking\u00a0space", "ideographic\u3000space", "line\u2028para\u2029end", "tab\tnewline\ncr\rcrlf\r\nend", "  two  spaces  ", "\n\nleading", "trailing \t ", "thin\u2009space\u202fnarrow",
                    "ogham\u1680space \u2800 braille \u3164 filler"],
    "special tokens": ["[SEP]", "[CLS]", "[PAD]", "[MASK]", "[UNK]", "[CLS] x [MASK]", "[unk]", "[Sep] [sEP]", "a[SEP]b", "[SEP][SEP]", " [SEP] ", "[ SEP ]", "[MASK]s are fun", "Paris is the [MASK] of France.", "\u00e9[MASK]\u00e9", "[CLS][PAD][UNK]", "\U0001f600[SEP]\U0001f600", "[SEP", "SEP]",
                       "[[SEP]]", "[MASK]##ing ##the ##", "[unused0] [unused99]", "[SE\u0301P]", "<s> </s> <mask> <pad>", "[MASK]\u0301 [MASK]\u200b"],
    "URLs and addresses": ["https://example.org/a/b?c=d&e=f#g", "mail someone@example.com now", "www.example.co.uk/~user/index.html", "10.0.0.1:8080/path", "C:\\Users\\name\\file.txt", "ftp://x_y:z@host/\u00fc/%20%C3%BC"],
    "code": ["for (int i = 0; i < n; ++i) { a[i] += b[i] * c; }", "def f(x): return x**2 if x >= 0 else -x", "SELECT name, COUNT(*) FROM t WHERE a != 'b' GROUP BY 1;", "<div class=\"x\">&nbsp;</div>", "{\"key\": [1, 2.5, null, true]}", "snake_case camelCase PascalCase kebab-case", "\\frac{a}{b} + x^{2}_{i}", "#include <vector>\n\tstd::vector<int> v;\n",
             "if (a && b || !c) return ~d ^ e;", "git commit -m 'fix: x'"],
    "numbers": ["0", "42", "3.14159", "1,234,567.89", "-273.15", "1e-12", "0xFF", "2026-11-21T01:07:00Z", "\u00a3100 $5 \u20ac3 \u00a57", "50% off", "\u2460\u2461\u2462 \u2163 \u2178", "\u00b2\u00b3\u00b9 \u2074\u2080", "\u00bc \u2153", "\u0661\u0662\u0663", "+1 (555) 010-9999", "12345678901234567890123456789012345678901234567890", "\U0001d7ce\U0001d7d8"],
    "long words": ["a" * 99, "a" * 100, "a" * 101, "a" * 300, "antidisestablishmentarianism", "pneumonoultramicroscopicsilicovolcanoconiosis", "\u00e9" * 100, "\u00e9" * 101, "e\u0301" * 100, "e\u0301" * 101, "ab" * 50 + " " + "ab" * 51, "supercalifragilistic" * 6, "\u0430" * 101, "\U0001d400" * 100,
                   "\U0001d400" * 101, "x" * 100 + "." + "y" * 101, "\ud55c" * 50, "\uac01" * 34],
    "lone surrogates": ["\ud800", "a\ud800b", "\udc00start", "end\ud83d", "\ud800\ud801\ud802", "\udc00\ud800x", "x \udfff y", "ok \U0001f600\ud83d ok", "half [SEP]\ud83d", "\ud83d\ud83d\ude00"],
    "replacement, private, unassigned": ["\ufffd", "a\ufffdb", "\ue000\uf8ff", "x\U000f0000y\U0010fffd", "\uffff\ufffe\ufdd0", "a\u0378b \u05ff", "\U0001fffe \U000e1000", "\ufffc object", "\U0010ffff"],
    "plane 14 tags": ["\U000e0041\U000e0042", "a\U000e0100b \u8fbb\U000e0100", "\u845b\ufe00"],
    "compatibility forms": ["\ufb01ne \ufb02ow \ufb03", "\uff28\uff45\uff4c\uff4c\uff4f\u3000\uff11\uff12\uff13\uff01", "\u210d\u2115 \u2102 \u211d", "\U0001d4d7\U0001d4ee\U0001d4f5\U0001d4f5\U0001d4f8", "\u3300 \u33a1 \u32ff", "\u24d0\u24d1\u24b6", "x\u00b2 + y\u2082", "\uff21\uff22\uff23\uff0e\uff3b\uff33\uff25\uff30\uff3d"],
    "case": ["\u0130stanbul \u0131rmak I\u0307 i\u0307", "Stra\u00dfe STRASSE \u1e9e", "\u039f\u0394\u039f\u03a3 \u03bf\u03b4\u03cc\u03c2 \u03a3\u03a3", "\u01c4 \u01c5 \u01c6 \u01c8 \u01cb \u01f2", "\u0386\u0388 \u1fb3 \u1f88 \u1ffc", "\u1c89 \ua7cb \ua7dc \U00010d50 \U00016ea0", "\u00c0\u00c9\u00ce\u00d5\u00dc\u00dd", "HeLLo WoRLD", "\u0178 \u0150 \u0174",
             "\u2c2f \ua7c2 \U0001e921", "\u10a0 \u1c90 \u2d00", "\u0345 \u03b1\u0345"],
    "punctuation": ["\u00abquoted\u00bb \u201ccurly\u201d \u2018single\u2019 \u201elow\u201f", "em\u2014dash en\u2013dash \u2010 \u2011 \u2212", "what?! no... yes\u2026 \u203d", "don't can't o'clock rock'n'roll \u2019tis", "\u3001\u3002\u300c\u300d\u3010\u3011", "$+<=>^`|~", "\u00b7 \u2022 \u2023 \u00a7 \u00b6 \u2020", "\u00bf\u00a1 \u055a \u05be \u061b \u0964 \u166d", "\u2e43\u2e4f\u2e52\u2e5d",
                    "\U00010100 \U00011047 \U000111c9 \U0001e95e", "\u00d7\u00f7\u00b1\u00a4\u00a9\u00ae\u2122", "((nested [brackets {here}]))", "a,b;c:d.e!f?g", "______ ------ ......", "\u2016\u2031\u2045\u207d\u2329\u27e8"],
}

SUBJECTS = ["The old librarian", "A young engineer", "My neighbour's cat", "Our night train", "Every second visitor", "The committee", "Nobody in the village", "Dr. Okafor", "The weather service", "An unsigned letter",
            "Her first violin", "The ferry to the island", "Their data centre", "A flock of starlings", "The bakery on Mill Road"]
VERBS = ["quietly repaired", "cannot explain", "has postponed", "rarely mentions", "was looking for", "wrote three pages about", "sold", "compared", "photographed", "forgot", "would rather avoid", "is measuring", "translated", "misunderstood"]
OBJECTS = ["the broken clock", "seventeen hand-drawn maps", "a proof of the theorem", "the price of copper", "an overdue invoice", "the tides of the northern coast", "a recipe for rye bread", "her grandmother's radio", "the new tax rules", "two kilograms of coffee",
           "an unusually bright comet", "the user's password policy", "an index of medieval bridges"]
ENDINGS = [" before sunrise", ", which surprised everyone", " in 1987", " for less than \u20ac40", " without asking", " because the lift was out of order", "; the rest stayed at home", " (see table 4)", " - again", "", " while it rained", " near \u00c5rhus and S\u00e3o Paulo"]
STOPS = [".", ".", ".", "!", "?", "...", ""]


def sentence(rng):
    return rng.choice(SUBJECTS) + " " + rng.choice(VERBS) + " " + rng.choice(OBJECTS) + rng.choice(ENDINGS) + rng.choice(STOPS)


def read_surrogates(text):
    """What Python makes of a JavaScript string: every lone surrogate becomes U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def all_texts():
    """[[kind, text], ...]; the text may hold lone surrogates."""
    rng = random.Random(384)
    rows = [[kind, text] for kind, texts in SHORT.items() for text in texts]
    rows += [["600 words", " ".join(sentence(rng) for _ in range(80)).split(" ", 600)[:600]]]
    rows[-1][1] = " ".join(rows[-1][1])
    rows += [["more than 512 tokens", " ".join(f"{i * 7919 % 10007}" for i in range(300))], ["more than 512 tokens", "\u4e2d\u6587" * 300],
             ["more than 512 tokens", "unbelievable " * 520], ["around the limit", "the " * 253], ["around the limit", "the " * 254], ["around the limit", "the " * 255],
             ["around the limit", "word " * 253 + "unbelievableness"], ["around the limit", "\U0001f600 " * 254 + "[SEP] tail"], ["paragraphs", "\n\n".join(sentence(rng) for _ in range(6))],
             ["paragraphs", "\r\n".join("- " + sentence(rng) for _ in range(5))]]
    rows += [["sentence", sentence(rng)] for _ in range(60)]
    rows += [["sentences", " ".join(sentence(rng) for _ in range(rng.randrange(2, 6)))] for _ in range(12)]
    mixed = [text for kind, text in rows if 0 < len(text) < 40]
    rows += [["mixture", " ".join(rng.choice(mixed) for _ in range(4))] for _ in range(14)]
    # Two lone halves may have met and made a pair: read them as JSON does.
    return [[kind, json.loads(json.dumps(text))] for kind, text in rows]
