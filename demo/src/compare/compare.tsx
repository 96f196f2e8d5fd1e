// Panel: sentences, their tokens, and how near they are to each other and to a query.
import type { EmbedOptions } from 'wattn';
import { useMemo, useRef, useState } from 'preact/hooks';
import type { PanelProps } from '../panel.js';
import { useKept } from '../ui/kept.js';
import { similarityCode } from './compare_code.js';
import { NearestPanel } from './nearest.js';
import { asLines, exampleSentences, isEmpty, type Entry, type Sentence } from './sentence.js';
import { SentencesPanel } from './sentences.js';
import { SimilarityPanel } from './similarity.js';
import { useEmbeddings } from './use_embeddings.js';

export function ComparePanel({ model, options }: PanelProps) {
  const { embed, source } = model;
  const [sentences, setSentences] = useKept('compare.sentences', exampleSentences, asLines);
  const [pair, setPair] = useState<readonly number[]>([]);
  const texts = sentences.filter((sentence) => !isEmpty(sentence)).map(({ text }) => text);
  const embedded = useEmbeddings(embed, texts, options);
  const entries = useEntries(sentences, embedded.vectors);
  return (
    <div class="workbench">
      <SentencesPanel embed={embed} sentences={sentences} onChange={setSentences} marked={pair} />
      <div class="side">
        <SimilarityPanel
          entries={entries}
          embedded={embedded}
          pair={pair}
          onPair={setPair}
          assumed={assumedPooling(options)}
          code={similarityCode(source, texts, options)}
        />
        <NearestPanel embed={embed} source={source} entries={entries} options={options} />
      </div>
    </div>
  );
}

const assumedPooling = ({ pooling }: EmbedOptions) => (typeof pooling === 'string' ? pooling : undefined);

/** Sentences with their vectors. One that is being edited keeps the vector it had until the new one is there. */
function useEntries(sentences: readonly Sentence[], vectors: ReadonlyMap<string, Float32Array>): Entry[] {
  const last = useRef(new Map<number, Float32Array>());
  return useMemo(() => {
    const entries = sentences.flatMap((sentence, index) => {
      const { id, text } = sentence;
      const vector = vectors.get(text) ?? last.current.get(id);
      return vector && !isEmpty(sentence) ? [{ id, index, text, vector }] : [];
    });
    last.current = new Map(entries.map(({ id, vector }) => [id, vector]));
    return entries;
  }, [sentences, vectors]);
}
