// JSON of files. JSON.parse takes any nesting, but whoever then walks or prints the value calls itself for each level.
const kMostLevels = 500;

/** Whether a value of JSON has so few levels that whatever walks or prints it can call itself for each. */
export const isShallow = (value: unknown, depth = 0): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (depth < kMostLevels && Object.values(value).every((each) => isShallow(each, depth + 1)));

/** Python writes and reads numbers that JSON lacks. They become texts: whoever wants a number there refuses them, and else nobody minds. */
const withTexts = (text: string) =>
  text.replace(/"(?:[^"\\]|\\.)*"|-?Infinity|NaN/g, (part) => (part.startsWith('"') ? part : `"${part}"`));

function parsePython(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const other = withTexts(text);
    if (other === text) throw error;
    return JSON.parse(other);
  }
}

/** JSON.parse, also with a SyntaxError for what is nested deeper than anything a person writes. Takes Python's NaN and Infinity. */
export function parseJson(text: string): unknown {
  const root = parsePython(text);
  if (!isShallow(root)) throw new SyntaxError('too deep');
  return root;
}
