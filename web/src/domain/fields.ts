import type { Spec } from './spec';

/** What a field may be, with what is shown of it. */
export interface Choice {
  value: string;
  label?: string;
}

/** A field of a form. Its name is that of the API; what is left empty gets the API's default. */
export type Field = { name: string; label: string; hint?: string; required?: boolean } & (
  | { kind: 'text' }
  /** It is shown to nobody, and not filled in by the browser. */
  | { kind: 'secret'; make?: () => string; least?: number; auto?: 'current-password' }
  /** With at, the ports are offered of the switch or the host that the field of that name has. */
  | { kind: 'number'; hex?: boolean; at?: 'switch' | 'host' }
  | { kind: 'flag'; fallback?: boolean }
  | { kind: 'choice'; from: readonly Choice[]; number?: boolean; empty?: string }
  | { kind: 'suggest'; from: readonly Choice[] }
  /** One choice, SWITCH/PORT, for the fields switch and port of the object. */
  | { kind: 'port'; from: readonly Choice[] }
  /** A time, shown as that of the browser. */
  | { kind: 'time' }
  | { kind: 'group'; fields: readonly Field[] }
  /** What few need: it is folded away unless it has a value. Its fields are those of the object itself. */
  | { kind: 'more'; fields: readonly Field[] }
  /** One of several ways to write the object: each has its fields, and rewrites what there is. */
  | { kind: 'way'; of: readonly Way[] }
  | {
      kind: 'list';
      plural: string;
      item: readonly Field[];
      /** The button for another one; absent: "Add a" and the label. */
      add?: string;
      /** What another one begins with; absent: nothing. */
      first?: () => Spec;
      /** Several items are made at once, by a field that each has. */
      pick?: { field: string; from: readonly Choice[]; label: string };
    }
  | { kind: 'texts'; plural: string; add?: string; from?: readonly Choice[] }
);

export interface Way {
  label: string;
  /** Reports whether an object is written so; of several ways the first counts. */
  is: (of: Spec) => boolean;
  make: (of: Spec) => Spec;
  fields: readonly Field[];
}

/** Choices of which some are shown as they are. */
export const choices = (of: readonly (string | Choice)[]): Choice[] =>
  of.map((c) => (typeof c === 'string' ? { value: c } : c));

/** Names as choices. */
export const names = (of: readonly { name: string }[] | undefined): Choice[] => choices((of ?? []).map((x) => x.name));

// A field each, by name, label and what its kind needs. The last argument has what it may have besides.
type More<K extends Field['kind'], But extends string = never> = Omit<
  Extract<Field, { kind: K }>,
  'kind' | 'name' | 'label' | But
>;
const simple =
  <K extends 'text' | 'secret' | 'number' | 'flag' | 'time'>(kind: K) =>
  (name: string, label: string, more?: More<K>) =>
    ({ kind, name, label, ...more }) as Field;
export const text = simple('text'),
  secret = simple('secret'),
  number = simple('number'),
  flag = simple('flag'),
  time = simple('time');
const chosen =
  <K extends 'choice' | 'suggest' | 'port'>(kind: K) =>
  (name: string, label: string, from: readonly (string | Choice)[], more?: More<K, 'from'>) =>
    ({ kind, name, label, from: choices(from), ...more }) as Field;
export const choice = chosen('choice'),
  suggest = chosen('suggest'),
  port = chosen('port');
const several =
  <K extends 'group' | 'more'>(kind: K) =>
  (name: string, label: string, fields: readonly Field[], more?: More<K, 'fields'>) =>
    ({ kind, name, label, fields, ...more }) as Field;
export const group = several('group'),
  more = several('more');
export const way = (name: string, label: string, of: readonly Way[], more?: More<'way', 'of'>): Field => ({
  kind: 'way',
  name,
  label,
  of,
  ...more,
});
export const list = (
  name: string,
  label: string,
  plural: string,
  item: readonly Field[],
  rest?: More<'list', 'plural' | 'item'>,
): Field => ({ kind: 'list', name, label, plural, item, ...rest });
export const texts = (name: string, label: string, plural: string, rest?: More<'texts', 'plural'>): Field => ({
  kind: 'texts',
  name,
  label,
  plural,
  ...rest,
});
/** What a list or its items begin with when they are added. */
export const adds = (of: { add?: string; label: string }) => of.add ?? `Add a ${of.label.toLowerCase()}`;
