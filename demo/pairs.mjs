// What the page says of pairs of sentences that differ in one word, and whether patching agrees: `node demo/pairs.mjs [MODEL]` after `npm run build`
// prints a table. The same code as the page's; a row whose claim patching does not support ends with exit code 1.
import { demoModule } from './smoke/support.mjs';

const kPairs = [
  ['The trophy did not fit in the suitcase because it was too %.', 'big', 'small'],
  ['The animal did not cross the street because it was too %.', 'tired', 'wide'],
  ['The cat sat on the mat because it was %.', 'tired', 'soft'],
  ['The cat sat on the mat because it was %.', 'hungry', 'warm'],
  ['The ball broke the window because it was %.', 'heavy', 'thin'],
  ['The dog ate the bread because it was %.', 'hungry', 'sweet'],
  ['The man could not lift his son because he was %.', 'weak', 'heavy'],
  ['The dog chased the ball until it was %.', 'tired', 'lost'],
  ['Water from the bottle filled the cup until it was %.', 'empty', 'full'],
  ['The bird sat on the branch because it was %.', 'tired', 'long'],
  ['The bee landed on the flower because it was %.', 'tired', 'open'],
  ['The nurse helped the doctor because she was %.', 'kind', 'busy'],
  ['The car hit the wall because it was too %.', 'fast', 'high'],
];

const [source = null] = process.argv.slice(2);
const { openDoor } = await demoModule('attention/use_inside.ts');
const { changeOf, contrastOf, leastShare, verdictOf } = await demoModule('attention/evidence.ts');
const { firstToken } = await demoModule('attention/kinds.ts');
const door = await openDoor(source);
const points = (share) => `${share < 0 ? '−' : '+'}${Math.abs(Math.round(100 * share))}`;
console.log('| sentences | the largest difference: contrast in each | patching moves the word | the page says |');
console.log('|---|---|---|---|');
for (const [frame, one, other] of kPairs) {
  const text = frame.replace('%', one);
  const inside = await door.run({ text, pair: '', off: new Set() });
  const from = firstToken(inside);
  const pair = await door.compare(text, frame.replace('%', other), from);
  const name = `${frame.replace('%', `**${one} / ${other}**`)}`;
  if (!pair) {
    console.log(`| ${name} | | | not compared: another number of tokens |`);
    continue;
  }
  const { shown, isTold } = verdictOf(inside, pair, from);
  const { ours, theirs, share } = shown;
  const agrees = share > leastShare(pair);
  if (isTold && !agrees) process.exitCode = 1;
  const [asker, target] = [inside.tokens[from], inside.tokens[ours.to]];
  const where = `layer ${ours.layer + 1}, head ${ours.head + 1}: “${target}” ${points(contrastOf(ours))} / ${points(contrastOf(theirs))}`;
  const moved = `${(100 * share).toFixed(1)} % (needed ${(100 * leastShare(pair)).toFixed(1)} %)`;
  const says = isTold
    ? `“${asker}” looks more at “${target}” with “${changeOf(shown) > 0 ? one : other}”`
    : 'it does not tell them apart';
  console.log(`| ${name} | ${where} | ${moved} | ${says} |`);
}
door.dispose();
