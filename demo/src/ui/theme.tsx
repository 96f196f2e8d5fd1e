// Light, dark, or as the system says. The choice is kept in this browser.
import { useState } from 'preact/hooks';

type Choice = 'auto' | 'light' | 'dark';

const kKey = 'wattn-demo-theme';
const kNext: Record<Choice, Choice> = { auto: 'light', light: 'dark', dark: 'auto' };
const kLabels: Record<Choice, string> = { auto: 'Auto', light: 'Light', dark: 'Dark' };
const kPaths: Record<Choice, string> = {
  auto: 'M12 3a9 9 0 0 0 0 18z M12 3a9 9 0 0 1 0 18',
  light:
    'M12 7a5 5 0 1 0 0 10 5 5 0 0 0 0-10zM12 1v2m0 18v2M4.2 4.2l1.4 1.4m12.8 12.8 1.4 1.4M1 12h2m18 0h2M4.2 19.8l1.4-1.4M18.4 5.6l1.4-1.4',
  dark: 'M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z',
};

const system = matchMedia('(prefers-color-scheme: dark)');

function saved(): Choice {
  try {
    const choice = localStorage.getItem(kKey);
    return choice === 'light' || choice === 'dark' ? choice : 'auto';
  } catch {
    return 'auto'; // storage is forbidden
  }
}

function show(choice: Choice): void {
  const dark = choice === 'dark' || (choice === 'auto' && system.matches);
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
}

/** Before the first paint. */
export function applyTheme(): void {
  show(saved());
  system.addEventListener('change', () => show(saved()));
}

export function ThemeButton() {
  const [choice, setChoice] = useState(saved);
  const turn = () => {
    const next = kNext[choice];
    try {
      if (next === 'auto') localStorage.removeItem(kKey);
      else localStorage.setItem(kKey, next);
    } catch {
      // then it lasts for this visit only
    }
    setChoice(next);
    show(next);
  };
  return (
    <button type="button" class="theme-button" onClick={turn} aria-label={`Colours: ${kLabels[choice]}. Change`}>
      <svg viewBox="0 0 24 24" aria-hidden="true">
        <path d={kPaths[choice]} />
        {choice === 'auto' && <path d="M12 3a9 9 0 0 0 0 18z" class="half" />}
      </svg>
      <span>{kLabels[choice]}</span>
    </button>
  );
}
