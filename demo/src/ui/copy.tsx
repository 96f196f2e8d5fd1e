// Buttons that put something on the clipboard and say that they did.
import { useEffect, useState } from 'preact/hooks';

interface CopyProps {
  /** What the button says. */
  label: string;
  text: () => string;
  /** How a screen reader names what is copied, where the label does not. */
  title?: string;
  /** What it says once copied. */
  copied?: () => string;
}

const kShown = 2000; // ms that 'Copied' is shown

/** Where the clipboard is refused, the text is selected in a field to copy by hand. */
export function CopyButton({ label, text, title, copied = () => 'Copied' }: CopyProps) {
  const [state, setState] = useState<'copied' | 'refused'>();
  useEffect(() => {
    if (state !== 'copied') return;
    const timer = setTimeout(() => setState(undefined), kShown);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text());
      setState('copied');
    } catch {
      setState('refused');
    }
  };
  return (
    <>
      <button type="button" class="secondary outline small" onClick={() => void copy()} {...(title && { title })}>
        {state === 'copied' ? copied() : label}
      </button>
      {state === 'refused' && (
        <textarea
          readOnly
          rows={6}
          class="copy-by-hand"
          aria-label={`${label}: copy it by hand`}
          value={text()}
          ref={(field) => field?.select()}
        />
      )}
    </>
  );
}

/** A card's program: shown, and copied as it runs. */
export function CodeOf({ code }: { code: string }) {
  return (
    <details class="code-of">
      <summary>As code</summary>
      <div class="code-of-body">
        <pre tabIndex={0}>
          <code>{code}</code>
        </pre>
        <CopyButton label="Copy the code" text={() => code} />
      </div>
    </details>
  );
}
