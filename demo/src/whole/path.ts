// The path through the picture: at each step a place, and a few words that say what is seen there.
import { isAbove } from '../attention/evidence.js';
import { linkToTell } from '../attention/kinds.js';
import { plural } from '../ui/format.js';
import type { Facts } from './facts.js';
import { kWhole, part, type Part } from './parts.js';
import { nameOf, weightOf } from './says.js';

export interface PathStep {
  title: string;
  text: string;
  at: Part;
}

const percent = (share: number) => `${Math.round(100 * share)} %`;

/** followed: the token that the path stays with. */
export function pathOf(facts: Facts, followed: number): PathStep[] {
  const { run, sizes, whole, kind } = facts;
  const looks = { tokens: run.tokens, spans: run.spans, attentions: run.attentions };
  const link = linkToTell(looks, followed) ?? { layer: 0, head: 0, from: followed, to: followed, weight: 0, average: 0, spread: 0 };
  const { layer, head, to } = link;
  const [asker, target] = [nameOf(facts, followed), nameOf(facts, to)];
  const place = `layer ${layer + 1}, head ${head + 1}`;
  const own = weightOf(facts, layer, head, followed, to);
  const inner: PathStep[] = facts.inner
    ? [
        {
          title: 'Feed-forward',
          text: `Now “${asker}” is processed alone. One matrix turns its vector into ${facts.inner.layers[layer]?.rows('intermediate')?.[0]?.length ?? 0} numbers, an activation function turns most of them off, and a second matrix maps them back.`,
          at: part('inner', layer, followed),
        },
      ]
    : [];
  return [
    {
      title: 'One sentence, one picture',
      text: `From left to right: ${plural(sizes.tokens, 'token')}, ${plural(sizes.layers, 'layer')} of ${plural(sizes.heads, 'head')}, and the output. Every number is real. Zoom in, or press Play.`,
      at: kWhole,
    },
    {
      title: 'Tokens become vectors',
      text: `Each token is ${whole.hidden} numbers: violet above zero, orange below. So far, a vector knows only its own word and position.`,
      at: part('vector', followed),
    },
    {
      title: 'A layer',
      text: `On the left, heads let tokens look at each other. On the right, each token is processed by itself. That is all a layer does.`,
      at: part('layer', layer),
    },
    {
      title: 'A head',
      text: `In ${place}, lines go from each token, on the right, to the tokens it looks at, on the left. The orange lines belong to “${asker}”.`,
      at: part('head', layer, head),
    },
    {
      title: 'A question and its answers',
      text: `“${asker}” asks with its query. Every token answers with a key. Where both point the same way, q · k is large.`,
      at: part('query', layer, head, followed),
    },
    {
      title: 'Attention in percent',
      text: `Softmax turns the scores into percentages. “${asker}” gives “${target}” ${percent(own)} here; other tokens give it ${percent(link.average)} on average.${isAbove(link) ? '' : ` So this head says little about “${asker}”.`}`,
      at: part('link', layer, head, followed, to),
    },
    {
      title: 'The weighted sum',
      text: `Each token has a value. The sum of all values, weighted by attention, is what the head writes for “${asker}”.`,
      at: part('context', layer, head, followed),
    },
    ...inner,
    {
      title: 'Added to the vector',
      text: `The layer adds its results to the vector of “${asker}” and passes it on. ${sizes.layers > 1 ? `This happens ${sizes.layers} times.` : ''}`,
      at: part('out', layer, followed),
    },
    kind === 'encoder'
      ? {
          title: 'One vector for the text',
          text: 'The vectors of all tokens are combined into one. Texts with the same meaning have vectors that point the same way.',
          at: part('output'),
        }
      : {
          title: kind === 'decoder' ? 'The next word' : 'The hidden word',
          text: run.guesses
            ? `The last vector of “${nameOf(facts, run.guesses.token)}” scores every word. “${run.guesses.best[0]?.word ?? ''}” gets ${percent(run.guesses.best[0]?.share ?? 0)}.`
            : 'Hide a word, and the model guesses it.',
          at: part('output'),
        },
  ];
}
