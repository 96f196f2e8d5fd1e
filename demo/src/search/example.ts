// Texts to begin with, so that there is something to find.
import type { Doc } from './types.js';

export const exampleDocs: Doc[] = [
  {
    name: 'Kitchen',
    text: `A loaf needs time more than work. Mix flour, water, salt and a spoon of starter in the evening and let it rise overnight.

Onions turn sweet when they are cooked slowly in butter; half an hour on a low flame is not too long.

If the soup is too salty, a peeled potato boiled in it for ten minutes takes some of the salt away.

Roast the tomatoes with garlic and thyme before you blend them into a sauce.

Rinse the rice until the water runs clear, then cook it with one and a half cups of water for each cup.

A sharp knife is safer than a blunt one, because it does not slip off the vegetable.`,
  },
  {
    name: 'Garden',
    text: `Water the beds in the morning, so that the leaves are dry before the night is cold.

Slugs come after rain. Coffee grounds around the lettuce keep most of them away.

Cut the roses back in late winter, just above a bud that looks outwards.

Compost needs air: turn the heap every few weeks, and mix kitchen scraps with dry leaves.

Bees and hoverflies visit lavender, thyme and every herb that is allowed to bloom.

Tomato plants want a warm wall, a stake to climb and their side shoots pinched out.`,
  },
  {
    name: 'Computers',
    text: `If the screen stays black, hold the power button for ten seconds and start the laptop again.

A password manager remembers long passwords for you; you only have to know one.

Make two copies of your photographs, and keep one of them in another house.

When the wireless network is slow, try a cable first: then you know whether the radio is to blame.

Updates close holes that others already know. Install them when the machine offers them.

You can undo almost any change with version control, if you commit small steps with clear messages.`,
  },
  {
    name: 'Health',
    text: `Grown-ups sleep best in a cool, dark room, and at the same hours every day.

For a small burn, hold the skin under running lukewarm water for some minutes, and leave the blisters alone.

Walking half an hour a day is good for the heart, and nobody needs equipment for it.

Wash your hands before you eat and after a bus ride: most colds are passed on by touch.

If your back hurts from sitting, stand up every hour and stretch your hips.

A fever with a stiff neck needs a doctor at once.`,
  },
  {
    name: 'Sky',
    text: `The moon keeps the same face towards us because it turns once in each of its months.

Light from the nearest star after the sun is on its way for more than four years.

Jupiter's four large moons can be seen with a pair of binoculars from a dark street.

A comet's tail always points away from the sun, whichever way the comet flies.

On clear nights in August, dust from an old comet burns up as shooting stars.

Saturn's rings are ice and rock, hundreds of thousands of kilometres wide and mostly a few metres thick.`,
  },
  {
    name: 'Money',
    text: `Write down for a month what you spend, before you make a plan for what to save.

A loan with a low monthly rate may still be dear, when it runs for many years.

The bank may change the interest of a savings account at any time, so compare once a year.

Keep three months of rent aside for a broken car or a lost job.

The receipt is the proof for the guarantee; a photograph of it does not fade.

Changing euros at an airport costs more than taking cash from a machine in town.`,
  },
];
