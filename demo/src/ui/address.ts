// The address: #panel?name=value&model=.. What a panel shows is in it, so that a link shows the same to others.

export interface Address {
  panel: string;
  params: URLSearchParams;
}

export function readAddress(hash = location.hash): Address {
  const [panel = '', query = ''] = hash.replace(/^#/, '').split(/\?(.*)/s);
  return { panel, params: new URLSearchParams(query) };
}

/** Changes the address without a step in the browser's history. */
export function writeAddress({ panel, params }: Address): void {
  const query = params.toString();
  const hash = `#${panel}${query && `?${query}`}`;
  if (hash !== location.hash) history.replaceState(history.state, '', hash);
}
