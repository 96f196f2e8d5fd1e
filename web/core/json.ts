// JSON of files. JSON.parse takes any nesting, but whoever then walks or prints the value calls itself for each level.
const kMostLevels = 500;

/** Whether a value of JSON has so few levels that whatever walks or prints it can call itself for each. */
export const isShallow = (value: unknown, depth = 0): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (depth < kMostLevels && Object.values(value).every((each) => isShallow(each, depth + 1)));

/** JSON.parse, also with a SyntaxError for what is nested deeper than anything a person writes. */
export function parseJson(text: string): unknown {
  const root: unknown = JSON.parse(text);
  if (!isShallow(root)) throw new SyntaxError('too deep');
  return root;
}
