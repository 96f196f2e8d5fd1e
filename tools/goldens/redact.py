"""Writes tests/goldens/redact/faker.json: values that Faker makes for many locales, in sentences, with a fixed seed.

    python tools/goldens/redact.py

Needs the package faker (the version is recorded). For each locale: phone numbers, and, where a locale has them, IBANs; card numbers and
addresses of machines once for all. Keys are random characters in the forms that their issuers publish."""

import json
import random
import string
from pathlib import Path

import faker

LOCALES = (
    'bg_BG cs_CZ da_DK de_AT de_CH de_DE el_GR en_AU en_CA en_GB en_IE en_IN en_NZ en_US es_ES es_MX et_EE fa_IR fi_FI '
    'fr_CH fr_FR he_IL hi_IN hr_HR hu_HU id_ID it_IT ja_JP ko_KR nl_NL no_NO pl_PL pt_BR pt_PT ro_RO ru_RU sk_SK sl_SI '
    'sv_SE th_TH tr_TR uk_UA vi_VN zh_CN zh_TW ar_AA'
).split()
SENTENCES = [
    'My phone number is {}.', 'Please call {} before noon.', 'Tel: {}', 'You can reach me at {} or by mail.',
    'Contact: {}, thanks!', 'Mobile {}', 'Phone={}; name=Ada', 'fax {} (office)',
]  # fmt: skip
IBAN_SENTENCES = ['Please pay to {}.', 'IBAN: {}', 'The account {} is closed', 'from {}, today']
SEED = 20261127


def alnum(random_, count, alphabet=string.ascii_letters + string.digits):
    return ''.join(random_.choice(alphabet) for _ in range(count))


def keys(random_):
    hexa = '0123456789abcdef'
    aws = string.ascii_uppercase + '234567'
    word = string.ascii_letters + string.digits + '-_'
    forms = [
        lambda: 'AKIA' + alnum(random_, 16, aws),
        lambda: 'ghp_' + alnum(random_, 36),
        lambda: 'github_pat_' + alnum(random_, 22) + '_' + alnum(random_, 59),
        lambda: 'glpat-' + alnum(random_, 20),
        lambda: f"xoxb-{alnum(random_, 12, string.digits)}-{alnum(random_, 12, string.digits)}-{alnum(random_, 24)}",
        lambda: 'sk_live_' + alnum(random_, 24),
        lambda: 'sk-ant-api03-' + alnum(random_, 93, word) + 'AA',
        lambda: 'sk-proj-' + alnum(random_, 48),
        lambda: 'sk-' + alnum(random_, 48),
        lambda: 'AIza' + alnum(random_, 34, word) + 'x',
        lambda: 'npm_' + alnum(random_, 36),
        lambda: 'pypi-AgEIcHlwaS5vcmc' + alnum(random_, 120, word) + 'x',
        lambda: 'hf_' + alnum(random_, 34, string.ascii_letters),
        lambda: 'SG.' + alnum(random_, 22) + '.' + alnum(random_, 43),
        lambda: 'dop_v1_' + alnum(random_, 64, hexa),
        lambda: 'AC' + alnum(random_, 32, hexa),
        lambda: 'eyJhbGciOiJIUzI1NiJ9.eyJ' + alnum(random_, 40) + '.' + alnum(random_, 43),
    ]
    sentences = ['The key is {}', 'export KEY={}', '"token": "{}",', 'curl -H "Authorization: Bearer {}" host', 'use {}, please']
    return [(random_.choice(sentences), form()) for form in forms for _ in range(12)]


def row(sentence, value):
    start = sentence.index('{}')
    return [sentence.replace('{}', value), start, start + len(value)]


def main():
    random_ = random.Random(SEED)
    out = {'faker': faker.VERSION, 'seed': SEED, 'phones': {}, 'ibans': [], 'cards': [], 'ips': [], 'keys': []}
    for number, locale in enumerate(LOCALES):
        fake = faker.Faker(locale)
        fake.seed_instance(SEED + number)
        out['phones'][locale] = [row(SENTENCES[i % len(SENTENCES)], fake.phone_number()) for i in range(40)]
        for i in range(6):
            iban = fake.iban()
            if i % 2:
                iban = ' '.join(iban[at : at + 4] for at in range(0, len(iban), 4))
            out['ibans'].append(row(IBAN_SENTENCES[i % 4], iban))
    fake = faker.Faker('en_US')
    fake.seed_instance(SEED)
    for i in range(300):
        card = fake.credit_card_number()
        if i % 3 == 1 and len(card) == 16:
            card = ' '.join(card[at : at + 4] for at in range(0, 16, 4))
        out['cards'].append(row(['Card {}', 'paid with {} today', 'number: {}.'][i % 3], card))
        ip = fake.ipv6() if i % 3 == 0 else fake.ipv4()
        out['ips'].append(row(['from {}', 'host {}: no answer', '[{}] connected'][i % 3], ip))
        out['ips'].append(row('client={}', fake.ipv4_public()))
    out['keys'] = [row(*pair) for pair in keys(random_)]
    folder = Path(__file__).resolve().parents[2] / 'tests/goldens/redact'
    folder.mkdir(exist_ok=True)
    (folder / 'faker.json').write_text(json.dumps(out, ensure_ascii=False, indent=0).replace(',\n', ', ').replace('[\n', '[').replace('\n]', ']') + '\n')


main()
