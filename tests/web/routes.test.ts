// Models with a Router (once Asym) of sentence-transformers, from tests/goldens/sentence/routes.
import { packModel, pipeline } from 'wattn';
import { expectError, expectNear, filesOf, goldens, readJson, textOf, type Files } from './support.js';

type How = 'encode' | 'encode_query' | 'encode_document';
type Row = { how: How; f32_diff: number; vectors: number[][] };

const { texts } = readJson('sentence/expected.json');
/** The model's files: its Transformer's weights are bert-tiny's. */
function files(name: string): Files {
  const out = filesOf(`${goldens}/sentence/routes/${name}`);
  const folder = [...out.keys()].find((file) => file.endsWith('_Transformer/config.json'))?.replace('config.json', '') ?? '';
  out.set(`${folder}model.safetensors`, filesOf(`${goldens}/bert-tiny/model`).get('model.safetensors') as Uint8Array);
  return out;
}
const load = (model: Files, options = {}) => pipeline('feature-extraction', model, { threads: 1, ...options });
const json = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
const config = (model: Files, name: string) => JSON.parse(textOf(model, name));

describe('a Router', () => {
  it.each([
    ['two-models', 'document', { query: 'query', document: 'document' }],
    ['two-layers', 'query', { query: 'query', document: 'document' }],
    ['mapped', 'text', { query: 'small', document: 'text' }],
  ])('gives the vectors of sentence-transformers by each route: %s', async (name, own, routes) => {
    const rows: Row[] = readJson(`sentence/routes/${name}/expected.json`);
    const isLater = name === 'two-layers'; // the Router is not the first module
    for (const route of [undefined, 'query', 'document'] as const) {
      if (route === undefined && isLater) continue;
      const embed = await load(files(name), route ? { route } : {});
      const loaded = route ? routes[route] : own;
      expect(embed.info()).toMatchObject({ route: loaded, routes });
      for (const { how, f32_diff, vectors } of rows) {
        const role = how === 'encode' ? undefined : how === 'encode_query' ? 'query' : 'document';
        const call = () => (role ? embed[`encode_${role}`](texts) : embed(texts));
        if (role && routes[role] !== loaded) {
          await expectError(
            call,
            'UnsupportedError',
            new RegExp(`encode_${role}: the model has its route '${loaded}'; load it with .* route: '${role}'`),
          );
        } else if (role || loaded === own) {
          expectNear((await call()).data, Float32Array.from(vectors.flat()), Math.max(f32_diff, 1e-7));
        }
      }
      await embed.dispose();
    }
  });

  it('has the same bits in a worker', async () => {
    const one = await load(files('two-models'), { route: 'query' });
    const far = await load(files('two-models'), { route: 'query', worker: true });
    expect([...(await far.encode_query(texts)).data]).toEqual([...(await one.encode_query(texts)).data]);
    await expectError(() => far.encode_document(texts), 'UnsupportedError', /encode_document: the model has its route 'query'/);
    await one.dispose();
    await far.dispose();
  });

  it('is read as Asym wrote it', async () => {
    const model = files('two-layers');
    const written = config(model, '2_Router/router_config.json');
    model.delete('2_Router/router_config.json');
    model.set('2_Router/config.json', json({ ...written, parameters: { allow_empty_key: false } }));
    const modules = config(model, 'modules.json');
    modules[2].type = 'sentence_transformers.models.Asym';
    model.set('modules.json', json(modules));
    const rows: Row[] = readJson('sentence/routes/two-layers/expected.json');
    const embed = await load(model, { route: 'document' });
    expectNear((await embed.encode_document(texts)).data, Float32Array.from(rows[2]!.vectors.flat()), rows[2]!.f32_diff);
    await embed.dispose();
  });

  it('that is not the first module needs the option', async () => {
    await expectError(load(files('two-layers')), 'UnsupportedError', /modules.json: .*type: expected .*Router/);
  });

  it('refuses what it does not have', async () => {
    await expectError(
      load(files('two-models'), { route: 'image' }),
      'InputError',
      /option 'route': expected 'query' or 'document', found 'image'/,
    );
    const plain = filesOf(`${goldens}/bert-tiny/model`);
    await expectError(
      load(plain, { route: 'query' }),
      'InputError',
      /option 'route': expected a model with a Router in modules.json/,
    );
    await expectError(
      pipeline('fill-mask', plain, { route: 'query' }),
      'InputError',
      /option 'route': expected 'feature-extraction'/,
    );
    await expectError(packModel(files('two-models')), 'UnsupportedError', /pack: expected a model without a Router/);
    const change = async (edit: (router: any) => void, message: RegExp) => {
      const model = files('two-models');
      const router = config(model, 'router_config.json');
      edit(router);
      model.set('router_config.json', json(router));
      await expectError(load(model), 'ModelFormatError', message);
    };
    await change((router) => (router.structure = []), /router_config.json: structure: expected lists of modules/);
    await change((router) => (router.structure.query = 'x'), /structure: expected lists of modules/);
    await change((router) => (router.types = null), /types: expected classes/);
    await change(
      (router) => (router.parameters.default_route = 'other'),
      /parameters.default_route: expected a route, found 'other'/,
    );
    await change((router) => (router.parameters.route_mappings = { x: 'y' }), /route_mappings: x: expected a route, found 'y'/);
    await change((router) => (router.structure.document[0] = '../other'), /router_config.json: /);
    const model = files('two-models');
    model.delete('router_config.json');
    await expectError(load(model), 'ModelFormatError', /router_config.json: expected this file/);
  });
});
