// The program of the panel Write, to run as it is.
import type { ModelSpecifier } from 'wattn';
import { modelArgument, quoted } from '../ui/model_code.js';

const kMostLetters = 1200; // of a longer text, these are in the program

/** A checkpoint's next tokens. */
export const modelCode = (
  source: ModelSpecifier | null,
  prompt: string,
): string => `import { AutoModelForCausalLM, AutoTokenizer } from 'wattn';

const tokenizer = await AutoTokenizer.from_pretrained(${modelArgument(source)});
const model = await AutoModelForCausalLM.from_pretrained(${modelArgument(source)});
const inputs = tokenizer(${quoted(prompt)});
const { logits } = await model(inputs);
const [, seq, vocabulary] = logits.dims;
const last = Array.from(logits.data.slice((seq - 1) * vocabulary));
const best = last.map((logit, id) => [logit, id]).sort((a, b) => b[0] - a[0]).slice(0, 5);
for (const [logit, id] of best) console.log(tokenizer.decode([id]), logit.toFixed(2));
`;

/** A small model that learns the beginning of the text, character by character. */
export const smallCode = (text: string, prompt: string): string => `import { nn, Tensor } from 'wattn';

await nn.ready();
const text = ${quoted(text.slice(0, kMostLetters))};
const length = 64;
const characters = nn.Dictionary.from_corpus(text, { level: 'character', specials: ['?'] });
const ids = characters.encode(text);
const model = new nn.LanguageModel({ vocab_size: characters.size, d_model: 48, nhead: 4, max_len: 2 * length, norm_first: true, seed: 1 });
const optimizer = new nn.optim.AdamW(model.parameters(), { lr: 0.004 });
for (let step = 0; step < 150; ++step) {
  const starts = Array.from(nn.rand(8, { seed: step }).data, (share) => Math.floor(share * (ids.length - length)));
  const rows = (shift) => new Tensor('int32', starts.flatMap((start) => ids.slice(start + shift, start + shift + length)), [8, length]);
  optimizer.zero_grad();
  const loss = nn.functional.cross_entropy(model.forward(rows(0)).transpose(1, 2), rows(1));
  loss.backward();
  optimizer.step();
  if (step % 30 === 0) console.log(step, loss.item().toFixed(2));
}
console.log(characters.decode(model.generate(characters.encode(${quoted(prompt)}), { max_new_tokens: 40 })));
`;
