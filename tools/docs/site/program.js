// Turns examples into modules. The site's pages also load this file.

/** One module of several blocks, each inside the scope of the one before it. between(i): what comes before the code of block i. */
export function moduleOf(codes, between = () => '') {
  const inScope = (code) =>
    code.replace(/^import (.*) from (.*);/gm, (_, names, from) => {
      const all = names.startsWith('{') ? names.replaceAll(' as ', ': ') : `{ default: ${names} }`;
      return `const ${all} = await import(${from});`;
    });
  return `${codes.map((code, i) => `{ ${between(i)}${inScope(code)}`).join('')}${'}'.repeat(codes.length)}\nexport {};\n`;
}

/** An example's lines `expression; // => value`, made into calls of a function with both. */
export const withResults = (code, call) =>
  code.replace(/^(.*); \/\/ => (.*)$/gm, (_, expression, want) => `${call}(${expression}, ${JSON.stringify(want)});`);
