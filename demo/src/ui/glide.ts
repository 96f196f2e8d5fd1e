// A change of what is shown, in which things that stay glide to their new places (the View Transitions API).

/** Whether a person asked the system for less motion. */
export const isStill = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

/** change: sets state; what has the same view-transition-name before and after it glides. At once where browsers cannot do so. */
export function glide(change: () => void): void {
  if (isStill() || typeof document.startViewTransition !== 'function' || document.hidden) return change();
  const transition = document.startViewTransition(async () => {
    change();
    await new Promise((rendered) => setTimeout(rendered));
  });
  transition.finished.catch(() => {}); // the next change came before its end
  transition.ready.catch(() => {});
}
