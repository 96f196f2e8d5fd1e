// For Node: what a file holds, or what was added, renamed and removed in a folder, outlasts a loss of power.
import { fs } from './files_node.js';
import { codeOf } from './lock_file.js';

/** Some systems keep folders by themselves, and have no such call. */
const kNoSuchCall = ['EISDIR', 'EPERM', 'EACCES', 'EINVAL', 'ENOTSUP', 'ENOSYS'];

/** flags: 'r' for a folder, 'r+' for a file. */
export async function syncPath(path: string, flags: 'r' | 'r+' = 'r'): Promise<void> {
  let file;
  try {
    file = await fs.open(path, flags);
    await file.sync();
  } catch (error) {
    if (!kNoSuchCall.includes(codeOf(error))) throw error;
  } finally {
    await file?.close();
  }
}
