// Scores findings: exact spans for corpora, and coverage for redaction.

/** Kinds that identify a person, as marked in tests/fixtures/pii; those of the rules, in lower case, do so, too. */
export const kIdentifying = ['PER', 'ADDRESS', 'USERNAME', 'BIRTH_DATE', 'ID', 'EMAIL', 'PHONE'];
const kMarks = [...kIdentifying, 'ORG', 'LOC', 'IP'];
/** Judged by nobody: some count an IP address as personal, some do not. */
const kNeutral = ['IP', 'ip'];

const identifies = ({ label }) => kIdentifying.includes(label) || (label === label.toLowerCase() && !kNeutral.includes(label));

/** The texts of everyday.tsv: { kind, text, spans: [{ label, start, end }] }. */
export function readMarked(content) {
  return content
    .trimEnd()
    .split('\n')
    .map((line) => {
      const [kind, marked] = line.split('\t');
      const spans = [];
      let text = '';
      let at = 0;
      const whole = marked.replaceAll('\\n', '\n');
      for (const found of whole.matchAll(new RegExp(`\\[(${kMarks.join('|')}) ([^\\]]+)\\]`, 'g'))) {
        text += whole.slice(at, found.index);
        spans.push({ label: found[1], start: text.length, end: text.length + found[2].length });
        text += found[2];
        at = found.index + found[0].length;
      }
      return { kind, text: text + whole.slice(at), spans };
    });
}

const ratio = (a, b) => Math.round((1e4 * a) / Math.max(1, b)) / 1e4;
const measures = (right, said, there) => ({
  precision: ratio(right, said),
  recall: ratio(right, there),
  f1: ratio(2 * right, said + there),
});

const key = ({ label, start, end }) => `${label} ${start} ${end}`;

/** Exact spans with these labels, over all texts. */
export function exact(rows, found, labels) {
  let [right, said, there] = [0, 0, 0];
  rows.forEach(({ spans }, i) => {
    const wanted = new Set(spans.filter(({ label }) => labels.includes(label)).map(key));
    const own = new Set(found[i].filter(({ label }) => labels.includes(label)).map(key));
    there += wanted.size;
    said += own.size;
    for (const one of own) if (wanted.has(one)) ++right;
  });
  return measures(right, said, there);
}

const overlap = (a, b) => a.start < b.end && a.end > b.start;

/** Whether every letter and digit of a span lies in one of those found. */
function isCovered(text, span, found) {
  for (let i = span.start; i < span.end; ++i)
    if (/[\p{L}\p{N}]/u.test(text[i]) && !found.some(({ start, end }) => i >= start && i < end)) return false;
  return true;
}

/**
 * How well what identifies a person is found. Recall is the share of it that is wholly covered, precision the share of findings that touch
 * any of it. Also both for exact spans, whatever their label, and the recall of each label. isAny: findings of other labels count, too.
 */
export function identification(rows, found, isAny = false) {
  const counts = { covered: 0, touched: 0, there: 0, right: 0, said: 0, exact: 0 };
  const labels = {};
  const missed = [];
  const wrong = [];
  rows.forEach(({ text, spans }, i) => {
    const own = found[i].filter((one) => isAny || identifies(one));
    const wanted = spans.filter(({ label }) => kIdentifying.includes(label));
    const allowed = isAny ? spans : spans.filter(({ label }) => kIdentifying.includes(label) || kNeutral.includes(label));
    for (const span of wanted) {
      const is = isCovered(text, span, own);
      const row = (labels[span.label] ??= { covered: 0, there: 0 });
      ++row.there;
      ++counts.there;
      row.covered += Number(is);
      counts.covered += Number(is);
      counts.touched += Number(own.some((one) => overlap(one, span)));
      if (!is) missed.push({ label: span.label, text: text.slice(span.start, span.end) });
    }
    for (const one of own) {
      const touched = allowed.filter((span) => overlap(one, span));
      if (touched.length > 0 && touched.every(({ label }) => kNeutral.includes(label))) continue;
      ++counts.said;
      counts.right += Number(touched.length > 0);
      counts.exact += Number(touched.some(({ start, end }) => start === one.start && end === one.end));
      if (touched.length === 0) wrong.push({ label: one.label, text: text.slice(one.start, one.end) });
    }
  });
  const recalls = Object.fromEntries(
    Object.entries(labels).map(([label, { covered, there }]) => [label, [ratio(covered, there), there]]),
  );
  return {
    recall: ratio(counts.covered, counts.there),
    precision: ratio(counts.right, counts.said),
    recall_touched: ratio(counts.touched, counts.there),
    strict: { recall: ratio(counts.exact, counts.there), precision: ratio(counts.exact, counts.said) },
    labels: recalls,
    missed,
    wrong,
  };
}
