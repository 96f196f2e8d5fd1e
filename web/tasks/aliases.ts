/** Other names of tasks, as in Python. */
export const kAliases: Record<string, string> = { 'sentiment-analysis': 'text-classification', ner: 'token-classification' };
