// Where a generated text ends for those who must not see what ended it. Generation itself keeps stop strings.

/** Where the first stop sequence begins; the end of the text if there is none. */
export const endOf = (text: string, stops: readonly string[]) =>
  Math.min(text.length, ...stops.map((stop) => text.indexOf(stop)).filter((at) => at >= 0));

/** Passes text on up to the first stop sequence, and holds back what may begin one. */
export function untilStop(stops: readonly string[], give: (text: string) => void) {
  const longest = Math.max(0, ...stops.map((stop) => stop.length));
  let held = '';
  let stopped = false;
  const take = (count: number) => {
    if (count > 0) give(held.slice(0, count));
    held = held.slice(count);
  };
  return {
    push(piece: string): void {
      if (stopped) return;
      held += piece;
      const end = endOf(held, stops);
      stopped = end < held.length;
      if (stopped) return take(end);
      let begin = Math.max(0, held.length - longest + 1);
      while (begin < held.length && !stops.some((stop) => stop.startsWith(held.slice(begin)))) ++begin;
      take(begin);
    },
    end(): void {
      if (!stopped) take(held.length);
    },
  };
}
