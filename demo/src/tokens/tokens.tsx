// Panel: one text, cut by several tokenizers; point at a token, and all show what they make of the same letters.
import './tokens.css';
import { useMemo, useState } from 'preact/hooks';
import type { PanelProps } from '../panel.js';
import { formatCount, plural } from '../ui/format.js';
import { CodeOf } from '../ui/copy.js';
import { useKept } from '../ui/kept.js';
import { Problem } from '../ui/lazy.js';
import { AddTokenizer } from './add_tokenizer.js';
import { readTokens } from './read_tokens.js';
import { TokenChips } from './token_chips.js';
import { useTokenizers, type NamedTokenizer } from './use_tokenizers.js';
import { tokensCode } from './tokens_code.js';

const kMostShown = 300;
const kText = 'Unbelievable! The naïve café-owner paid €1,234.50 for 3 self-driving coffee-makers in Kraków.';

export interface Pointed {
  /** Whose token it is. */
  key: number;
  index: number;
  span: readonly [number, number];
}

export function TokensPanel({ model }: PanelProps) {
  const [text, setText] = useKept('tokens.text', () => kText);
  const [pointed, setPointed] = useState<Pointed>();
  const { list, add, train, remove, busy, error } = useTokenizers(model);
  return (
    <div class="tokens-bench">
      <article class="panel" aria-labelledby="tokens-title">
        <h2 id="tokens-title">Tokens</h2>
        <label for="tokens-text">
          See how each tokenizer below splits your text. Point at a token to see which characters it covers.
        </label>
        <textarea id="tokens-text" rows={3} value={text} onInput={(event) => setText(event.currentTarget.value)} />
        <Letters text={text} span={pointed?.span} />
        {list.map((named) => (
          <Row key={named.key} named={named} text={text} pointed={pointed} onPoint={setPointed} onRemove={() => remove(named)} />
        ))}
        <CodeOf code={tokensCode(model.source, text)} />
      </article>
      <AddTokenizer onAdd={add} onTrain={(kind, size) => train(kind, size, text)} busy={busy} />
      {error && <Problem error={error} />}
    </div>
  );
}

/** The text once more, with the stretch that is pointed at. */
function Letters({ text, span }: { text: string; span: readonly [number, number] | undefined }) {
  const [from, to] = span ?? [0, 0];
  return (
    <p class="letters" aria-hidden="true">
      {text.slice(0, from)}
      <mark>{text.slice(from, to)}</mark>
      {text.slice(to)}
    </p>
  );
}

interface RowProps {
  named: NamedTokenizer;
  text: string;
  pointed: Pointed | undefined;
  onPoint: (pointed: Pointed | undefined) => void;
  onRemove: () => void;
}

function Row({ named, text, pointed, onPoint, onRemove }: RowProps) {
  const { key, name, tokenizer, isOwn } = named;
  const { tokens, error } = useMemo(() => readTokens(tokenizer, text), [tokenizer, text]);
  const own = tokens.filter(({ special }) => !special).length;
  const at = pointed?.key === key ? pointed.index : undefined;
  const token = at === undefined ? undefined : tokens[at];
  return (
    <section class="tokenizer" aria-label={name}>
      <div class="tokenizer-head">
        <h3>{name}</h3>
        <p class="hint">
          vocabulary of {formatCount(tokenizer.vocab_size)} · <b>{plural(tokens.length, 'token')}</b>
          {own > 0 && ` · ${(text.length / own).toFixed(1)} characters per token`}
        </p>
        {!isOwn && (
          <button type="button" class="icon" aria-label={`Remove ${name}`} onClick={onRemove}>
            <svg viewBox="0 0 24 24" aria-hidden="true">
              <path d="M6 6l12 12M18 6 6 18" />
            </svg>
          </button>
        )}
      </div>
      {error && <Problem error={error} />}
      <TokenChips
        tokens={tokens.slice(0, kMostShown)}
        label={`Tokens of ${name}`}
        active={at}
        linked={pointed?.span}
        onActive={(index) => onPoint(index === undefined ? undefined : { key, index, span: tokens[index]?.span ?? [0, 0] })}
      />
      <p class="detail">
        {token ? (
          <>
            <code>{token.token}</code> id <b>{token.id}</b> ·{' '}
            {token.special
              ? 'added by the tokenizer'
              : `characters ${token.span[0]} to ${token.span[1]}: “${text.slice(...token.span)}”`}
          </>
        ) : (
          tokens.length > kMostShown && `Only the first ${kMostShown} are shown.`
        )}
      </p>
    </section>
  );
}
