// The platform of the edge (Cloudflare's workerd and its kind), used instead of platform.ts: no files, no page, no store that lists what it has.
import { UnsupportedError } from '../core/errors.js';
import { urlSource } from './fetch_source.js';
import type { Platform } from './source.js';

export const platform: Platform = {
  openPlace(place, local, access) {
    if (!URL.canParse(place))
      throw new UnsupportedError(
        `model: '${place}' is a path, and there are no files here: pass a URL, or the bytes by their names`,
      );
    return urlSource(new URL(place), place, local, access);
  },
  ownFile(file) {
    throw new UnsupportedError(
      `model: ${file} is not in this bundle, and there are no files here: name a model by its URL, or pass its bytes by their names`,
    );
  },
  installed: () => undefined,
  store: () => undefined,
  base: () => undefined,
};
