// JSON of files. JSON.parse takes any nesting, but whoever then walks or prints the value calls itself for each level.
const kMostLevels = 500;

/** JSON.parse, also with a SyntaxError for what is nested deeper than anything a person writes. */
export function parseJson(text: string): unknown {
  const root: unknown = JSON.parse(text);
  let level = [root];
  for (let depth = 0; level.length > 0; ++depth) {
    if (depth > kMostLevels) throw new SyntaxError(`expected JSON of at most ${kMostLevels} levels, found more`);
    level = level.flatMap((each) => (typeof each === 'object' && each !== null ? Object.values(each) : []));
  }
  return root;
}
