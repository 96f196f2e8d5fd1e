// A change of what is shown, in which tokens that stay glide to their new places. (View transitions end WebKit's process here.)

/** Whether a person asked the system for less motion. */
export const isStill = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

const kDuration = 450; // ms

const places = (kind: string) =>
  new Map([...document.querySelectorAll<HTMLElement>(`[data-${kind}]`)].map((one) => [one.dataset[kind], one]));

/** change: sets state. kind: what has the same data-<kind> before and after the change glides. */
export function glide(kind: string, change: () => void): void {
  if (isStill()) return change();
  const before = new Map([...places(kind)].map(([name, one]) => [name, one.getBoundingClientRect()]));
  change();
  requestAnimationFrame(() => {
    for (const [name, one] of places(kind)) {
      const from = before.get(name);
      if (!from) continue;
      const to = one.getBoundingClientRect();
      const [x, y] = [from.left + from.width / 2 - to.left - to.width / 2, from.top - to.top];
      if (x !== 0 || y !== 0)
        one.animate({ transform: [`translate(${x}px, ${y}px)`, 'none'] }, { duration: kDuration, easing: 'ease' });
    }
  });
}
