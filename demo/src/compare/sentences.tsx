// Panel: the sentences, each with its tokens.
import './sentences.css';
import type { FeatureExtractionPipeline } from 'wattn';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { exampleSentences, makeSentence, splitLines, type Sentence } from './sentence.js';
import { plural } from '../ui/format.js';
import { TokenChips } from '../tokens/token_chips.js';
import { readTokens, type TokenizedText } from '../tokens/read_tokens.js';

interface PanelProps {
  embed: FeatureExtractionPipeline;
  sentences: Sentence[];
  onChange: (sentences: Sentence[]) => void;
  /** Indices of sentences that another panel points at. */
  marked: readonly number[];
}

export function SentencesPanel({ embed, sentences, onChange, marked }: PanelProps) {
  const list = useRef<HTMLOListElement>(null);
  const [toFocus, setToFocus] = useState<number>();
  useEffect(() => {
    if (toFocus === undefined) return;
    list.current?.querySelector<HTMLElement>(`[data-id="${toFocus}"] textarea`)?.focus();
    setToFocus(undefined);
  }, [toFocus]);

  /** Puts texts in the place of sentence `index`; the last of them gets the focus when there are several. */
  const replace = (index: number, texts: string[]) => {
    const [first, ...others] = texts;
    const added = others.map(makeSentence);
    onChange(sentences.flatMap((sentence, i) => (i === index ? [{ ...sentence, text: first ?? '' }, ...added] : [sentence])));
    const last = added.at(-1);
    if (last) setToFocus(last.id);
  };
  const remove = (index: number) => {
    const rest = sentences.filter((_, i) => i !== index);
    onChange(rest);
    setToFocus(rest[Math.max(0, index - 1)]?.id);
  };
  const add = () => {
    const sentence = makeSentence('');
    onChange([...sentences, sentence]);
    setToFocus(sentence.id);
  };

  return (
    <article class="panel" aria-labelledby="sentences-title">
      <div class="panel-head">
        <h2 id="sentences-title">Sentences</h2>
        <button type="button" class="secondary outline small" onClick={() => onChange(exampleSentences())}>
          Reset examples
        </button>
      </div>
      <p class="hint">
        Edit the sentences, or paste a list. The tokens of each sentence are shown below it. Point at a token, or use the arrow
        keys, to see its id and position.
      </p>
      <ol class="sentences" ref={list}>
        {sentences.map((sentence, i) => (
          <SentenceRow
            key={sentence.id}
            embed={embed}
            sentence={sentence}
            number={i + 1}
            marked={marked.includes(i)}
            onText={(texts) => replace(i, texts)}
            onRemove={sentences.length > 1 ? () => remove(i) : undefined}
          />
        ))}
      </ol>
      <button type="button" class="secondary outline small" onClick={add}>
        Add a sentence
      </button>
    </article>
  );
}

interface RowProps {
  embed: FeatureExtractionPipeline;
  sentence: Sentence;
  number: number;
  marked: boolean;
  onText: (texts: string[]) => void;
  onRemove: (() => void) | undefined;
}

function SentenceRow({ embed, sentence, number, marked, onText, onRemove }: RowProps) {
  const { id, text } = sentence;
  const [active, setActive] = useState<number>();
  const tokenized = useMemo(() => readTokens(embed.tokenizer, text, embed.info().max_length), [embed, text]);
  const token = active === undefined ? undefined : tokenized.tokens[active];
  return (
    <li class={marked ? 'sentence is-marked' : 'sentence'} data-id={id}>
      <div class="sentence-line">
        <span class="number" aria-hidden="true">
          {number}
        </span>
        <Editor
          text={text}
          label={`Sentence ${number}`}
          describedBy={`count-${id}`}
          highlight={token?.span}
          readUpTo={tokenized.readUpTo}
          onText={onText}
          onRemove={onRemove}
        />
        <button type="button" class="icon" aria-label={`Remove sentence ${number}`} disabled={!onRemove} onClick={onRemove}>
          <svg viewBox="0 0 24 24" aria-hidden="true">
            <path d="M6 6l12 12M18 6 6 18" />
          </svg>
        </button>
      </div>
      <TokenChips tokens={tokenized.tokens} label={`Tokens of sentence ${number}`} active={active} onActive={setActive} />
      <p class="detail" id={`count-${id}`}>
        <Detail tokenized={tokenized} active={active} />
      </p>
    </li>
  );
}

function Detail({ tokenized, active }: { tokenized: TokenizedText; active: number | undefined }) {
  const { tokens, truncated, error } = tokenized;
  const token = active === undefined ? undefined : tokens[active];
  if (error) return <span class="warning">{error.message}</span>;
  if (token) {
    return (
      <>
        <code>{token.token}</code> id <b>{token.id}</b> ·{' '}
        {token.special ? 'added by the model' : `characters ${token.span[0]} to ${token.span[1]}`}
      </>
    );
  }
  return (
    <>
      {plural(tokens.length, 'token')}
      {truncated && <strong class="warning"> · truncated: the model ignores the rest, which is struck out</strong>}
    </>
  );
}

interface EditorProps {
  text: string;
  label: string;
  describedBy: string;
  highlight: readonly [number, number] | undefined;
  readUpTo: number | undefined;
  onText: (texts: string[]) => void;
  onRemove: (() => void) | undefined;
}

/** A text area as high as its text. The text lies behind it a second time, to carry the marks (a text area cannot). */
function Editor({ text, label, describedBy, highlight, readUpTo, onText, onRemove }: EditorProps) {
  const onPaste = (event: ClipboardEvent) => {
    const lines = splitLines(event.clipboardData?.getData('text/plain') ?? '');
    if (lines.length < 2) return;
    event.preventDefault();
    const { selectionStart, selectionEnd } = event.currentTarget as HTMLTextAreaElement;
    const joined = text.slice(0, selectionStart) + lines.join('\n') + text.slice(selectionEnd);
    onText(joined.split('\n'));
  };
  /** Enter: a sentence more. Backspace in an empty one: a sentence less. */
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing) return;
    if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault();
      onText([text, '']);
    } else if (event.key === 'Backspace' && text === '' && onRemove) {
      event.preventDefault();
      onRemove();
    }
  };
  return (
    <div class="editor">
      <div class="mirror" aria-hidden="true">
        <Marked text={text} highlight={highlight} readUpTo={readUpTo} />
      </div>
      <textarea
        rows={1}
        value={text}
        placeholder="Type a sentence"
        aria-label={label}
        aria-describedby={describedBy}
        onInput={(event) => onText([event.currentTarget.value])}
        onPaste={onPaste}
        onKeyDown={onKeyDown}
      />
    </div>
  );
}

function Marked({ text, highlight, readUpTo = text.length }: Pick<EditorProps, 'text' | 'highlight' | 'readUpTo'>) {
  const [from, to] = highlight ?? [0, 0];
  const lineEnd = '\u200b'; // a last line that is empty still has a height
  return (
    <>
      {text.slice(0, from)}
      <mark>{text.slice(from, to)}</mark>
      {text.slice(to, readUpTo)}
      <s>{text.slice(readUpTo)}</s>
      {lineEnd}
    </>
  );
}
