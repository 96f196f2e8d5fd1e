// Panel: what a text is: by the model's own labels, by labels made up now, by labels taught here; and who is named in it.
import './classify.css';
import type { PanelProps } from '../panel.js';
import { EntitiesCard } from './entities.js';
import { SentimentCard } from './sentiment.js';
import { TeachCard } from './teach.js';
import { ZeroShotCard } from './zero_shot.js';

export function ClassifyPanel(props: PanelProps) {
  return (
    <div class="classify-bench">
      <div class="cards">
        <SentimentCard source={props.model.source} />
        <EntitiesCard source={props.model.source} />
      </div>
      <ZeroShotCard {...props} />
      <TeachCard {...props} />
    </div>
  );
}
