import { InputError } from '../core/errors.js';
import { platform } from './platform.js';

/** The model in the package. Bundlers recognise exactly this form of URL and include the file. */
export const bundledModel = (): URL =>
  platform.ownFile('wattn-default.gguf', () => new URL('./wattn-default.gguf', import.meta.url));

const textOf = (model: unknown) =>
  typeof model === 'string' ? model : ((model as { href?: unknown } | null | undefined)?.href ?? '');

const isPackaged = (model: unknown): model is string => typeof model === 'string' && /^wattn-[a-z]+$/.test(model);

/** The URL of the file if `model` names a model of ours that has a package of its own; else `model`. */
export function packagedModel<Model>(model: Model): Model | string {
  if (!isPackaged(model)) return model;
  const found = platform.installed(`${model}/${model}.gguf`);
  if (found !== undefined) return found;
  throw new InputError(
    `model: '${model}' is a package, and it is not installed: npm install ${model}. In a page pass the URL that the package exports`,
  );
}

/** The requested data type of the weights; q8 for our own models, known by name. undefined: the file says it (`ownDtype` in gguf_header.ts), or it is f32. */
export const dtypeOf = <Dtype>(model: unknown, dtype: Dtype | null | undefined): Dtype | 'q8' | undefined => {
  const isOurs = model === undefined || model === null || isPackaged(model) || /\/wattn-[a-z]+\.gguf$/.test(String(textOf(model)));
  return dtype ?? (isOurs ? 'q8' : undefined);
};
