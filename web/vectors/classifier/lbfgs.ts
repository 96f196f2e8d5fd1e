// Minimises a smooth convex function by limited-memory BFGS (Liu and Nocedal 1989).
import { addScaled, dot } from './network.js';

/** Returns the function's value at x and writes its gradient. */
type Objective = (x: Float64Array, gradient: Float64Array) => number;

const kMemory = 10;
const kSlope = 1e-4; // minimum decrease of a step relative to the gradient's prediction

interface Pair {
  step: Float64Array;
  change: Float64Array; // of the gradient
  rho: number;
}

/** The search direction: minus the gradient times the inverse curvature estimated from the last steps. */
function directionOf(gradient: Float64Array, pairs: readonly Pair[]): Float64Array {
  const size = gradient.length;
  const q = gradient.map((value) => -value);
  const alphas = pairs.map(() => 0);
  for (let i = pairs.length - 1; i >= 0; --i) {
    const { step, change, rho } = pairs[i] as Pair;
    const alpha = rho * dot(step, 0, q, 0, size);
    alphas[i] = alpha;
    addScaled(q, 0, change, 0, size, -alpha);
  }
  const last = pairs[pairs.length - 1];
  if (last) {
    const scale = 1 / (last.rho * dot(last.change, 0, last.change, 0, size));
    for (let i = 0; i < size; ++i) q[i] = (q[i] as number) * scale;
  }
  pairs.forEach(({ step, change, rho }, i) => {
    addScaled(q, 0, step, 0, size, (alphas[i] as number) - rho * dot(change, 0, q, 0, size));
  });
  return q;
}

/** Minimises in place until all components of the gradient are within the tolerance. */
export async function minimise(
  x: Float64Array,
  objective: Objective,
  { tolerance, iterations }: { tolerance: number; iterations: number },
  tick: (iteration: number, value: number) => Promise<void>,
): Promise<void> {
  const size = x.length;
  let gradient = new Float64Array(size);
  let value = objective(x, gradient);
  const pairs: Pair[] = [];
  for (let iteration = 0; iteration < iterations; ++iteration) {
    await tick(iteration, value);
    if (gradient.every((part) => Math.abs(part) <= tolerance)) return;
    const direction = directionOf(gradient, pairs);
    const slope = dot(direction, 0, gradient, 0, size);
    let length = pairs.length > 0 ? 1 : Math.min(1, 1 / Math.sqrt(-slope));
    const next = new Float64Array(size);
    const nextGradient = new Float64Array(size);
    let nextValue = Infinity;
    for (let halvings = 0; halvings < 40; ++halvings, length /= 2) {
      next.set(x);
      addScaled(next, 0, direction, 0, size, length);
      nextValue = objective(next, nextGradient);
      if (nextValue <= value + kSlope * length * slope) break;
    }
    if (!(nextValue < value)) return; // at the limit of double precision
    const step = next.map((part, i) => part - (x[i] as number));
    const change = nextGradient.map((part, i) => part - (gradient[i] as number));
    const curvature = dot(step, 0, change, 0, size);
    if (curvature > 1e-300) {
      pairs.push({ step, change, rho: 1 / curvature });
      if (pairs.length > kMemory) pairs.shift();
    }
    x.set(next);
    gradient = nextGradient;
    value = nextValue;
  }
}
