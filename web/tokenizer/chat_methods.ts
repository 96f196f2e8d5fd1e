// A tokenizer's members for chats.
import { env } from '../core/env.js';
import { describe, InputError } from '../core/errors.js';
import { inOwnWords } from '../core/habits.js';
import { ownCopy, readOptions, unknownOption, type Rules } from '../core/options.js';
import type { NamedBytes } from '../source/model_files.js';
import { chooseTemplate, contextOf, kChatRules, renderChat, variablesOf, type ChatContext } from './chat_template.js';
import type { NamedTokens } from './config.js';
import type { ApplyChatTemplateOptions, Chat, ChatTemplates, TokenizeOptions } from './types.js';

/** Those of a tokenizer alone. */
const kRules: Rules = {
  ...kChatRules,
  tokenize: 'boolean',
  return_dict: 'boolean',
  return_tensor: 'boolean',
  padding: 'any',
  truncation: 'any',
  max_length: 'count',
  tokenizer_kwargs: 'any',
};

/**
 * Options of the call, and variables of the template under other names. A name that the template never reads is an unknown option, but not with
 * env.compat, as transformers.js takes any.
 */
function readChatOptions(given: ApplyChatTemplateOptions, template: (given: ApplyChatTemplateOptions) => string) {
  const others = Object.keys(given).filter((name) => !Object.hasOwn(kRules, name));
  const known = Object.keys(kRules);
  if (others.length > 0 && !env.compat) {
    const read = variablesOf(template(given));
    const unread = others.find((name) => !read.has(name));
    if (unread !== undefined)
      throw unknownOption('apply_chat_template', unread, known, 'and the variables that the template reads');
  }
  const rules = { ...kRules, ...Object.fromEntries(others.map((name) => [name, 'any' as const])) };
  return env.compat ? given : (readOptions('apply_chat_template', given, rules) as ApplyChatTemplateOptions);
}

/** special: the tokenizer's tokens; call: the tokenizer itself. */
export function chatMethods(
  files: readonly NamedBytes[],
  special: () => NamedTokens,
  call: (text: string, options: TokenizeOptions) => { input_ids: unknown },
) {
  let context: ChatContext | undefined;
  const fromFiles = () => (context ??= contextOf(files));
  let given: ChatTemplates | null | undefined; // what the program set
  const templates = () => (given === undefined ? fromFiles().templates : given);

  return {
    templates,
    setTemplates(template: ChatTemplates | null) {
      if (template !== null && typeof template !== 'string' && typeof template !== 'object') {
        throw new InputError(
          `tokenizer.chat_template: expected a template, templates by name, or null, found ${describe(template)}`,
        );
      }
      given = template;
    },
    methods: {
      get_chat_template(options?: Pick<ApplyChatTemplateOptions, 'chat_template' | 'tools'> | null) {
        options = readOptions('get_chat_template', options, { chat_template: 'string', tools: 'any' });
        return chooseTemplate(templates(), options?.chat_template, options?.tools);
      },
      /** The text of a chat, or what it is tokenized to. */
      apply_chat_template(chat: Chat, options?: ApplyChatTemplateOptions | null) {
        const own = inOwnWords('chat', 'apply_chat_template', options) ?? ownCopy(options ?? {});
        options = readChatOptions(own, (given) => chooseTemplate(templates(), given.chat_template, given.tools));
        const { tokenizer_kwargs, tokenize, return_dict = env.compat, ...more } = options ?? {};
        const { padding, truncation, max_length, return_tensor = return_dict, ...rest } = more;
        const variables = Object.entries(rest).filter(([name]) => !Object.hasOwn(kChatRules, name));
        const chat_template_kwargs = { ...Object.fromEntries(variables), ...rest.chat_template_kwargs };
        const tokens = Object.entries(special()).filter((entry): entry is [string, string] => entry[1] !== undefined);
        const text = renderChat(files, chat, { ...rest, chat_template_kwargs }, {
          templates: templates(),
          special: { ...fromFiles().special, ...Object.fromEntries(tokens) },
        }); // prettier-ignore
        if (tokenize === false) return text;
        const how = { padding, truncation, max_length, return_tensor, add_special_tokens: false, ...tokenizer_kwargs };
        const out = call(text, how as TokenizeOptions);
        return return_dict ? out : out.input_ids;
      },
    },
  };
}
