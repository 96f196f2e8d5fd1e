// wattn chat: one conversation over several lines, in a pipe and in a terminal.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { pipeline, type ChatMessage, type TextGenerationPipeline } from 'wattn';
import { Conversation, converse } from '../../web/cli/conversation.js';
import { wattn } from './cli_support.js';
import { goldens, until } from './support.js';

const model = join(goldens, 'decoders/llama');
const usual = ['chat', '--model', model, '--max-new-tokens', '6'];

describe('wattn chat', () => {
  let folder: string;
  let generate: TextGenerationPipeline;
  beforeAll(async () => void (generate = await pipeline('text-generation', model)));
  afterAll(() => generate.dispose());
  beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'wattn-chat-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  /** What the library answers in turn. */
  async function answers(messages: string[], before: ChatMessage[] = []): Promise<ChatMessage[]> {
    let chat = before;
    for (const content of messages) {
      const [one] = await generate([...chat, { role: 'user', content }], { max_new_tokens: 6 });
      chat = one.generated_text;
    }
    return chat;
  }
  const said = (chat: ChatMessage[]) => chat.filter(({ role }) => role === 'assistant').map(({ content }) => `${content}\n`);

  it('answers each line of a pipe as one conversation, and keeps it in a file', async () => {
    const history = join(folder, 'talk.json');
    const expected = await answers(['hi', 'two\nlines']);
    const own = await wattn([...usual, '--history', history], 'hi\ntwo\\\nlines\n');
    expect(own).toMatchObject({ code: 0, error: '', out: said(expected).join('') });
    expect(JSON.parse(readFileSync(history, 'utf8'))).toEqual(expected);
    const more = await wattn([...usual, '--history', history, 'more'], '');
    const all = await answers(['more'], expected);
    expect(more.out).toBe(said(all).at(-1));
    expect(JSON.parse(readFileSync(history, 'utf8'))).toEqual(all);
  });

  it('takes a system message, files and a schema', async () => {
    const file = join(folder, 'note.txt');
    writeFileSync(file, 'a note\n');
    const history = join(folder, 'talk.json');
    await wattn([...usual, '--system', 'be brief', '--file', file, '--history', history, 'so'], '');
    const [system, user] = JSON.parse(readFileSync(history, 'utf8')) as ChatMessage[];
    expect(system).toEqual({ role: 'system', content: 'be brief' });
    expect(user!.content).toBe(`${file}:\n\na note\n\nso`);
    const schema = join(folder, 'schema.json');
    writeFileSync(schema, JSON.stringify({ enum: [12, 34] }));
    const own = await wattn([...usual, '--schema', schema, 'yes?'], '');
    expect([12, 34]).toContain(JSON.parse(own.out));
  });

  it('says what is wrong', async () => {
    expect(await wattn(['chat'], '')).toMatchObject({
      code: 2,
      error: 'wattn: expected --model: the bundled model generates no text\n',
    });
    const history = join(folder, 'talk.json');
    writeFileSync(history, '{"role": 1}');
    const wrong = await wattn([...usual, '--history', history], '');
    expect(wrong).toMatchObject({ code: 2 });
    expect(wrong.error).toMatch(/expected a list of messages with role and content/);
    const lacking = await wattn([...usual, '--file', join(folder, 'none'), 'a'], '');
    expect(lacking.error).toMatch(/cannot read '.*none'/);
  });

  /** A terminal that a test types into. */
  function terminal() {
    const streams = { input: new PassThrough(), output: new PassThrough(), notes: new PassThrough() };
    const heard = { output: '', notes: '' };
    streams.output.setEncoding('utf8').on('data', (text) => (heard.output += text));
    streams.notes.setEncoding('utf8').on('data', (text) => (heard.notes += text));
    return { ...streams, isInteractive: true, save: async (file: string, text: string) => writeFileSync(file, text), heard };
  }

  it('in a terminal it takes commands, goes on after an error, and ends an answer with Ctrl+C', async () => {
    const own = terminal();
    const conversation = new Conversation(generate, own, { max_new_tokens: 6 }, undefined, undefined);
    await conversation.begin();
    const ended = converse(conversation, own);
    const type = async (line: string, shows: RegExp) => {
      own.heard.output = own.heard.notes = '';
      own.input.write(line);
      await until(() => shows.test(own.heard.output + own.heard.notes));
    };
    await type('/help\n', /\/again/);
    const kept = join(folder, 'kept.json');
    await type('hi\n', /6 tokens in/);
    await type('again\n', /\(\d+ of them cached\)/);
    await type('/again\n', /tokens in/);
    await type(`/save ${kept}\n`, />/);
    await type('/load /nowhere/x\n', /cannot read/);
    await type(`/file ${kept}\n`, /characters, added to the next message/);
    await type('/clear\n', />/);
    await type(`/load ${kept}\n`, />/);
    await type('/again\n', /tokens in/);
    own.input.write('/exit\n');
    await ended;
    expect(JSON.parse(readFileSync(kept, 'utf8'))).toEqual(await answers(['hi', 'again']));

    const other = terminal();
    const endless = new Conversation(generate, other, { max_new_tokens: 60, eos_token_id: 57 }, undefined, undefined);
    await endless.begin();
    const going = converse(endless, other);
    let stopped = false;
    other.output.on('data', (text: string) => {
      if (!stopped && /[^>\s]/.test(text.replace('talk', '').replace(/\u001b\[\w*/g, ''))) stopped = endless.interrupt() || stopped;
    });
    other.input.write('talk\n');
    await until(() => stopped);
    other.input.write('\u0004'); // Ctrl+D
    await going;
    expect(endless.interrupt()).toBe(false);
  });

  it('forgets the oldest turn where the conversation is too long', async () => {
    const own = terminal();
    const conversation = new Conversation(generate, own, { max_new_tokens: 20, eos_token_id: 57 }, 's', undefined);
    await conversation.begin();
    for (const line of ['one two three', 'four five six', 'seven']) await conversation.hear(line);
    expect(own.heard.notes).toMatch(/its oldest turn was dropped/);
    await expect(conversation.hear('x'.repeat(200))).rejects.toThrow(/context_length/);
  });
});
