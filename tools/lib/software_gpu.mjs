// A GPU in software for tests: Chromium's SwiftShader under the npm package `webgpu` (Dawn). Both find it by variables of the environment, which are set before the
// package is loaded. Nothing happens where there is no such file, or where the variables are set already: then a test uses the machine's own GPU.
import { existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from './shell.mjs';

const folders = [process.env.CHROME && dirname(realpathSync(process.env.CHROME)), '/usr/lib/chromium', '/usr/lib/chromium-browser'];
const library = folders
  .filter(Boolean)
  .map((folder) => join(folder, 'libvk_swiftshader.so'))
  .find(existsSync);

export function useSoftwareGpu() {
  if (!library || process.env.VK_DRIVER_FILES || process.env.VK_ICD_FILENAMES) return;
  const folder = join(root, 'build/software-gpu');
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'icd.json');
  writeFileSync(file, JSON.stringify({ file_format_version: '1.0.0', ICD: { library_path: library, api_version: '1.1' } }));
  Object.assign(process.env, {
    VK_DRIVER_FILES: file,
    VK_ICD_FILENAMES: file,
    XDG_RUNTIME_DIR: process.env.XDG_RUNTIME_DIR ?? folder,
  });
}
