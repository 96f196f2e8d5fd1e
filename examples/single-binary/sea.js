// Makes a single executable of this Node and out/main.cjs: node sea.js OUT
import { execFileSync } from 'node:child_process';
import { copyFileSync, writeFileSync } from 'node:fs';

const [out] = process.argv.slice(2);
writeFileSync(
  'out/sea.json',
  JSON.stringify({ main: 'out/main.cjs', output: 'out/sea.blob', disableExperimentalSEAWarning: true }),
);
execFileSync(process.execPath, ['--experimental-sea-config', 'out/sea.json'], { stdio: 'inherit' });
copyFileSync(process.execPath, out);
const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'; // Node's own name for it
execFileSync(
  process.execPath,
  ['node_modules/postject/dist/cli.js', out, 'NODE_SEA_BLOB', 'out/sea.blob', '--sentinel-fuse', fuse],
  {
    stdio: 'inherit',
  },
);
