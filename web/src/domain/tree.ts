import type { Schemas } from '../api/client';
import type { Spot } from './layout';

/** A vertex of the picture of a multicast group: the source, a switch of the tree, or a receiver. */
interface TreeVertex {
  id: string;
  name: string;
  host: boolean;
}

/** A branch of the tree, or the way from the source to its root. */
interface TreeEdge {
  from: string;
  to: string;
  /** State of the branch in its switch; absent for the source's link, and before the switch has answered. */
  state?: Schemas['BranchState'];
}

interface TreeDrawing {
  vertices: TreeVertex[];
  edges: TreeEdge[];
  spots: Map<string, Spot>;
}

const hostId = (address: string) => `host ${address}`;

/** Draws a tree from left to right, a column a level, leaves below each other in the order of branches. */
export function drawTree(
  tree: Schemas['GroupTree'],
  source: string,
  names: ReadonlyMap<string, string>,
  state: Schemas['StateReport'] | undefined,
): TreeDrawing {
  const nodes = new Map((tree.nodes ?? []).map((n) => [n.switch, n]));
  const states = new Map(
    (state?.nodes ?? []).flatMap((n) => (n.branches ?? []).map((b) => [`${n.switch} ${b.index}`, b] as const)),
  );
  const vertices: TreeVertex[] = [],
    edges: TreeEdge[] = [],
    at = new Map<string, { level: number; row: number }>();
  let rows = 0,
    levels = 0;
  const place = (v: TreeVertex, level: number, below: () => number[]): number => {
    vertices.push(v);
    levels = Math.max(levels, level);
    const children = below();
    const row = children.length > 0 ? (children[0]! + children.at(-1)!) / 2 : rows++;
    at.set(v.id, { level, row });
    return row;
  };
  const visit = (name: string, level: number): number =>
    place({ id: name, name, host: false }, level, () =>
      (nodes.get(name)?.branches ?? []).map((b) => {
        const to = b.child || hostId(b.receiver ?? '');
        edges.push({ from: name, to, state: states.get(`${name} ${b.index}`) });
        if (b.child) return visit(b.child, level + 1);
        return place(
          { id: to, name: names.get(b.receiver ?? '') ?? b.receiver ?? '', host: true },
          level + 1,
          () => [],
        );
      }),
    );
  place({ id: hostId(source), name: names.get(source) ?? source, host: true }, 0, () => [visit(tree.root, 1)]);
  edges.unshift({ from: hostId(source), to: tree.root });
  const spots = new Map(
    [...at].map(([id, p]) => [
      id,
      { x: 0.05 + (0.9 * p.level) / Math.max(1, levels), y: (p.row + 0.5) / Math.max(1, rows) },
    ]),
  );
  return { vertices, edges, spots };
}

/** How far a branch is behind the branch that is furthest, in PSNs modulo 2^24; undefined when either is unknown. */
export function lag(branch: Schemas['BranchState'], all: readonly Schemas['BranchState'][]): number | undefined {
  const known = all.filter((b) => b.answered && b.valid && b.epoch === branch.epoch).map((b) => b.ackPsn);
  if (!branch.answered || !branch.valid || known.length === 0) return undefined;
  // The furthest is the one that no other is less than half the space ahead of.
  return Math.max(...known.map((psn) => ((psn - branch.ackPsn + 0x1800000) & 0xffffff) - 0x800000), 0);
}
