// Checkpoints with their own LoRAs for tasks, such as jina-embeddings-v3, against torch (tests/goldens/hub_layouts/jina-v3-tasks).
import { join } from 'node:path';
import { AutoModel, Index, pipeline, type EmbedOptions } from 'wattn';
import { expectError, expectNear, filesOf, goldens, readJson, tiny } from './support.js';

const folder = join(goldens, 'hub_layouts/jina-v3-tasks');
const { texts, rows } = readJson('hub_layouts/jina-v3-tasks/expected.json') as {
  texts: string[];
  rows: { task: string | null; instruction: string; f32_diff: number; vectors: number[][] }[];
};
const { lora_adaptations: names, task_instructions: instructions } = readJson('hub_layouts/jina-v3-tasks/config.json');

describe.each([false, true])('the tasks of a checkpoint, worker: %s', (worker) => {
  it('have the vectors of its own code, with their instructions or another prompt', async () => {
    const embed = await pipeline('feature-extraction', folder, { worker });
    expect(embed.info().tasks).toEqual(names);
    for (const { task, instruction, f32_diff, vectors } of rows) {
      const calls: EmbedOptions[] = [{ prompt: instruction, adapter: task ?? false }];
      if (task !== null) calls.push({ task, prompt: instruction });
      if (task !== null && instruction === instructions[task]) calls.push({ task }, { task, prompt_name: task });
      if (task === null) calls.push({});
      const answers = await Promise.all(calls.map((call) => embed(texts, call)));
      // The factor is that of tests/native/tasks/task_adapters_test.cpp.
      for (const { data } of answers) expectNear(data, vectors.flat(), 8 * Math.max(f32_diff, 2 ** -23));
      for (const { data } of answers) expect(data).toEqual(answers[0]?.data);
    }
    await embed.dispose();
  });

  it('are chosen by encode_query and encode_document, with their instructions', async () => {
    const embed = await pipeline('feature-extraction', folder, { worker });
    const expected = (task: string, instruction?: string) => {
      const { vectors, f32_diff } = rows.find(
        (row) => row.task === task && row.instruction === (instruction ?? instructions[task]),
      )!;
      return [vectors.flat(), 8 * Math.max(f32_diff, 2 ** -23)] as const;
    };
    const [query, passage] = ['retrieval.query', 'retrieval.passage'];
    expectNear((await embed.encode_query(texts)).data, ...expected(query));
    expectNear((await embed.encode_document(texts)).data, ...expected(passage));
    expectNear((await embed.encode_query(texts, { prompt: '' })).data, ...expected(query, ''));
    expectNear((await embed.encode_document(texts, { prompt: '' })).data, ...expected(passage, ''));
    expectNear((await embed.encode_document(texts, { task: 'separation' })).data, ...expected('separation'));
    expectNear(
      (await embed.encode_query(texts, { prompt_name: passage })).data,
      ...([(await embed(texts, { task: query, prompt_name: passage })).data, 0] as const),
    );
    const plain = (await embed(texts)).data;
    expect((await embed.encode_query(texts, { adapter: false })).data).toEqual(plain);
    expect((await embed.encode_query(texts, { adapter: 'separation' })).data).toEqual(
      (await embed(texts, { task: 'separation' })).data,
    );
    await embed.delete_adapter(query);
    expect((await embed.encode_query(texts)).data).toEqual(plain);
    await embed.dispose();
  });

  it('are used by Index: one for queries, one for documents', async () => {
    const embed = await pipeline('feature-extraction', folder, { worker });
    const index = await Index.open('tasks', { embed, store: 'memory', precision: 'float32' });
    const documents = [texts[2] as string, texts[3] as string, 'Who sings?'];
    await index.add(documents.map((text, i) => ({ id: String(i), text })));
    const found = await index.search('Who sings?', { mode: 'meaning', top_k: 3 });
    const [query] = (await embed('Who sings?', { task: 'retrieval.query' })).tolist() as number[][];
    const rows = (await embed(documents, { task: 'retrieval.passage' })).tolist() as number[][];
    const scores = rows.map((row) => row.reduce((sum, x, i) => sum + x * (query as number[])[i]!, 0));
    expect(found).toHaveLength(3);
    // Rows of an index are int8: half a step of the largest number in each of 24.
    for (const { id, score } of found) expect(Math.abs(score - scores[Number(id)]!)).toBeLessThan(0.01);
    await index.dispose();
    await embed.dispose();
  });

  it('are adapters too, beside those of PEFT', async () => {
    const embed = await pipeline('feature-extraction', folder, { worker });
    expect(await embed.active_adapters()).toEqual([]);
    const plain = await embed('a boat');
    await embed.set_adapter('separation');
    const active = await embed('a boat');
    expect(active.data).toEqual((await embed('a boat', { task: 'separation' })).data);
    expect(active.data).not.toEqual(plain.data);
    expect((await embed('a boat', { adapter: false })).data).toEqual(plain.data);
    expect((await embed.encode_query('a boat')).data).toEqual(active.data); // set_adapter is the caller's choice
    const { weights } = embed.memory();
    await embed.delete_adapter('classification');
    expect(embed.memory().weights).toBeLessThan(weights);
    await expectError(embed('a', { task: 'classification' }), 'InputError', /expected one of the adapters 'retrieval.query'/);
    await embed.merge_and_unload();
    const merged = await embed('a boat');
    expectNear(merged.data, active.data, 1e-5);
    await embed.dispose();
  });

  it('are refused by name', async () => {
    const embed = await pipeline('feature-extraction', folder, { worker });
    const expected = /option 'task': expected one of 'retrieval.query', 'retrieval.passage', .*, found 'query'/;
    await expectError(embed('a', { task: 'query' }), 'InputError', expected);
    await expectError(
      embed('a', { task: 'separation', adapter: 'separation' }),
      'InputError',
      /one of the options 'task' and 'adapter'/,
    );
    await embed.dispose();
    const other = await pipeline('feature-extraction', tiny, { worker });
    expect(other.info().tasks).toBeUndefined();
    await expectError(other('a', { task: 'separation' }), 'InputError', /option 'task': expected none, as this model has no tasks/);
    await other.dispose();
  });
});

it('a checkpoint’s tasks are adapters of AutoModel', async () => {
  const model = await AutoModel.from_pretrained(filesOf(folder));
  const inputs = { input_ids: [[0, 5, 9, 17, 2]] };
  const [plain, task] = [await model(inputs), await model(inputs, { adapter: 'text-matching' })];
  expect(task.last_hidden_state.data).not.toEqual(plain.last_hidden_state.data);
  await model.dispose();
});
