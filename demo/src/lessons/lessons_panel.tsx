// Panel: small experiments about attention and training, run while one watches.
import './lessons.css';
import { useEffect, useRef, useState } from 'preact/hooks';
import { beside, type Beside } from '../beside/beside.js';
import { CodeOf } from '../ui/copy.js';
import { Curve, type Series } from '../ui/curve.js';
import { Heatmap } from '../ui/heatmap.js';
import { Problem } from '../ui/lazy.js';
import { Pictures } from '../ui/pictures.js';
import type { Outcome, Point } from './lessons.js';
import { codeOf, kLessons, type Lesson } from './list.js';

export function LessonsPanel() {
  return (
    <div class="lessons">
      {kLessons.map((lesson) => (
        <LessonCard key={lesson.id} lesson={lesson} />
      ))}
    </div>
  );
}

interface Run {
  kind: 'idle' | 'running' | 'stopped' | 'done';
  points: readonly Point[];
  result?: Outcome;
  error?: Error;
}

function useRun({ id }: Lesson) {
  const [run, setRun] = useState<Run>({ kind: 'idle', points: [] });
  const work = useRef<Beside<Outcome, never, never> | undefined>(undefined);
  const start = () => {
    work.current?.stop();
    let points: readonly Point[] = [];
    setRun({ kind: 'running', points });
    const mine = (work.current = beside<Outcome>('lesson', { id }, (more: Point[]) => {
      points = [...points, ...more];
      if (work.current === mine) setRun({ kind: 'running', points });
    }));
    mine.done
      .then(
        (result) => setRun({ kind: 'done', points, result }),
        (error: Error) => setRun({ kind: 'stopped', points, error }),
      )
      .finally(mine.stop);
  };
  const stop = () => {
    work.current?.stop();
    work.current = undefined;
    setRun((before) => ({ ...before, kind: 'stopped' }));
  };
  useEffect(() => {
    if (id === kLessons[0]?.id) start(); // so that there is something to see
    return () => work.current?.stop();
  }, []);
  return { run, start, stop };
}

function LessonCard({ lesson }: { lesson: Lesson }) {
  const { run, start, stop } = useRun(lesson);
  const { id, title, shows, axis, steps } = lesson;
  const series: Series[] = lesson.series.map((name) => ({
    name,
    points: run.points.filter(([of]) => of === name).map(([, step, value]) => [step, value]),
  }));
  return (
    <article class="panel lesson" aria-labelledby={`lesson-${id}`} data-lesson={id} data-state={run.kind}>
      <div class="panel-head">
        <h2 id={`lesson-${id}`}>{title}</h2>
        {run.kind === 'running' ? (
          <button type="button" class="secondary outline" onClick={stop} aria-describedby={`lesson-${id}`}>
            Stop
          </button>
        ) : (
          <button type="button" onClick={start} aria-describedby={`lesson-${id}`}>
            {run.kind === 'done' ? 'Run again' : 'Run'}
          </button>
        )}
      </div>
      <p>{shows}</p>
      <div data-picture>
        {run.kind !== 'idle' && <Curve label={axis} series={series} steps={steps} />}
        <p class="lesson-result" role="status">
          {run.result?.text ?? (run.kind === 'stopped' && !run.error ? 'Stopped.' : '')}
        </p>
        {run.result?.picture && <Heatmap {...run.result.picture} />}
      </div>
      {run.result && <Pictures name={`lesson-${id}`} title={title} />}
      {run.error && <Problem error={run.error} />}
      <CodeOf code={codeOf(lesson)} />
    </article>
  );
}
