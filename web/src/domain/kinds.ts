import type { Scope } from '../api/session';
import { natural } from './natural';

/** A kind of resources that clients write, each with a document of kind, name and spec. */
export interface Kind {
  /** The collection below /v1. */
  collection: string;
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
  /** What a deletion does. */
  removed: string;
}

const own = { reads: 'tenant:read', writes: 'tenant:write' } as const;
const networks = { reads: 'read', writes: 'configure' } as const;
const operation = { reads: 'read', writes: 'operate' } as const;

const list = [
  {
    collection: 'multicast-groups',
    kind: 'multicast-group',
    noun: 'group',
    nouns: 'multicast groups',
    ...own,
    events: ['group', 'receiver'],
    removed: 'The switches drop what is sent to its proxy address from then on.',
  },
  {
    collection: 'jobs',
    kind: 'job',
    noun: 'job',
    nouns: 'jobs',
    ...own,
    events: ['job'],
    removed: 'What followed from it is taken back.',
  },
  {
    collection: 'leases',
    kind: 'lease',
    noun: 'lease',
    nouns: 'leases',
    ...own,
    events: ['lease'],
    removed: 'Its paths are free at once.',
  },
  {
    collection: 'maintenances',
    kind: 'maintenance',
    noun: 'maintenance',
    nouns: 'maintenances',
    ...operation,
    events: ['maintenance'],
    removed: 'What was drained for it is used again.',
  },
  {
    collection: 'silences',
    kind: 'silence',
    noun: 'silence',
    nouns: 'silences',
    ...operation,
    events: ['silence'],
    removed: 'Its cause comes before what is silent again, and makes alerts.',
  },
  {
    collection: 'notifications',
    kind: 'notification',
    noun: 'notification',
    nouns: 'notifications',
    reads: 'administer',
    writes: 'administer',
    events: ['notification'],
    removed: 'Its receiver is told nothing more, and what waits is not sent.',
  },
  {
    collection: 'tenants',
    kind: 'tenant',
    noun: 'tenant',
    nouns: 'tenants',
    ...own,
    events: ['tenant'],
    removed: 'The controller refuses it while a PFC policy refers to it.',
  },
  {
    collection: 'pfc-policies',
    kind: 'pfc-policy',
    noun: 'PFC policy',
    nouns: 'PFC policies',
    ...own,
    events: ['pfc-policy', 'pfc'],
    removed: 'Its tunnels end, and its pauses with them.',
  },
  {
    collection: 'srv6-policies',
    kind: 'srv6-policy',
    noun: 'SRv6 policy',
    nouns: 'SRv6 policies',
    ...networks,
    events: ['srv6-policy'],
    removed: 'The controller refuses it while a tenant or a PFC policy refers to it.',
  },
  {
    collection: 'cc-profiles',
    kind: 'cc-profile',
    noun: 'CC profile',
    nouns: 'CC profiles',
    ...networks,
    events: [],
    removed: 'The controller refuses it while an EV profile names it.',
  },
  {
    collection: 'ev-profiles',
    kind: 'ev-profile',
    noun: 'EV profile',
    nouns: 'EV profiles',
    ...networks,
    events: ['ev-profile'],
    overridden: true,
    removed: 'The configuration applies to it again.',
  },
  {
    collection: 'networks',
    kind: 'network',
    noun: 'network',
    nouns: 'networks',
    ...networks,
    events: ['network'],
    removed: 'Its nodes and links leave the topology, unless another source has them.',
  },
  {
    collection: 'projects',
    kind: 'project',
    noun: 'project',
    nouns: 'projects',
    reads: 'tenant:read',
    writes: 'administer',
    events: ['project'],
    removed: 'The controller refuses it while it has resources.',
  },
] as const satisfies readonly Kind[];

export type Collection = (typeof list)[number]['collection'];

export const kinds: readonly (Kind & { collection: Collection })[] = list;

/** Returns the kind of a collection; undefined when no client writes it. */
export function kindOf(collection: string): (Kind & { collection: Collection }) | undefined {
  return kinds.find((k) => k.collection === collection);
}

/** What the audit log has of one change. */
export interface Change {
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
