// Everything that the picture shows and says of one text in one model: vectors by part, and what was computed between them.
import type { Inner } from './inner.js';
import { kVectors, type Part, type Sizes } from './parts.js';
import type { Run, Whole, WholeKind } from './whole_model.js';

export interface Facts {
  kind: WholeKind;
  whole: Whole;
  run: Run;
  sizes: Sizes;
  /** Whether a layer's norms stand before its halves, as in decoders. */
  isPreNorm: boolean;
  /** What is between the taps, once the weights are there. */
  inner?: Inner;
  /** The numbers of a vector; undefined for other parts. */
  vectorOf(one: Part): Float32Array | undefined;
}

/** hasInner: whether `inner` is there or on its way. */
export function factsOf(
  whole: Whole,
  run: Run,
  sentence: Float32Array | undefined,
  inner: Inner | undefined,
  hasInner: boolean,
): Facts {
  const tokens = run.tokens.length;
  const first = run.attentions[0]?.[0];
  const sizes: Sizes = {
    layers: run.attentions.length,
    heads: whole.heads,
    tokens,
    isCausal: whole.kind === 'decoder' || (tokens > 1 && first?.[1] === 0 && run.attentions.flat().every((one) => one[1] === 0)),
    hasInner,
    guesses: run.guesses?.best.length ?? 0,
  };
  return {
    kind: whole.kind,
    whole,
    run,
    sizes,
    isPreNorm: inner?.isPreNorm ?? whole.kind === 'decoder',
    ...(inner && { inner }),
    vectorOf({ kind, at: [a = 0, b = 0, c = 0] }) {
      if (!(kVectors as readonly string[]).includes(kind)) return undefined;
      switch (kind) {
        case 'vector':
          return run.states[0]?.[a];
        case 'query':
          return run.queries[a]?.[b]?.[c];
        case 'key':
          return run.keys[a]?.[b]?.[c];
        case 'value':
          return run.values[a]?.[b]?.[c];
        case 'context':
          return run.contexts[a]?.[b]?.[c];
        case 'mix':
          return inner?.layers[a]?.rows('attention.output')?.[b];
        case 'inner':
          return inner?.layers[a]?.rows('intermediate')?.[b];
        case 'out':
          return run.states[a + 1]?.[b];
        case 'sentence':
          return sentence;
        default:
          return undefined;
      }
    },
  };
}
