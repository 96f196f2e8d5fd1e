// `wattn help TASK`: what a task needs, an example, and the options of its command.
import catalog from '../../models/catalog.json';
import { taskNamed } from '../tasks/defaults.js';
import { kHelp } from './help.js';

interface TaskHelp {
  /** What comes of a text. */
  does: string;
  /** The kind of model. */
  needs: string;
  command: string;
  example: string;
  /** The same in a program, after `const run = await pipeline(..)`. */
  call: string;
  guide: string;
}

const kTasks: Readonly<Record<string, TaskHelp>> = {
  'feature-extraction': {
    does: 'Turns a text into an embedding for search, comparison and your own classifiers.',
    needs: 'a sentence encoder (default: the bundled model)',
    command: 'embed',
    example: 'wattn embed "The bakery opens at six."',
    call: "await run(['The bakery opens at six.'])",
    guide: 'docs/pages.md',
  },
  'text-classification': {
    does: 'Gives a text labels with scores, such as its sentiment.',
    needs: 'a model with a classification head (default: the bundled model, for sentiment)',
    command: 'classify',
    example: 'wattn classify "What a wonderful film!"',
    call: "await run('What a wonderful film!')",
    guide: 'docs/tasks.md',
  },
  'zero-shot-classification': {
    does: 'Scores a text against labels that you choose.',
    needs: 'a model trained on natural language inference, or a GLiClass or GLiNER2 model',
    command: 'classify',
    example: 'wattn classify --labels sport,politics,food "The bakery opens at six."',
    call: "await run('The bakery opens at six.', ['sport', 'politics', 'food'])",
    guide: 'docs/tasks.md',
  },
  'token-classification': {
    does: 'Tags the words of a text: people, places, organisations.',
    needs: 'a model with a token classification head',
    command: 'run',
    example: `wattn run --task ner --options '{"aggregation_strategy": "simple"}' "Ada lives in Paris."`,
    call: "await run('Ada lives in Paris.', { aggregation_strategy: 'simple' })",
    guide: 'docs/entities.md',
  },
  'zero-shot-ner': {
    does: 'Finds entities of the types that you choose.',
    needs: 'a GLiNER model',
    command: 'run',
    example: 'wattn run --task zero-shot-ner --labels person,city "Ada lives in Paris."',
    call: "await run('Ada lives in Paris.', ['person', 'city'])",
    guide: 'docs/entities.md',
  },
  'information-extraction': {
    does: 'Extracts structures, relations, entities and classes by a schema.',
    needs: 'a GLiNER2 model',
    command: 'run',
    example: 'wattn run --task information-extraction --schema schema.json "Ada works at the bakery."',
    call: "await run('Ada works at the bakery.', { entities: ['person'], relations: ['works at'] })",
    guide: 'docs/entities.md',
  },
  'question-answering': {
    does: 'Finds the answer to a question in a text.',
    needs: 'a model with a question answering head',
    command: 'run',
    example: 'wattn run --task question-answering --question "When?" "The bakery opens at six."',
    call: "await run('When?', 'The bakery opens at six.')",
    guide: 'docs/tasks.md',
  },
  'fill-mask': {
    does: 'Fills in a masked word.',
    needs: 'a masked language model',
    command: 'run',
    example: 'wattn run --task fill-mask "The [MASK] opens at six."',
    call: "await run('The [MASK] opens at six.')",
    guide: 'docs/tasks.md',
  },
  'sparse-encoding': {
    does: 'Turns a text into words with weights, for a keyword index.',
    needs: 'a SPLADE model',
    command: 'run',
    example: 'wattn run --task sparse-encoding "The bakery opens at six."',
    call: "await run(['The bakery opens at six.'])",
    guide: 'docs/retrieval.md',
  },
  'text-ranking': {
    does: 'Ranks documents by how well they answer a query.',
    needs: 'a cross-encoder',
    command: 'rank',
    example: 'wattn rank --query "When can I buy rolls?" --file notes.txt',
    call: "await run('When can I buy rolls?', ['Bread is sold until noon.', 'Trains leave every hour.'])",
    guide: 'docs/retrieval.md',
  },
  'late-interaction': {
    does: 'Ranks documents by comparing one vector per token.',
    needs: 'a ColBERT model',
    command: 'rank',
    example: 'wattn rank --late-interaction --query "When can I buy rolls?" --file notes.txt',
    call: "await run.encode_query('When can I buy rolls?')",
    guide: 'docs/retrieval.md',
  },
  'text-generation': {
    does: 'Continues a text or answers a chat.',
    needs: 'a decoder; chats also need the package @huggingface/jinja',
    command: 'generate',
    example: 'wattn generate --model HuggingFaceTB/SmolLM2-135M-Instruct --chat --stream "Tell me a story."',
    call: "await run('Once upon a time', { max_new_tokens: 40 })",
    guide: 'docs/generation.md',
  },
  'text2text-generation': {
    does: 'Transforms a text into another, such as an answer or a rephrasing.',
    needs: 'an encoder-decoder, such as T5 or BART',
    command: 'generate',
    example: 'wattn generate --model google/flan-t5-small "Rephrase: the bakery opens at six."',
    call: "await run('Rephrase: the bakery opens at six.')",
    guide: 'docs/generation.md',
  },
  translation: {
    does: 'Translates a text.',
    needs: 'an encoder-decoder for the two languages',
    command: 'generate',
    example: 'wattn generate --model Helsinki-NLP/opus-mt-en-de --task translation "The bakery opens at six."',
    call: "await run('The bakery opens at six.', { src_lang: 'en', tgt_lang: 'de' })",
    guide: 'docs/generation.md',
  },
  summarization: {
    does: 'Summarizes a text.',
    needs: 'an encoder-decoder for summaries',
    command: 'generate',
    example: 'wattn generate --model google-t5/t5-small --task summarization --file article.txt',
    call: "await run('A long text ..')",
    guide: 'docs/generation.md',
  },
};

export const kTaskNames: readonly string[] = Object.keys(kTasks);

/** The options of a command that are its own: what stands between its description and those of the model. */
function ownOptions(command: string): string {
  const help = kHelp[command] as string;
  const begin = help.indexOf('\n\n  --') + 2;
  const shared = help.indexOf('\nThe model:');
  return help.slice(begin, shared < 0 ? undefined : shared).trimEnd();
}

/** Help for a task by any of its names; undefined if there is none. */
export function taskHelp(name: string): string | undefined {
  const task = taskNamed(name);
  if (!Object.hasOwn(kTasks, task)) return undefined;
  const { does, needs, command, example, call, guide } = kTasks[task] as TaskHelp;
  const models = catalog.models.filter(({ tasks }) => tasks.includes(task)).map(({ id }) => id);
  const model = models[0] === 'wattn-default' ? '' : `, '${models[0]}'`;
  return `Task: ${task}

${does}

  Needs    ${needs}
  Models   ${models.join(', ')} (wattn models --task ${task})
  Example  ${example}
  In code  const run = await pipeline('${task}'${model});
           ${call};
  Guide    ${guide}

Options of wattn ${command} (all: wattn help ${command}):

${ownOptions(command)}
`;
}
