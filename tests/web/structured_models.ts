// A tiny decoder that can spell JSON, with tokenizers of three kinds.
import { join } from 'node:path';
import { filesOf, goldens } from './support.js';

export type Spelling = 'byte-level' | 'SentencePiece' | 'WordPiece';

const kCharacters = [...'{}[]":,.-\\0123456789abcdefghijklmnopqrstuvwxyz'];
const kSpecial = ['<unk>', '<s>', '</s>'];
const kTokens = 59;

function vocabulary(kind: Spelling): string[] {
  const longer = ['":"', '{"', '","', '"}', 'na', 'me', 'name'];
  if (kind === 'WordPiece') return [...kSpecial, ...[...kCharacters, ...longer].map((text) => `##${text}`), '{', '"', 'name'];
  const own = kind === 'byte-level' ? ['Ġ', 'Ã', '©'] : ['▁', '<0xC3>', '<0xA9>'];
  return [...kSpecial, ...kCharacters, ...own, ...longer];
}

function tokenizerJson(kind: Spelling) {
  const vocab = Object.fromEntries(vocabulary(kind).map((token, id) => [token, id]));
  const replace = (from: string, to: string) => ({ type: 'Replace', pattern: { String: from }, content: to });
  const parts = {
    'byte-level': {
      normalizer: null,
      pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
      decoder: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
      model: { type: 'BPE', vocab, merges: [], unk_token: null, ignore_merges: true },
    },
    SentencePiece: {
      normalizer: { type: 'Sequence', normalizers: [{ type: 'Prepend', prepend: '▁' }, replace(' ', '▁')] },
      pre_tokenizer: null,
      decoder: {
        type: 'Sequence',
        decoders: [
          replace('▁', ' '),
          { type: 'ByteFallback' },
          { type: 'Fuse' },
          { type: 'Strip', content: ' ', start: 1, stop: 0 },
        ],
      },
      model: { type: 'BPE', vocab, merges: [], unk_token: '<unk>', byte_fallback: true, fuse_unk: true },
    },
    WordPiece: {
      normalizer: null,
      pre_tokenizer: { type: 'Whitespace' },
      decoder: { type: 'WordPiece', prefix: '##', cleanup: false },
      model: { type: 'WordPiece', vocab, unk_token: '<unk>', continuing_subword_prefix: '##', max_input_chars_per_word: 100 },
    },
  }[kind];
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: kSpecial.map((content, id) => ({
      id,
      content,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special: true,
    })),
    post_processor: null,
    ...parts,
  };
}

export function spellingModel(kind: Spelling): Map<string, Uint8Array> {
  const files = filesOf(join(goldens, 'decoders/llama'));
  const text = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
  const config = JSON.parse(new TextDecoder().decode(files.get('config.json')));
  if (config.vocab_size !== kTokens || vocabulary(kind).length > kTokens) throw new Error(`expected at most ${kTokens} tokens`);
  files.set('config.json', text({ ...config, max_position_embeddings: 2048 }));
  files.set('tokenizer.json', text(tokenizerJson(kind)));
  files.set(
    'tokenizer_config.json',
    text({
      tokenizer_class: 'PreTrainedTokenizerFast',
      bos_token: '<s>',
      eos_token: '</s>',
      unk_token: '<unk>',
      clean_up_tokenization_spaces: false,
    }),
  );
  return files;
}

/** A tiny decoder whose vocabulary has what calls of tools are written with. marks: special tokens, at most four. more: characters. */
export function callingModel(template: string, marks: readonly string[], more = '()'): Map<string, Uint8Array> {
  const files = spellingModel('byte-level');
  const text = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
  const json = JSON.parse(new TextDecoder().decode(files.get('tokenizer.json')));
  const tokens = [...kSpecial, ...kCharacters, 'Ġ', 'Ċ', '_', '=', ...more, ...marks];
  if (tokens.length > kTokens) throw new Error(`expected at most ${kTokens} tokens, found ${tokens.length}`);
  json.model.vocab = Object.fromEntries(tokens.map((token, id) => [token, id]));
  const special = [...kSpecial, ...marks];
  json.added_tokens = special.map((content) => ({ ...json.added_tokens[0], content, id: tokens.indexOf(content) }));
  files.set('tokenizer.json', text(json));
  const settings = JSON.parse(new TextDecoder().decode(files.get('tokenizer_config.json')));
  files.set('tokenizer_config.json', text({ ...settings, chat_template: template }));
  return files;
}

/** A chat template that shows how a family writes calls. form: what it has around one. */
export const callingTemplate = (form: string): string =>
  "{% if tools %}{% for tool in tools %}{{ tool | tojson }}{% endfor %}{{ '\\n' }}{% endif %}" +
  '{% for message in messages %}{{ message.role }}: {{ message.content }}' +
  '{% if message.reasoning_content %}({{ message.reasoning_content }}){% endif %}' +
  `{% for call in message.tool_calls or [] %}${form}{{ call.function.name }} {{ call.function.arguments | tojson }}{% endfor %}` +
  "{{ '\\n' }}{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}";
