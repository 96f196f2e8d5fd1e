// Models that this page suggests, with what each is good at. Sizes are those of the files that are downloaded.

export interface Suggestion {
  id: string;
  size: string;
  languages: string;
  licence: string;
  good: string;
}

export const kSuggestions: readonly Suggestion[] = [
  {
    id: 'sentence-transformers/all-MiniLM-L6-v2',
    size: '91 MB',
    languages: 'English',
    licence: 'Apache-2.0',
    good: 'Search and comparison; the most used model of its kind.',
  },
  {
    id: 'BAAI/bge-small-en-v1.5',
    size: '134 MB',
    languages: 'English',
    licence: 'MIT',
    good: 'Search in longer texts, with a prompt for questions.',
  },
  {
    id: 'minishlab/potion-base-8M',
    size: '30 MB',
    languages: 'English',
    licence: 'MIT',
    good: 'The fastest: a vector for each word and no layers, so there is no attention to look at.',
  },
  {
    id: 'intfloat/multilingual-e5-small',
    size: '488 MB',
    languages: 'About 100 languages',
    licence: 'MIT',
    good: 'Search and comparison across languages.',
  },
  {
    id: 'distilbert/distilbert-base-uncased-finetuned-sst-2-english',
    size: '268 MB',
    languages: 'English',
    licence: 'Apache-2.0',
    good: 'Says whether a review is positive or negative (panel Classify).',
  },
  {
    id: 'dslim/bert-base-NER',
    size: '434 MB',
    languages: 'English',
    licence: 'MIT',
    good: 'Marks people, places and organisations (panel Classify).',
  },
];
