// Models that this page suggests: those of the project's list (models/catalog.json) whose tasks the page has.
import catalog from '../../../models/catalog.json';

export interface Suggestion {
  /** A hub id, or the name of a model of ours. */
  id: string;
  size: string;
  languages: string;
  licence: string;
  good: string;
  /** What was measured on the machine of the list. */
  time: string | undefined;
}

const kTasks = ['feature-extraction', 'text-classification', 'token-classification', 'fill-mask', 'text-generation'];
const kMostNamed = 4; // languages; of more, their number
const kNames = new Intl.DisplayNames(['en'], { type: 'language' });

/** The machine and the text of the list's times. */
export const kMeasured: { readonly on: string; readonly text: string } = catalog.measured;

/** Models of ours that come from this page, when they are asked for. */
const kFiles: Readonly<Record<string, string>> = {
  'wattn-base': new URL('../../../models/base/wattn-base.gguf', import.meta.url).href,
  'wattn-large': new URL('../../../models/large/wattn-large.gguf', import.meta.url).href,
  'wattn-story': new URL('../../../models/story/wattn-story.gguf', import.meta.url).href,
  'wattn-pii': new URL('../../../models/pii/wattn-pii.gguf', import.meta.url).href,
  'wattn-multi': new URL('../../../models/multi/wattn-multi.gguf', import.meta.url).href,
};

/** Where a model that goes by its name is; others are where they say. */
export const placeOf = (model: string): string => (Object.hasOwn(kFiles, model) ? (kFiles[model] as string) : model);

function languagesOf(languages: string): string {
  const codes = languages.split(' ');
  return codes.length > kMostNamed ? `${codes.length} languages` : codes.map((code) => kNames.of(code)).join(', ');
}

export const kSuggestions: readonly Suggestion[] = catalog.models
  .filter(({ tasks }) => tasks.some((task) => kTasks.includes(task)))
  .map(({ id, bytes, languages, licence, good, ms, ms_of }) => ({
    id,
    size: `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`,
    languages: languagesOf(languages),
    licence,
    good,
    time: ms === undefined ? undefined : `${ms} ms ${ms_of === 'a token' ? 'per token' : 'per text'}`,
  }));
