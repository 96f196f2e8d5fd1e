// Panel: labels of one's own, from a few examples of each: a classifier on the model's vectors, and the model fine-tuned.
import './teach.css';
import type { TextClassifier } from 'wattn';
import { useEffect, useState } from 'preact/hooks';
import type { PanelProps } from '../panel.js';
import { formatTime, plural } from '../ui/format.js';
import { asJson, useKept } from '../ui/kept.js';
import { Problem } from '../ui/lazy.js';
import { areClasses, Classes, exampleClasses } from './classes.js';
import { Explained } from './explained.js';
import { Labels } from '../classify/labels.js';
import { useAnswer } from '../classify/use_task.js';
import { CodeOf } from '../ui/copy.js';
import { DataView } from './data_view.js';
import { FineTuneCard } from './fine_tune.js';
import { sureWords } from './sure_words.js';
import { ofAll } from '../ui/interval.js';
import { teachCode } from './teach_code.js';
import { useClassifier, type ClassifierState } from './use_classifier.js';

export function TeachPanel({ model, options }: PanelProps) {
  const [classes, setClasses] = useKept('teach.classes', exampleClasses, asJson(areClasses));
  const [text, setText] = useKept('teach.text', () => 'I will take the bins out tonight.');
  const taught = useClassifier(model.embed, classes, options);
  const { classifier } = taught;
  const isEmpty = text.trim() === '';
  const answer = useAnswer(
    classifier && !isEmpty
      ? async () => {
          const explanation = await classifier.explain(text);
          return {
            scores: await classifier(text, { top_k: null }),
            explanation,
            sure: taught.examples
              ? await sureWords(model.embed, text, explanation, { examples: taught.examples, strength: classifier.C }, options)
              : new Set(explanation.words.keys()),
          };
        }
      : undefined,
    [classifier, text],
  );
  return (
    <div class="teach-bench">
      <article class="panel teach" aria-labelledby="teach-title">
        <h2 id="teach-title">Teach your own labels</h2>
        <p class="hint">
          Give a few examples of each class, one per line. The classifier trains in this page, and again after every change.
        </p>
        <div class="teach-columns">
          <Classes classes={classes} onChange={setClasses} />
          <div>
            <Validation taught={taught} />
            <label for="teach-text">Try it on another text</label>
            <input id="teach-text" value={text} autocomplete="off" onInput={(event) => setText(event.currentTarget.value)} />
            {answer.error && <Problem error={answer.error} />}
            {classifier && !isEmpty && answer.value && (
              <>
                <Labels scores={answer.value.scores} />
                <Explained text={text} explanation={answer.value.explanation} sure={answer.value.sure} />
              </>
            )}
            <Files classifier={classifier} onLoad={(files) => void taught.load(files)} />
          </div>
        </div>
        <CodeOf code={teachCode(model.source, classes, text, options)} />
      </article>
      <DataView embed={model.embed} options={options} taught={taught} />
      <FineTuneCard model={model} options={options} classes={classes} text={text} />
    </div>
  );
}

function Validation({ taught }: { taught: ClassifierState }) {
  const { classifier, missing, error, ms, isLoaded } = taught;
  if (error) return <Problem error={error} />;
  if (missing) return <p class="warning">{missing}</p>;
  if (!classifier) return <p class="hint">Training…</p>;
  const { report } = classifier;
  return (
    <div class="validation" role="status" data-loaded={isLoaded}>
      {isLoaded && (
        <p class="hint">Loaded from files, with {plural(classifier.labels.length, 'label')}. Change an example to train again.</p>
      )}
      {report && (
        <>
          <p>
            <strong>{ofAll(Math.round(report.accuracy * report.examples), report.examples)}</strong> right, each while it was held
            out
          </p>
          <p class="hint">
            Cross-validated in {report.folds} folds, with the exact 95 % interval (Clopper and Pearson); macro F1{' '}
            {report.macro_f1.toFixed(2)}
            {ms !== undefined && `; trained in ${formatTime(ms)}`}.
          </p>
          <Confusion classifier={classifier} />
        </>
      )}
    </div>
  );
}

/** Rows: what is right; columns: what it said. */
function Confusion({ classifier: { labels, report } }: { classifier: TextClassifier }) {
  if (!report) return null;
  const most = Math.max(1, ...report.confusion.flat());
  return (
    <div class="matrix-scroll">
      <table class="confusion">
        <caption>Confusion matrix: true class (row) by predicted class (column)</caption>
        <thead>
          <tr>
            <td />
            {labels.map((label) => (
              <th key={label} scope="col">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {report.confusion.map((row, i) => (
            <tr key={labels[i]}>
              <th scope="row">{labels[i]}</th>
              {row.map((count, k) => (
                <td key={k} class={i === k ? 'is-right' : 'is-wrong'} style={{ '--share': `${Math.round((100 * count) / most)}%` }}>
                  {count}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const kFiles = ['classifier.json', 'classifier.safetensors'] as const;

function Files({ classifier, onLoad }: { classifier: TextClassifier | undefined; onLoad: (files: File[]) => void }) {
  const [links, setLinks] = useState<string[]>([]);
  useEffect(() => {
    const saved = classifier?.save();
    const made = saved ? kFiles.map((name) => URL.createObjectURL(new Blob([saved[name] as Uint8Array<ArrayBuffer>]))) : [];
    setLinks(made);
    return () => made.forEach((link) => URL.revokeObjectURL(link));
  }, [classifier]);
  return (
    <div class="teach-files">
      {links.length > 0 && (
        <span>
          Save it:{' '}
          {kFiles.map((name, i) => (
            <a key={name} href={links[i]} download={name}>
              {name}
            </a>
          ))}
        </span>
      )}
      <label class="file-button">
        Load both files…
        <input
          type="file"
          class="visually-hidden"
          multiple
          aria-label="Classifier files"
          onChange={(event) => {
            const { files } = event.currentTarget;
            if (files?.length) onLoad([...files]);
            event.currentTarget.value = '';
          }}
        />
      </label>
    </div>
  );
}
