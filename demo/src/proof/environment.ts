// Where the proof runs: browser, cores, and what may disturb it.

export interface Environment {
  browser: string;
  platform: string;
  cores: number;
  /** Whether threads can share memory here. */
  isolated: boolean;
}

const kBrowsers: [name: string, sign: RegExp][] = [
  ['Edge', /Edg\/([\d.]+)/],
  ['Opera', /OPR\/([\d.]+)/],
  ['Firefox', /Firefox\/([\d.]+)/],
  ['Chrome', /Chrome\/([\d.]+)/],
  ['Safari', /Version\/([\d.]+).*Safari/],
];

const kPlatforms: [name: string, sign: RegExp][] = [
  ['Android', /Android/],
  ['iOS', /iPhone|iPad/],
  ['Windows', /Windows/],
  ['macOS', /Macintosh/],
  ['Linux', /Linux/],
];

export function environmentHere(): Environment {
  const { userAgent } = navigator;
  const [browser, sign] = kBrowsers.find(([, sign]) => sign.test(userAgent)) ?? ['a browser', /()/];
  const version = sign.exec(userAgent)?.[1]?.split('.')[0] ?? '';
  return {
    browser: `${browser} ${version}`.trim(),
    platform: kPlatforms.find(([, sign]) => sign.test(userAgent))?.[0] ?? 'unknown system',
    cores: navigator.hardwareConcurrency ?? 1,
    isolated: globalThis.crossOriginIsolated && 'SharedArrayBuffer' in globalThis,
  };
}

/** Only Chromium has it. */
type WithBattery = Navigator & { getBattery?: () => Promise<{ charging: boolean; level: number }> };

/** Watches for what makes measurements worse, until the signal ends; `found` gets each sentence once. */
export async function watchDisturbances(found: (sentence: string) => void, signal: AbortSignal): Promise<void> {
  const hidden = () => {
    if (document.hidden) found('The page was in the background for some time. Browsers slow such pages down.');
  };
  hidden();
  document.addEventListener('visibilitychange', hidden, { signal });
  const battery = await (navigator as WithBattery).getBattery?.().catch(() => undefined);
  if (battery?.charging === false && !signal.aborted) found('The machine runs on its battery. Many are slower then.');
}
