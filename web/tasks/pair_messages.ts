// A query and a document as the messages of a chat template, as sentence-transformers renders them for rerankers.
import { InputError } from '../core/errors.js';
import { ownCopy } from '../core/options.js';
import { readFields, type NamedBytes } from '../source/model_files.js';
import { chooseTemplate, contextOf, renderChat } from '../tokenizer/chat_template.js';
import type { Chat } from '../tokenizer/types.js';
import type { ChatPair, Ranker } from './ranker.js';

/** Families whose templates mislead kStructured. */
const kFlat: readonly unknown[] = ['apertus', 'deepseek_v3', 'gpt_oss', 'seed_oss'];
/** What templates have that read contents as lists of parts. */
const kStructured = ['content[0]', '.type', "'type'", '"type"', 'item.type', 'message.content['];
/** Two that differ, so that their common end is the template's own. */
const kFillers = ['0', '1 2 3 4'] as const;
/** The first pair, then one whose query differs, and one whose document does. */
const kProbes = [
  ['alpha', 'bravo'],
  ['charlie', 'bravo'],
  ['alpha', 'foxtrot'],
] as const;

export interface PairMessages {
  render(query: string, document: string): string;
  /** Renderings of two short pairs; undefined: texts are cut without regard to what the template has after them. */
  ends: [string, string] | undefined;
}

function renderer(files: readonly NamedBytes[], { structured, options }: ChatPair, prompt: string, given: string | undefined) {
  const { chat_template = given, add_generation_prompt, continue_final_message, tools, documents, ...variables } = ownCopy(options);
  const context = contextOf(files);
  const source = chooseTemplate(context.templates, given ?? (chat_template as string | undefined), tools);
  const isFlat = kFlat.includes(readFields(files, 'config.json')['model_type']);
  const asParts = structured ?? (!isFlat && kStructured.some((mark) => source.includes(mark)));
  const own = ownCopy({ add_generation_prompt, continue_final_message, tools, documents, chat_template: source, chat_template_kwargs: variables }); // prettier-ignore
  const content = (text: string) => (asParts ? [{ type: 'text', text }] : text);
  return (query: string, document: string, before = prompt): string => {
    const pair = [
      { role: 'query', content: content(query) },
      { role: 'document', content: content(document) },
    ];
    const chat = before === '' ? pair : [{ role: 'system', content: content(before) }, ...pair];
    return renderChat(files, chat as unknown as Chat, own as Parameters<typeof renderChat>[2], context);
  };
}

/** Why a template cannot carry a pair, found by rendering; undefined: it can. */
function failure(render: (query: string, document: string, before: string) => string): string | undefined {
  try {
    const [base, ...varied] = kProbes.map(([query, document]) => render(query, document, ''));
    const dropped = ['query', 'document'].filter((_, i) => varied[i] === base);
    return dropped.length > 0 ? `the text of the ${dropped.join(' and of the ')} does not reach the prompt` : undefined;
  } catch (error) {
    if (error instanceof InputError) return error.message;
    throw error;
  }
}

const kKnown = new WeakMap<readonly NamedBytes[], Map<string, string | undefined>>();

/**
 * The messages that a model reads, or undefined where its tokenizer joins two texts. prompt: what the system says. given: the caller's template; ''
 * means two texts. A model that sentence-transformers did not save has messages if it has a template, as there.
 */
export function pairMessages(
  files: readonly NamedBytes[],
  ranker: Ranker,
  prompt: string,
  given: string | undefined,
): PairMessages | undefined {
  if (given === '') return undefined;
  const isSaved = Object.keys(ranker.settings).length > 0;
  const hasTemplate = given !== undefined || (!isSaved && contextOf(files).templates !== null);
  const chat = ranker.chat ?? (hasTemplate ? { structured: undefined, options: {}, restore: true } : undefined);
  if (!chat) return undefined;
  const render = renderer(files, chat, prompt, given);
  const known = kKnown.get(files) ?? new Map<string, string | undefined>();
  kKnown.set(files, known);
  const key = given ?? '';
  if (!known.has(key)) known.set(key, failure(render));
  const why = known.get(key);
  if (why !== undefined)
    throw new InputError(
      `text-ranking: the chat template cannot carry a query and a document (${why}): expected one for the roles 'query' and 'document', as the ` +
        `option 'chat_template' or in the model's files. '' joins the two texts without a template`,
    );
  return {
    render: (query, document) => render(query, document),
    ends: chat.restore ? [render(kFillers[0], kFillers[0]), render(kFillers[1], kFillers[1])] : undefined,
  };
}
