// sentence-transformers' Router (once Asym), which has modules for each role of a text: the repository with the modules of one of its routes in
// their place (6.2.0, base/modules/router.py).
import { describe, InputError, ModelFormatError } from '../core/errors.js';
import { parseJson } from '../core/json.js';
import { openView } from './bytes_source.js';
import { missingFile, modulePath, readJson, readOptional, type Progress } from './model_files.js';
import type { ModelSource, Routes } from './source.js';

const kModules = 'modules.json';

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const lastWord = (type: unknown) => String(type).split('.').at(-1) as string;

interface Router {
  file: string;
  structure: Record<string, readonly string[]>;
  types: Record<string, unknown>;
  default_route: string | undefined;
  mappings: Record<string, unknown>;
}

function checkRouter(file: string, json: unknown): Router {
  const wrong = (field: string, expected: string, found: unknown) =>
    new ModelFormatError(`${file}: ${field}: expected ${expected}, found ${describe(found)}`);
  const { structure, types, parameters = {} } = isRecord(json) ? json : {};
  const isList = (list: unknown) => Array.isArray(list) && list.length > 0 && list.every((id) => typeof id === 'string');
  if (!isRecord(structure) || Object.keys(structure).length === 0 || !Object.values(structure).every(isList))
    throw wrong('structure', 'lists of modules by the names of routes', structure);
  if (!isRecord(types)) throw wrong('types', 'classes by the names of modules', types);
  const { default_route, allow_empty_key = true, route_mappings } = isRecord(parameters) ? parameters : {};
  const first = allow_empty_key === false ? undefined : Object.keys(structure)[0];
  const mappings = isRecord(route_mappings) ? route_mappings : {};
  const own = default_route ?? first;
  if (own !== undefined && !Object.hasOwn(structure, own as string)) throw wrong('parameters.default_route', 'a route', own);
  for (const [key, route] of Object.entries(mappings)) {
    if (typeof route !== 'string' || !Object.hasOwn(structure, route))
      throw wrong(`parameters.route_mappings: ${key}`, 'a route', route);
  }
  return { file, structure: structure as Router['structure'], types, default_route: own as string | undefined, mappings };
}

/** The list of modules.json. The engine reports errors in it. */
function modulesOf(bytes: Uint8Array | undefined): any[] {
  try {
    const list = bytes && parseJson(new TextDecoder().decode(bytes));
    return Array.isArray(list) ? list : [];
  } catch {
    return [];
  }
}

/** The route of texts with this role, as Router's _resolve_route finds it. */
function routeOf({ structure, mappings, default_route }: Router, role: string | undefined): string | undefined {
  const names = role === undefined ? [] : [`('${role}', 'text')`, `('${role}', None)`];
  for (const key of [...names, "(None, 'text')", '(None, None)']) {
    if (Object.hasOwn(mappings, key)) return mappings[key] as string;
  }
  const own = [role, 'text'].find((name) => name !== undefined && Object.hasOwn(structure, name));
  return own ?? (role === undefined ? default_route : undefined);
}

/**
 * The model as this route has it, by its name or its role; undefined: that of texts without a role. Without a Router in modules.json: undefined, or an InputError
 * if a route is wanted.
 */
export async function openRoute(
  source: ModelSource,
  progress: Progress,
  signal: AbortSignal,
  wanted?: string,
): Promise<ModelSource | undefined> {
  const small = await readOptional(source, kModules, progress, signal);
  const modules = modulesOf(small[0]?.[1]);
  const at = modules.findIndex((module) => /^(Router|Asym)$/.test(lastWord(module?.type)));
  if (at < 0) {
    if (wanted === undefined) return undefined;
    throw new InputError(`option 'route': expected a model with a Router in modules.json, found '${source.name}' without one`);
  }
  const folder = modulePath(kModules, modules[at].path);
  const place = (name: string) => (folder === '' ? name : `${folder}/${name}`);
  // What Asym has written.
  const names = folder === '' ? ['router_config.json'] : [place('router_config.json'), place('config.json')];
  let router: Router | undefined;
  for (const name of names) {
    const file = router ? [] : await readOptional(source, name, progress, signal);
    if (file.length > 0) router = checkRouter(name, readJson(file, name));
  }
  if (!router) throw missingFile(source, place('router_config.json'));
  const { structure, types } = router;
  const known = wanted !== undefined && Object.hasOwn(structure, wanted) ? wanted : routeOf(router, wanted);
  if (known === undefined) {
    const routes = Object.keys(structure).map((name) => `'${name}'`);
    throw new InputError(`option 'route': expected ${routes.join(' or ')}, found ${describe(wanted)}`);
  }
  const inside = structure[known]!.map((id) => ({ path: modulePath(router.file, place(id)), type: types[id] }));
  const bytes = new TextEncoder().encode(JSON.stringify([...modules.slice(0, at), ...inside, ...modules.slice(at + 1)]));
  const routes: Routes = { own: known, query: routeOf(router, 'query'), document: routeOf(router, 'document') };
  return {
    name: source.name,
    phase: source.phase,
    routes,
    place: (file) => source.place(file),
    open: async (file, aborted) => (file === kModules ? openView(bytes) : source.open(file, aborted)),
    size: async (file, aborted) => (file === kModules ? bytes.length : source.size(file, aborted)),
  };
}
