import list from '../api/kinds';
import type { Scope } from '../api/session';
import { natural } from './natural';

/** A kind of resources that clients write, each with a document of kind, name and spec. The controller describes it. */
interface Kind {
  /** The collection below /v1, and what pages call it. */
  collection: string;
  /** Where one is, if not there by its name: what it has of the name in braces, of which a slash ends the first. */
  at?: string;
  /** What documents call it. */
  kind: string;
  /** What people call one, and all of them. */
  noun: string;
  nouns: string;
  reads: Scope;
  writes: Scope;
  /** The families of the events about it. */
  events: readonly string[];
  /** The controller makes them, and clients only override what it takes from the configuration. */
  overridden?: true;
  /** What a deletion does; absent: it cannot be deleted. */
  removed?: string;
  /** The spec of one that no client has written, where that cannot be deleted again. */
  untouched?: unknown;
}

export type Collection = (typeof list)[number]['collection'];

export const kinds: readonly (Kind & { collection: Collection })[] = list satisfies readonly Kind[];

/** Returns the kind of a collection; undefined when no client writes it. */
export function kindOf(collection: string): (Kind & { collection: Collection }) | undefined {
  return kinds.find((k) => k.collection === collection);
}

/** Kinds whose resources are shown beside what they are parts of, and have no list of documents. */
export const listed = kinds.filter((k) => k.at === undefined);

/** Returns where one of a kind is in the API, as a template, and what stands in its braces. */
export function placeIn(collection: Collection, name: string): { path: string; of: Record<string, string> } {
  const path = kindOf(collection)?.at ?? `/v1/${collection}/{name}`;
  const [first, second] = [...path.matchAll(/\{(\w+)\}/g)].map((m) => m[1]!);
  if (second === undefined) return { path, of: { [first!]: name } };
  const slash = name.lastIndexOf('/');
  return { path, of: { [first!]: name.slice(0, slash), [second]: name.slice(slash + 1) } };
}

/** Returns the path of a resource, with what stands in it escaped. */
export function pathIn(collection: Collection, name: string): string {
  const { path, of } = placeIn(collection, name);
  return path.replace(/\{(\w+)\}/g, (_, field: string) => encodeURIComponent(of[field]!));
}

/** What the audit log has of one change. */
interface Change {
  chain: string;
  seq: number;
  before?: unknown;
  after?: unknown;
}

/** Says what a change was. */
export function verb(c: Change): 'created' | 'deleted' | 'changed' | undefined {
  if (c.before === undefined && c.after === undefined) return undefined; // it has no spec
  return c.before === undefined ? 'created' : c.after === undefined ? 'deleted' : 'changed';
}

/** Reports whether the log has the size of a spec in its place: it was longer than 64 KiB. */
export function cut(spec: unknown): boolean {
  return (
    typeof spec === 'object' &&
    spec !== null &&
    Object.keys(spec).sort(natural).join() === 'octets,sha256' &&
    typeof (spec as { sha256: unknown }).sha256 === 'string'
  );
}

/** Reports whether two specs are the same, whatever the order of their fields. */
export function same(a: unknown, b: unknown): boolean {
  if (typeof a === 'object' && a !== null && typeof b === 'object' && b !== null) {
    if (Array.isArray(a) !== Array.isArray(b)) return false;
    const x = Object.keys(a),
      y = Object.keys(b);
    return x.length === y.length && x.every((k) => k in b && same(a[k as keyof typeof a], b[k as keyof typeof b]));
  }
  // A number is the same whether a double holds it or not.
  const plain = (v: unknown) => (typeof v === 'number' && Number.isInteger(v) ? BigInt(v) : v);
  return plain(a) === plain(b);
}

/**
 * Says why a change cannot be taken back; undefined when it can. The latest one can be taken back only
 * while the resource is what it has made of it: else something came after it that the log does not have.
 */
export function fixed(c: Change, latest: boolean, now: unknown): string | undefined {
  if (verb(c) === undefined) return 'it has no spec';
  if (cut(c.before)) return 'the log has the size of the spec before it, and not the spec';
  if (latest && !cut(c.after) && !same(c.after, now)) return 'the resource is not what it has made of it';
  return undefined;
}
