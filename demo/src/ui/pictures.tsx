// A card's picture to take along, as PNG or SVG.
import { svgOf } from './drawn.js';
import { savePng, saveSvg } from './picture.js';

interface PicturesProps {
  /** The file's name, without its ending. */
  name: string;
  /** Stands above the picture. */
  title?: string;
  /** Lines below it. */
  notes?: readonly string[];
  /** The picture, where it is not what the card's element with data-picture shows. */
  svg?: () => string;
}

const kNote = 'computed in the browser with wattn';

export function Pictures({ name, title = '', notes = [], svg }: PicturesProps) {
  const save = (how: (name: string, svg: string) => unknown) => (event: Event) => {
    const shown = (event.currentTarget as Element).closest('.panel')?.querySelector('[data-picture]');
    if (svg || shown) void how(name, svg ? svg() : svgOf(shown as Element, title, [...notes, kNote]));
  };
  return (
    <div class="pictures">
      <button type="button" class="secondary outline small" onClick={save(savePng)}>
        Save as PNG
      </button>
      <button type="button" class="secondary outline small" onClick={save(saveSvg)}>
        Save as SVG
      </button>
    </div>
  );
}
