// What every panel is given.
import type { EmbedOptions } from 'wattn';
import type { ModelControl, ReadyModel } from './model/use_model.js';

export interface PanelProps {
  model: ReadyModel;
  /** How texts become vectors here; the same object as long as the model is. */
  options: EmbedOptions;
  /** Loads another model. */
  load: ModelControl['load'];
}
