// JSON of files. JSON.parse takes any nesting, but whoever then walks or prints the value calls itself for each level.
const kMostLevels = 500;

/** Whether a value of JSON has so few levels that whatever walks or prints it can call itself for each. */
export function isShallow(root: unknown): boolean {
  let level = [root];
  for (let depth = 0; level.length > 0; ++depth) {
    if (depth > kMostLevels) return false;
    level = level.flatMap((each) => (typeof each === 'object' && each !== null ? Object.values(each) : []));
  }
  return true;
}

/** JSON.parse, also with a SyntaxError for what is nested deeper than anything a person writes. */
export function parseJson(text: string): unknown {
  const root: unknown = JSON.parse(text);
  if (!isShallow(root)) throw new SyntaxError('nested too deep');
  return root;
}
