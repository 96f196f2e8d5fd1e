// Files from torch.save: the same tensors as in torch, bit for bit, and every rejected file.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OpenFile } from '../../web/source/source.js';
import { readSafetensors } from '../../web/source/safetensors.js';
import { fuzz } from '../fuzz/torch_file_fuzz.js';
import { expectError, goldens } from './support.js';
import { converted, openBytes, p, stateDict, storage, tensor, text, torchFile, zip } from './torch_zip.js';

const folder = join(goldens, 'torch');
const fileOf = (name: string) => new Uint8Array(readFileSync(join(folder, name)));

/** Names, types, shapes and bytes, sorted by name. */
const listed = (safetensors: Uint8Array) =>
  readSafetensors(safetensors, 'safetensors')
    .map(({ name, dtype, shape, bytes }) => ({ name, dtype, shape, bytes: Buffer.from(bytes).toString('hex') }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));

describe('a file of torch.save', () => {
  for (const [name, same] of [['dtypes'], ['views'], ['parameters'], ['tied'], ['many'], ['old_order', 'many']] as const) {
    it(`has the tensors of torch.load: ${name}`, async () => {
      const expected = listed(fileOf(`${same ?? name}.safetensors`));
      for (const step of [1, 97, 1 << 20]) {
        for (const parts of [true, false]) expect(listed(await converted(fileOf(`${name}.bin`), step, parts))).toEqual(expected);
      }
    });
  }

  it('has those of a model, bit for bit', async () => {
    const model = new Uint8Array(readFileSync(join(goldens, 'bert-tiny/model/model.safetensors')));
    expect(listed(await converted(fileOf('pytorch_model.bin')))).toEqual(listed(model));
  });

  it('may have entries without ZIP64, a comment, and no tensors', async () => {
    expect(listed(await converted(torchFile(stateDict({}))))).toEqual([]);
    const state = stateDict({ a: tensor({ elements: 2, shape: [2], strides: [1] }) });
    const expected = [{ name: 'a', dtype: 'F32', shape: [2], bytes: '0001020304050607' }];
    for (const zip64 of [true, false]) {
      for (const comment of ['', 'made by hand']) {
        expect(listed(await converted(torchFile(state, { 0: 8 }, { zip64, comment })))).toEqual(expected);
      }
    }
  });

  it('may have attributes, the older call for a tensor, and storages that nothing uses', async () => {
    const old = p.call(
      p.global('torch._utils', '_rebuild_tensor'),
      p.tuple(storage({ elements: 1 }), p.int(0), p.tuple(p.int(1)), p.tuple(p.int(1))),
    );
    const pickle = [
      ...p.begin,
      ...p.hooks,
      0x28,
      ...text('a'),
      ...old,
      0x75,
      ...p.dict(text('_metadata'), p.hooks),
      0x62,
      ...p.end,
    ];
    expect(listed(await converted(torchFile(pickle, { 0: 4, 7: 100 }))).map(({ name }) => name)).toEqual(['a']);
  });
});

describe('a file that is none', () => {
  const cases: [what: string, bytes: Uint8Array, name: string, message: RegExp][] = [
    ['of before torch 1.6', fileOf('legacy.bin'), 'UnsupportedError', /the format from before torch 1\.6 \(load it with torch and save it again/],
    ['of TorchScript', fileOf('script.bin'), 'UnsupportedError', /found a TorchScript archive/],
    ['with a checkpoint of a training', fileOf('checkpoint.bin'), 'UnsupportedError', /'state_dict': expected a tensor, found a dict .*save model\.state_dict/],
    ['with a sparse tensor', fileOf('sparse.bin'), 'UnsupportedError', /found 'torch\._utils\._rebuild_sparse_tensor'/],
    ['with a whole module', fileOf('module.bin'), 'UnsupportedError', /found 'torch\.nn\.modules\.linear\.Linear'/],
    ['of HTML', Buffer.from('<!doctype html><p>sign in'), 'ModelFormatError', /from here, found HTML or XML/],
    ['of Git LFS', Buffer.from('version https://git-lfs.github.com/spec/v1\noid sha256:0'), 'ModelFormatError', /Git LFS pointer/],
    ['empty', new Uint8Array(), 'ModelFormatError', /expected a zip of torch\.save, found 0 bytes/],
    ['of a big-endian machine', bigEndian(), 'UnsupportedError', /byteorder: expected 'little', found 'big'/],
    ['a zip of others', zip([{ name: 'a.txt', bytes: new Uint8Array(3) }]), 'ModelFormatError', /expected one 'data\.pkl' in the zip, found 0/],
    ['with two pickles', zip(['a', 'b'].map((name) => ({ name: `${name}/data.pkl`, bytes: stateDict({}) }))), 'ModelFormatError', /data\.pkl' in the zip, found 2/],
  ]; // prettier-ignore
  for (const [what, bytes, name, message] of cases) {
    it(`is named: ${what}`, async () => {
      for (const parts of [true, false]) await expectError(converted(bytes, 100, parts), name, message);
    });
  }

  it('is refused at every length before its end', async () => {
    for (const name of ['tied.bin', 'old_order.bin']) {
      const bytes = fileOf(name);
      for (let length = 0; length < bytes.length; ++length) {
        await expectError(
          converted(bytes.subarray(0, length), 1 << 16, length % 2 === 0),
          'ModelFormatError',
          /^ModelFormatError: pytorch_model/,
        );
      }
    }
  });

  it('is refused if it ends while it is streamed', async () => {
    const bytes = fileOf('many.bin');
    for (const end of [0, 100, bytes.length / 2]) {
      const { openTorchFile } = await import('../../web/source/torch_file.js');
      const chunks = async function* () {
        yield bytes.slice(0, end);
      };
      const { part } = openBytes(bytes, 1 << 16, true) as Required<OpenFile>;
      const open = { size: bytes.length, part, chunks };
      const work = async () => {
        for await (const _ of (await openTorchFile('a.bin', 'here', open)).chunks());
      };
      await expectError(work, 'ModelFormatError', /a\.bin: expected \d+ bytes, found \d+ \(cut off\)/);
    }
  });
});

function bigEndian(): Uint8Array {
  const pickle = { name: 'm/data.pkl', bytes: stateDict({}) };
  return zip([pickle, { name: 'm/byteorder', bytes: new TextEncoder().encode('big') }]);
}

describe('a pickle', () => {
  const refused = (pickle: number[], message: RegExp, name = 'ModelFormatError') =>
    expectError(converted(torchFile(pickle, { 0: 8 })), name, message);
  const kKnown = '()]}t\x85\x86\x87N\x88\x89KMJ\x8aGXcQRsuaeqrhjb.';

  it('has no opcodes but those of state dicts', async () => {
    let others = 0;
    for (let code = 0; code < 256; ++code) {
      if (kKnown.includes(String.fromCharCode(code))) continue;
      const hex = code.toString(16).padStart(2, '0');
      await refused(
        [...p.begin, 0x7d, code, 0x2e],
        new RegExp(`byte 3: expected an opcode of a state dict of torch\\.save, found 0x${hex}`),
        'UnsupportedError',
      );
      ++others;
    }
    expect(others).toBe(256 - kKnown.length);
  });

  it('has no names but those of tensors', async () => {
    const names = [
      'os.system', 'posix.system', 'builtins.eval', 'builtins.exec', '__builtin__.eval', 'builtins.getattr', 'subprocess.Popen', 'sys.exit', 'torch.load',
      'torch.FloatTensor', 'torch.nn.Linear', 'torch.storage._load_from_bytes', 'torch._utils._rebuild_qtensor', 'torch._utils._rebuild_tensor_v3',
      'torch._utils._rebuild_parameter_with_state', 'torch._utils', 'torch.UntypedStorage', 'torch.jit._unpickler.build_intlist', 'collections.defaultdict',
      'collections.OrderedDict.x', 'numpy.core.multiarray._reconstruct', 'numpy.ndarray', 'constructor.constructor', '__proto__.toString', '.', 'torch.',
    ]; // prettier-ignore
    for (const name of names) {
      const dot = name.lastIndexOf('.');
      const pickle = [
        ...p.begin,
        ...p.global(name.slice(0, dot), name.slice(dot + 1)),
        ...p.tuple(text('touch /tmp/x')),
        0x52,
        0x2e,
      ];
      const error = await refused(pickle, /expected a name of a state dict/, 'UnsupportedError');
      expect(error.message).toContain(`found '${name}'`);
    }
  });

  it('is followed to its end, with every value where it belongs', async () => {
    const empty = [...p.begin, 0x7d];
    const a = tensor({ elements: 2, shape: [2], strides: [1] });
    await refused([], /expected a pickle of protocol 2, found 0 other bytes/, 'UnsupportedError');
    await refused([0x80, 4, 0x7d, 0x2e], /found protocol 4/, 'UnsupportedError');
    await refused([...p.begin, 0x2e], /expected a value on the stack, found none/);
    await refused(empty, /expected 1 more bytes, found 0/);
    await refused([...empty, 0x2e, 0x2e], /found 0 more values and 1 more bytes/);
    await refused([...empty, 0x7d, 0x2e], /found 1 more values and 0 more bytes/);
    await refused([...empty, 0x28, 0x2e], /expected a value on the stack/);
    await refused([...empty, 0x75, 0x2e], /expected a mark, found none/);
    await refused([...empty, 0x28, ...text('a'), 0x75, 0x2e], /expected a dict with pairs/);
    await refused([...p.begin, 0x5d, 0x4e, 0x4e, 0x73, 0x2e], /expected a dict with pairs, found a list/);
    await refused([...empty, 0x4e, 0x61, 0x2e], /expected a list, found a dict/);
    await refused([...p.begin, 0x68, 3, 0x2e], /expected a value remembered as 3, found none/);
    await refused([...p.begin, 0x71, 0, 0x2e], /expected a value to remember, found none/);
    await refused([...p.begin, 0x4e, 0x4e, 0x62, 0x2e], /expected a dict and its attributes, found None and None/);
    await refused([...p.begin, 0x4e, 0x29, 0x52, 0x2e], /expected a name and its arguments, found None and a tuple/);
    await refused(
      [...p.begin, ...p.call(p.global('collections', 'OrderedDict'), p.tuple(p.none)), 0x2e],
      /arguments of collections\.OrderedDict, found 1/,
    );
    await refused(
      [...p.begin, ...p.call(p.global('torch._utils', '_rebuild_parameter'), p.tuple(p.none, p.no, p.hooks)), 0x2e],
      /arguments of torch\._utils\._rebuild_parameter/,
    );
    await refused(
      [...p.begin, ...p.call(p.global('torch', 'FloatStorage'), p.tuple(p.int(2 ** 40))), 0x2e],
      /arguments of torch\.FloatStorage/,
    );
    await refused([...p.begin, ...text('x'), 0x51, 0x2e], /expected \('storage', class, key, device, elements\), found a string/);
    await refused([...p.begin, 0x58, 0xff, 0xff, 0xff, 0xff, 0x2e], /expected 4294967295 more bytes, found 1 \(cut off\)/);
    await refused([...p.begin, 0x58, 1, 0, 0, 0, 0xff, 0x2e], /expected UTF-8/);
    await refused(
      [...p.begin, 0x8a, 255, ...Array(255).fill(0x7f), 0x2e],
      /expected a number of at most 53 bits, found one of 255 bytes/,
    );
    await refused([...p.begin, ...Array(100_000).fill(0x28), 0x2e], /expected a value on the stack/);
    await refused([...p.begin, ...Array(100_000).fill(0x5d), 0x2e], /found 99999 more values/);
    await refused([...p.begin, ...a, 0x2e], /expected a dict of tensors, found a tensor/, 'UnsupportedError');
    await refused([...p.begin, ...p.dict(p.none, a), 0x2e], /expected the name of a tensor, found None/);
    await refused([...p.begin, ...p.dict(text('__metadata__'), a), 0x2e], /expected names of tensors, found '__metadata__'/);
  });

  it('that contains itself is refused', async () => {
    const itself = [...p.begin, 0x7d, 0x71, 0, ...text('a'), 0x68, 0, 0x73, 0x2e];
    await refused(itself, /'a': expected a tensor, found a dict/, 'UnsupportedError');
    const list = [...p.begin, 0x7d, ...text('a'), 0x5d, 0x71, 0, 0x68, 0, 0x61, 0x73, 0x2e];
    await refused(list, /'a': expected a tensor, found a list/, 'UnsupportedError');
  });

  it('describes views within their storages', async () => {
    const view = (shape: (number | bigint)[], strides: (number | bigint)[], more = {}) =>
      refused(
        [...p.begin, ...p.dict(text('a'), tensor({ elements: 2, shape, strides, ...more })), 0x2e],
        /expected (a view of the 2 elements|an offset, a shape)/,
      );
    await view([3], [1]);
    await view([2], [2]);
    await view([2], [1], { offset: 1 });
    await view([2], [1], { offset: 2 ** 53 - 1 });
    await view([-1], [1]);
    await view([2], [-1]);
    await view([2], []);
    await view([2 ** 40, 2 ** 40], [0, 0]);
    await view([2 ** 50], [2 ** 50]);
    await view(Array(65).fill(1), Array(65).fill(0));
  });

  it('may not repeat bytes without end', async () => {
    const wide = stateDict({ a: tensor({ elements: 2, shape: [1 << 20], strides: [0] }) });
    await expectError(
      converted(torchFile(wide, { 0: 8 })),
      'ModelFormatError',
      /at most 16 times the file's \d+ bytes of tensors, found 4194304/,
    );
    const one = tensor({ elements: 1 << 14, shape: [1 << 14], strides: [1] });
    const many = stateDict(Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`t${i}`, one])));
    await expectError(
      converted(torchFile(many, { 0: 4 << 14 })),
      'ModelFormatError',
      /16 times the file's \d+ bytes of tensors, found 6553600/,
    );
  });

  it('agrees with the storages in the zip', async () => {
    const a = { a: tensor({ elements: 2, shape: [2], strides: [1] }) };
    await expectError(converted(torchFile(stateDict(a))), 'ModelFormatError', /expected 'm\/data\/0' with 8 bytes, found none/);
    for (const size of [0, 7, 9]) {
      await expectError(
        converted(torchFile(stateDict(a), { 0: size })),
        'ModelFormatError',
        new RegExp(`with 8 bytes, found ${size}$`),
      );
    }
    const twice = stateDict({ ...a, b: tensor({ elements: 4, type: 'HalfStorage', shape: [4], strides: [1] }) });
    await expectError(
      converted(torchFile(twice, { 0: 8 })),
      'ModelFormatError',
      /storage '0' with 2 elements of F32, found 4 of F16/,
    );
    const escaping = stateDict({ a: tensor({ key: '../data.pkl', elements: 2, shape: [2], strides: [1] }) });
    await expectError(
      converted(torchFile(escaping, { 0: 8 })),
      'ModelFormatError',
      /'m\/data\/\.\.\/data\.pkl' with 8 bytes, found none/,
    );
  });
});

describe('a zip', () => {
  const pickle = { name: 'm/data.pkl', bytes: stateDict({ a: tensor({ elements: 2, shape: [2], strides: [1] }) }) };
  const data = { name: 'm/data/0', bytes: new Uint8Array(8) };
  const refused = async (bytes: Uint8Array, message: RegExp, name = 'ModelFormatError') => {
    for (const parts of [true, false]) await expectError(converted(bytes, 1 << 16, parts), name, message);
  };

  it('has no entries that are compressed or encrypted', async () => {
    const message = /'m\/data\/0': expected bytes that are neither compressed nor encrypted/;
    for (const method of [8, 12, 14, 93, 99]) await refused(zip([pickle, { ...data, method }]), message, 'UnsupportedError');
    await refused(zip([pickle, { ...data, flags: 1 }]), message, 'UnsupportedError');
    await refused(zip([pickle, { ...data, size: 1 << 30, packed: 8 }]), message, 'UnsupportedError');
  });

  it('has no entries that overlap, repeat or lie outside', async () => {
    for (const zip64 of [true, false]) {
      await refused(
        zip([pickle, { ...data, size: 1000 }], { zip64 }),
        /'m\/data\/0' to end before \d+, found 1000 bytes at \d+ \(an overlap\)/,
      );
      await refused(zip([pickle, data, { ...data, name: 'm/data/1', offset: 0 }], { zip64 }), /an overlap/);
      await refused(zip([pickle, data, { ...data, name: 'm/data/1', offset: 1 << 30 }], { zip64 }), /an overlap/);
    }
    await refused(zip([pickle, data, data]), /each name once in the directory/);
    await refused(zip([pickle, { ...data, offset: 1 }]), /an overlap/);
    const gap = zip([pickle, { ...data, bytes: new Uint8Array(99), size: 8, offset: 250 }]);
    await refused(gap, /expected 'm\/data\/0' with 8 bytes at 250, found another entry|an overlap/);
  });

  it('has a directory that is where and what it says', async () => {
    await refused(zip([pickle, data], { count: 3 }), /expected 3 entries in the directory, found 2/);
    await refused(zip([pickle, data], { count: 2 ** 31 }), /expected 2147483648 entries/);
    await refused(zip([pickle, data], { begin: 3 }), /entry in the directory of the zip|the directory of the zip before/);
    await refused(zip([pickle, data], { begin: 2n ** 60n }), /at most 53 bits, found 1152921504606846976/);
    await refused(zip([pickle, data], { length: 2 ** 40 }), /a directory of at most \d+ bytes, found 1099511627776/);
    await refused(zip([pickle, data], { length: 100_000 }), /the directory of the zip before \d+, found 100000 bytes/);
    await refused(zip([{ ...pickle, name: 'data.pkl' }]), /one 'data\.pkl' in the zip, found 0/);
  });
});

describe('damaged files', () => {
  it('become safetensors or end with an error, for 4000 of them', async () => {
    const { rounds, valid } = await fuzz(1, (round) => round < 4000);
    expect(rounds).toBe(4000);
    expect(valid).toBeGreaterThan(10);
    expect(valid).toBeLessThan(3000);
  });
});
