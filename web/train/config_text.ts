// config.json with other members, as Python's libraries read it.

/**
 * The text of a JSON object with these members in place of its own of those names; undefined: without it. Numbers keep their spelling, since
 * transformers checks types: where it expects a float, `2.0` is one and `2` is not.
 *
 *     withMembers('{"rate": 2.0, "head": 1}', { head: undefined, labels: 3 }); // '{"rate": 2.0, "labels": 3}', on lines of its own
 */
export function withMembers(json: string, members: Readonly<Record<string, unknown>>): string {
  let mark = 'number ';
  while (json.includes(mark) || JSON.stringify(members).includes(mark)) mark += '.';
  const numbers: string[] = [];
  const marked = json.replace(/"(?:[^"\\]|\\.)*"|-?(?:\d[\d.eE+-]*|Infinity)|NaN/g, (part) =>
    part.startsWith('"') ? part : `"${mark}${numbers.push(part) - 1}"`,
  );
  const text = JSON.stringify({ ...(JSON.parse(marked) as object), ...members }, undefined, 2);
  return text.replace(new RegExp(`"${mark.replaceAll('.', '\\.')}(\\d+)"`, 'g'), (_, i) => numbers[Number(i)] as string);
}
