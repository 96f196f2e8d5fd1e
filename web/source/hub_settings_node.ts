// The variables of huggingface_hub, by its rules (constants.py and utils/_auth.py, 1.2), in the one place that reads them.
import { homedir } from 'node:os';
import { env } from '../core/env.js';
import { shared } from '../core/shared.js';
import { fsSync, paths } from './files_node.js';
import { insideModel } from './inside.js';

const { env: variables } = process;
const isTrue = (name: string) => /^(1|on|yes|true)$/i.test(variables[name] ?? '');

/** Applied once for all copies of wattn, so that loading another one changes nothing that the program has set. */
function applied(): string {
  const hub = env.remoteHost;
  env.remoteHost = variables['HF_ENDPOINT'] || hub;
  if (isTrue(variables['HF_HUB_OFFLINE'] ? 'HF_HUB_OFFLINE' : 'TRANSFORMERS_OFFLINE')) env.allowRemoteModels = false;
  return hub;
}
const kHub = (shared.hub ??= applied());
const endpoint = () => variables['HF_ENDPOINT'] || kHub;

/** The token belongs to HF_ENDPOINT. A hub that the program names instead (env.remoteHost) gets only the option `token`. */
export function hubToken(host: string): string | undefined {
  if (host !== endpoint() || isTrue('HF_HUB_DISABLE_IMPLICIT_TOKEN')) return undefined;
  return (variables['HF_TOKEN'] || variables['HUGGING_FACE_HUB_TOKEN'])?.trim();
}

const expanded = (path: string) =>
  path.replace(/^~(?=\/|$)/, homedir).replace(/\$(?:(\w+)|\{(\w+)\})/g, (all, bare, braced) => variables[bare ?? braced] ?? all);

/** Where Python keeps what it downloaded. */
function cacheFolder(): string {
  const home = variables['HF_HOME'] || paths.join(variables['XDG_CACHE_HOME'] || '~/.cache', 'huggingface');
  return expanded(variables['HF_HUB_CACHE'] || variables['HUGGINGFACE_HUB_CACHE'] || paths.join(home, 'hub'));
}

/** A repository in Python's cache: the folder of one commit's files. */
export interface PythonCopy {
  commit: string;
  folder: string;
  /** Whether Python found that the repository has no such file. */
  isAbsent(file: string): boolean;
}

/** refs/<revision> names the commit, snapshots/<commit> has its files, .no_exist/<commit> those that there are none of (file_download.py). */
export function pythonCopy(id: string, revision: string): PythonCopy | undefined {
  const repository = paths.join(cacheFolder(), `models--${id.replaceAll('/', '--')}`);
  let commit = revision;
  if (!/^[0-9a-f]{40}$/.test(revision)) {
    try {
      commit = fsSync.readFileSync(paths.join(repository, 'refs', ...insideModel(revision).split('/')), 'utf8').trim();
    } catch {
      return undefined;
    }
  }
  const folder = paths.join(repository, 'snapshots', commit);
  if (env.remoteHost !== endpoint() || !/^[0-9a-f]{40}$/.test(commit) || !fsSync.existsSync(folder)) return undefined;
  return {
    commit,
    folder,
    isAbsent: (file) => fsSync.existsSync(paths.join(repository, '.no_exist', commit, ...insideModel(file).split('/'))),
  };
}
