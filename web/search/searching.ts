// A search: its options are read, then its words, then what they ask for is looked for.
import { describe, InputError } from '../core/errors.js';
import { ownCopy, readOptions, type Rules } from '../core/options.js';
import { throwIfAborted } from '../core/signal.js';
import { hasTextField, hasWords, narrowed } from './conditions.js';
import type { Contents, Passing } from './contents.js';
import { expand } from './expand.js';
import { toFilter, warnOfUnknown } from './filter.js';
import { candidates, isAbove, listed, reranked, toHits, withSentences } from './find.js';
import { isTyped, readQuery, type Query } from './query.js';
import type { StoredContents } from './stored_contents.js';
import type { IndexHit, IndexSearchOptions } from './types.js';

const kSearchRules: Rules = {
  top_k: 'count',
  mode: ['hybrid', 'words', 'meaning'],
  fusion: ['coverage', 'minmax', 'zscore', 'rrf'],
  weights: 'any',
  filter: 'any',
  min_score: 'any',
  rerank: 'any',
  rerank_depth: 'count',
  group_by: ['document', 'chunk'],
  syntax: ['auto', 'always', 'never'],
  prefix: 'boolean',
  sentences: 'boolean',
  fuzzy: 'boolean',
  signal: 'signal',
};

/** Operators of a query, if it is one that may have them. */
function read(contents: Contents, query: string, syntax: 'auto' | 'always' | 'never'): Query {
  if (syntax === 'never' || (syntax === 'auto' && !isTyped(query))) return { text: query, conditions: [], hasMore: true };
  return readQuery(query, { isField: (name) => hasTextField(contents.documents.values(), name), hasWords });
}

export async function search(kept: StoredContents, query: string, options: IndexSearchOptions): Promise<IndexHit[]> {
  const where = 'Index.search';
  if (typeof query !== 'string') throw new InputError(`${where}: expected a query, a string, found ${describe(query)}`);
  options = readOptions(where, options, kSearchRules);
  const finite = { words: '(-Infinity,Infinity)', meaning: '(-Infinity,Infinity)' } as const;
  const weights = readOptions(`${where}: option 'weights'`, options.weights, finite);
  let floor = options.min_score ?? undefined;
  if (typeof floor !== 'number' && floor !== undefined)
    floor = readOptions(`${where}: option 'min_score'`, floor, {
      coverage: 'number',
      words: 'number',
      meaning: 'number',
      rank: 'number',
    });
  const filter = toFilter(options?.filter);
  kept.checkOpen();
  const { embedder } = kept;
  const mode = options?.mode ?? (embedder ? 'hybrid' : 'words');
  if (mode !== 'words' && !embedder) throw new InputError(`${where}: mode '${mode}' needs the option 'embed' of Index.open`);
  const signal = options?.signal ?? undefined;
  const top_k = options?.top_k ?? 10;
  const rerank = options?.rerank === false ? undefined : (options?.rerank ?? kept.options.rerank ?? undefined);
  if (rerank !== undefined && typeof rerank !== 'function') {
    throw new InputError(`${where}: option 'rerank': expected a pipeline or a function, found ${describe(rerank)}`);
  }
  const depth = rerank ? (options?.rerank_depth ?? Math.max(20, 3 * top_k)) : top_k;
  throwIfAborted(signal);
  if (query.trim() === '') return []; // nothing is near to it, whatever a model makes of it
  if (kept.store.hasNews()) await kept.alone(() => kept.refresh(false));
  throwIfAborted(signal);
  const { text, conditions, hasMore } = read(kept.contents, query, options.syntax ?? 'auto');
  const isListed = text === '' && conditions.some(({ isExcluded }) => !isExcluded);
  if (text === '' && !isListed) return [];
  const all = await kept.contents.words.analyser.read(text, signal);
  const last = all.at(-1);
  /** It may be the beginning of another word: nothing follows it. */
  const beginning = options.prefix && last && query.endsWith(text.slice(last.start)) && last.end === text.length ? last : undefined;
  const expansion = { beginning, isFuzzy: options.fuzzy ?? false };
  const isExpanded = beginning !== undefined || expansion.isFuzzy;
  const expandAll = () => expand(kept.contents.words, text, all, expansion, kept.contents.stopwords);
  const needsWords = mode !== 'meaning' || conditions.length > 0 || isExpanded;
  const readWords = async () => {
    while (needsWords && !kept.contents.isRead) await kept.contents.readWords(signal);
  };
  if (isExpanded) await readWords();
  const meant = isExpanded ? expandAll().text : text;
  const asked = mode === 'words' || isListed ? undefined : await embedder!.query(meant, signal);
  // Documents may come and go meanwhile; another tab may even have removed the index, and begun another one.
  if (filter) warnOfUnknown(filter, kept.name, kept.contents.documents.values());
  let passing: Passing | undefined;
  do {
    passing = filter && (await kept.contents.passing(filter.keep, signal));
    await readWords();
    if (conditions.length > 0 && (!passing || passing.owners === kept.contents.owners))
      passing = await narrowed(kept.contents, conditions, options.syntax === 'always' || !hasMore, passing, signal);
  } while (passing && passing.owners !== kept.contents.owners);
  kept.checkOpen();
  const words = expandAll();
  let found = isListed
    ? listed(kept.contents, passing!, depth, options.group_by === 'chunk')
    : candidates(kept.contents, words, asked, mode, depth, passing, ownCopy({ ...options, weights }));
  if (rerank) found = await reranked(meant || query, found, rerank, signal);
  const best = found.filter((candidate) => isAbove(candidate, floor)).slice(0, top_k);
  const hits = await toHits(kept.contents.words.analyser, words.terms, best, signal);
  if (options.sentences && asked) await withSentences(hits, asked.vector, (texts) => embedder!.documents(texts, () => {}, signal));
  return hits;
}
