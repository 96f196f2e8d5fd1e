// Panel: what a text is: by the model's own labels, by labels made up now; and who is named in it.
import './classify.css';
import type { PanelProps } from '../panel.js';
import { EntitiesCard } from './entities.js';
import { SentimentCard } from './sentiment.js';
import { useTask } from './use_task.js';
import { ZeroShotCard } from './zero_shot.js';

export function ClassifyPanel(props: PanelProps) {
  const own = useTask('text-classification', props.model.source);
  return (
    <div class="classify-bench">
      <div class="cards">
        <SentimentCard own={own} source={props.model.source} />
        <EntitiesCard source={props.model.source} />
      </div>
      <ZeroShotCard {...props} own={own} />
    </div>
  );
}
