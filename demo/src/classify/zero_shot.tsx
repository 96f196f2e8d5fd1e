// Card: labels made up on the spot. A model trained on inference (NLI) is asked whether each follows from the text. With any other
// model each label is compared with the text by its vector, and the card says so.
import { cos_sim, type EmbedOptions, type FeatureExtractionPipeline, type LabelScore } from 'wattn';
import { useEffect, useState } from 'preact/hooks';
import type { PanelProps } from '../panel.js';
import { formatScore } from '../ui/format.js';
import { useKept } from '../ui/kept.js';
import { Problem } from '../ui/lazy.js';
import { CodeOf } from '../ui/copy.js';
import { nearLabelsCode, zeroShotCode } from './classify_code.js';
import { Labels, percent } from './labels.js';
import { useAnswer, useTask, type OpenTask } from './use_task.js';

/** Whether a model's own labels are those of inference; undefined: not known yet. */
function useIsNli({ pipe, error }: OpenTask<'text-classification'>): boolean | undefined {
  const [is, setIs] = useState<boolean>();
  useEffect(() => {
    if (error) setIs(false);
    if (!pipe) return;
    void pipe('x', { top_k: null }).then((scores) => setIs(scores.some(({ label }) => /^entail/i.test(label))));
  }, [pipe, error]);
  return is;
}

async function byNearness(embed: FeatureExtractionPipeline, text: string, labels: string[], options: EmbedOptions) {
  const { data, dims } = await embed([text, ...labels], options);
  const dim = dims[1] as number;
  const vector = (i: number) => data.subarray(i * dim, (i + 1) * dim);
  const scores = labels.map((label, i): LabelScore => ({ label, score: cos_sim(vector(0), vector(i + 1)) }));
  return scores.sort((a, b) => b.score - a.score);
}

export function ZeroShotCard({ model, options, own }: PanelProps & { own: OpenTask<'text-classification'> }) {
  const [text, setText] = useKept('classify.zero.text', () => 'Parliament voted on the new tax law.');
  const [list, setList] = useKept('classify.zero.labels', () => 'sports, politics, cooking, science');
  const isNli = useIsNli(own);
  const nli = useTask('zero-shot-classification', isNli ? model.source : undefined);
  const labels = [
    ...new Set(
      list
        .split(',')
        .map((label) => label.trim())
        .filter(Boolean),
    ),
  ];
  const isReady = text.trim() !== '' && labels.length > 0 && (isNli ? nli.pipe : isNli === false);
  const ask = async (): Promise<LabelScore[]> => {
    if (!nli.pipe) return byNearness(model.embed, text, labels, options);
    const found = await nli.pipe(text, labels);
    return found.labels.map((label, i) => ({ label, score: found.scores[i] as number }));
  };
  const answer = useAnswer(isReady ? ask : undefined, [text, list, nli.pipe]);
  const error = nli.error ?? answer.error;
  return (
    <article class="panel" aria-labelledby="zero-title">
      <h2 id="zero-title">Zero-shot: your own labels, no examples</h2>
      <label for="zero-text">Text</label>
      <input id="zero-text" value={text} autocomplete="off" onInput={(event) => setText(event.currentTarget.value)} />
      <label for="zero-labels">Labels, separated by commas</label>
      <input id="zero-labels" value={list} autocomplete="off" onInput={(event) => setList(event.currentTarget.value)} />
      {error ? <Problem error={error} /> : <Labels scores={answer.value ?? []} format={isNli ? percent : formatScore} />}
      {isNli === false && (
        <p class="hint">
          The loaded model was not trained on natural language inference (NLI), which zero-shot classification needs. So these
          scores are not probabilities: they are cosines between the text's vector and each label's.
        </p>
      )}
      {isNli !== undefined && (
        <CodeOf code={isNli ? zeroShotCode(model.source, text, labels) : nearLabelsCode(model.source, text, labels, options)} />
      )}
    </article>
  );
}
