// Jest transform: TypeScript to ESM with esbuild, which drops the types (tsc checks them in `npm run check`).
import { transformSync } from 'esbuild';

export default {
  process(source, path) {
    const { code, map } = transformSync(source, {
      loader: path.endsWith('x') ? 'tsx' : 'ts',
      format: 'esm',
      target: 'node20',
      sourcefile: path,
      sourcemap: 'external',
    });
    return { code, map };
  },
};
