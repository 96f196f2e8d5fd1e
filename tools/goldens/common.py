"""Shared by all parts of the goldens: where files go, how JSON is written, which versions made them."""
import hashlib
import importlib.metadata
import json
import pathlib
import platform
import shutil

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUT = ROOT / "tests" / "goldens"
DATA = ROOT.parent / "shared" / "data"
SURROGATES = range(0xD800, 0xE000)
NUM_CODE_POINTS = 0x110000


def code_points():
    """Every Unicode scalar value in order."""
    return (cp for cp in range(NUM_CODE_POINTS) if cp not in SURROGATES)


def compact(value):
    """Canonical JSON: no spaces, ASCII only (JSON.stringify gives the same for numbers, arrays and ASCII strings)."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)


def sha256(data):
    return hashlib.sha256(data.encode("ascii") if isinstance(data, str) else data).hexdigest()


def write_bytes(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def write_json(path, value, depth=1):
    """Writes ASCII JSON that stays diffable: containers down to `depth` are spread one entry a line, deeper ones are compact."""
    def text(node, level, pad):
        if level == 0 or not isinstance(node, (dict, list)) or not node:
            return compact(node)
        inner = pad + " "
        if isinstance(node, dict):
            rows = [f"{compact(k)}:{text(v, level - 1, inner)}" for k, v in node.items()]
        else:
            rows = [text(v, level - 1, inner) for v in node]
        left, right = "{}" if isinstance(node, dict) else "[]"
        return left + "\n" + ",\n".join(inner + row for row in rows) + "\n" + pad + right
    write_bytes(path, (text(value, depth, "") + "\n").encode("ascii"))


def empty_folder(part):
    folder = OUT / part
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    return folder


def to_ranges(code_point_set):
    """Sorted [[first, last], ...] of a set of code points."""
    ranges = []
    for cp in sorted(code_point_set):
        if ranges and ranges[-1][1] == cp - 1:
            ranges[-1][1] = cp
        else:
            ranges.append([cp, cp])
    return ranges


def versions(*names):
    made = {"python": platform.python_version()}
    for name in names:
        made[name] = importlib.metadata.version(name)
    return made


def update_manifest(part, made_with, sources=None):
    """Rewrites one part's entry of MANIFEST.json; `part` is the folder's name."""
    path = OUT / "MANIFEST.json"
    manifest = json.loads(path.read_text()) if path.exists() else {}
    files = {}
    for file in sorted((OUT / part).rglob("*")):
        if file.is_file():
            data = file.read_bytes()
            files[file.relative_to(OUT).as_posix()] = [len(data), sha256(data)]
    entry = {"command": f"python tools/make_goldens.py {part}", "made_with": made_with}
    if sources:
        entry["sources"] = sources
    entry["files"] = files
    parts = manifest.get("parts", {})
    parts[part] = entry
    write_json(path, {"about": "files: path relative to this folder -> [bytes, sha256]",
                      "parts": dict(sorted(parts.items()))}, depth=4)
    total = sum(size for size, _ in files.values())
    print(f"{part}: {len(files)} files, {total / 1000:.1f} kB")
