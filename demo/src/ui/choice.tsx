// One of a few, side by side: radio buttons in the dress of buttons.

interface ChoiceProps<T extends string> {
  label: string;
  value: T;
  options: readonly (readonly [value: T, name: string])[];
  onChange: (value: T) => void;
}

export function Choice<T extends string>({ label, value, options, onChange }: ChoiceProps<T>) {
  return (
    <div class="choice" role="radiogroup" aria-label={label}>
      {options.map(([option, name]) => (
        <label key={option} class={option === value ? 'is-on' : undefined}>
          <input type="radio" class="visually-hidden" name={label} checked={option === value} onChange={() => onChange(option)} />
          {name}
        </label>
      ))}
    </div>
  );
}
