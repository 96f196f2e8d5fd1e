// What a person can take along from the story: its picture and its program.
import { Pictures } from '../attention/pictures.js';
import type { EmbedOptions } from 'wattn';
import type { ReadyModel } from '../model/use_model.js';
import { CodeOf } from '../ui/copy.js';
import { storyCode } from './story_code.js';
import type { Told } from './use_story.js';

interface ShareProps {
  told: Told;
  text: string;
  model?: ReadyModel;
  options: EmbedOptions;
}

export function Share({ told, text, model, options }: ShareProps) {
  return (
    <div class="story-share">
      <CodeOf code={storyCode(model?.source ?? null, text, told.link, options)} />
      <Pictures inside={told.inside} link={told.link} />
    </div>
  );
}
