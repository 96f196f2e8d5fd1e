// How the panel searches. The smoke test searches with the same settings in Node.
import type { IndexSearchOptions } from 'wattn';

/** The most frequent words of English: two texts that share them need not be close, and they name no cluster. */
export const kCommon =
  `a about after all also an and any are as at be because been before being but by can could did do does even every for from get had has have
  he her here him his how i if in into is it its just like made make many may me more most much must my no not now of off on one only or other
  our out over own same she should so some such than that the their them then there these they this those through to too two under up us use
  very was we well were what when where which while who will with without would you your`.split(/\s+/);

/** A hit shares words with the query or means something like it; what is below both floors is left out. */
export const kSearch: IndexSearchOptions = { top_k: 8, group_by: 'chunk', min_score: { coverage: 0.15, meaning: 0.25 } };
