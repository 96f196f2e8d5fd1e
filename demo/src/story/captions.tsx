// What each step of the story says, in the numbers of the loaded model.
import type { ComponentChildren } from 'preact';
import { cos_sim } from 'wattn';
import { formatCount, formatScore, plural } from '../ui/format.js';
import { isAbove, isWord } from '../attention/evidence.js';
import { written } from './opened.js';
import type { Meaning, Told } from './use_story.js';

const kClose = 1e-3; // between the weights from q, k and the model's own

export function captionOf(scene: number, text: string, told: Told | undefined, meaning: Meaning | undefined): ComponentChildren {
  if (scene === 0)
    return (
      <>
        To a computer, your sentence is {plural([...text].length, 'letter')}, each stored as a number. None of these numbers means
        anything yet. Change any word above, and everything below is updated.
      </>
    );
  if (!told) return 'Loading the model…';
  const { inside, link, steps, states } = told;
  const [asker, target] = [inside.tokens[link.from], inside.tokens[link.to]];
  const place = `layer ${link.layer + 1}, head ${link.head + 1}`;
  switch (scene) {
    case 1:
      return (
        <>
          The tokenizer splits the text into {plural(inside.tokens.length, 'token')}: pieces from its vocabulary, each with a
          number. A common word is one token; a rare word is several.
        </>
      );
    case 2:
      return (
        <>
          Each token becomes a vector of {formatCount(inside.hiddenSize)} learned numbers: violet is above zero, orange below. So
          far, a vector knows its own word and position, and nothing about the words around it.
        </>
      );
    case 3:
      return (
        <>
          Now the tokens look at each other. In {place}, “{asker}” asks a question: its query q. Every token offers a key k. Where q
          and k point the same way, the score q · k / √{inside.headDim} is large.
        </>
      );
    case 4:
      return (
        <>
          Softmax turns the scores into percentages that add up to 100. “{asker}” gives{' '}
          <strong>{written(100 * link.weight, 0)} %</strong> of its attention to <strong>“{target}”</strong> in {place}; the other
          tokens give it {written(100 * link.average, 0)} % on average.
          {!isAbove(link) && ` So this head does not say much about “${asker}” here.`}
          {steps.gap > kClose && ' (This model adds another term to its scores, such as one for positions.)'}
        </>
      );
    case 5:
      return (
        <>
          Every token also has a value v: what it has to say. This head adds up all values, weighted by these percentages, and
          writes the sum into “{asker}”.{' '}
          {(inside.attentions[0]?.length ?? 0) > 1 && `The other heads of the layer do the same with their own questions.`}
        </>
      );
    case 6: {
      const near = (layer: number) => cos_sim(states[layer]?.[link.from] as Float32Array, states[layer]?.[link.to] as Float32Array);
      const last = states.length - 1;
      const rest = inside.tokens.map((_, i) => i).filter((i) => isWord(inside, i) && i !== link.from && i !== link.to);
      const others = (layer: number) =>
        rest.reduce((sum, i) => sum + cos_sim(states[layer]?.[link.from] as Float32Array, states[layer]?.[i] as Float32Array), 0) /
        rest.length;
      return (
        <>
          This happens {last === 1 ? 'once' : `${last} times`}, and each layer mixes the words again. The numbers show how similar “
          {asker}” is to each token: to “{target}”, {formatScore(near(0))} at the start and {formatScore(near(last))} after the last
          layer.
          {rest.length > 0 &&
            ` Mixing makes all words more alike: to the other words, the similarity is ${formatScore(others(0))} at the start and ${formatScore(others(last))} at the end, on average.`}
        </>
      );
    }
    default: {
      const best = meaning?.others.reduce((a, b) => (b.score > a.score ? b : a));
      return (
        <>
          Finally, the vectors of all tokens are combined into one: {formatCount(meaning?.vector.length ?? inside.hiddenSize)}{' '}
          numbers that represent the meaning.{best && ` Of these three sentences, “${best.text}” is nearest.`} Search and
          classification are built on this vector.
        </>
      );
    }
  }
}
