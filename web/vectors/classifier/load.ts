// Classifier.load: reads a classifier's two files.
import { checkOptions } from '../../core/options.js';
import { throwIfAborted } from '../../core/signal.js';
import { loadFrom } from '../../source/load_from.js';
import { readRequired } from '../../source/model_files.js';
import { kSourceRules, openModel } from '../../source/model_source.js';
import type { ModelSpecifier, SourceOptions } from '../../source/types.js';
import type { Embedder, TextClassifier } from '../classifier_types.js';
import { kJson, kWeights, readClassifier } from './files.js';
import { makeTextClassifier } from './text_classifier.js';

export async function loadClassifier(embed: Embedder, model: ModelSpecifier, options: SourceOptions): Promise<TextClassifier> {
  checkOptions('Classifier.load', options, kSourceRules);
  throwIfAborted(options.signal ?? undefined);
  return loadFrom(openModel(model, options), options, async (source, progress, signal) => {
    const [json, weights] = await Promise.all([kJson, kWeights].map((file) => readRequired(source, file, progress, signal)));
    return makeTextClassifier(embed, readClassifier((json as [string, Uint8Array])[1], (weights as [string, Uint8Array])[1]));
  });
}
