import type { Schemas } from '../api/client';
import { grouped } from './grouped';
import { natural } from './natural';
import { reverse } from './network';

type Link = Schemas['FabricLink'];
type Node = Schemas['FabricNode'];
type Suspect = Schemas['SuspectView'];

/**
 * What of a link is worst, from good to bad (none: there is no link), with how it is told: in words, by a mark where
 * it must not be known by its colour alone, by the token of that colour, and as the tone of a badge.
 */
const told = {
  none: ['no link', '', 'raised', 'quiet'],
  up: ['up', '', 'cell', 'ok'],
  drained: ['drained', '◆', 'work', 'work'],
  trying: ['being probed', '◌', 'cell-edge', 'warning'],
  held: ['up again, and held', '◔', 'cell-edge', 'warning'],
  suspect: ['suspect', '?', 'warning', 'warning'],
  denied: ['EVs denied', '▲', 'warning', 'warning'],
  down: ['down', '✕', 'fault', 'fault'],
} as const;
export type LinkState = keyof typeof told;
export const states = Object.keys(told) as LinkState[];

const by = <I extends 0 | 1 | 2 | 3>(i: I) =>
  Object.fromEntries(states.map((s) => [s, told[s][i]])) as Record<LinkState, (typeof told)[LinkState][I]>;
export const stateTexts = by(0),
  stateMark = by(1),
  stateToken = by(2),
  stateTone = by(3);

/** A picture of more switches than this is a tangle: a Clos is shown by planes and pods first. */
export const mostDrawn = 256;

export function linkState(l: Link, suspects: ReadonlySet<string>): LinkState {
  const s = l.status;
  if (s.phase === 'down' || s.fromPort === 'down' || s.toPort === 'down') return 'down';
  if (s.drained || l.spec.admin === 'drained') return 'drained';
  if (s.phase === 'held' || s.phase === 'trying') return s.phase;
  if (suspects.has(l.id)) return 'suspect';
  return s.denied ? 'denied' : 'up';
}

/**
 * Returns when a link came to its state: a suspect one when it came under suspicion, a drained one when the
 * drains of it, its switches or its plane began.
 */
export function stateSince(
  l: Link,
  state: LinkState,
  nodes: readonly Node[],
  planes: readonly Schemas['FabricPlane'][],
  suspects: readonly Suspect[],
): string | undefined {
  const first = (times: string[]) => times.sort((a, b) => Date.parse(a) - Date.parse(b))[0];
  if (state === 'suspect') return first(suspects.filter((s) => s.links.includes(l.id)).map((s) => s.since));
  if (state !== 'drained') return l.status.since;
  const times = [
    l.spec.admin === 'drained' ? l.changed : undefined,
    ...nodes
      .filter((n) => n.spec.admin === 'drained' && (n.id === l.status.from || n.id === l.status.to))
      .map((n) => n.changed),
    ...planes.filter((p) => p.spec.admin === 'drained' && p.plane === l.status.plane).map((p) => p.changed),
  ].filter((x) => x !== undefined);
  return first(times);
}

export function suspectLinks(suspects: readonly Suspect[]): Set<string> {
  return new Set(suspects.flatMap((s) => s.links));
}

const rank = Object.fromEntries(states.map((s, i) => [s, i])) as Record<LinkState, number>;

export function worst(a: LinkState, b: LinkState): LinkState {
  return rank[a] >= rank[b] ? a : b;
}

/** A node as matrices and pictures name it. */
interface End {
  id: string;
  name: string;
}

/** Pairs as cells, row by row, each with its state; none: there is no such pair. */
export interface Cells {
  rows: End[];
  columns: End[];
  cells: LinkState[];
}

/** All links of a plane between two neighbouring tiers, a cell for each pair of switches: the worst of its links. */
export interface Matrix extends Cells {
  plane: number;
  /** The lower tier; its switches are the rows. */
  tier: number;
  /** The links of a cell, by its index. */
  links: Map<number, Link[]>;
}

/** Makes the matrices of a Clos, by plane and tier. Nodes without a tier have none. */
export function matrices(nodes: readonly Node[], links: readonly Link[], stateOf: (l: Link) => LinkState): Matrix[] {
  const tiers = new Map(nodes.map((n) => [n.id, n.status.tier])),
    tierOf = (id: string) => tiers.get(id) ?? NaN,
    lower = ({ status: s }: Link) => Math.min(tierOf(s.from), tierOf(s.to));
  const between = links.filter(
    ({ status: s }) => s.plane !== undefined && Math.abs(tierOf(s.from) - tierOf(s.to)) === 1,
  );
  const side = (plane: number, tier: number) =>
    nodes
      .filter((n) => n.status.tier === tier && n.status.planes.includes(plane))
      .map((n): End => ({ id: n.id, name: n.status.name ?? n.id }))
      .sort((a, b) => natural(a.name, b.name));
  return [...grouped(between, (l) => `${l.status.plane} ${lower(l)}`).values()]
    .map((all) => ({ plane: all[0]!.status.plane!, tier: lower(all[0]!), all }))
    .sort((a, b) => a.plane - b.plane || a.tier - b.tier)
    .map(({ plane, tier, all }) => {
      const rows = side(plane, tier),
        columns = side(plane, tier + 1);
      const placeOf = new Map([...rows, ...columns].map((n, i) => [n.id, i < rows.length ? i : i - rows.length]));
      const links = grouped(all, ({ status: s }) => {
        const [low, high] = tierOf(s.from) === tier ? [s.from, s.to] : [s.to, s.from];
        return (placeOf.get(low) ?? NaN) * columns.length + (placeOf.get(high) ?? NaN);
      });
      links.delete(NaN); // of a switch that is in another plane
      const cells = Array.from({ length: rows.length * columns.length }, (_, i) =>
        (links.get(i) ?? []).map(stateOf).reduce(worst, 'none'),
      );
      return { plane, tier, rows, columns, cells, links };
    });
}

/** Something that can be drained. */
export type Target = { kind: 'link'; id: string } | { kind: 'node'; id: string } | { kind: 'plane'; plane: number };

/** What a drain takes away. Directions of links count, as in the API. */
interface Cost {
  /** Directions that carry EVs now and would not. */
  lost: number;
  /** By plane: directions in all, those in use now, and those that would be left. */
  planes: { plane: number; all: number; now: number; left: number }[];
  /** The switch that keeps the least share of its links to other switches. */
  tightest?: { name: string; now: number; left: number };
}

/** Computes what is left of the capacity if a target is drained. */
export function cost(target: Target, nodes: readonly Node[], links: readonly Link[]): Cost {
  const hit = (l: Link) =>
    target.kind === 'plane'
      ? l.status.plane === target.plane
      : target.kind === 'node'
        ? l.status.from === target.id || l.status.to === target.id
        : l.id === target.id || l.id === reverse(target.id);
  const used = (l: Link) =>
    !l.status.denied &&
    !l.status.drained &&
    l.status.phase === 'up' &&
    l.status.fromPort !== 'down' &&
    l.status.toPort !== 'down';
  const count = (of: readonly Link[]) => {
    const now = of.filter(used);
    return { now: now.length, left: now.filter((l) => !hit(l)).length };
  };
  const all = count(links),
    names = new Map(nodes.map((n) => [n.id, n.status.name ?? n.id]));
  let tightest: Cost['tightest'];
  for (const [id, of] of grouped(links, (l) => l.status.from)) {
    const n = count(of);
    // The switch that is drained itself has nothing left by intent.
    if (n.left === n.now || (target.kind === 'node' && id === target.id)) continue;
    if (!tightest || n.left / n.now < tightest.left / tightest.now) tightest = { name: names.get(id) ?? id, ...n };
  }
  return {
    lost: all.now - all.left,
    planes: [...grouped(links, (l) => l.status.plane ?? 0)]
      .map(([plane, of]) => ({ plane, all: of.length, ...count(of) }))
      .sort((a, b) => a.plane - b.plane)
      .filter((p) => p.left !== p.now),
    tightest,
  };
}

/** Puts what the API says of utilization by names into the order of a matrix's cells; -1 where it says nothing. */
export function heatOf(
  m: Matrix,
  use: { rows: readonly string[]; columns: readonly string[]; values: readonly (readonly number[] | null)[] },
): number[] {
  const row = new Map(use.rows.map((n, i) => [n, i])),
    column = new Map(use.columns.map((n, i) => [n, i]));
  const at = m.columns.map((c) => column.get(c.name));
  return m.rows.flatMap((r) => {
    const values = use.values[row.get(r.name) ?? -1];
    return at.map((i) => (i === undefined ? undefined : values?.[i]) ?? -1);
  });
}
