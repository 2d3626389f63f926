import type { Schemas } from '../api/client';
import { states, stateTexts, type LinkState } from './fabric';
import { formatCount, formatShare } from './format';
import { grouped } from './grouped';
import { portsOf } from './load';
import { natural } from './natural';

type Link = Schemas['FabricLink'];
type Node = Schemas['FabricNode'];

/** Switches of a Clos that belong together: a pod, or the top tier of a plane. */
export interface Block {
  /** PLANE.POD, or PLANE.top; pods count from 1. */
  id: string;
  plane: number;
  /** What a person calls it in its plane. */
  name: string;
  /** Its tiers, from the top. */
  tiers: { tier: number; nodes: Node[] }[];
  /** What its cells are of: T0 by T1, and of the top tier the pods below, and the top itself, by its switches. */
  rows: string[];
  columns: string[];
}

/** The blocks of a plane. */
interface PlaneBlocks {
  plane: number;
  top?: Block;
  pods: Block[];
}

/** A fabric by planes and pods, with the cell of each link. */
interface Division {
  planes: PlaneBlocks[];
  /** Blocks by the numbers that links have. */
  all: Block[];
  nodes: readonly Node[];
  links: readonly Link[];
  /** By the place of a link: the number of its block, and its cell there, row by row; -1: none. */
  block: Int32Array;
  cell: Int32Array;
}

const nodeState = (n: Node): LinkState => (!n.status.present ? 'down' : n.spec.admin === 'drained' ? 'drained' : 'up');

let last: Division | undefined;

/** Divides a fabric as before where only states of its links have changed, in a hundredth of the time. */
export function divided(nodes: readonly Node[], links: readonly Link[]): Division {
  const before = last;
  const same =
    before?.nodes === nodes &&
    before.links.length === links.length &&
    (before.links === links || links.every((l, i) => l.id === before.links[i]!.id));
  return (last = same ? { ...before, links } : divide(nodes, links));
}

/**
 * Divides a Clos into planes and pods. A pod is what tiers 0 and 1 join; tiers above are the top of their
 * plane. Switches that no link joins are a block of their own, behind the pods. Nodes must have tiers.
 */
export function divide(nodes: readonly Node[], links: readonly Link[]): Division {
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
  const all: Block[] = [];
  const blockOf = new Int32Array(nodes.length),
    placeOf = new Int32Array(nodes.length);
  const nameOf = (n: Node) => n.status.name ?? n.id;
  const block = (plane: number, id: string, name: string, members: readonly number[], pods: string[] = []): Block => {
    const b: Block = { id: `${plane}.${id}`, plane, name, tiers: [], rows: pods, columns: [] };
    const byName = [...members].sort((x, y) => natural(nameOf(nodes[x]!), nameOf(nodes[y]!)));
    for (const t of [...new Set(members.map((i) => tier[i]!))].sort((x, y) => y - x)) {
      const here = byName.filter((i) => tier[i] === t),
        side = t === 0 ? b.rows : b.columns;
      b.tiers.push({ tier: t, nodes: here.map((i) => nodes[i]!) });
      for (const i of here) {
        blockOf[i] = all.length;
        placeOf[i] = side.push(nameOf(nodes[i]!)) - 1;
      }
    }
    all.push(b);
    return b;
  };
  const first = (b: readonly number[]) => b.map((i) => nameOf(nodes[i]!)).sort(natural)[0]!;
  const made = [...grouped(nodes.keys(), (i) => nodes[i]!.status.planes[0] ?? 0)]
    .sort(([a], [b]) => a - b)
    .map(([plane, members]): PlaneBlocks => {
      const top = members.filter((i) => tier[i]! > 1),
        low = members.filter((i) => tier[i]! <= 1),
        alone = low.filter((i) => !joined[i]),
        together = low.filter((i) => joined[i]);
      const pods = [...grouped(together, root).values()]
        .sort((a, b) => natural(first(a), first(b)))
        .map((members, i, { length }) =>
          block(plane, String(i + 1), length > 1 ? `Pod ${i + 1}` : 'All switches', members),
        );
      if (alone.length > 0) pods.push(block(plane, 'alone', 'Without links', alone));
      const rows = [...pods.map((b) => b.name), 'The top tier'];
      return { plane, pods, top: top.length > 0 ? block(plane, 'top', 'Top tier', top, rows) : undefined };
    });
  const rowOf = new Map(made.flatMap((p) => p.pods.map((b, i) => [all.indexOf(b), i] as const)));
  const of = new Int32Array(links.length).fill(-1),
    cell = new Int32Array(links.length);
  links.forEach((l, i) => {
    const a = index.get(l.status.from),
      b = index.get(l.status.to);
    if (a === undefined || b === undefined) return;
    const [low, high] = tier[a]! < tier[b]! ? [a, b] : [b, a],
      to = all[blockOf[high]!]!,
      inside = blockOf[low] === blockOf[high];
    const row = !inside ? rowOf.get(blockOf[low]!)! : tier[low] === 0 ? placeOf[low]! : to.rows.length - 1;
    of[i] = blockOf[high]!;
    cell[i] = row * to.columns.length + placeOf[high]!;
  });
  return { planes: made, all, nodes, links, block: of, cell };
}

/** The state of each cell of each block, as an index of states: the worst of its links. */
export function cellsOf(d: Division, stateOf: (l: Link) => LinkState): Uint8Array[] {
  const cells = d.all.map((b) => new Uint8Array(b.rows.length * b.columns.length));
  const rank = new Map(states.map((s, i) => [s, i]));
  d.links.forEach((l, i) => {
    const of = cells[d.block[i]!];
    if (of) of[d.cell[i]!] = Math.max(of[d.cell[i]!]!, rank.get(stateOf(l))!);
  });
  return cells;
}

/** What there is of the use of links, by plane: as the API answers. */
type Use = Schemas['Matrix'];

/**
 * What the links of each cell carry, in the busier of their directions: shares of what they can, 0 to 1; -1 where
 * that is not known. It is known of every link between T0 and T1, or of the ports that send most, named SWITCH/PORT.
 */
export function loadsOf(
  d: Division,
  uses: readonly Use[],
  busiest: readonly { name: string; share: number }[],
): Float32Array[] {
  const loads = d.all.map((b) => new Float32Array(b.rows.length * b.columns.length).fill(-1));
  const rows = new Map<string, [block: number, at: number]>(),
    columns = new Map<string, [block: number, at: number]>();
  d.all.forEach((b, i) => {
    if (b.tiers.some((t) => t.tier === 0)) b.rows.forEach((name, at) => rows.set(name, [i, at]));
    b.columns.forEach((name, at) => columns.set(name, [i, at]));
  });
  for (const u of uses) {
    const to = u.columns.map((name) => columns.get(name));
    u.rows.forEach((name, r) => {
      const from = rows.get(name);
      to.forEach((c, i) => {
        const used = Math.max(u.up[r]?.[i] ?? -1, u.down[r]?.[i] ?? -1);
        if (from && c && from[0] === c[0] && used >= 0)
          loads[c[0]]![from[1] * d.all[c[0]]!.columns.length + c[1]] = used / 1000;
      });
    });
  }
  if (busiest.length === 0) return loads;
  const shares = new Map(busiest.map((b) => [b.name, b.share]));
  d.links.forEach((l, i) => {
    const share = shares.get(`${l.status.fromName}/${portsOf(l.id)[0]}`),
      of = loads[d.block[i]!];
    if (of && share !== undefined) of[d.cell[i]!] = Math.max(of[d.cell[i]!]!, share);
  });
  return loads;
}

/** Says what a block has: switches, links by their states, and what they carry. */
export function blockText(b: Block, cells: Uint8Array, loads: Float32Array | undefined): string {
  const parts = [
    b.tiers.map((t) => `${formatCount(t.nodes.length)} T${t.tier}`).join(', '),
    counted(b.tiers.flatMap((t) => t.nodes.map(nodeState)).filter((s) => s !== 'up')).map((t) => `switches ${t}`),
    counted([...cells].map((i) => states[i]!)),
  ].flat();
  const known = [...(loads ?? [])].filter((x) => x >= 0),
    share = (x: number) => formatShare(Math.round(1000 * x) / 1000);
  if (known.length > 0)
    parts.push(
      `load ${share(known.reduce((x, y) => x + y) / known.length)}, at most ${share(known.reduce((x, y) => Math.max(x, y)))}`,
    );
  return `Plane ${b.plane}, ${b.name.toLowerCase()}: ${parts.filter(Boolean).join('; ')}`;
}

/** How many there are of each state but none, the worst first. */
export function counted(all: readonly LinkState[]): string[] {
  return states
    .map((s) => [s, all.filter((x) => x === s).length] as const)
    .filter(([s, n]) => s !== 'none' && n > 0)
    .reverse()
    .map(([s, n]) => `${formatCount(n)} ${stateTexts[s]}`);
}

/** Where a block is in a picture, in pixels. */
interface Tile {
  block: Block;
  x: number;
  y: number;
  width: number;
  height: number;
}

/** The pixels between two tiles. */
const gap = 6;

/** Places the blocks of planes in a picture: planes side by side, the top tier above the pods, which are large. */
export function tilesOf(planes: readonly PlaneBlocks[], width: number, height: number, head: number): Tile[] {
  const across = Math.max(1, Math.min(planes.length, Math.floor(width / 240))),
    w = width / across,
    h = height / Math.ceil(planes.length / across);
  return planes.flatMap((p, i) => {
    const x = (i % across) * w,
      y = Math.floor(i / across) * h;
    const top = p.top && { block: p.top, x, y: y + 2 * head, width: w - 2 * gap, height: 0.12 * h };
    const from = y + head + (top ? top.height + head + gap : 0);
    const size = (columns: number): [width: number, height: number] => [
      (w - gap) / columns,
      (y + h - from) / Math.ceil(p.pods.length / columns),
    ];
    const columns = p.pods
      .map((_, k) => k + 1)
      .reduce((a, b) => (Math.min(...size(b)) > Math.min(...size(a)) ? b : a), 1);
    const [podWidth, podHeight] = size(columns);
    const pods = p.pods.map((block, k) => ({
      block,
      x: x + (k % columns) * podWidth,
      y: from + Math.floor(k / columns) * podHeight + head,
      width: podWidth - gap,
      height: podHeight - head - gap,
    }));
    return top ? [top, ...pods] : pods;
  });
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

/** The tile at a point of a picture, with its name above it and the gap behind it. */
export function tileAt(tiles: readonly Tile[], x: number, y: number, head: number): Tile | undefined {
  return tiles.find((t) => x >= t.x && x < t.x + t.width + gap && y >= t.y - head && y < t.y + t.height + gap);
}
