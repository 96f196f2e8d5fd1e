// What a form is to a model: a JSON Schema that its values satisfy, a prompt that asks for them, and values that are put into it.

/** Fields that a person fills in: what is secret, a file, or a box that must be ticked. */
const isOwn = ({ type, required }) =>
  /^(hidden|password|file|submit|button|reset|image|fieldset|output)$/.test(type) || (type === 'checkbox' && required);

/** The controls of each name, in the form's order. */
export function fieldsOf(form) {
  const fields = new Map();
  for (const control of form.elements) {
    if (!control.name || control.disabled || isOwn(control)) continue;
    fields.set(control.name, [...(fields.get(control.name) ?? []), control]);
  }
  return fields;
}

export const labelOf = ([control]) =>
  (control.type === 'radio'
    ? control.closest('fieldset').querySelector('legend')
    : control.labels[0].querySelector('.label')
  ).textContent.trim();

/** Texts that do not come before a limit, or not after it. All have the limit's form, such as 2027-05-14. */
function bound(limit, isLeast) {
  const ways = [...limit].flatMap((c, i) => {
    const beyond = isLeast ? `[${Number(c) + 1}-9]` : `[0-${Number(c) - 1}]`;
    return /\d/.test(c) && c !== (isLeast ? '9' : '0') ? [`${limit.slice(0, i)}${beyond}.*`] : [];
  });
  return { pattern: `^(${[...ways, limit].join('|')})$` };
}

const kForms = {
  date: [{ format: 'date' }],
  time: [{ pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$' }],
  month: [{ pattern: '^[0-9]{4}-(0[1-9]|1[0-2])$' }],
  email: [{ format: 'email' }],
  url: [{ format: 'uri' }],
  textarea: [{ pattern: '^[^\\s]([^]*[^\\s])?$' }],
  text: [{ pattern: '^[^\\s](.*[^\\s])?$' }], // one line, not blank
};

function textSchema({ type, pattern, minLength, maxLength, min, max }) {
  const allOf = [...(kForms[type] ?? kForms.text)];
  if (min) allOf.push(bound(min, true));
  if (max) allOf.push(bound(max, false));
  if (pattern) allOf.push({ pattern: `^(?:${pattern})$` });
  return { type: 'string', allOf, ...(minLength > 0 && { minLength }), ...(maxLength > 0 && { maxLength }) };
}

function numberSchema({ min, max, step }) {
  const by = step === 'any' ? undefined : Number(step || 1);
  return {
    type: Number.isInteger(by) && Number.isInteger(Number(min)) ? 'integer' : 'number',
    ...(min !== '' && { minimum: Number(min) }),
    ...(max !== '' && { maximum: Number(max) }),
    ...(by && by !== 1 && Number(min) === 0 && { multipleOf: by }),
  };
}

/** What can be chosen in a list, or among radio buttons. */
const choicesOf = (controls) =>
  (controls[0].options ? [...controls[0].options] : controls).map(({ value }) => value).filter((value) => value !== '');

function schemaOfField(controls) {
  const [{ type, required }] = controls;
  if (type === 'checkbox') return { type: 'boolean' };
  if (type === 'select-multiple')
    return { type: 'array', items: { enum: choicesOf(controls) }, maxItems: choicesOf(controls).length };
  if (/^(radio|select-one)$/.test(type)) return { enum: required ? choicesOf(controls) : [...choicesOf(controls), null] };
  const schema = /^(number|range)$/.test(type) ? numberSchema(controls[0]) : textSchema(controls[0]);
  return required ? schema : { anyOf: [schema, { type: 'null' }] };
}

/** The schema of what can stand in the form now. What is not required may be null. */
export function schemaOf(form) {
  const fields = fieldsOf(form);
  const properties = Object.fromEntries([...fields].map(([name, controls]) => [name, schemaOfField(controls)]));
  return { type: 'object', properties, required: [...fields.keys()], additionalProperties: false };
}

const kHints = {
  date: 'YYYY-MM-DD',
  time: 'HH:MM',
  month: 'YYYY-MM',
  checkbox: 'true or false',
  number: 'a number',
  range: 'a number',
};

/** A chat that asks for the values of a text. A small model reads labels; the schema, which the answer is held to, would only be longer. */
export function promptOf(form, text) {
  const lines = [...fieldsOf(form)].map(([name, controls]) => {
    const [{ type, required }] = controls;
    const choices = /^(radio|select)/.test(type) ? `one of ${choicesOf(controls).join(', ')}` : kHints[type];
    const about = [choices, !required && type !== 'checkbox' && 'null if it is not said'].filter(Boolean).join(', ');
    return `${name}: ${labelOf(controls)}${about && ` (${about})`}`;
  });
  const content = `Fill in a form from a message. Answer with JSON.\n\nThe form:\n${lines.join('\n')}\n\nThe message:\n${text}`;
  return [{ role: 'user', content }];
}

/** Fields that take whole values alone. */
const kWhole = { date: /^\d{4}-\d\d-\d\d$/, time: /^\d\d:\d\d$/, month: /^\d{4}-\d\d$/ };

/** Puts a value that may still be unfinished into a field. */
export function setField(controls, value) {
  const [control] = controls;
  if (control.type === 'checkbox') control.checked = value === true;
  else if (control.type === 'radio') for (const each of controls) each.checked = each.value === value;
  else if (control.type === 'select-multiple')
    for (const each of control.options) each.selected = Boolean(value?.includes(each.value));
  else if (!(control.type in kWhole) || kWhole[control.type].test(value)) control.value = value ?? '';
}
