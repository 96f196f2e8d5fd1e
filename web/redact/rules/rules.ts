// The rules of redact, over segments of a text.
import { emails } from '../redact_patterns.js';
import { cryptos } from './crypto.js';
import { keys } from './keys.js';
import { cards, ibans } from './money.js';
import { nationalIds } from './national_ids.js';
import { ips, macs, urlSecrets } from './network.js';
import { addresses, birthDates } from './personal.js';
import { kContext, type Rule, type RuleContext, type RuleFinding, type RuleName } from './rule.js';
import type { Segment } from './segments.js';

const mails: Rule = function* (text, from) {
  if (!text.includes('@')) return;
  for (const [start, end] of emails(text)) {
    // What stands before the @ of a URL is a user's name and password.
    if (start >= from && !/:\/\/[^\s/?#@]{0,256}$/.test(text.slice(0, start + 1)))
      yield { label: 'email', start, end, score: 0.95, reason: 'email address' };
  }
};

const kRules: Readonly<Record<Exclude<RuleName, 'phone'>, Rule>> = {
  email: mails,
  iban: ibans,
  card: cards,
  national_id: nationalIds,
  ip: ips,
  mac: macs,
  url_secret: urlSecrets,
  key: keys,
  crypto: cryptos,
  birth_date: birthDates,
  address: addresses,
};

/** A finding counts for its score, and for its length up to 40 characters. */
const weight = ({ start, end, score }: RuleFinding): number => score + Math.min(40, end - start) / 100;

/** Keeps the longer and surer one of findings that overlap, extended over the others, so that no part of them stays. */
function settle(found: readonly RuleFinding[]): RuleFinding[] {
  const out: RuleFinding[] = [];
  let best = 0;
  for (const one of [...found].sort((a, b) => a.start - b.start || b.end - a.end)) {
    const last = out[out.length - 1];
    if (!last || one.start >= last.end) {
      out.push({ ...one });
      best = weight(one);
      continue;
    }
    const { start } = last;
    const end = Math.max(last.end, one.end);
    if (weight(one) > best) {
      best = weight(one);
      Object.assign(last, one);
    }
    Object.assign(last, { start, end });
  }
  return out;
}

/** Applies rules to segments. */
export class RuleSet {
  private constructor(
    private readonly rules: readonly Rule[],
    private readonly context: RuleContext,
  ) {}

  /** The rules of some kinds. The numbering plans are loaded only with `phone`. */
  static async load(names: readonly RuleName[], context: RuleContext): Promise<RuleSet> {
    const rules = names.map(async (name) => (name === 'phone' ? (await import('./phones.js')).phones : kRules[name]));
    return new RuleSet(await Promise.all(rules), context);
  }

  /** What is found in a segment of a text; the text before it tells what some numbers are. */
  findIn(text: string, [start, end]: Segment): RuleFinding[] {
    const begin = Math.max(0, start - kContext);
    const part = text.slice(begin, end);
    if (!/[\d@:=_-]/.test(part.slice(start - begin))) return [];
    const found: RuleFinding[] = [];
    for (const rule of this.rules) found.push(...rule(part, start - begin, this.context));
    return settle(found).map((one) => ({ ...one, start: one.start + begin, end: one.end + begin }));
  }
}
