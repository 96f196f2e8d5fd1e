// A decoder small enough to be trained while one waits. It is written out, so that every layer can be asked what it would say.
import { nn, Tensor } from 'wattn/nn';
import { splitText, type SmallOptions } from './small_model_text.js';

const kWidth = 48;
const kContext = 24;
const kBatch = 16;

/** In the order of first use. */
export const vocabularyOf = (pieces: readonly string[]): string[] => [...new Set(pieces)];

class Decoder extends nn.Module {
  embedding: nn.Embedding;
  places = new nn.PositionalEncoding(kWidth, { kind: 'learned', max_len: kContext });
  layer0 = makeLayer();
  layer1 = makeLayer();
  layer2 = makeLayer();
  norm = new nn.LayerNorm(kWidth);
  head: nn.Linear;

  constructor(words: number) {
    super();
    this.embedding = new nn.Embedding(words, kWidth);
    this.head = new nn.Linear(kWidth, words);
  }

  /** The tokens' states after each layer, the embeddings first: [batch, seq, width]. */
  states(ids: Tensor<'int32'>): nn.Tensor[] {
    const out = [this.places.forward(this.embedding.forward(ids))];
    for (const layer of [this.layer0, this.layer1, this.layer2])
      out.push(layer.forward(out.at(-1) as nn.Tensor, { is_causal: true }));
    return out;
  }

  /** What a state says about the next token: logits. */
  says(state: nn.Tensor): nn.Tensor {
    return this.head.forward(this.norm.forward(state));
  }

  override forward(ids: Tensor<'int32'>): nn.Tensor {
    return this.says(this.states(ids).at(-1) as nn.Tensor);
  }
}

const makeLayer = () => new nn.TransformerEncoderLayer(kWidth, 4, { dim_feedforward: 2 * kWidth, dropout: 0, norm_first: true });

export interface SmallModel {
  vocabulary: string[];
  parameters: number;
  /** Logits for what follows the last of these ids, after each layer; the last row is the model's answer. */
  next(ids: readonly number[]): Float32Array[];
}

/** step: called after each step with its loss. */
export async function trainSmallModel(
  text: string,
  { level, steps, seed }: SmallOptions,
  step: (done: number, loss: number) => void,
): Promise<SmallModel> {
  await nn.ready();
  const pieces = splitText(text, level);
  if (pieces.length < 2 * kContext)
    throw new Error(`The text is too short: it has ${pieces.length} ${level}, and needs ${2 * kContext}.`);
  const vocabulary = vocabularyOf(pieces);
  const idOf = new Map(vocabulary.map((piece, id) => [piece, id]));
  const ids = pieces.map((piece) => idOf.get(piece) as number);
  nn.manual_seed(seed);
  const model = new Decoder(vocabulary.length).train();
  const optimizer = new nn.optim.AdamW(model.parameters(), { lr: 4e-3, weight_decay: 0.01 });
  const schedule = nn.optim.get_cosine_schedule_with_warmup(optimizer, { num_warmup_steps: 10, num_training_steps: steps });
  for (let done = 1; done <= steps; ++done) {
    const starts = Array.from(nn.rand(kBatch).data, (share) => Math.floor(share * (ids.length - kContext)));
    const rows = (shift: number) =>
      new Tensor('int32', starts.flatMap((start) => ids.slice(start + shift, start + shift + kContext)), [kBatch, kContext]); // prettier-ignore
    optimizer.zero_grad();
    const loss = nn.functional.cross_entropy(model.forward(rows(0)).transpose(1, 2), rows(1));
    loss.backward();
    optimizer.step();
    schedule.step();
    step(done, loss.item());
  }
  model.eval();
  return {
    vocabulary,
    parameters: model.parameters().reduce((sum, { data }) => sum + data.length, 0),
    next(ids) {
      const read = ids.slice(-kContext);
      const last = read.length - 1;
      return nn.no_grad(
        () =>
        model.states(new Tensor('int32', read, [1, read.length])).map((state) => model.says(state.slice(null, [last, last + 1])).data.slice()), // prettier-ignore
      );
    },
  };
}
