// Who writes: trained anew when its text changes, released when another one is chosen.
import type { ModelSpecifier } from 'wattn';
import { useEffect, useState } from 'preact/hooks';
import type { SmallOptions } from './small_model_text.js';
import type { Step } from './write_task.js';
import { modelWriter, trainWriter, type Writer } from './writers.js';

export type WriterState =
  | { kind: 'training'; losses: readonly (readonly [number, number])[]; of: number }
  | { kind: 'loading' }
  | { kind: 'stopped'; error?: Error }
  | { kind: 'ready'; writer: Writer; losses: readonly (readonly [number, number])[]; of: number };

/** What to write with: the small model and its text, or a checkpoint. */
export type Wanted = { small: SmallOptions & { text: string } } | { model: ModelSpecifier | null };

export function useWriter(wanted: Wanted) {
  const [state, setState] = useState<WriterState>({ kind: 'loading' });
  const [stop, setStop] = useState<() => void>(() => () => {});
  useEffect(() => {
    let current = true;
    let end = () => {};
    const show = (next: WriterState) => current && setState(next);
    const fail = (error: Error) => show({ kind: 'stopped', error });
    const ready = (writer: Writer, losses: readonly (readonly [number, number])[] = [], of = 0) => {
      end = writer.stop;
      if (current) setState({ kind: 'ready', writer, losses, of });
      else writer.stop();
    };
    if ('model' in wanted) {
      show({ kind: 'loading' });
      modelWriter(wanted.model).then((writer) => ready(writer), fail);
    } else {
      let losses: readonly (readonly [number, number])[] = [];
      const of = wanted.small.steps;
      show({ kind: 'training', losses, of });
      const onStep = ({ done, loss }: Step) => {
        losses = [...losses, [done, loss]];
        show({ kind: 'training', losses, of });
      };
      trainWriter(wanted.small, onStep, (stop) => (end = stop)).then((writer) => ready(writer, losses, of), fail);
    }
    setStop(() => () => {
      end();
      show({ kind: 'stopped' });
      current = false;
    });
    return () => {
      current = false;
      end();
    };
  }, [wanted]);
  return { state, stop };
}
