// Segments: the parts of a text in which a rule can find something. No finding crosses a segment's end, so rules take time linear in the text, and a text that
// arrives in pieces is divided as the whole text is.

/** A run of tokens that may be part of a finding ends after so many UTF-16 units, at a space if it has one. */
const kLongest = 4096;
/** The last character of a private key in PEM is so many UTF-16 units after its first one, at most. */
const kLongestPem = 16_384;

/** Words in lower case that may be inside a finding: of streets, months, connections, and extensions of phone numbers. */
const kInside = new Set(
  `de la le du des di del della dell da do dos das los las el van der den am im an zum zur of st th nd rd ext x bis ter
  rue avenue boulevard bd place chemin allée impasse quai route cours square calle avenida avda plaza paseo camino ronda carrer
  via viale piazza corso largo vicolo strada rua travessa praça street ave road lane drive court terrace way straße strasse str
  january february march april may june july august september october november december
  januar februar märz mai juni juli oktober dezember jänner janvier février mars avril juin juillet août septembre octobre novembre décembre
  enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
  gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre janeiro fevereiro março maio junho julho setembro outubro novembro dezembro
  januari februari maart juni juli augustus oktober stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia
  augusti marts maj desember tammikuuta helmikuuta maaliskuuta huhtikuuta toukokuuta kesäkuuta heinäkuuta elokuuta syyskuuta lokakuuta marraskuuta joulukuuta
  января февраля марта апреля мая июня июля августа сентября октября ноября декабря ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık`.split(
    /\s+/u,
  ),
);

const kSpace = /\s/u;
const kBreak = /[\n\r\t\u2028\u2029]/;
const kPlainWord = /^["'([]?\p{Ll}+(?:['’-]\p{Ll}+)*[.,;!?)\]"']{0,3}$/u;
const kEndOfSentence = /\p{L}[.!?]["')\]]?$/u;
const kPemBegin = /^-----BEGIN/;
const kPemEnd = '-----END ';

/** Whether a token is a word in lower case that no finding has inside. */
const isPlain = (token: string): boolean =>
  token.length < 40 && kPlainWord.test(token) && (kEndOfSentence.test(token) || !kInside.has(token.replace(/[^\p{Ll}]/gu, '')));

/** A segment of the text, from the start of its first token to the end of its last one. */
export type Segment = readonly [start: number, end: number];

/** Divides a text that grows at its end. Places count from the beginning of all that was read. */
export class Segments {
  /** The text from `from` on: what is not yet divided. */
  private text = '';
  private from = 0;
  private open = -1; // where the segment begins that tokens are added to; -1: none is open
  private last = 0; // where its last token ends
  private next = 0; // where the search for the next token begins; text before it has been looked at
  private token = -1; // where a token begins that has not ended; -1: none

  /** All before this place is decided: it is in a segment that was given, or in none. */
  get decided(): number {
    return this.open >= 0 ? this.open : this.token >= 0 ? this.token : this.next;
  }

  /** Adds to the text; final: nothing follows. Gives the segments that have ended. */
  add(text: string, final: boolean): Segment[] {
    this.text += text;
    const out: Segment[] = [];
    for (;;) {
      if (this.token < 0 && !this.findToken(out)) break;
      const begun = this.char(this.token) === '-' ? this.readPem(out, final) : 'none';
      if (begun === 'wait') break;
      if (begun === 'read') continue;
      if (!this.endToken(out, final)) break;
    }
    if (final) this.close(out);
    const keep = this.decided - this.from;
    if (keep > 0) {
      this.text = this.text.slice(keep);
      this.from += keep;
    }
    return out;
  }

  private char(place: number): string {
    return this.text[place - this.from] ?? '';
  }

  private get end(): number {
    return this.from + this.text.length;
  }

  private close(out: Segment[]): void {
    if (this.open >= 0) out.push([this.open, this.last]);
    this.open = -1;
  }

  /** Passes over spaces; false at the end of the text. */
  private findToken(out: Segment[]): boolean {
    for (; this.next < this.end; ++this.next) {
      const char = this.char(this.next);
      if (!kSpace.test(char)) {
        this.token = this.next;
        return true;
      }
      if (kBreak.test(char)) this.close(out);
    }
    return false;
  }

  /** Reads to the end of the token, and puts it into the segment or closes that. False if the end is not there yet. */
  private endToken(out: Segment[], final: boolean): boolean {
    const { token } = this;
    while (this.next < this.end && this.next - token < kLongest && !kSpace.test(this.char(this.next))) ++this.next;
    const isCut = this.next - token >= kLongest;
    if (this.next === this.end && !isCut && !final) return false;
    if (this.open >= 0 && this.next - this.open > kLongest) this.close(out);
    if (isPlain(this.text.slice(token - this.from, this.next - this.from))) this.close(out);
    else {
      if (this.open < 0) this.open = token;
      this.last = this.next;
      if (isCut) this.close(out);
    }
    this.token = -1;
    return true;
  }

  /** A PEM block is a segment of its own. */
  private readPem(out: Segment[], final: boolean): 'none' | 'wait' | 'read' {
    const { token } = this;
    const rest = this.text.slice(token - this.from, token - this.from + kLongestPem);
    if (rest.length < 10) return final || !'-----BEGIN'.startsWith(rest) ? 'none' : 'wait';
    if (!kPemBegin.test(rest)) return 'none';
    const end = rest.indexOf(kPemEnd);
    const after = end < 0 ? -1 : rest.indexOf('-----', end + kPemEnd.length);
    if (after < 0) return final || rest.length === kLongestPem ? 'none' : 'wait';
    this.close(out);
    this.next = token + after + 5;
    out.push([token, this.next]);
    this.token = -1;
    return 'read';
  }
}
