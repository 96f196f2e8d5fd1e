// What a person can take along from the story: its picture and its program.
import type { ReadyModel } from '../model/use_model.js';
import { CodeOf } from '../ui/copy.js';
import { savePng, saveSvg } from '../ui/picture.js';
import { poster } from './poster.js';
import { storyCode } from './story_code.js';
import type { Told } from './use_story.js';

export function Share({ told, text, model }: { told: Told; text: string; model?: ReadyModel }) {
  return (
    <div class="story-share">
      <CodeOf code={storyCode(model?.source ?? null, text, told.link)} />
      <div class="story-share-buttons">
        <button type="button" class="secondary outline small" onClick={() => void savePng('attention', poster(told))}>
          Save as PNG
        </button>
        <button type="button" class="secondary outline small" onClick={() => saveSvg('attention', poster(told))}>
          Save as SVG
        </button>
      </div>
    </div>
  );
}
