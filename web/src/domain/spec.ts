/** A specification of a resource while somebody edits it: plain data, as the API takes it. */
export type Spec = { [name: string]: unknown };

/** A path of names and places in lists, such as ['receivers', 0, 'qpn']. */
export type SpecPath = readonly (string | number)[];

/** Returns the value at a path; undefined when there is none. */
export function get(spec: unknown, path: SpecPath): unknown {
  let at: unknown = spec;
  for (const step of path) {
    if (typeof at !== 'object' || at === null) return undefined;
    at = (at as Record<string | number, unknown>)[step];
  }
  return at;
}

/** Returns a copy with another value at a path; undefined takes the field away. */
export function set(spec: unknown, path: SpecPath, value: unknown): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return value;
  const next = set(
    typeof spec === 'object' && spec !== null ? (spec as Record<string | number, unknown>)[step] : undefined,
    rest,
    value,
  );
  if (typeof step === 'number') {
    const list = Array.isArray(spec) ? [...(spec as unknown[])] : [];
    if (next === undefined) list.splice(step, 1);
    else list[step] = next;
    return list;
  }
  const copy = { ...(spec as Spec | undefined) };
  if (next === undefined) delete copy[step];
  else copy[step] = next;
  return copy;
}

/** Returns a path as problems of the API name fields: spec.receivers[0].qpn. */
export function fieldName(path: SpecPath): string {
  return 'spec' + path.map((s) => (typeof s === 'number' ? `[${s}]` : `.${s}`)).join('');
}

/**
 * Reads a number as people write it: decimal, also with a unit such as 32 MiB or 10 Gb/s, or hexadecimal after
 * 0x. A whole one that a double does not hold is a BigInt. Text that is no number stays text, and so does a whole
 * one with a fraction or an exponent that no double holds: the API refuses both with its reason.
 */
export function readNumber(text: string): number | bigint | string | undefined {
  const t = text.trim().replaceAll(/[_,\s]/g, '');
  if (t === '') return undefined;
  const scaled = /^([0-9.]+)([kMGT])(i?)(?:B|b\/s|bit\/s)?$/.exec(t);
  const n = scaled ? Number(scaled[1]) * (scaled[3] ? 1024 : 1000) ** ('kMGT'.indexOf(scaled[2]!) + 1) : Number(t);
  if (Number.isSafeInteger(n)) return n;
  if (/^(-?[0-9]+|0x[0-9a-f]+)$/i.test(t)) return BigInt(t);
  return Number.isFinite(n) && !Number.isInteger(n) ? n : text;
}
