// <wattn-search> in React: what is an attribute is one, the rest is set once the element is there. src: the folder of a static index; index: any other one.
import { useEffect, useRef } from 'react';

export function SearchBox({ index, texts, onSelect, ...attributes }) {
  const box = useRef(null);
  useEffect(() => void import('wattn/search-element'), []); // there are no elements on a server
  useEffect(() => {
    let isGone = false;
    customElements.whenDefined('wattn-search').then(() => {
      if (isGone) return;
      if (index) box.current.index = index;
      if (texts) box.current.texts = texts;
    });
    return () => {
      isGone = true;
    };
  }, [index, texts]);
  useEffect(() => {
    const element = box.current;
    if (!onSelect) return undefined;
    element.addEventListener('wattn-select', onSelect); // preventDefault() keeps the page: a router may go there instead
    return () => element.removeEventListener('wattn-select', onSelect);
  }, [onSelect]);
  return <wattn-search ref={box} {...attributes} />;
}
