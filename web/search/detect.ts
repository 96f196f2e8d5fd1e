// Which language a text is in, by the words that hold its sentences together.
import { fold } from './words.js';

/** Frequent words that mean little, by language. */
const kFunctionWords: Readonly<Record<string, string>> = {
  ar: 'في من على إلى أن التي عن هذا ما لا مع كان هذه الذي كل بعد أو هو ذلك بين قد لم كما عند إن حيث',
  da: 'og i at det er en til af på som for den med de ikke der har et var han jeg blev fra kan om men sig efter også hvor være ved mellem nogen skal eller deres kun mod nogle denne disse dette hver enhver ud under alle sin',
  de: 'der die und das in den von zu mit sich des auf für ist im dem nicht ein eine als auch es an werden aus er hat dass sie nach wird bei einer um',
  en: 'the of and to in is that for it was with as his on be at by this had not are but from have they which you were her she there been their has would will',
  es: 'de la que el en y a los del se las por un para con no una su al es lo como más pero sus le ya o este sí porque esta entre cuando muy',
  fi: 'ja on ei se että oli hän mutta ovat kun myös joka ole tai sen mukaan jos niin kuin hänen ollut sekä jonka mitä vain voi ne olla',
  fr: 'de la le et les des en un du une que est dans qui par pour au il sur pas plus ne se ce son avec sont aux cette ou mais comme été nous vous',
  ga: 'agus an na a is i ar le do go ag ní bhí sé atá leis chun nó don faoi as ó gach ach sin seo mar gur níl bhfuil',
  hi: 'के में की है का और से को पर यह कि ने एक हैं भी इस ही तो जो या था हो लिए साथ नहीं अपने किया गया',
  hu: 'a az és hogy nem is egy ez volt meg csak de már vagy mint ki el még van ha azt lehet minden után szerint amely ezt akkor pedig',
  id: 'yang dan di dengan untuk dari dalam ini pada itu tidak adalah ke oleh akan sebagai juga atau telah mereka ada dapat lebih bahwa tersebut',
  it: 'di che e la il un a per in una è non sono da con del si dei le al come più della alla nel gli anche delle questo ma su ha degli nella',
  lt: 'ir yra kad į iš su tai kaip ar bet jis nuo už apie buvo jo po dėl taip pat tik jau arba pagal prie kurie turi bei ne',
  ne: 'र को मा छ लागि पनि भएको हो यो गर्ने तथा वा गर्न हुने गरेको भने एक त्यो छन् प्रत्येक व्यक्तिलाई हुनेछ',
  nl: 'de van het een en in is dat op te zijn met voor niet die aan er om ook als dan maar bij door uit naar hij ze werd wordt heeft deze',
  no: 'og i det er på en til av som for at med har de ikke den et var om han jeg fra kan men seg etter også ble hvor være ved mellom noen eller skal deres bare mot denne disse dette hver enhver ut under alle sin',
  pt: 'de a o que e do da em um para é com não uma os no se na por mais as dos como mas foi ao ele das tem à seu sua ou ser quando muito são',
  ro: 'și în de la a cu pe care nu un o din să este mai pentru că fost sunt prin al sau după ce au fi ale lui acest între această dar',
  ru: 'и в не на что с как это по но из к у за от так же для он она они был была то все его мы вы бы или только при до',
  sr: 'је и у да се на су за од са који као не што или то али би из бити због по према он она je i u da se na su za od sa koji kao ne što ili to ali bi iz biti zbog po prema on ona',
  sv: 'och i att det som en på är av för med till den har de inte om ett han men var jag sig från vi så kan när år under också efter',
  tr: 've bir bu da de için ile olarak çok daha olan gibi ne kadar sonra en o her ya ama değil var mi ki bunu onun tarafından göre olduğu',
};
/** Scripts that one language alone of these has. */
const kScripts: Readonly<Record<string, RegExp>> = {
  el: /\p{Script=Greek}/u,
  hy: /\p{Script=Armenian}/u,
  ta: /\p{Script=Tamil}/u,
};
/** Scripts without spaces: about two characters are a word. */
const kUnspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
/** Words of a text that are looked at. */
const kMostWords = 5000;
const kLeastWords = 20;
/** The least share of such words, and how much more of them than of any other language's. */
const kLeastShare = 0.12;
const kLead = 1.05;
/** The share of words in a script that is one language's own. */
const kOwnScript = 0.5;

/**
 * The language of some texts; undefined: none of the known ones, or not enough words to tell. Greek, Armenian and Tamil are known by their scripts.
 */
export function languageOf(texts: Iterable<string>): string | undefined {
  const known = new Map<string, string[]>();
  for (const [language, words] of Object.entries(kFunctionWords)) {
    for (const word of new Set(words.split(' ').map(fold))) known.set(word, [...(known.get(word) ?? []), language]);
  }
  const counts = new Map<string, number>();
  const scripts = new Map<string, number>();
  let all = 0;
  for (const text of texts) {
    for (const [word] of text.slice(0, 65_536).matchAll(/[\p{L}\p{M}]+/gu)) {
      all += kUnspaced.test(word) ? word.length / 2 : 1;
      for (const language of known.get(fold(word)) ?? []) counts.set(language, (counts.get(language) ?? 0) + 1);
      for (const [language, script] of Object.entries(kScripts))
        if (script.test(word)) scripts.set(language, (scripts.get(language) ?? 0) + 1);
      if (all >= kMostWords) break;
    }
    if (all >= kMostWords) break;
  }
  if (all < kLeastWords) return undefined;
  for (const [language, count] of scripts) if (count >= kOwnScript * all) return language;
  const [first, second] = [...counts].sort((a, b) => b[1] - a[1]);
  if (!first || first[1] < kLeastShare * all) return undefined;
  return first[1] >= kLead * (second?.[1] ?? 0) ? first[0] : undefined;
}
