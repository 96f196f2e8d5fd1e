// The text that word vectors are learned from: a small world in which words of one kind stand among the same words. Always the same text.

const kLands = [
  ['france', 'paris', 'cheese', 'french'],
  ['italy', 'rome', 'pasta', 'italian'],
  ['spain', 'madrid', 'olives', 'spanish'],
  ['japan', 'tokyo', 'sushi', 'japanese'],
  ['egypt', 'cairo', 'dates', 'arabic'],
  ['norway', 'oslo', 'salmon', 'norwegian'],
] as const;

const kPairs = [
  ['man', 'woman', ['works in the factory', 'drives to the office', 'reads the newspaper']],
  ['king', 'queen', ['sits on the throne', 'wears the crown', 'rules from the palace']],
  ['boy', 'girl', ['goes to school', 'plays with a ball', 'does homework']],
  ['uncle', 'aunt', ['visits the family', 'sends a birthday card', 'calls every sunday']],
  ['prince', 'princess', ['lives in the palace', 'rides a white horse', 'will wear the crown']],
] as const;

const kHis = ['he', 'his', 'him', 'father', 'beard'];
const kHer = ['she', 'her', 'hers', 'mother', 'dress'];

const kAnimals: [kind: string, names: string[], does: string[]][] = [
  ['fish', ['salmon', 'shark', 'whale'], ['swims in the deep water', 'dives below the waves']],
  ['birds', ['eagle', 'sparrow', 'owl'], ['flies over the trees', 'builds a nest of twigs']],
  ['pets', ['cat', 'dog', 'rabbit'], ['sleeps on the sofa', 'eats from a bowl']],
];

function draws(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % limit;
  };
}

function makeText(sentences: number): string {
  const below = draws(7);
  const one = <T>(list: readonly T[]): T => list[below(list.length)] as T;
  const kinds = [
    () => {
      const [land, city, food, tongue] = one(kLands);
      const about = one([
        `the ${tongue} people eat ${food}`,
        `they sell ${food} and speak ${tongue}`,
        `${tongue} cooks prepare ${food}`,
      ]);
      const ofCity = one([`in the streets of ${city}`, `the mayor of ${city} says`, `by train to the city ${city}`]);
      const ofLand = one([`across the border of ${land}`, `the president of ${land} says`, `the flag of the country ${land}`]);
      return one([`${ofCity} ${about}`, `${ofLand} ${about}`]);
    },
    () => {
      const [he, she, does] = one(kPairs);
      const her = below(2) === 1;
      const [name, words] = her ? [she, kHer] : [he, kHis];
      return `${one(words)} ${one(words)} the ${name} ${one(does)} ${one(words)}`;
    },
    () => {
      const [, names, does] = one(kAnimals);
      return `the ${one(names)} ${one(does)}`;
    },
  ];
  return Array.from({ length: sentences }, () => one(kinds)()).join('\n');
}

export const kWorld = makeText(3000);
