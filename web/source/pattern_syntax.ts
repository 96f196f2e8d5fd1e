// The syntax of Python's `re` that pattern.ts knows: characters, `.`, classes, `\d \w \s` and their opposites, groups, alternatives, repetitions (greedy and
// lazy), `^ $ \A \Z \b \B`, lookahead and lookbehind, the flags `(?i)`, `(?s)`, `(?m)` and `(?u)` at the beginning. Not: references to groups, conditions,
// other flags, atomic groups and possessive repetitions.

/** Whether a place between two characters is what is wanted. */
export type Assertion = (text: readonly string[], at: number) => boolean;

export type PatternNode =
  | { kind: 'set'; has: (character: string) => boolean }
  | { kind: 'all'; nodes: PatternNode[] }
  | { kind: 'any'; nodes: PatternNode[] }
  | { kind: 'repeat'; part: PatternNode; least: number; most: number; lazy: boolean }
  | { kind: 'group'; part: PatternNode; isFirst: boolean }
  | { kind: 'at'; assertion: Assertion }
  | { kind: 'look'; part: PatternNode; behind: boolean; negated: boolean };

const kMostDepth = 100;

const isDigit = (character: string) => /^\p{Nd}$/u.test(character);
const isWord = (character: string) => /^[\p{L}\p{N}_]$/u.test(character);
const isSpace = (character: string) => /^[\s\x1c-\x1f\x85]$/.test(character) && character !== '\ufeff';
const kClasses: Record<string, (character: string) => boolean> = { d: isDigit, w: isWord, s: isSpace };
const kControls: Record<string, string> = { n: '\n', t: '\t', r: '\r', f: '\f', v: '\v', a: '\x07' };

/** The class of `\d` and the like; undefined for other letters. */
function classOf(letter: string): ((character: string) => boolean) | undefined {
  const has = Object.hasOwn(kClasses, letter.toLowerCase()) ? kClasses[letter.toLowerCase()] : undefined;
  return has && letter !== letter.toLowerCase() ? (character) => !has(character) : has;
}

const otherCase = (character: string) =>
  character === character.toLowerCase() ? character.toUpperCase() : character.toLowerCase();
const folded = (character: string) => character.toUpperCase().toLowerCase();
/** What a set has with the flag `(?i)`: a character if it has one of its cases. */
const inAnyCase = (has: (character: string) => boolean) => (each: string) => has(each) || has(otherCase(each)) || has(folded(each));

const isAtWordEnd: Assertion = (text, at) => isWord(text[at - 1] ?? '') !== isWord(text[at] ?? '');
const isAtEnd: Assertion = (text, at) => at === text.length || (at === text.length - 1 && text[at] === '\n');
const kAssertions: Record<string, Assertion> = {
  '^': (_, at) => at === 0,
  $: isAtEnd,
  '\\A': (_, at) => at === 0,
  '\\Z': (text, at) => at === text.length,
  '\\b': isAtWordEnd,
  '\\B': (text, at) => text.length > 0 && !isAtWordEnd(text, at),
};
/** With the flag `(?m)`. */
const kOfLines: Record<string, Assertion> = {
  '^': (text, at) => at === 0 || text[at - 1] === '\n',
  $: (text, at) => at === text.length || text[at] === '\n',
};

/** refuse: throws the error of a pattern of which something else was expected. */
export function parsePattern(source: string, refuse: (expected: string) => never): PatternNode {
  const text = Array.from(source);
  let at = 0;
  let groups = 0;
  const other = () =>
    refuse("a regular expression of Python's, without references to groups, atomic groups, flags other than i, s, m and the like");
  const flags = /^\(\?([ismu]+)\)/.exec(source)?.[1] ?? '';
  if (flags) at = flags.length + 3;
  const assertions: Record<string, Assertion> = flags.includes('m') ? { ...kAssertions, ...kOfLines } : kAssertions;
  const cased = (has: (character: string) => boolean) => (flags.includes('i') ? inAnyCase(has) : has);
  const take = (expected: string): boolean => {
    const found = text.slice(at, at + expected.length).join('') === expected;
    if (found) at += expected.length;
    return found;
  };
  /** The character after a backslash, unless that stands for a class or a place. */
  const escaped = (letter: string | undefined): string => {
    if (letter === undefined) return other();
    if (Object.hasOwn(kControls, letter)) return kControls[letter] as string;
    return /^[a-zA-Z0-9]$/.test(letter) ? other() : letter;
  };

  const alternatives = (depth: number): PatternNode => {
    if (depth > kMostDepth) refuse(`groups in at most ${kMostDepth} groups`);
    const nodes: PatternNode[] = [];
    do nodes.push(sequence(depth));
    while (take('|'));
    return nodes.length === 1 ? (nodes[0] as PatternNode) : { kind: 'any', nodes };
  };

  const sequence = (depth: number): PatternNode => {
    const nodes: PatternNode[] = [];
    while (at < text.length && text[at] !== '|' && text[at] !== ')') nodes.push(repeated(depth));
    return { kind: 'all', nodes };
  };

  const repeated = (depth: number): PatternNode => {
    const node = atom(depth);
    const range = repetition();
    if (!range) return node;
    if (node.kind === 'at') other(); // Python: nothing to repeat
    const lazy = take('?');
    if (text[at] === '+' || repetition()) other();
    return { kind: 'repeat', part: node, least: range[0], most: range[1], lazy };
  };

  const repetition = (): [least: number, most: number] | undefined => {
    if (take('*')) return [0, Infinity];
    if (take('+')) return [1, Infinity];
    if (take('?')) return [0, 1];
    const begin = at;
    if (!take('{')) return undefined;
    const least = digits();
    const comma = take(',');
    const most = comma ? digits() : least;
    if (!take('}') || (least === '' && !comma)) {
      at = begin; // these braces are characters
      return undefined;
    }
    const range: [number, number] = [Number(least), most === '' ? Infinity : Number(most)];
    return range[0] > range[1] ? other() : range;
  };

  const digits = (): string => {
    const begin = at;
    while (/^[0-9]$/.test(text[at] ?? '')) ++at;
    return text.slice(begin, at).join('');
  };

  const atom = (depth: number): PatternNode => {
    const character = text[at++] as string;
    if (character === '(') return group(depth);
    if (character === '[') return { kind: 'set', has: set() };
    if (character === '.') return { kind: 'set', has: (each) => each !== '\n' || flags.includes('s') };
    if ('*+?'.includes(character)) other();
    const place = character === '\\' ? `\\${text[at]}` : character;
    if (Object.hasOwn(assertions, place)) {
      at += place.length - 1;
      return { kind: 'at', assertion: assertions[place] as Assertion };
    }
    if (character !== '\\') return { kind: 'set', has: cased((each) => each === character) };
    const letter = text[at++];
    const has = classOf(letter ?? '');
    if (has) return { kind: 'set', has };
    const own = escaped(letter);
    return { kind: 'set', has: cased((each) => each === own) };
  };

  const group = (depth: number): PatternNode => {
    const look = ['?=', '?!', '?<=', '?<!'].find(take);
    const isFirst =
      !look && !take('?:') && (take('?P<') ? /^\w+$/.test(until('>')) || other() : text[at] !== '?' || other()) && ++groups === 1;
    const node = alternatives(depth + 1);
    if (!take(')')) other();
    if (!look) return { kind: 'group', part: node, isFirst };
    return { kind: 'look', part: node, behind: look.includes('<'), negated: look.endsWith('!') };
  };

  const until = (end: string): string => {
    const begin = at;
    while (at < text.length && text[at] !== end) ++at;
    return text.slice(begin, at++).join('');
  };

  /** The rest of a class in brackets. */
  const set = (): ((character: string) => boolean) => {
    const negated = take('^');
    const parts: ((character: string) => boolean)[] = [];
    for (let isFirst = true; isFirst || text[at] !== ']'; isFirst = false) {
      const begin = member();
      if (typeof begin !== 'string') {
        if (text[at] === '-' && text[at + 1] !== ']') return other();
        parts.push(begin);
      } else if (text[at] === '-' && text[at + 1] !== ']') {
        ++at;
        const end = member();
        if (typeof end !== 'string' || codeOf(end) < codeOf(begin)) return other();
        parts.push((each) => codeOf(each) >= codeOf(begin) && codeOf(each) <= codeOf(end));
      } else {
        parts.push((each) => each === begin);
      }
    }
    ++at;
    const has = cased((each) => parts.some((part) => part(each)));
    return (each) => has(each) !== negated;
  };

  const member = (): string | ((character: string) => boolean) => {
    const character = text[at++];
    if (character === undefined) return other();
    if (character !== '\\') return character;
    const letter = text[at++];
    return letter === 'b' ? '\b' : (classOf(letter ?? '') ?? escaped(letter));
  };

  const node = alternatives(0);
  return at < text.length ? other() : node;
}

const codeOf = (character: string) => character.codePointAt(0) as number;
