// Panel: what the loaded model is, what it needs, and how fast it is here.
import './about.css';
import type { PanelProps } from '../panel.js';
import { formatBytes, formatCount, formatTime } from '../ui/format.js';
import { BenchCard } from './bench_card.js';
import { LayersCard } from './layers.js';

export function AboutPanel(props: PanelProps) {
  return (
    <div class="about-bench">
      <FactsCard {...props} />
      <MemoryCard {...props} />
      <BenchCard {...props} />
      <LayersCard model={props.model} />
    </div>
  );
}

const kWasm = { relaxed: 'relaxed SIMD', simd: 'SIMD', given: 'set by the page' };

function FactsCard({ model, options }: PanelProps) {
  const info = model.embed.info();
  const prompts = Object.entries(info.prompts).filter(([, prompt]) => prompt !== '');
  const facts: [string, string, string?][] = [
    ['Type', info.model_type],
    ['Layers', formatCount(info.num_hidden_layers), `${info.num_attention_heads} heads each`],
    ['Hidden size', formatCount(info.hidden_size)],
    ['Maximum length', formatCount(info.max_length), `tokens (${formatCount(info.max_position_embeddings)} positions)`],
    [
      'Pooling',
      info.pooled ? 'from the model files' : String(options.pooling),
      info.pooled ? '' : 'assumed: not set in the model files',
    ],
    ['Unit length', info.normalize || options.normalize ? 'yes' : 'no'],
    ['WebAssembly', kWasm[info.wasm], `${info.kernels} kernels, ${info.precision}`],
    ['Threads', formatCount(info.threads), info.threads_reason],
    ['Loaded in', formatTime(model.loadMs)],
  ];
  return (
    <article class="panel" aria-labelledby="facts-title">
      <h2 id="facts-title">Model facts</h2>
      <dl class="facts">
        {facts.map(([name, value, note]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              {value}
              {note && <small>{note}</small>}
            </dd>
          </div>
        ))}
      </dl>
      {prompts.map(([name, prompt]) => (
        <p key={name} class="hint">
          Prompt for {name}: “{prompt}”
        </p>
      ))}
    </article>
  );
}

/** Where the bytes go, known before the first text. */
function MemoryCard({ model }: PanelProps) {
  const { weights, activations, total } = model.embed.memory();
  const info = model.embed.info();
  const parts: [string, number, string][] = [
    ['weights', weights, `stored as ${info.dtype}, in the kernels' layout`],
    ['working memory', activations, `for ${formatCount(info.token_budget)} tokens at a time; fixed, however much you embed`],
  ];
  return (
    <article class="panel" aria-labelledby="memory-title">
      <h2 id="memory-title">Memory plan</h2>
      <p>
        <strong class="big">{formatBytes(total)}</strong>, fixed before the first text is embedded.
      </p>
      <div class="memory-bar" style={{ '--share': `${((100 * weights) / total).toFixed(1)}%` }} aria-hidden="true" />
      <dl class="memory">
        {parts.map(([name, bytes, note], i) => (
          <div key={name}>
            <dt>
              <span class="dot" data-part={i} aria-hidden="true" /> {name}
            </dt>
            <dd>
              <b>{formatBytes(bytes)}</b> <small>{note}</small>
            </dd>
          </div>
        ))}
      </dl>
    </article>
  );
}
