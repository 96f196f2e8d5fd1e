// Card: the model itself changed by the same examples, with its loss as it falls, and what that was good for.
import type { EmbedOptions } from 'wattn';
import { useEffect, useState } from 'preact/hooks';
import { Labels, percent } from '../classify/labels.js';
import type { ReadyModel } from '../model/use_model.js';
import { CodeOf } from '../ui/copy.js';
import { Curve } from '../ui/curve.js';
import { formatCount, formatTime, plural } from '../ui/format.js';
import { ofAll } from '../ui/interval.js';
import { Problem } from '../ui/lazy.js';
import { Pictures } from '../ui/pictures.js';
import { areExamples } from './classes.js';
import { fineTuneCode } from './teach_code.js';
import { split, useFineTuning, type Tuning } from './use_fine_tuning.js';
import type { Taught } from './use_classifier.js';

interface FineTuneProps {
  model: ReadyModel;
  options: EmbedOptions;
  classes: readonly Taught[];
  text: string;
}

export function FineTuneCard({ model, options, classes, text }: FineTuneProps) {
  const { tuning, start, stop } = useFineTuning(model, options);
  const { running, losses, shares, frozenShare, steps, secondsLeft, weights, done, error } = tuning;
  const { rows, held } = split(classes);
  return (
    <article class="panel" aria-labelledby="tune-title">
      <h2 id="tune-title">Fine-tune the model</h2>
      <p class="hint">
        Above, the model stays frozen and a classifier is trained on its vectors. Fine-tuning changes the model itself with low-rank
        adapters (LoRA), so that texts with the same label move together. It trains on {plural(rows.length, 'example')} and is
        evaluated on the {formatCount(held.length)} held out.
        {areExamples(classes) && ' These examples are chosen so that nouns mislead: every thing occurs under every label.'}
      </p>
      <div class="tune">
        <div>
          <div class="tune-start">
            {running ? (
              <button type="button" class="secondary" onClick={stop}>
                Stop
              </button>
            ) : (
              <button type="button" onClick={() => void start(classes, text)}>
                {done ? 'Fine-tune again' : 'Fine-tune'}
              </button>
            )}
            <p class="timing" role="status">
              {running &&
                (losses.length === 0
                  ? 'Loading the trainer…'
                  : `${losses.length} of ${steps} steps, ${Math.ceil(secondsLeft ?? 0)} s left`)}
              {done && `${plural(done.steps, 'step')} in ${formatTime(done.ms)}, in this page.`}
            </p>
          </div>
          {error && <Problem error={error} />}
          {frozenShare !== undefined && shares.length > 0 && (
            <Curve
              label="Right answers on held-out examples"
              series={[
                { name: 'fine-tuned', points: shares },
                {
                  name: 'frozen',
                  points: [
                    [0, frozenShare],
                    [steps, frozenShare],
                  ],
                },
              ]}
              steps={steps}
              top={1}
            />
          )}
          {losses.length > 0 && (
            <div data-picture>
              <Curve
                label="Loss by step"
                series={[{ name: 'loss', points: losses.map((loss, i) => [i + 1, loss]) }]}
                steps={steps}
              />
            </div>
          )}
          {done && <Pictures name="loss" title={`Fine-tuning: ${plural(done.steps, 'step')}`} />}
          {weights && (
            <p class="hint">
              It trains {formatCount(weights.trainable)} of {formatCount(weights.all)} weights (
              {percent(weights.trainable / weights.all)}).
            </p>
          )}
        </div>
        {done && <Result done={done} />}
      </div>
      <CodeOf code={fineTuneCode(model.source, classes, text)} />
    </article>
  );
}

function Result({ done: { compared, answer, files } }: { done: NonNullable<Tuning['done']> }) {
  return (
    <div>
      {compared && (
        <table class="versus">
          <caption class="visually-hidden">Right answers on held-out examples</caption>
          <tbody>
            <tr>
              <th scope="row">Classifier on frozen vectors</th>
              <td>{ofAll(compared.frozen, compared.held)} right</td>
            </tr>
            <tr>
              <th scope="row">Fine-tuned</th>
              <td data-tuned>
                <strong>{ofAll(compared.tuned, compared.held)} right</strong>
              </td>
            </tr>
          </tbody>
        </table>
      )}
      {compared && (
        <p class="hint">In brackets: the exact 95 % interval (Clopper and Pearson). It is wide because there are few examples.</p>
      )}
      {compared && compared.changed.length > 0 && (
        <>
          <h3>Examples whose answer changed</h3>
          <ul class="changed">
            {compared.changed.map(({ text, label, before, after }) => (
              <li key={text} class={after === label ? 'is-right' : 'is-wrong'}>
                {text}{' '}
                <small>
                  {before} → <b>{after}</b> ({after === label ? 'right now' : before === label ? 'wrong now' : `it is ${label}`})
                </small>
              </li>
            ))}
          </ul>
        </>
      )}
      <h3>The text above, classified by the fine-tuned model</h3>
      <Labels scores={answer} />
      <Downloads files={files} />
    </div>
  );
}

/** The trained weights, to take along: PEFT reads the adapter. */
function Downloads({ files }: { files: Record<string, Uint8Array> }) {
  const [links, setLinks] = useState<[name: string, link: string][]>([]);
  useEffect(() => {
    const made = Object.entries(files).map(([name, bytes]): [string, string] => [
      name,
      URL.createObjectURL(new Blob([bytes as Uint8Array<ArrayBuffer>])),
    ]);
    setLinks(made);
    return () => made.forEach(([, link]) => URL.revokeObjectURL(link));
  }, [files]);
  return (
    <p class="teach-files">
      <span>
        Download it:{' '}
        {links.map(([name, link]) => (
          <a key={name} href={link} download={name}>
            {name}
          </a>
        ))}
      </span>
    </p>
  );
}
