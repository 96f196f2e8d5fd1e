"""tests/goldens/folders: a sample of random folders of tokenizer files, and AutoTokenizer's results. tools/check_folders.py has the long run."""
import base64
import gzip
import json

from transformers import AutoTokenizer

from . import common
from .folder_vocabularies import all_vocabularies, class_files
from .random_folders import answer, folder_and_texts

NUM_FOLDERS, TEXTS_EACH = 84, 8


def make(options):
    vocabularies = all_vocabularies()
    bases = {"vocabularies": vocabularies, "files4": {}, "files5": class_files(vocabularies, AutoTokenizer.from_pretrained)}
    blobs, rows = {}, []
    for seed in range(NUM_FOLDERS):
        files, texts = folder_and_texts(seed, bases, TEXTS_EACH)
        own = {name: blobs.setdefault(base64.b64encode(data).decode(), len(blobs)) for name, data in files.items()}
        rows.append({"seed": seed, "files": own, "texts": texts, "answer": answer(files, texts, AutoTokenizer.from_pretrained)})
    text = common.compact({"blobs": list(blobs), "folders": rows})
    folder = common.empty_folder("folders")
    common.write_bytes(folder / "folders.json.gz", gzip.compress(text.encode("ascii"), mtime=0))
    common.update_manifest("folders", common.versions("transformers", "tokenizers", "sentencepiece"), {})
