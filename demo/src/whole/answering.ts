// Models whose answer is worth a picture: those that write the next word, and those that fill in a hidden one. Each is one line.

export interface Answering {
  /** A hub id, or the name of a model of this page. */
  id: string;
  name: string;
  size: string;
  answers: 'the next word' | 'a hidden word';
}

export const kAnswering: readonly Answering[] = [
  {
    id: 'wattn-story',
    name: 'wattn-story',
    size: '1.9 MB, from this page',
    answers: 'the next word',
  },
  { id: 'HuggingFaceTB/SmolLM2-135M', name: 'SmolLM2-135M', size: '269 MB', answers: 'the next word' },
  { id: 'openai-community/gpt2', name: 'GPT-2', size: '548 MB', answers: 'the next word' },
  { id: 'distilbert/distilbert-base-uncased', name: 'DistilBERT', size: '268 MB', answers: 'a hidden word' },
];
