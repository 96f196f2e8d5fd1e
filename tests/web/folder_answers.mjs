// Compares a tokenizer with the results of Python's AutoTokenizer for the same folder. Used by folders.test.ts and tools/check_folders.mjs.

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const sorted = (list) => [...list].sort();

/** A special token of Python's whose string is normalized stays in decoded text there, and not here: see docs/tokenizers.md. */
const mayDecodeOtherwise = (files) => /"normalized": ?true/.test(Object.values(files).map(String).join());

/** What differs: [kind, where, expected, found] each. */
export function differences(tokenizer, { texts, answer, files }) {
  const out = [];
  const check = (kind, where, expected, found) => {
    if (!same(expected, found)) out.push([kind, where, expected, found]);
  };
  texts.forEach((text, i) => check('ids', text, answer.ids[i], tokenizer.encode(text)));
  for (let i = 0, j = 0; i + 1 < texts.length; i += 4, ++j) {
    const pair = tokenizer(texts[i], { text_pair: texts[i + 1], return_tensor: false, return_token_type_ids: true });
    check('pair', texts[i], answer.pairs[j], pair.input_ids);
    check('types', texts[i], answer.types[j], pair.token_type_ids);
  }
  if (!mayDecodeOtherwise(files)) {
    answer.ids.forEach((ids, i) => {
      if (answer.decoded[i].includes('None')) return; // Python's word for an unknown token that has no string
      check('decoded', ids, answer.decoded[i], tokenizer.decode(ids, { skip_special_tokens: i % 2 === 1 }));
    });
  }
  // Where no file names a class, special tokens are those of the usual names, and Python's are none: see docs/tokenizers.md.
  if (tokenizer.info().tokenizer_class !== null) {
    for (const [role, token] of Object.entries(answer.roles)) check('role', role, token, tokenizer[role]);
    check('special', '', sorted(answer.special), sorted(tokenizer.all_special_tokens));
  }
  check('side', '', answer.side, tokenizer.padding_side);
  check('size', '', answer.size, tokenizer.vocab_size);
  check('limit', '', answer.limit, Number.isFinite(tokenizer.model_max_length) ? tokenizer.model_max_length : null);
  return out;
}
