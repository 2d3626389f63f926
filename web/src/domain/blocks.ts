import type { components } from '../api/schema';
import { worst, type LinkState } from './fabric';
import { natural } from './natural';
import { reverse } from './network';

type Link = components['schemas']['FabricLink'];
type Node = components['schemas']['FabricNode'];

/** From so many switches on, a fabric is shown by planes and pods first. */
export const large = 256;

/** How many there are of each state; what is not in it is none. */
export type Counts = Partial<Record<LinkState, number>>;

/** Switches of a Clos that belong together: a pod, or the top tier of a plane. */
export interface Block {
  /** PLANE.POD, or PLANE.top; pods count from 1. */
  id: string;
  plane: number;
  /** What a person calls it in its plane. */
  name: string;
  /** Its tiers, from the top. */
  tiers: { tier: number; nodes: Node[]; states: Counts }[];
  /** Links within it, and those of its switches up to the top tier; each pair of directions is one. */
  within: number;
  up: number;
  /** The states of those that are not up. */
  bad: Counts;
}

/** The blocks of a plane. */
export interface PlaneBlocks {
  plane: number;
  top?: Block;
  pods: Block[];
}

const nodeState = (n: Node): LinkState => (!n.status.present ? 'down' : n.spec.admin === 'drained' ? 'drained' : 'up');

const add = (to: Counts, state: LinkState, n = 1) => {
  to[state] = (to[state] ?? 0) + n;
};

/**
 * Divides a Clos into planes and pods. A pod is what tiers 0 and 1 join; tiers above are the top of their
 * plane. Switches that no link joins are a block of their own, behind the pods. Nodes must have tiers.
 */
export function blocksOf(
  nodes: readonly Node[],
  links: readonly Link[],
  stateOf: (l: Link) => LinkState,
): PlaneBlocks[] {
  // Nodes are joined by the links of the two lowest tiers; a root stands for all that are joined to it.
  const index = new Map(nodes.map((n, i) => [n.id, i]));
  const parent = nodes.map((_, i) => i);
  const root = (i: number): number => {
    while (parent[i] !== i) i = parent[i] = parent[parent[i]!]!;
    return i;
  };
  const tier = nodes.map((n) => n.status.tier ?? 0);
  const joined = new Uint8Array(nodes.length);
  for (const l of links) {
    const a = index.get(l.status.from),
      b = index.get(l.status.to);
    if (a === undefined || b === undefined || tier[a]! > 1 || tier[b]! > 1) continue;
    joined[a] = joined[b] = 1;
    const x = root(a),
      y = root(b);
    if (x !== y) parent[Math.max(x, y)] = Math.min(x, y);
  }
  const planes = new Map<number, { top: number[]; pods: Map<number, number[]>; alone: number[] }>();
  nodes.forEach((n, i) => {
    const plane = n.status.planes[0] ?? 0;
    let p = planes.get(plane);
    if (!p) planes.set(plane, (p = { top: [], pods: new Map(), alone: [] }));
    if (tier[i]! > 1) p.top.push(i);
    else if (!joined[i]) p.alone.push(i);
    else {
      const of = root(i),
        pod = p.pods.get(of);
      if (pod) pod.push(i);
      else p.pods.set(of, [i]);
    }
  });
  const blockOf = new Array<Block | undefined>(nodes.length);
  const block = (plane: number, id: string, name: string, members: readonly number[]): Block => {
    const b: Block = { id: `${plane}.${id}`, plane, name, tiers: [], within: 0, up: 0, bad: {} };
    for (const t of [...new Set(members.map((i) => tier[i]!))].sort((x, y) => y - x)) {
      const here = members.filter((i) => tier[i] === t).map((i) => nodes[i]!);
      here.sort((x, y) => natural(x.status.name ?? x.id, y.status.name ?? y.id));
      const states: Counts = {};
      for (const n of here) add(states, nodeState(n));
      b.tiers.push({ tier: t, nodes: here, states });
    }
    for (const i of members) blockOf[i] = b;
    return b;
  };
  const first = (b: readonly number[]) => b.map((i) => nodes[i]!.status.name ?? nodes[i]!.id).sort(natural)[0]!;
  const made = [...planes]
    .sort(([a], [b]) => a - b)
    .map(([plane, p]): PlaneBlocks => {
      const pods = [...p.pods.values()].sort((a, b) => natural(first(a), first(b)));
      return {
        plane,
        top: p.top.length > 0 ? block(plane, 'top', 'Top tier', p.top) : undefined,
        pods: [
          ...pods.map((members, i) =>
            block(plane, String(i + 1), pods.length > 1 ? `Pod ${i + 1}` : 'All switches', members),
          ),
          ...(p.alone.length > 0 ? [block(plane, 'alone', 'Without links', p.alone)] : []),
        ],
      };
    });
  // A link up to another block is a link of the lower one, and a fault of both.
  const bad = new Map<string, { state: LinkState; of: Block; and?: Block }>();
  for (const l of links) {
    const a = index.get(l.status.from),
      b = index.get(l.status.to);
    if (a === undefined || b === undefined) continue;
    const rises = tier[a]! < tier[b]!,
      of = blockOf[rises ? a : b]!,
      and = blockOf[rises ? b : a]!;
    if (rises) {
      if (of === and) of.within++;
      else of.up++;
    }
    const state = stateOf(l);
    if (state === 'up') continue;
    const back = bad.get(reverse(l.id));
    if (back) back.state = worst(back.state, state);
    else bad.set(l.id, { state, of, and: and === of ? undefined : and });
  }
  for (const { state, of, and } of bad.values()) {
    add(of.bad, state);
    if (and) add(and.bad, state);
  }
  return made;
}

/** What the ports of a block send to its others: shares of what they can, 0 to 1. */
export interface BlockLoad {
  /** The mean of its links in the busier of their directions; undefined where only the busiest are known. */
  mean?: number;
  most: number;
}

/** What there is of the use of links, by plane: as the API answers. */
type Use = components['schemas']['Matrix'];

/**
 * Sums what links carry by block: from the use of every link between T0 and T1, and from the ports that send
 * most, named SWITCH/PORT with their share.
 */
export function blockLoads(
  planes: readonly PlaneBlocks[],
  uses: readonly Use[],
  busiest: readonly { name: string; share: number }[],
): Map<string, BlockLoad> {
  const of = new Map<string, string>(),
    loads = new Map<string, BlockLoad>();
  for (const p of planes)
    for (const b of [...(p.top ? [p.top] : []), ...p.pods])
      for (const t of b.tiers) for (const n of t.nodes) of.set(n.status.name ?? n.id, b.id);
  const sums = new Map<string, { sum: number; n: number; most: number }>();
  for (const u of uses) {
    const columns = u.columns.map((c) => of.get(c));
    u.rows.forEach((name, r) => {
      const id = of.get(name);
      if (id === undefined) return;
      let s = sums.get(id);
      if (!s) sums.set(id, (s = { sum: 0, n: 0, most: 0 }));
      columns.forEach((c, i) => {
        const used = Math.max(u.up[r]?.[i] ?? -1, u.down[r]?.[i] ?? -1);
        if (c !== id || used < 0) return;
        s.sum += used / 1000;
        s.n++;
        s.most = Math.max(s.most, used / 1000);
      });
    });
  }
  for (const [id, s] of sums)
    if (s.n > 0) loads.set(id, { mean: Math.round((1000 * s.sum) / s.n) / 1000, most: s.most });
  for (const { name, share } of busiest) {
    const id = of.get(name.slice(0, name.lastIndexOf('/')));
    if (id === undefined) continue;
    const there = loads.get(id);
    if (there) there.most = Math.max(there.most, share);
    else loads.set(id, { most: share });
  }
  return loads;
}

/** The block of an id, if there is one. */
export function findBlock(planes: readonly PlaneBlocks[], id: string | undefined): Block | undefined {
  for (const p of planes) for (const b of [p.top, ...p.pods]) if (b && b.id === id) return b;
  return undefined;
}

/**
 * The switches and links of a block. Those of the top tier come with the tier below them in all pods, since
 * their links lead there.
 */
export function partOf(block: Block, nodes: readonly Node[], links: readonly Link[]): { nodes: Node[]; links: Link[] } {
  const inner = new Set(block.tiers.flatMap((t) => t.nodes.map((n) => n.id)));
  const isTop = block.tiers.every((t) => t.tier > 1);
  const mine = links.filter((l) =>
    isTop ? inner.has(l.status.from) || inner.has(l.status.to) : inner.has(l.status.from) && inner.has(l.status.to),
  );
  if (!isTop) return { nodes: block.tiers.flatMap((t) => t.nodes), links: mine };
  const near = new Set(inner);
  for (const l of mine) near.add(l.status.from).add(l.status.to);
  return { nodes: nodes.filter((n) => near.has(n.id)), links: mine };
}
