"""The vocabulary of a student: some of its teacher's word pieces, and emoji, which the teacher reads as unknown tokens."""

import json
import unicodedata
from collections import Counter
from pathlib import Path

import torch

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
EMOJI = (
    "😂❤🤣👍😭🙏😘🥰😍😊🎉😁💕🥺😅🔥☺🤦♥🤷🙄😆🤗😉🎂🤔👏🙂😳🥳😎👌💜😔💪✨💖👀😋😏😢👉💗😩💯🌹💞🎈💙😃😡💐😜🙈🤞😄🤤🙌🤪❣"
    "😀💋💀👇💔😌💓🤩🙃😬😱😴🤭😐🌞😒😇🌸😈🎶✌🎊🥵😞💚☀🖤💰😚👑🎁💥🙋☹😑🥴👈💩✅👋🤮😤🤢🌟❗😥🌈💛😝😫😲🖕‼🔴🌻🤯💃👊🤬🏃"
    "😕⭐😠😓😖😣😨😰😪😷🤒🤕👎😶😵🤓🤠🤡👻🤖😺😻🙀😿😾💤💦💨✔❌❓⚠🚀⚽🏆🎵📷📱💻☕🍕🍔🍺🍷🐶🐱🌍☔❄🏠✈🚗"
)
PLEASANT = "😂❤🤣👍😘🥰😍😊🎉😁💕🔥☺♥😆🤗😉👏🙂🥳😎👌💜💪✨💖😋💗💯🌹💞🎈💙😃💐😄🤤🙌😀💋😌💓🤩🌞😇🌸✌🎊💚☀🖤😚👑🎁✅🌟🌈💛😝💃⭐🤠😺😻🏆"
UNPLEASANT = "😭😔😢😩😡💔🙄😞☹😑💩🤮😤🤢😥😫🖕🤬😕😠😓😖😣😨😰😪😷🤒🤕👎😵🙀😿😾❌😒😬🤦"


def emoji_name(emoji):
    """What the teacher reads in its place: 'face with tears of joy'."""
    return unicodedata.name(emoji).lower().replace("-", " ")


def spoken(text):
    """text with its emoji by name."""
    return " ".join("".join(f" {emoji_name(c)} " if c in EMOJI else c for c in text).split())


def is_kept_alone(piece):
    """Single characters that every text in Latin letters needs, so that no word of them becomes [UNK]."""
    bare = piece.removeprefix("##")
    return len(bare) == 1 and (ord(bare) < 0x250 or 0x370 <= ord(bare) < 0x400 or 0x2010 <= ord(bare) < 0x2030 or bare == "€")


def choose_pieces(tokenizer, texts, sources, size):
    """The ids that stay, in their old order: special ones, single characters, then the most frequent ones. A piece's frequency is the sum of its shares of
    each source, so that large sources do not decide alone."""
    pieces = [piece for piece, _ in sorted(tokenizer.get_vocab().items(), key=lambda x: x[1])]
    must = {i for i, piece in enumerate(pieces) if piece in SPECIAL or is_kept_alone(piece)}
    counts = [Counter() for _ in range(max(sources) + 1)]
    for at in range(0, len(texts), 4096):
        for encoding, source in zip(tokenizer.encode_batch(texts[at : at + 4096]), sources[at : at + 4096]):
            counts[source].update(encoding.ids)
    shares = Counter()
    for count in counts:
        total = sum(count.values())
        for i, n in count.items():
            shares[i] += n / total
    often = (i for i, _ in sorted(shares.items(), key=lambda x: (-x[1], x[0])) if i not in must)
    return sorted([*must, *[i for _, i in zip(range(size - len(must)), often)]])


def cut_tokenizer(source, target, kept, emoji):
    """tokenizer.json with the kept ids alone, numbered anew, and after them the emoji, each at the beginning and within a word."""
    data = json.loads(Path(source).read_text("utf-8"))
    old = sorted(data["model"]["vocab"], key=data["model"]["vocab"].get)
    new = {old[i]: at for at, i in enumerate(kept)}
    for piece in (piece for one in emoji for piece in (one, f"##{one}")):
        new[piece] = len(new)
    data["model"]["vocab"] = new
    data["added_tokens"] = [{**token, "id": new[token["content"]]} for token in data["added_tokens"]]
    for special in data["post_processor"].get("special_tokens", {}).values():
        special["ids"] = [new[token] for token in special["tokens"]]
    for field in ("sep", "cls"):
        if field in data["post_processor"]:
            data["post_processor"][field][1] = new[data["post_processor"][field][0]]
    data["padding"] = data["truncation"] = None
    Path(target).write_text(json.dumps(data, ensure_ascii=False), "utf-8")


def first_rows(teacher, tokenizer, kept, emoji):
    """[pieces, width] the teacher's token embeddings of the kept ids; an emoji begins as the mean of the pieces of its name."""
    rows = teacher.embeddings.word_embeddings.weight.detach()
    named = [rows[tokenizer.encode(emoji_name(one), add_special_tokens=False).ids].mean(0) for one in emoji for _ in range(2)]
    return torch.cat([rows[kept], torch.stack(named)]) if named else rows[kept]
