// `dtype: 'native'` stores exactly the numbers that wattn multiplies with in q8, for every family: the packed file gives the same bits as the
// original.
import { join } from 'node:path';
import { packModel } from 'wattn';
import { goldens } from './support.js';
import { answerOf, kFamilies, wideFiles } from './wide.js';

describe.each(Object.entries(kFamilies))("dtype: 'native' of an %s", (kind, folders) => {
  it.each(folders)('has the bits of q8: %s', async (folder) => {
    const files = wideFiles(join(goldens, folder));
    const bytes = await packModel(files, { dtype: 'native' });
    // Most of it is in 8 bits. GPT-2 stores matrices by columns, which are no groups; experts are no matrices.
    // Inside its layers, this MobileBERT has rows of 96, which are no whole groups.
    const ratio = bytes.length / (files.get('model.safetensors') as Uint8Array).length;
    expect([ratio, ratio < 0.6]).toEqual([ratio, !/gpt2|moe|mobilebert/.test(folder)]);
    expect(await answerOf(kind, { 'model.gguf': bytes })).toEqual(await answerOf(kind, files));
  });
});
