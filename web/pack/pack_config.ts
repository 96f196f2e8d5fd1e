// What a smaller model's small files say: fewer layers, other ids, a shorter sentence vector.
import { InputError, ModelFormatError, UnsupportedError } from '../core/errors.js';
import { parseJson } from '../core/json.js';
import type { NamedBytes } from '../source/model_files.js';

/** Parsed JSON: read with care, and passed on as it is. */
type Json = Record<string, any>;

/** A layer's number in the name of a tensor, and what is around it. */
const kLayer = /^((?:.*?\.)?(?:layers?|blocks?|h)\.)(\d+)(\..*)$/;
export const layerOf = (name: string): number | undefined => {
  const [, , layer] = kLayer.exec(name) ?? [];
  return layer === undefined ? undefined : Number(layer);
};
export const withLayer = (name: string, layer: number): string =>
  name.replace(kLayer, (_, before, __, after) => before + layer + after);

/** Layers of each kind follow a period: full attention in every n-th, counted from 0 or from 1. */
export function kindsByPeriod(config: Json, layers: number): string[] | undefined {
  const type: string = config['model_type'];
  const every = config['global_attn_every_n_layers'] ?? (type === 'modernbert' ? 3 : undefined);
  const pattern =
    config['_sliding_window_pattern'] ?? config['sliding_window_pattern'] ?? { gemma2: 2, gemma3_text: 6, gemma3: 6 }[type];
  if (!Number.isInteger(every ?? pattern)) return undefined;
  const isFull = (i: number) => (every !== undefined ? i % every === 0 : (i + 1) % pattern === 0);
  return Array.from({ length: layers }, (_, i) => (isFull(i) ? 'full_attention' : 'sliding_attention'));
}

/** config.json with these layers. tensors: those of the model, by name, with their shapes as text. */
export function cutLayers(config: Json, tensors: ReadonlyMap<string, string>, layers: readonly number[]): Json {
  const found = new Set([...tensors.keys()].map(layerOf).filter((layer) => layer !== undefined));
  const key = ['num_hidden_layers', 'n_layer', 'n_layers', 'num_layers'].find((name) => config[name] === found.size);
  // T5's encoder alone keeps the config.json of both.
  const isPair =
    (config['is_encoder_decoder'] === true || config['decoder_layers'] !== undefined || config['num_decoder_layers'] > 0) &&
    !(/t5$/.test(config['model_type']) && ![...tensors.keys()].some((name) => name.includes('decoder.block.')));
  if (key === undefined || isPair) {
    throw new UnsupportedError("pack: option 'layers': expected a model with one stack of numbered layers, found another kind");
  }
  const total = found.size;
  const bad = layers.find((layer, i) => !Number.isInteger(layer) || layer < 0 || layer >= total || layer <= (layers[i - 1] ?? -1));
  if (bad !== undefined || layers.length === 0) {
    throw new InputError(`pack: option 'layers': expected rising numbers from 0 to ${total - 1}, found ${bad ?? 'none'}`);
  }
  // Some models' first layers are unlike the others.
  const shapeOf = (layer: number) =>
    [...tensors]
      .flatMap(([name, shape]) => (layerOf(name) === layer ? [`${withLayer(name, 0)} ${shape}`] : []))
      .sort()
      .join();
  layers.forEach((layer, i) => {
    if (shapeOf(layer) === shapeOf(i)) return;
    throw new UnsupportedError(
      `pack: option 'layers': layer ${layer} cannot be layer ${i}, because its tensors differ; keep layer ${i}`,
    );
  });
  const out: Json = { ...config, [key]: layers.length };
  const isBeginning = layers.every((layer, i) => layer === i);
  const unlike = ['mlp_only_layers', 'moe_every_n_layers', 'decoder_sparse_step', 'no_rope_layer_interval'].find((name) => {
    const value = config[name];
    return value !== null && value !== undefined && value !== 0 && value !== 1 && !(Array.isArray(value) && value.length === 0);
  });
  const lists = Object.keys(config).filter((name) => /(layer_types|no_rope_layers)$/.test(name) && Array.isArray(config[name]));
  for (const name of lists) out[name] = layers.map((layer) => config[name][layer]);
  if (isBeginning || lists.length > 0) return out;
  const windows = config['use_sliding_window'] === true ? 'use_sliding_window' : undefined;
  if (unlike ?? windows) {
    throw new UnsupportedError(
      `pack: option 'layers': config.json's ${unlike ?? windows} depends on the layer's number; keep the first layers (0,1,..)`,
    );
  }
  const kinds = kindsByPeriod(config, total);
  if (!kinds) return out;
  const { global_attn_every_n_layers: _every, sliding_window_pattern: _pattern, _sliding_window_pattern: _old, ...others } = out;
  return { ...others, layer_types: layers.map((layer) => kinds[layer]) };
}

const kIds = /(^|_)token_ids?$|^(begin_)?suppress_tokens$|^bad_words_ids$|_token_index$/;

/** The ids that a configuration names. */
export function namedIds(config: unknown, named = false): number[] {
  if (Number.isInteger(config)) return named ? [config as number] : [];
  if (typeof config !== 'object' || config === null) return [];
  return Object.entries(config).flatMap(([key, value]) => namedIds(value, Array.isArray(config) ? named : kIds.test(key)));
}

/** A configuration with other ids, and with the size of the vocabulary. newId: undefined for those that go. */
export function withIds(config: Json, newId: (id: number) => number | undefined, before: number, after: number): Json {
  const renumber = (key: string, value: unknown, named: boolean): unknown => {
    if (Number.isInteger(value) && named) return newId(value as number) ?? value;
    if (/(^|_)vocab_size$/.test(key) && value === before) return after;
    if (Array.isArray(value)) return value.map((each) => renumber('', each, named));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, renumber(name, each, kIds.test(name))]));
  };
  return renumber('', config, false) as Json;
}

/** The JSON object of one of these files, which the engine validates; undefined if it is absent. */
export function jsonOf(files: readonly NamedBytes[], name: string): Json | undefined {
  const bytes = files.find(([file]) => file === name)?.[1];
  if (!bytes) return undefined;
  try {
    return parseJson(new TextDecoder().decode(bytes)) as Json;
  } catch (cause) {
    throw new ModelFormatError(`${name}: ${(cause as Error).message}`, { cause });
  }
}

/** Files with one of them written anew, if it is there. */
export function rewrite(files: readonly NamedBytes[], name: string, change: (json: Json) => Json): NamedBytes[] {
  const json = jsonOf(files, name);
  if (!json) return [...files];
  const bytes = new TextEncoder().encode(JSON.stringify(change(json)));
  return files.map((file) => (file[0] === name ? [name, bytes] : file));
}
