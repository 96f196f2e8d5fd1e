// Regular expressions from adapter_config.json: Python's semantics, in linear time. A repository may contain any expression; JavaScript's engine
// could hang the page.
import { pipeline, save_adapter, Tensor } from 'wattn';
import { UnsupportedError } from '../../web/core/errors.js';
import { Pattern, PatternLimit } from '../../web/source/pattern.js';
import { expectError, tiny } from './support.js';

const compile = (source: string) => new Pattern(source, 'here');

const kModules = [
  '',
  'query',
  'encoder.layer.0.attention.self.query',
  'encoder.layer.11.attention.self.key',
  'encoder.layer.1.output.dense',
  'model.layers.0.self_attn.q_proj',
  'model.layers.10.self_attn.v_proj',
  'model.layers.10.mlp.down_proj',
  'model.visual.blocks.3.attn.qkv',
  'lm_head',
  'a-b c+d(e)[f]{2}',
  'aaaa',
  'ab.ab.ab',
  'x\n',
  'x\ny',
  'emoji.\ud83c\udf5e.1',
];

/** As published adapters have them (PEFT's documentation, unsloth's and ms-swift's files), and each part of the syntax. */
const kOrdinary = [
  'query',
  '.*\\.self\\.(query|key)|.*\\.1\\.output\\.dense',
  '.*(query|key|value)',
  '.*\\.(q_proj|v_proj|lm_head)$',
  '^(?!.*visual).*(?:q_proj|v_proj|qkv)$',
  '^(model\\.layers(?=\\.).*\\.(q_proj|down_proj))$',
  '(?:.*?(?:language|text|layers).*?(?:self_attn|attention|mlp).*?(?:q_proj|v_proj|down_proj).*?)|(?:\\bmodel\\.layers\\.[\\d]{1,}\\.(?:self_attn|mlp)\\.(?:(?:q_proj|v_proj)))',
  'model\\.layers\\.(?:[0-9]|1[0-5])\\.self_attn\\.[qv]_proj',
  'layer\\.(\\d+)',
  'encoder\\.layer\\.\\d{2}\\..*',
  'encoder\\.layer\\.\\d{2,}\\..*',
  '.*\\.layers?\\.\\d{1,3}\\..*',
  '.*(?<!visual)\\.blocks\\.\\d+\\..*',
  '[^.]*(\\.[^.]*){5}',
  '(\\w+\\.)*\\w+',
  '[a-z_]+',
  '[\\w.-]+',
  '[^\\d]+',
  '[]a]*',
  'a*?',
  'a+?a',
  'a{2}a{0,5}',
  'a{,4}',
  'a{1,2}?aa',
  '(a|ab)(\\.ab|b\\.ab)*',
  '(?:|a)+',
  '(a*)*',
  '((a?)*)*b?',
  'a-b c\\+d\\(e\\)\\[f\\]\\{2\\}',
  'a-b c\\+d\\(e\\)\\[f\\]{2}',
  'x.y',
  'x$',
  'x\\s?y?',
  '\\S+',
  '\\D*',
  '\\W*',
  '.*\\By.*',
  '^.*$',
  '(?=.*query)(?!.*\\.1\\.).*self.*',
  '(?=(?!x)[a-z])(?=.*\\.0\\.)[\\w.]+',
  '.*\\..*\\.1',
  '',
];

/** What JavaScript writes in another way, with a text's end as Python has it. */
const inJavaScript = (source: string, all: boolean) =>
  new RegExp(`^(?:${source.replace('{,', '{0,').replace('[]a]', '[\\]a]').replace('$', '(?=\\n?(?![^]))')})${all ? '(?![^])' : ''}`, 'u'); // prettier-ignore

describe('patterns', () => {
  it.each(kOrdinary)('match as regular expressions do: %s', (source) => {
    const pattern = compile(source);
    for (const module of kModules) {
      expect([module, pattern.isFullMatch(module)]).toEqual([
        module,
        inJavaScript(source.replace(/-\]/, '\\-]'), true).test(module),
      ]);
      const found = inJavaScript(source.replace(/-\]/, '\\-]'), false).exec(module);
      const match = pattern.match(module);
      expect([module, match !== undefined]).toEqual([module, found !== null]);
      // Where an empty part repeats itself, Python and JavaScript forget other groups.
      if (!/\*\)\*|\?\)\*|\|a\)\+/.test(source)) expect([module, match?.group]).toEqual([module, found?.[1]]);
    }
  });

  it('read characters as Python does', () => {
    expect(compile('\\w+').isFullMatch('\u00e9t\u00e9_\u0663')).toBe(true);
    expect(compile('\\d+').isFullMatch('\u0663')).toBe(true);
    expect(compile('\\s+').isFullMatch(' \n\u00a0\u2003\x1c\x85')).toBe(true);
    expect(compile('\\s').isFullMatch('\ufeff')).toBe(false);
    expect(compile('..').isFullMatch('\ud83c\udf5e.')).toBe(true);
    expect(compile('[\ud83c\udf5d-\ud83c\udf5f]').isFullMatch('\ud83c\udf5e')).toBe(true);
  });

  it('have flags at the beginning', () => {
    expect(compile('(?i).*\\.(Query|[k-l]EY)').isFullMatch('a.QUERY')).toBe(true);
    expect(compile('(?i).*\\.(Query|[k-l]EY)').isFullMatch('a.Key')).toBe(true);
    expect(compile('(?i)[^a]').isFullMatch('A')).toBe(false);
    expect(compile('[^a]').isFullMatch('A')).toBe(true);
    expect(compile('(?s)x.y').isFullMatch('x\ny')).toBe(true);
    expect(compile('(?m)x$.y').isFullMatch('x\ny')).toBe(false);
    expect(compile('(?ms)x$.^y').isFullMatch('x\ny')).toBe(true);
  });

  it('find the layer that backtracking would find', () => {
    const layer = (place: string, module: string) => compile(`.*\\.${place}\\.(\\d+)\\.`).match(module)?.group;
    expect(layer('[^.]*', 'encoder.layer.3.output.1.dense')).toBe('1');
    expect(layer('layer', 'encoder.layer.3.output.1.dense')).toBe('3');
    expect(layer('(?:q.*|b)', 'm.q.b.1.c.2.d')).toBe('1');
    expect(layer('(?:q.*?)', 'm.q.b.1.c.2.d')).toBe('1');
    expect(layer('(?:q.*)', 'm.q.b.1.c.2.d')).toBe('2');
    expect(layer('blocks', 'm.layers.1.c')).toBeUndefined();
  });

  it.each([
    ['(', 1], ['a)', 1], ['[', 1], ['a**', 1], ['*a', 1], ['a{2}{3}', 1], ['a++', 1], ['(?>a)', 1], ['(a)\\1', 1], ['(?P<n>a)(?P=n)', 1], ['a(?i)', 1], ['(?x)a', 1],
    ['(?<n>a)', 1], ['(?(1)a|b)', 1], ['a{3,2}', 1], ['\\q', 1], ['\\', 1], ['[b-a]', 1], ['[\\d-z]', 1], ['^*', 1], ['(?P<>a)', 1], ['\\p{L}', 1],
    ['('.repeat(200) + ')'.repeat(200), 1], ['(?:'.repeat(1e5), 1], ['a'.repeat(1e6), 1], ['(a{1000}){1000}', 1], ['((){999999999}){999999999}', 1],
    ['a{99999999999999999999}', 1], ['(?:(?:(?:(?:){1000}){1000}){1000}){1000}', 1], ['{'.repeat(1e6), 1], ['a|'.repeat(1e6), 1],
  ])('that are not understood are refused by name: %.40s', (source) => {
    const begin = process.cpuUsage();
    expect(() => compile(source as string)).toThrow(UnsupportedError);
    expect(() => compile(source as string)).toThrow(/^here: expected .*, found '/);
    const { user, system } = process.cpuUsage(begin);
    expect(user + system).toBeLessThan(2e6);
  }); // prettier-ignore

  // Each takes a backtracking engine years, or at least minutes.
  it.each([
    '(a+)+$',
    '(a+)+b',
    '(a*)*b',
    '(a|a)*b',
    '(a|aa)+b',
    '([a-z]+)*\\.b',
    '(.*)*b',
    '(.*a){20}b',
    '(.*a){12}.*b',
    '(?:a?){60}a{60}b',
    '(\\w+\\d?)+b',
    '^(([a-z])+.)+[A-Z]([a-z])+b',
    '(?=(a+)+b)a*',
    '(?!(a+)+b)(a+)+b',
    '(?<=(a+)+)(a+)+b',
    '((a{1,10}){1,10}){1,10}b',
    '.*.*.*.*.*.*.*.*b',
    '(?:(?:(?:a*)*)*)*b',
  ])('take linear time: %s', (source) => {
    const isMatch = source === '(a+)+$';
    const cost = (length: number) => {
      const limit = new PatternLimit();
      const before = limit.left;
      const pattern = new Pattern(source, 'here', limit);
      expect(pattern.isFullMatch('a'.repeat(length))).toBe(isMatch);
      expect(pattern.isFullMatch(`${'a'.repeat(length)}!`)).toBe(false);
      expect(pattern.match(`${'a'.repeat(length)}!`)).toBeUndefined();
      return before - limit.left;
    };
    const [once, twice] = [cost(500), cost(1000)];
    expect(twice).toBeLessThan(2.1 * once);
  });

  it('together end, however many there are', () => {
    const limit = new PatternLimit();
    limit.left = 1e6;
    const pattern = new Pattern('b(a|aa)+', 'here', limit);
    expect(() => {
      for (let i = 0; i < 1e6; ++i) pattern.isFullMatch('a'.repeat(100));
    }).toThrow("here: expected regular expressions that take less time, found 'b(a|aa)+'");
  });
});

describe('an adapter from a stranger', () => {
  const module = `encoder.layer.0.attention.self.${'a'.repeat(60)}`;
  const kHostile = '(.*a+)+$(?=x)|(a|aa)+b|([a-z.0-9]+)+!';
  const zeros = (...dims: [number, number]) => new Tensor('float32', new Float32Array(dims[0] * dims[1]), dims);

  it.each(['target_modules', 'exclude_modules', 'rank_pattern', 'alpha_pattern', 'layers_pattern'])(
    'ends soon: %s',
    async (field) => {
      const value = field.startsWith('layers') ? [kHostile] : field.endsWith('pattern') ? { [kHostile]: 2 } : kHostile;
      const tensors = { [`${module}.lora_A.weight`]: zeros(2, 4), [`${module}.lora_B.weight`]: zeros(4, 2) };
      const config = {
        r: 2,
        lora_alpha: 4,
        target_modules: ['a'.repeat(60)],
        layers_to_transform: field.startsWith('layers') ? [0] : null,
        [field]: value,
      };
      const begin = process.cpuUsage();
      const said = await save_adapter(tensors, config).catch((error: unknown) => error);
      const { user, system } = process.cpuUsage(begin);
      expect(user + system).toBeLessThan(3e6);
      if (said instanceof Error) expect(said.message).toMatch(/expected a module that target_modules of adapter_config.json names/);
    else await expectError(pipeline('feature-extraction', tiny, { adapter: Object.fromEntries(said as Map<string, Uint8Array>) }), 'ModelFormatError', /adapter/); // prettier-ignore
    },
  );
});
