// Panel: what a text is: by the model's own labels, by labels made up now, by labels taught here; and who is named in it.
import './classify.css';
import type { PanelProps } from '../panel.js';
import { EntitiesCard } from './entities.js';
import { SentimentCard } from './sentiment.js';
import { TeachCard } from './teach.js';
import { useTask } from './use_task.js';
import { ZeroShotCard } from './zero_shot.js';

export function ClassifyPanel(props: PanelProps) {
  const own = useTask('text-classification', props.model.source);
  return (
    <div class="classify-bench">
      <div class="cards">
        <SentimentCard own={own} />
        <EntitiesCard source={props.model.source} />
      </div>
      <ZeroShotCard {...props} own={own} />
      <TeachCard {...props} />
    </div>
  );
}
