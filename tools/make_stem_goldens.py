# Makes tests/goldens/search/stems.json: the stems that Snowball gives the stop words of each language (node_modules/@orama/stopwords).
# Usage: pip install PyStemmer==3.1.0; python tools/make_stem_goldens.py
import json
import pathlib
import re

import Stemmer

root = pathlib.Path(__file__).resolve().parent.parent
# Names of files in @orama/stopwords, and Snowball's names.
FILES = dict(hy='am', da='dk', el='gr', ga='ie', hi='in', ne='np', sr='rs', sv='se')
NAMES = dict(ar='arabic', hy='armenian', da='danish', de='german', en='english', es='spanish', fi='finnish', fr='french', el='greek', hu='hungarian', id='indonesian',
             ga='irish', hi='hindi', it='italian', lt='lithuanian', nl='dutch_porter', no='norwegian', ne='nepali', pt='portuguese', ro='romanian', sr='serbian',
             ru='russian', sv='swedish', ta='tamil', tr='turkish')
ENGLISH = '''absorption abstraction abstractly accessible accommodation agreed argument arguments bakeries bakery beginnings birds caresses communication conditional digitizer
dying electricity enjoyed falling feudalism generously happiness hopeful hopping national needles organization ponies probably relational running singing skies station studies triplicate universities'''.split()

out = {}
for language, name in sorted(NAMES.items()):
    text = (root / f'node_modules/@orama/stopwords/dist/{FILES.get(language, language)}.js').read_text(encoding='utf8')
    words = re.findall(r'"([^"]*)"', text)
    words = [word for word in words if not re.search(r"[\s'\\]", word)] + (ENGLISH if language == 'en' else [])
    out[language] = {'words': words, 'stems': Stemmer.Stemmer(name).stemWords(words)}
path = root / 'tests/goldens/search/stems.json'
path.write_text(json.dumps(out, ensure_ascii=False, separators=(',', ':')) + '\n', encoding='utf8')
