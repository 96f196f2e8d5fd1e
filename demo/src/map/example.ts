// Sentences to begin with, of eight topics: each is put together from a beginning, a middle and an end of its topic. Always the same ones.
import type { Row } from './rows.js';

type Parts = readonly [beginnings: string, middles: string, ends: string];

const kTopics: Record<string, Parts> = {
  weather: [
    'the rain|a cold wind|thick fog|the storm|fresh snow|the heat|a grey cloud|thunder',
    'moved over|hid|came down on|hung above|surprised|passed|kept away from|reached',
    'the hills|the coast|our valley|the northern towns|the harbour|the fields|the whole county|the mountain pass',
  ],
  cooking: [
    'the cook|my aunt|the baker|our neighbour|a young chef|grandfather|the kitchen boy|everyone',
    'stirred|tasted|seasoned|burnt|served|chopped herbs for|added butter to|prepared',
    'the onion soup|the apple pie|the roast potatoes|a pot of stew|the bread dough|the tomato sauce|the pancakes|a bowl of rice',
  ],
  sports: [
    'the striker|our goalkeeper|the young runner|the home team|a tennis player|the coach|the swimmer|the referee',
    'won|lost|nearly missed|trained for|remembered|watched|decided|was injured in',
    'the final match|the relay race|the cup game|the second half|the penalty shoot-out|the tournament|the first set|the marathon',
  ],
  money: [
    'the bank|an investor|the tax office|our accountant|the lender|a shareholder|the insurance company|the treasurer',
    'raised|checked|questioned|refused|calculated|paid|lowered|reported',
    'the interest rate|the yearly budget|the mortgage|the invoice|the dividend|the exchange rate|the loan|the pension fund',
  ],
  travel: [
    'the passengers|a tourist|the tour guide|two hikers|the pilot|our family|the ferry|the backpackers',
    'arrived at|left|photographed|looked for|waited at|flew over|walked through|missed',
    'the old railway station|the airport|a beach hotel|the border crossing|the desert road|the island|the museum quarter|the mountain hut',
  ],
  health: [
    'the doctor|a nurse|the patient|the dentist|the surgeon|a pharmacist|the therapist|the midwife',
    'examined|asked about|treated|described|worried about|recorded|prescribed something for|explained',
    'the broken arm|a high fever|the sore throat|the blood test|the allergy|an infected tooth|the back pain|the heart murmur',
  ],
  computers: [
    'the programmer|the server|a new laptop|the software update|our website|the database|a hacker|the printer',
    'crashed because of|logged|ignored|repaired|restarted after|deleted|sent|was slowed down by',
    'a memory leak|the login form|a missing file|the network cable|a wrong password|the error message|the backup|an old driver',
  ],
  music: [
    'the pianist|a street musician|the choir|the drummer|the orchestra|a young singer|the conductor|the guitarist',
    'practised|performed|recorded|forgot|improvised|interrupted|rehearsed|applauded',
    'the slow movement|a folk song|the violin concerto|the chorus|an old ballad|the overture|the jazz tune|the encore',
  ],
};

const kWhen = ['', ' this morning', ' last week', ' once again'];

/** Numbers below a limit, the same in each visit. */
function draws(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

const upper = (text: string) => `${text[0]?.toUpperCase()}${text.slice(1)}.`;

/** So many rows, no text twice, topics in turn. */
export function exampleRows(count: number): Row[] {
  const below = draws(5);
  const one = (list: readonly string[]) => list[below(list.length)] as string;
  const topics = Object.entries(kTopics).map(([label, parts]) => ({ label, parts: parts.map((part) => part.split('|')) }));
  const texts = new Set<string>();
  const rows: Row[] = [];
  for (let i = 0; rows.length < count; ++i) {
    const { label, parts } = topics[i % topics.length] as (typeof topics)[number];
    const text = upper(parts.map(one).join(' ') + one(kWhen));
    if (texts.has(text)) continue;
    texts.add(text);
    rows.push({ text, label });
  }
  return rows;
}
