// Files of safetensors that say their own SHA-256, so that damage is reported and not read. It is the first entry of their metadata, which other
// readers of the format ignore, and the hash of all bytes after it. Before it are constants and the length of the header, which must fit
// the places of the tensors.
import { ModelFormatError } from '../core/errors.js';
import { parseJson } from '../core/json.js';
import type { TensorBase } from '../core/tensor_base.js';
import { platform } from './platform.js';
import { headerBytes, kPrefixBytes, save_safetensors } from './safetensors.js';
import { Sha256, sha256Of } from './sha256.js';

const kKey = '{"__metadata__":{"sha256":"';
const kBegin = kPrefixBytes + kKey.length;
const kEnd = kBegin + 64;

const text = (bytes: Uint8Array, begin: number, end: number) => new TextDecoder().decode(bytes.slice(begin, end));

function damaged(file: string, expected: string, found: string): ModelFormatError {
  return new ModelFormatError(
    `${file}: expected bytes with the SHA-256 ${expected}, as the file says, found ${found}: it is damaged`,
  );
}

/** The bytes of a file with these tensors, with its hash. metadata: further entries. */
export async function saveSealed(tensors: Record<string, TensorBase>, metadata: Record<string, string> = {}): Promise<Uint8Array> {
  const bytes = save_safetensors(tensors, { metadata: { sha256: '0'.repeat(64), ...metadata } });
  bytes.set(new TextEncoder().encode(await sha256Of(bytes.subarray(kEnd))), kBegin);
  return bytes;
}

/** The hash that a file says; undefined: none. Files of other programs have none. */
export const sealOf = (bytes: Uint8Array): string | undefined =>
  text(bytes, kPrefixBytes, kBegin) === kKey ? text(bytes, kBegin, kEnd) : undefined;

/** A ModelFormatError if a file does not have the hash that it says. The metadata of one that has; undefined: it says none. */
export async function checkSealed(bytes: Uint8Array, file: string): Promise<Record<string, unknown> | undefined> {
  const expected = sealOf(bytes);
  if (expected === undefined) return undefined;
  const found = await sha256Of(bytes.subarray(kEnd));
  if (found !== expected) throw damaged(file, expected, found);
  const header = text(bytes, kPrefixBytes, kPrefixBytes + headerBytes(bytes, bytes.length, file));
  try {
    return (parseJson(header) as { __metadata__: Record<string, unknown> }).__metadata__;
  } catch (cause) {
    throw new ModelFormatError(`${file}: expected a header of JSON, found other text: it is damaged`, { cause });
  }
}

/** The same of a file that arrives in chunks. */
export class SealCheck {
  private first = new Uint8Array(0);
  private expected: string | undefined;
  private hash: { update(chunk: Uint8Array): void; hex(): string } | undefined;

  constructor(private readonly file: string) {}

  push(chunk: Uint8Array): void {
    if (this.hash) return this.hash.update(chunk);
    if (this.first.length >= kEnd) return; // it says none
    const { first } = this;
    this.first = new Uint8Array(first.length + chunk.length);
    this.first.set(first);
    this.first.set(chunk, first.length);
    if (this.first.length < kEnd) return;
    this.expected = sealOf(this.first);
    if (this.expected === undefined) return;
    this.hash = platform.sha256?.() ?? new Sha256();
    this.hash.update(this.first.subarray(kEnd));
  }

  end(): void {
    const found = this.hash?.hex();
    if (this.expected !== undefined && found !== this.expected) throw damaged(this.file, this.expected, found as string);
  }
}
