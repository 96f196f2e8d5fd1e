// One token's attention to take along, as PNG or SVG.
import { savePng, saveSvg } from '../ui/picture.js';
import type { Link } from './kinds.js';
import { poster } from './poster.js';
import type { Inside } from './use_inside.js';

export function Pictures({ inside, link }: { inside: Inside; link: Link }) {
  return (
    <div class="pictures">
      <button type="button" class="secondary outline small" onClick={() => void savePng('attention', poster(inside, link))}>
        Save as PNG
      </button>
      <button type="button" class="secondary outline small" onClick={() => saveSvg('attention', poster(inside, link))}>
        Save as SVG
      </button>
    </div>
  );
}
