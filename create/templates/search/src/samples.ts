import type { IndexDocument } from 'wattn';

/** The documents of the first visit. */
export const kSamples: IndexDocument[] = [
  {
    id: 'sample:bread',
    title: 'Bread without kneading',
    text: 'Stir flour, water, salt and a pinch of yeast, and leave the bowl covered overnight. Fold the dough, let it rise once more, and bake it in a hot iron pot with the lid on.',
  },
  {
    id: 'sample:sleep',
    title: 'Sleeping better',
    text: 'Go to bed at the same hour every day. Dim the lights an hour before, leave the phone in another room, and keep the bedroom cool. Coffee after lunch keeps many people awake.',
  },
  {
    id: 'sample:loan',
    title: 'Buying a flat',
    text: 'A mortgage usually covers at most four fifths of the price. Compare the interest of several banks, ask what early repayment costs, and set money aside for taxes and the notary.',
  },
  {
    id: 'sample:bike',
    title: 'A flat tyre on the road',
    text: 'Take the wheel out, lever the tyre off, and pull the tube. Pump it up and listen for the hole, roughen the rubber, glue on a patch, and check the tyre for glass before you put it back.',
  },
  {
    id: 'sample:garden',
    title: 'Tomatoes on a balcony',
    text: 'Choose a small variety and a pot of at least ten litres. Tomatoes want sun and even moisture: water the soil in the morning, not the leaves, and pinch out side shoots.',
  },
  {
    id: 'sample:backup',
    title: 'Keeping photographs safe',
    text: 'Two copies on different disks and a third in another house survive nearly everything. Check once a year that the files still open, and replace a disk before it is five years old.',
  },
  {
    id: 'sample:interview',
    title: 'Before a job interview',
    text: 'Read what the company makes, and prepare two questions about the team. Tell one story for each skill in the advertisement: what was wrong, what you did, and what came of it.',
  },
  {
    id: 'sample:comet',
    title: 'Why comets have tails',
    text: 'Near the sun the ice of a comet turns to gas and carries dust along. Light pushes the dust and the solar wind the gas, so both tails point away from the sun.',
  },
];
