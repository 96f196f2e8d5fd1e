// A classifier's two files: classifier.json describes it, and has a hash of both; classifier.safetensors has its weights.
import { ModelFormatError, UnsupportedError } from '../../core/errors.js';
import { parseJson } from '../../core/json.js';
import { loadTensors, save_safetensors } from '../../source/safetensors.js';
import { Sha256 } from '../../source/sha256.js';
import { Tensor } from '../../core/tensor.js';
import type { ClassifierReport, TextClassifier } from '../classifier_types.js';
import type { Fitted, Layer } from './network.js';

export const kJson = 'classifier.json';
export const kWeights = 'classifier.safetensors';
const kVersion = 1;
/** The most inputs or outputs of a layer. */
export const kMostSize = 1 << 20;

export function saveClassifier({ network, ...about }: Fitted): ReturnType<TextClassifier['save']> {
  const sizes = network.map(({ bias }) => bias.length);
  const json = { wattn_classifier: kVersion, ...about, sizes };
  const tensors: Record<string, Tensor> = {};
  network.forEach(({ weight, bias }, i) => {
    tensors[`${i}.weight`] = new Tensor('float32', Float32Array.from(weight), [bias.length, weight.length / bias.length]);
    tensors[`${i}.bias`] = new Tensor('float32', Float32Array.from(bias), [bias.length]);
  });
  const weights = save_safetensors(tensors);
  const whole = { ...json, sha256: hashOf(json, weights) };
  return { [kJson]: new TextEncoder().encode(JSON.stringify(whole, undefined, 1)), [kWeights]: weights };
}

/** The hash of classifier.json without its own hash, whatever white space it has, and of the weights. */
function hashOf(json: Record<string, unknown>, weights: Uint8Array): string {
  const hash = new Sha256();
  hash.update(new TextEncoder().encode(JSON.stringify(json)));
  hash.update(weights);
  return hash.hex();
}

const isSize = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) >= 1 && (value as number) <= kMostSize;
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function parse(bytes: Uint8Array): Record<string, unknown> {
  try {
    const json: unknown = parseJson(new TextDecoder().decode(bytes));
    if (isObject(json)) return json;
  } catch (cause) {
    throw new ModelFormatError(`${kJson}: ${(cause as Error).message}`, { cause });
  }
  throw new ModelFormatError(`${kJson}: expected an object`);
}

/** The tensor with this name and shape, with finite values. */
function take(tensors: Record<string, Tensor>, name: string, shape: readonly number[]): Float64Array {
  const tensor = Object.hasOwn(tensors, name) ? tensors[name] : undefined;
  if (tensor?.type !== 'float32' || tensor.dims.join() !== shape.join()) {
    const found = tensor ? `${tensor.type} [${tensor.dims}]` : 'none';
    throw new ModelFormatError(`${kWeights}: tensor '${name}': expected float32 [${shape}], found ${found}`);
  }
  const data = Float64Array.from(tensor.data as Float32Array);
  const bad = data.findIndex((value) => !Number.isFinite(value));
  if (bad >= 0) throw new ModelFormatError(`${kWeights}: tensor '${name}': expected finite numbers, found ${data[bad]} at ${bad}`);
  return data;
}

export function readClassifier(json: Uint8Array, weights: Uint8Array): Fitted {
  const about = parse(json);
  const wrong = (field: string, expected: string) =>
    new ModelFormatError(`${kJson}: ${field}: expected ${expected}, found ${JSON.stringify(about[field])?.slice(0, 60)}`);
  if (about['wattn_classifier'] !== kVersion) {
    if (Number.isInteger(about['wattn_classifier']))
      throw new UnsupportedError(`${kJson}: wattn_classifier: expected ${kVersion}, found ${about['wattn_classifier']}`);
    throw wrong('wattn_classifier', String(kVersion));
  }
  const { sha256, ...rest } = about;
  if (sha256 !== undefined && sha256 !== hashOf(rest, weights)) {
    throw new ModelFormatError(
      `${kJson}: expected itself and ${kWeights} with the SHA-256 that it says, found others: one is damaged`,
    );
  }
  const { kind, labels, dim, C, temperature, sizes, embed_options, report } = about;
  if (kind !== 'logistic' && kind !== 'mlp') throw wrong('kind', "'logistic' or 'mlp'");
  if (!Array.isArray(labels) || labels.length < 2 || !labels.every((label) => typeof label === 'string'))
    throw wrong('labels', 'at least two strings');
  if (!isSize(dim)) throw wrong('dim', 'a size');
  if (C !== undefined && !(typeof C === 'number' && C > 0)) throw wrong('C', 'a number above 0');
  if (!(typeof temperature === 'number' && temperature > 0)) throw wrong('temperature', 'a number above 0');
  if (
    !Array.isArray(sizes) ||
    sizes.length !== (kind === 'mlp' ? 2 : 1) ||
    !sizes.every(isSize) ||
    sizes[sizes.length - 1] !== labels.length
  )
    throw wrong('sizes', `${kind === 'mlp' ? 'two sizes' : 'one size'}, the last one of ${labels.length}`);
  if (embed_options !== undefined && !isObject(embed_options)) throw wrong('embed_options', 'an object');
  const tensors = loadTensors(weights, kWeights);
  const network = (sizes as number[]).map((size, i): Layer => {
    const input = i === 0 ? dim : (sizes[i - 1] as number);
    return {
      weight: take(tensors, `${i}.weight`, [size, input]),
      bias: take(tensors, `${i}.bias`, [size]),
    };
  });
  return {
    kind,
    labels: labels as string[],
    dim,
    network,
    C,
    temperature,
    report: report as ClassifierReport | undefined,
    embed_options: embed_options as Fitted['embed_options'],
  };
}
