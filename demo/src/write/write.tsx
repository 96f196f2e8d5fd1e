// Panel: a small model writes, token by token, and shows what else it could have written.
import './write.css';
import { useMemo, useState } from 'preact/hooks';
import type { PanelProps } from '../panel.js';
import { Choice } from '../ui/choice.js';
import { CodeOf } from '../ui/copy.js';
import { Curve } from '../ui/curve.js';
import { asJson, oneOf, useKept } from '../ui/kept.js';
import { Problem } from '../ui/lazy.js';
import { kFits } from '../ui/address.js';
import { alternativesOf, type Settings } from './choose.js';
import { Alternatives, LayersTable } from './alternatives.js';
import { kSmall } from './small_model_text.js';
import { kStory } from './story.js';
import { useWriter, type Wanted, type WriterState } from './use_writer.js';
import { useWriting } from './use_writing.js';
import { modelCode, smallCode } from './write_code.js';

type Who = 'small' | 'model';

const kSettings: Settings = { temperature: 0.8, top_k: 0, top_p: 1 };
const isSettings = (value: unknown): value is Settings =>
  Object.keys(kSettings).every((name) => typeof (value as Record<string, unknown> | null)?.[name] === 'number');

export function WritePanel({ model }: PanelProps) {
  const [wanted, setWho] = useKept<Who>('write.who', () => 'small', oneOf(['small', 'model']));
  const [level, setLevel] = useKept<'words' | 'characters'>('write.tokens', () => 'words', oneOf(['words', 'characters']));
  const [text, setText] = useKept('write.source', () => kStory);
  const [round, setRound] = useState(0); // a new number trains again
  const [prompt, setPrompt] = useKept('write.text', () => 'the cat sleeps on the mat because');
  const [settings, setSettings] = useKept<Settings>('write.settings', () => kSettings, asJson(isSettings));
  const who = model.source === null ? 'small' : wanted;
  const task = useMemo<Wanted>(
    () => (who === 'small' ? { small: { ...kSmall, level, text } } : { model: model.source }),
    [who, level, round],
  );
  const { state, stop } = useWriter(task);
  const writer = state.kind === 'ready' ? state.writer : undefined;
  const { writing, next, stale, error, step, restart, play, select, branch, take } = useWriting(writer, prompt, settings);
  const alternatives = useMemo(() => (next ? alternativesOf(next.logits, settings) : []), [next, settings]);
  const { ids, place, branches, playing } = writing;
  return (
    <div class="workbench write">
      <article class="panel" aria-labelledby="write-title">
        <div class="panel-head">
          <h2 id="write-title">Write</h2>
          {model.source !== null && (
            <Choice
              label="Who writes"
              value={who}
              options={[
                ['small', 'Small model'],
                ['model', model.name],
              ]}
              onChange={setWho}
            />
          )}
        </div>
        <Status state={state} onStop={stop} onAgain={() => setRound(round + 1)} />
        {writer && (
          <>
            <label class="write-prompt">
              Begin with
              <input
                value={prompt}
                onInput={(event) => setPrompt(event.currentTarget.value)}
                autocomplete="off"
                spellcheck={false}
              />
            </label>
            {ids.length === 0 && <p class="warning">None of these words is in the model’s vocabulary. Try “the cat”.</p>}
            <p class="write-text" aria-label="The text" data-text={writer.text(ids)}>
              {ids.map((id, i) => (
                <button
                  type="button"
                  key={i}
                  class={i === place ? 'write-token is-on' : 'write-token'}
                  aria-pressed={i === place}
                  disabled={i === 0}
                  onClick={() => select(i)}
                >
                  {writer.label(id)}
                </button>
              ))}
              <button
                type="button"
                class={place === ids.length ? 'write-token write-next is-on' : 'write-token write-next'}
                aria-pressed={place === ids.length}
                aria-label="The next token"
                onClick={() => select(ids.length)}
              >
                …
              </button>
            </p>
            <p class="write-buttons">
              <button type="button" onClick={() => void step()} disabled={playing}>
                Step
              </button>
              <button type="button" class="secondary" onClick={() => play(!playing)}>
                {playing ? 'Pause' : 'Play'}
              </button>
              <button type="button" class="secondary outline" onClick={restart}>
                Start over
              </button>
            </p>
            {branches.length > 0 && (
              <>
                <h3>Branches</h3>
                <ul class="write-branches">
                  {branches.map((other) => (
                    <li key={other.join()}>
                      <button type="button" class="secondary outline small" onClick={() => take(other)}>
                        {writer.text(other)}
                      </button>
                    </li>
                  ))}
                </ul>
              </>
            )}
          </>
        )}
        {error && <Problem error={error} />}
        <CodeOf code={who === 'small' ? smallCode(text, prompt) : modelCode(model.source, prompt)} />
        {who === 'small' && (
          <TextToLearn text={text} level={level} onText={setText} onLevel={setLevel} onTrain={() => setRound(round + 1)} />
        )}
      </article>
      <div class="side">
        {writer && ids.length > 0 && (
          <>
            <Alternatives
              writer={writer}
              before={writer.text(ids.slice(Math.max(0, place - 5), place))}
              alternatives={alternatives}
              stale={stale}
              written={ids[place]}
              settings={settings}
              onSettings={setSettings}
              onChoose={branch}
            />
            {next && <LayersTable writer={writer} layers={next.layers} />}
          </>
        )}
      </div>
    </div>
  );
}

function Status({ state, onStop, onAgain }: { state: WriterState; onStop: () => void; onAgain: () => void }) {
  if (state.kind === 'loading') return <p class="hint">Loading the model…</p>;
  if (state.kind === 'stopped')
    return (
      <>
        {state.error ? <Problem error={state.error} /> : <p class="hint">Training was stopped.</p>}
        <button type="button" class="small" onClick={onAgain}>
          Try again
        </button>
      </>
    );
  if (state.kind === 'ready') return <p class="hint write-about">{state.writer.about}</p>;
  const [done, loss] = state.losses.at(-1) ?? [0, 0];
  return (
    <div class="write-training">
      <p class="hint">
        A decoder is learning its first sentences on your machine: step {done} of {state.of}.
      </p>
      <Curve label="Loss" series={[{ name: 'loss', points: state.losses }]} steps={state.of} />
      <button type="button" class="secondary outline small" onClick={onStop} data-loss={loss}>
        Stop
      </button>
    </div>
  );
}

interface TextProps {
  text: string;
  level: 'words' | 'characters';
  onText: (text: string) => void;
  onLevel: (level: 'words' | 'characters') => void;
  onTrain: () => void;
}

function TextToLearn({ text, level, onText, onLevel, onTrain }: TextProps) {
  return (
    <details class="write-source">
      <summary>Training text</summary>
      <label>
        Any text; a few thousand words are enough. {kFits}
        <textarea rows={8} value={text} onInput={(event) => onText(event.currentTarget.value)} spellcheck={false} />
      </label>
      <div class="write-buttons">
        <Choice
          label="Tokens"
          value={level}
          options={[
            ['words', 'Words'],
            ['characters', 'Characters'],
          ]}
          onChange={onLevel}
        />
        <button type="button" class="small" onClick={onTrain}>
          Train on this text
        </button>
      </div>
      <p class="hint">
        To write with a real model, load a decoder with “Change model”, such as <code>HuggingFaceTB/SmolLM2-135M-Instruct</code>,
        then choose it here.
      </p>
    </details>
  );
}
