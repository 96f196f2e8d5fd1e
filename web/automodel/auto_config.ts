// AutoConfig: config.json alone, without a model's weights.
import { readFamiliar } from '../core/familiar_options.js';
import { readJson, readRequired } from '../source/model_files.js';
import { loadFrom } from '../source/load_from.js';
import { kSourceRules, openModel } from '../source/model_source.js';
import type { ModelSpecifier, SourceOptions } from '../source/types.js';

/** The type of a loaded config.json. */
export type AutoConfig = Record<string, any>;
/** Loads a model's config.json. To find out what a model can do, also for GGUF files, use `describeModel`. */
export const AutoConfig = {
  /**
   * Reads a repository's config.json. Fields keep their names.
   *
   *     const { model_type, hidden_size } = await AutoConfig.from_pretrained('openai-community/gpt2');
   *
   * @throws ModelFormatError without a config.json; NetworkError if a request fails.
   */
  async from_pretrained(model?: ModelSpecifier | null, options?: SourceOptions): Promise<Record<string, any>> {
    options = await readFamiliar('AutoConfig.from_pretrained', options, kSourceRules);
    const source = openModel(model as ModelSpecifier, options ?? {});
    return loadFrom(source, options ?? {}, async (from, progress, signal) => {
      const file = await readRequired(from, 'config.json', progress, signal);
      progress.ready();
      return { ...readJson([file], 'config.json') };
    });
  },
};
