// The time that the list of models states for another machine, on this one.
import { useState } from 'preact/hooks';
import { medianMs } from '../ui/timed.js';
import { kMeasured } from './models.js';
import type { ReadyModel } from './use_model.js';

const kSpace = '\u00a0';

export function MeasureHere({ model }: { model: ReadyModel }) {
  const [state, setState] = useState<{ serial: number; said: string }>();
  const measure = async () => {
    const say = (said: string) => setState({ serial: model.serial, said });
    say('Measuring…');
    try {
      const run = () => model.embed(kMeasured.text);
      await run(); // the engine compiles what is busy
      const ms = await medianMs(run);
      say(`${ms.toPrecision(2)}${kSpace}ms per text here, ${model.embed.info().dtype}`);
    } catch (error) {
      say((error as Error).message);
    }
  };
  const said = state?.serial === model.serial ? state.said : '';
  return (
    <span class="measure-here">
      <button type="button" class="outline small" disabled={said === 'Measuring…'} onClick={() => void measure()}>
        Measure here
      </button>{' '}
      <span role="status">{said}</span>
    </span>
  );
}
