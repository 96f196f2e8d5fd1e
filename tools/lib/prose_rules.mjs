// Rules for English, in documents and in source. Each takes a sentence, { words, prose }, and returns its problem. `words` has words and the marks
// between them, in order; `prose` is the sentence with its code left out.

const kMostWords = 30;
const kLeastItems = 4; // of a list
const kShortItem = 3; // words, with "and"
const kListCounts = 4; // words
const kMostBetween = 4; // words between two "of" of a chain
const kChain = 3;

/** What to write instead. Each phrase is a regular expression over lower-case words. */
const kBanned = [
  ['in order to', 'to'],
  ['due to the fact that', 'because'],
  ['in case of', 'if'],
  ['at this point in time', 'now'],
  ['with regard to', 'about'],
  ['it is possible to', 'you can'],
  ['has the ability to', 'can'],
  ['make use of', 'use'],
  ['utili[sz]es?', 'use'],
  ['leverages?', 'use'],
  ['seamless(ly)?', 'say what happens'],
  ['please note( that)?', 'leave it out'],
  ['as they lie', 'unchanged'],
  ['of now', 'current, or at present'],
  ['what is learned', 'the parameters'],
  ['nobody needs to', 'it is optional'],
  ['goes? on (from )?where (it|they) (stopped|ended)', 'resumes'],
  ['goes? on from where (it|they) (broke off|stopped)', 'resumes'],
  ['what came of', 'the result of'],
  ['as far as they are', 'so far'],
  ['in silence', 'silently'],
  ['what was learned', 'what the model learned, or the weights'],
  ['asked for in vain', 'a failed request'],
  ['heals', 'is repaired'],
  ['of (the )?kind that', 'that'],
  ['stands? in for', 'replaces'],
].map(([words, better]) => ({ words: new RegExp(`(?<![\\w-])${words}(?![\\w-])`, 'i'), better }));

/** Numbers of words between commas. */
function partsOf(words) {
  const parts = [0];
  for (const { word, mark } of words) {
    if (word !== undefined) parts[parts.length - 1] += 1;
    else if (mark === ',') parts.push(0);
  }
  return parts;
}

/** Words of a sentence; a list of short items, such as names, is read at a glance and counts as few. */
function lengthOf(words) {
  const parts = partsOf(words);
  let length = 0;
  for (let i = 0; i < parts.length;) {
    let end = i;
    while (end < parts.length && parts[end] <= kShortItem) ++end;
    const items = end - i;
    length += items >= kLeastItems ? kListCounts : parts.slice(i, Math.max(end, i + 1)).reduce((sum, words) => sum + words, 0);
    i = Math.max(end, i + 1);
  }
  return length;
}

function tooLong({ words }) {
  const count = lengthOf(words);
  return count > kMostWords ? `${count} words, more than ${kMostWords}: make two sentences of it` : undefined;
}

function chainOfOf({ words }) {
  let chain = 0;
  let between = 0;
  for (const { word, mark } of words) {
    if (word?.toLowerCase() === 'of') {
      chain = between <= kMostBetween ? chain + 1 : 1;
      between = 0;
      if (chain >= kChain) return `"of" ${kChain} times in a row: name what it is`;
    } else if (mark !== undefined && /[,.;:()–—]/.test(mark)) chain = 0;
    else ++between;
  }
  return undefined;
}

function bannedPhrase({ prose }) {
  const text = prose.replace(/\s+/g, ' ');
  const found = kBanned.find(({ words }) => words.test(text));
  return found && `"${found.words.exec(text)[0]}": write "${found.better}"`;
}

const kRules = { 'long sentence': tooLong, 'chain of "of"': chainOfOf, phrase: bannedPhrase };

/** What is wrong with a sentence: [{ rule, message }]. */
export const problemsOf = (sentence) =>
  Object.entries(kRules)
    .map(([rule, check]) => ({ rule, message: check(sentence) }))
    .filter(({ message }) => message);
