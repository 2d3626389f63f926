// JSON with 64-bit numbers as they are. JSON.parse makes doubles of all numbers, which have 53 bits:
// the virtual address 18446612682070000641 would become 18446612682070002000.

/** The strings and numbers of a text. */
const tokens = /"(?:[^"\\]|\\.)*"|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/g;
const whole = /^-?[0-9]+$/;
// A marked string begins with a zero octet and a letter: n before the digits of a number, s before a
// string that begins with a zero octet itself.
const mark = '\u0000n';
const plainMark = '\u0000s';
const marked = /"\\u0000n(-?[0-9]+)"|"\\u0000s/g;

/** Reports whether a text may have a number that a double does not hold. */
export function large(text: string): boolean {
  return /[0-9]{16}/.test(text);
}

/** Returns a JSON text with the numbers that a double does not hold as marked strings, for revive. */
export function markLarge(text: string): string {
  return text.replace(tokens, (token) => {
    if (token.startsWith('"\\u0000')) return `"\\u0000s${token.slice('"\\u0000'.length)}`;
    return whole.test(token) && !Number.isSafeInteger(Number(token)) ? `"\\u0000n${token}"` : token;
  });
}

/** Returns a value of JSON with BigInts in the place of marked strings. */
export function revive(value: unknown): unknown {
  if (typeof value === 'string') return value.startsWith(mark) ? BigInt(value.slice(mark.length)) : unmarked(value);
  if (Array.isArray(value)) return value.map(revive);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [unmarked(k), revive(v)]));
}

function unmarked(text: string): string {
  return text.startsWith(plainMark) ? `\u0000${text.slice(plainMark.length)}` : text;
}

/** Reads JSON; numbers that a double does not hold become BigInts. */
export function parseExact(text: string): unknown {
  return large(text) ? revive(JSON.parse(markLarge(text))) : JSON.parse(text);
}

/** Writes JSON; BigInts become numbers with all their digits. */
export function formatExact(value: unknown, space?: number): string {
  const text = JSON.stringify(
    value,
    (_, v: unknown) => {
      if (typeof v === 'bigint') return `${mark}${v}`;
      return typeof v === 'string' && v.startsWith('\u0000') ? `${plainMark}${v.slice(1)}` : v;
    },
    space,
  );
  return text?.replace(marked, (_, digits?: string) => digits ?? '"\\u0000');
}
