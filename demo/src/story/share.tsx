// What a person can take along from the story: its picture and its program.
import { poster } from '../attention/poster.js';
import type { EmbedOptions } from 'wattn';
import type { ReadyModel } from '../model/use_model.js';
import { CodeOf } from '../ui/copy.js';
import { Pictures } from '../ui/pictures.js';
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
      <Pictures name="attention" svg={() => poster(told.inside, told.link)} />
    </div>
  );
}
