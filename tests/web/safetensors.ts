// Writing and changing safetensors files, for tests.

export interface TensorEntry {
  dtype: string;
  shape: number[];
  bytes: Uint8Array;
}

export type Tensors = Map<string, TensorEntry>;

export function readTensors(file: Uint8Array): Tensors {
  const length = Number(new DataView(file.buffer, file.byteOffset).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(file.subarray(8, 8 + length)));
  delete header.__metadata__;
  const data = file.subarray(8 + length);
  return new Map(
    Object.entries<any>(header).map(([name, { dtype, shape, data_offsets }]) => [
      name,
      { dtype, shape, bytes: data.slice(...data_offsets) },
    ]),
  );
}

export function writeTensors(tensors: Tensors): Uint8Array {
  const header: Record<string, unknown> = {};
  let at = 0;
  for (const [name, { dtype, shape, bytes }] of tensors) header[name] = { dtype, shape, data_offsets: [at, (at += bytes.length)] };
  const json = new TextEncoder().encode(JSON.stringify(header));
  const file = new Uint8Array(8 + json.length + at);
  new DataView(file.buffer).setBigUint64(0, BigInt(json.length), true);
  file.set(json, 8);
  let place = 8 + json.length;
  for (const { bytes } of tensors.values()) {
    file.set(bytes, place);
    place += bytes.length;
  }
  return file;
}

export function changed(file: Uint8Array, change: (tensors: Tensors) => void): Uint8Array {
  const tensors = readTensors(file);
  change(tensors);
  return writeTensors(tensors);
}

export const withoutTensors = (file: Uint8Array, names: RegExp) =>
  changed(file, (tensors) => [...tensors.keys()].filter((name) => names.test(name)).forEach((name) => tensors.delete(name)));

export function floats(shape: number[], value: (i: number) => number): TensorEntry {
  const count = shape.reduce((size, dim) => size * dim, 1);
  return { dtype: 'F32', shape, bytes: new Uint8Array(Float32Array.from({ length: count }, (_, i) => value(i)).buffer) };
}
