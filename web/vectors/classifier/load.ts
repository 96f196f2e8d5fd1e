// Classifier.load: reads a classifier's two files.
import { UnsupportedError } from '../../core/errors.js';
import { readOptions } from '../../core/options.js';
import { throwIfAborted } from '../../core/signal.js';
import { loadFrom } from '../../source/load_from.js';
import { missingFile, readOptional } from '../../source/model_files.js';
import { kSourceRules, openModel } from '../../source/model_source.js';
import type { ModelSpecifier, SourceOptions } from '../../source/types.js';
import type { Embedder, TextClassifier } from '../classifier_types.js';
import { kJson, kWeights, readClassifier } from './files.js';
import { makeTextClassifier } from './text_classifier.js';

/** What SetFit writes in its place. */
const kSetFitHead = 'model_head.pkl';

export async function loadClassifier(embed: Embedder, model: ModelSpecifier, options: SourceOptions): Promise<TextClassifier> {
  options = readOptions('Classifier.load', options, kSourceRules);
  throwIfAborted(options.signal ?? undefined);
  return loadFrom(openModel(model, options), options, async (source, progress, signal) => {
    const [json, weights] = await Promise.all([kJson, kWeights].map((file) => readOptional(source, file, progress, signal)));
    const [files, missing] = [[...(json ?? []), ...(weights ?? [])], json?.length ? kWeights : kJson];
    if (files.length < 2) {
      const [pickled] = await readOptional(source, kSetFitHead, progress, signal);
      if (!pickled) throw missingFile(source, missing);
      throw new UnsupportedError(
        `Classifier.load: expected ${kJson}, found ${kSetFitHead}: SetFit's head is a pickled object of scikit-learn, which only Python can read; ` +
          'docs/training.md has the Python that converts it',
      );
    }
    return makeTextClassifier(embed, readClassifier(...(files.map(([, bytes]) => bytes) as [Uint8Array, Uint8Array])));
  });
}
