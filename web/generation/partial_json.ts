// JSON that is still being written, as the value that it is so far.

/** What a text has that is written; undefined: nothing yet. Numbers and words count once they are whole, texts as far as they go. */
export function partialJson(text: string): unknown {
  let at = 0;
  let isOpen = false; // the text ends before the value does
  const space = () => {
    while (/\s/.test(text[at] ?? '')) ++at;
    return text[at];
  };
  const string = (): string => {
    const begin = at++;
    while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
    if (at < text.length) return JSON.parse(text.slice(begin, ++at));
    isOpen = true;
    at = text.length;
    // An escape, or one half of a character, that is not whole is yet to come.
    const whole = text.slice(begin).replace(/\\(?:u[\da-fA-F]{0,3})?$/, (own, place: number, all: string) => {
      return /(?:^|[^\\])(?:\\\\)*$/.test(all.slice(0, place)) ? '' : own;
    });
    return (JSON.parse(`${whole}"`) as string).replace(/[\ud800-\udbff]$/, '');
  };
  const value = (): unknown => {
    const c = space();
    if (c === '"') return string();
    if (c === '[') {
      ++at;
      const out: unknown[] = [];
      for (;;) {
        if (space() === ']') return (++at, out);
        const each = value();
        if (each !== undefined) out.push(each);
        if (isOpen) return out;
        if (space() === ',') ++at;
        else if (text[at] === undefined) return ((isOpen = true), out);
      }
    }
    if (c === '{') {
      ++at;
      const out: [string, unknown][] = [];
      const made = () => Object.fromEntries(out);
      for (;;) {
        if (space() === '}') return (++at, made());
        const key = text[at] === '"' ? string() : undefined;
        if (isOpen || key === undefined || space() !== ':') return ((isOpen = true), made());
        ++at;
        const each = value();
        if (each !== undefined) out.push([key, each]);
        if (isOpen) return made();
        if (space() === ',') ++at;
        else if (text[at] === undefined) return ((isOpen = true), made());
      }
    }
    const word = /^[^\s,\]}]+/.exec(text.slice(at))?.[0] ?? '';
    at += word.length;
    if (at >= text.length) isOpen = true;
    const isWord = ['true', 'false', 'null'].includes(word);
    return word !== '' && (!isOpen || isWord) ? JSON.parse(word) : undefined;
  };
  return value();
}
