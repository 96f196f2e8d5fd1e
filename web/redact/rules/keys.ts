// API keys, tokens and passwords: by the forms that their issuers publish, and by their entropy beside a word that announces one.
import { entropy } from './checks.js';
import { all, finding, type Rule } from './rule.js';

/** Issuers with the forms of their keys. */
const kForms: readonly [name: string, form: string][] = [
  ['AWS access key', '(?:AKIA|ASIA|ABIA|ACCA|AGPA|AIDA|AIPA|ANPA|ANVA|APKA|AROA)[A-Z2-7]{16}'],
  ['GitHub token', '(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{50,255})'],
  ['GitLab token', 'gl(?:pat|dt|rt|ptt|oas|soat|ft|agent|cbt|imt)-[\\w-]{20,64}'],
  ['Slack token', 'xox[abeoprs]-[A-Za-z0-9-]{10,255}|xapp-\\d-[A-Za-z0-9-]{10,255}'],
  ['Slack webhook', 'hooks\\.slack\\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{20,128}'],
  ['Stripe key', '(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,255}|whsec_[A-Za-z0-9+/=]{20,128}'],
  ['Anthropic key', 'sk-ant-[\\w-]{16,255}'],
  ['OpenAI key', 'sk-(?:proj-|svcacct-|admin-|None-)[\\w-]{16,255}|sk-[A-Za-z0-9]{20,255}|sess-[A-Za-z0-9]{40}'],
  ['OpenRouter key', 'sk-or-v1-[0-9a-f]{64}'],
  ['Google key', 'AIza[\\w-]{35}|ya29\\.[\\w-]{20,1024}|GOCSPX-[\\w-]{28}'],
  ['npm token', 'npm_[A-Za-z0-9]{36}'],
  ['PyPI token', 'pypi-[A-Za-z0-9_-]{50,512}'],
  ['Hugging Face token', '(?:hf|api_org)_[A-Za-z]{30,40}'],
  ['SendGrid key', 'SG\\.[\\w-]{16,32}\\.[\\w-]{16,64}'],
  ['Twilio key', '(?:SK|AC)[0-9a-f]{32}'],
  ['Mailgun key', '(?:key|pubkey)-[0-9a-f]{32}'],
  ['Mailchimp key', '[0-9a-f]{32}-us\\d{1,2}'],
  ['DigitalOcean token', 'do[opr]_v1_[0-9a-f]{64}'],
  ['Shopify token', 'shp(?:at|ca|pa|ss|tka)_[0-9a-fA-F]{32}'],
  ['Square token', 'sq0[a-z]{3}-[\\w-]{22,43}|EAAA[\\w-]{60}'],
  ['Telegram token', '\\d{8,10}:A[\\w-]{34}'],
  ['Discord token', '[MNO][\\w-]{23,27}\\.[\\w-]{6}\\.[\\w-]{27,38}'],
  ['Databricks token', 'dapi[0-9a-f]{32}(?:-\\d)?'],
  ['Groq key', 'gsk_[A-Za-z0-9]{40,64}'],
  ['xAI key', 'xai-[A-Za-z0-9]{60,100}'],
  ['Replicate token', 'r8_[A-Za-z0-9]{37}'],
  ['Perplexity key', 'pplx-[A-Za-z0-9]{40,64}'],
  ['Vault token', 'hv[sbr]\\.[\\w-]{24,255}'],
  ['Docker token', 'dckr_(?:pat|oat)_[\\w-]{24,64}'],
  ['Doppler token', 'dp\\.(?:pt|st|sa|ct|scim|audit)\\.[\\w.-]{40,64}'],
  ['Grafana token', 'gl(?:sa|c)_[A-Za-z0-9+/=_]{32,255}'],
  ['Linear key', 'lin_(?:api|oauth)_[A-Za-z0-9]{32,64}'],
  ['Notion token', '(?:secret_[A-Za-z0-9]{43}|ntn_[A-Za-z0-9]{40,60})'],
  ['Atlassian token', 'ATATT3[\\w=-]{50,255}'],
  ['Postman key', 'PMAK-[0-9a-f]{24}-[0-9a-f]{34}'],
  ['New Relic key', 'NRAK-[A-Z0-9]{27}|NRJS-[0-9a-f]{19}'],
  ['Sentry token', 'sntr[ysu]+_[A-Za-z0-9+/=_]{40,255}'],
  ['Fly token', 'fo1_[\\w-]{43}'],
  ['Terraform token', '[A-Za-z0-9]{14}\\.atlasv1\\.[\\w-]{60,70}'],
  ['Airtable token', 'pat[A-Za-z0-9]{14}\\.[0-9a-f]{64}'],
  ['Facebook token', 'EAA[A-Za-z0-9]{60,255}'],
  ['RubyGems key', 'rubygems_[0-9a-f]{48}'],
  ['crates.io token', 'cio[A-Za-z0-9]{32}'],
  ['Supabase key', 'sb[ps]_[a-z_]{0,12}[A-Za-z0-9_-]{30,64}'],
  ['PlanetScale token', 'pscale_(?:tkn|pw|oauth)_[\\w.=-]{32,64}'],
  ['age key', 'AGE-SECRET-KEY-1[0-9A-Z]{58}'],
  ['JSON Web Token', 'eyJ[\\w-]{8,2048}\\.[\\w-]{8,3072}\\.[\\w-]{0,1024}'],
];

const kAny = new RegExp(`(?<![\\w-])(?:${kForms.map(([, form]) => `(${form})`).join('|')})(?![\\w])`, 'g');
const kPem = /-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?-----END [A-Z0-9 ]{1,60}-----/g;
const kAzure = /(?<=(?:AccountKey|SharedAccessKey)=)[A-Za-z0-9+/]{40,90}={0,2}/g;

const kPasswordWord = 'pass(?:word|wd|phrase|code)?|pwd|passwort|kennwort|contraseña|clave|mot de passe|senha|wachtwoord|hasło|lösenord|пароль|密码|パスワード|비밀번호'; // prettier-ignore
const kTokenWord =
  '(?:[\\w.-]{0,32}[_.-])?(?:secret|token|api[_ -]?key|apikey|access[_ -]?key|secret[_ -]?key|private[_ -]?key|auth[_ -]?key|credentials?|client[_ -]?secret|authorization)(?:[_.-]\\w{1,16})?';
const kIs = `["'\`]?(?: is)?\\s{0,3}(?:[:=]|:=|=>|\\bis\\b|ist|est|es|è|é)\\s{0,3}`;
const kPassword = new RegExp(
  `(?<![\\p{L}\\p{N}])(?:[\\w.-]{1,32}[_.-])?(?:${kPasswordWord})${kIs}(["'\`]?)([^\\s"'\`,;]{6,128})`,
  'giu',
);
const kToken = new RegExp(`(?<![\\p{L}\\p{N}])${kTokenWord}${kIs}(?:Bearer |Basic |Token )?["'\`]?([\\w+/=.~-]{16,512})`, 'giu');
const kBearer = /\b(?:Bearer|Basic) ([\w+/=.~-]{16,2048})/g;

/** Mixed characters without a visible order: a random text of n characters from 64 has 4 bits each from n = 20 on. */
const looksRandom = (text: string): boolean => /\d/.test(text) && /[A-Za-z]/.test(text) && entropy(text) >= 3;
const kReference = /^[$%<{[]|^\(|\(\)|^(?:process|os|env|config|self|this|settings)\b|^\*+$|^x+$/i;

function* values(pattern: RegExp, group: number, text: string, from: number): Generator<[value: string, start: number]> {
  for (const match of text.matchAll(pattern)) {
    const raw = match[group] as string;
    const start = match.index + match[0].length - raw.length;
    const value = raw.replace(/[.)\]}]+$/, '');
    if (start >= from && value !== '') yield [value, start];
  }
}

export const keys: Rule = function* (text, from) {
  for (const [found, start, match] of all(kAny, text, from)) {
    const which = kForms[match.slice(1).findIndex((group) => group !== undefined)] as [string, string];
    yield finding('key', found, start, 0.97, `${which[0]}: its published form`);
  }
  for (const [found, start] of all(kPem, text, from)) {
    yield finding('key', found, start, 0.99, 'private key (PEM)');
  }
  for (const [found, start] of all(kAzure, text, from)) {
    yield finding('key', found, start, 0.97, 'Azure key: the member of a connection string');
  }
  for (const [value, start] of values(kPassword, 2, text, from)) {
    if (kReference.test(value) || !/[\d!#$%&*@^~?+]/.test(value)) continue;
    yield finding('key', value, start, 0.75, 'password: after a word for it');
  }
  for (const pattern of [kToken, kBearer]) {
    for (const [value, start] of values(pattern, 1, text, from)) {
      if (kReference.test(value) || !looksRandom(value)) continue;
      yield finding('key', value, start, 0.8, 'key or token: random characters after a word for it');
    }
  }
};
