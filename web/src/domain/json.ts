// JSON with 64-bit numbers as they are. JSON.parse makes doubles of all numbers, which have 53 bits:
// the virtual address 18446612682070000641 would become 18446612682070002000.

/** The strings and numbers of a text. */
const tokens = /"(?:[^"\\]|\\.)*"|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/g;
const whole = /^-?[0-9]+$/;
const mark = '\u0000n';
const marked = /"\\u0000n(-?[0-9]+)"/g;

/** Reports whether a text may have a number that a double does not hold. */
export function large(text: string): boolean {
  return /[0-9]{16}/.test(text);
}

/** Returns a JSON text with the numbers that a double does not hold as marked strings, for revive. */
export function markLarge(text: string): string {
  return text.replace(tokens, (token) =>
    whole.test(token) && !Number.isSafeInteger(Number(token)) ? `"\\u0000n${token}"` : token,
  );
}

/** Returns a value of JSON with BigInts in the place of marked strings. */
export function revive(value: unknown): unknown {
  if (typeof value === 'string') return value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value;
  if (Array.isArray(value)) return value.map(revive);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, revive(v)]));
}

/** Reads JSON; numbers that a double does not hold become BigInts. */
export function parseExact(text: string): unknown {
  return large(text) ? revive(JSON.parse(markLarge(text))) : JSON.parse(text);
}

/** Writes JSON; BigInts become numbers with all their digits. */
export function formatExact(value: unknown, space?: number): string {
  const text = JSON.stringify(value, (_, v: unknown) => (typeof v === 'bigint' ? `${mark}${v}` : v), space);
  return text?.replace(marked, '$1');
}
