import { natural } from './natural';

export interface Spot {
  x: number;
  y: number;
}

/** A node to be placed. Hosts have the tier -1, also in a network without tiers. */
interface Placed {
  id: string;
  name: string;
  tier?: number;
  planes: number[];
}
type Edges = readonly (readonly [string, string])[];

/**
 * Places nodes in the unit square, always at the same spots for the same network: a Clos by plane,
 * tier and index, any other graph in layers. Hosts are in racks at the bottom.
 */
export function layout(nodes: readonly Placed[], edges: Edges): Map<string, Spot> {
  const sorted = [...nodes].sort((a, b) => natural(a.name, b.name) || natural(a.id, b.id));
  return sorted.every((n) => n.tier !== undefined) ? clos(sorted, edges) : layered(sorted, edges);
}

/** Planes side by side, tiers above each other, each by name; below each T0 the rack of its hosts. */
function clos(nodes: readonly Placed[], edges: Edges): Map<string, Spot> {
  const spots = new Map<string, Spot>(),
    switches = new Map(edges);
  const planes = [...new Set(nodes.map((n) => n.planes[0] ?? 0))].sort((a, b) => a - b);
  const tiers = nodes.map((n) => n.tier!),
    low = Math.min(...tiers),
    top = Math.max(...tiers);
  planes.forEach((plane, p) => {
    for (let tier = top; tier >= low; tier--) {
      const row = nodes.filter((n) => (n.planes[0] ?? 0) === plane && n.tier === tier),
        y = top === low ? 0.5 : 0.9 - (0.8 * (tier - low)) / (top - low);
      if (tier >= 0) {
        row.forEach((n, i) => spots.set(n.id, { x: (p + 0.06 + (0.88 * (i + 0.5)) / row.length) / planes.length, y }));
        continue;
      }
      const racks = nodes.filter((n) => (n.planes[0] ?? 0) === plane && n.tier === 0);
      for (const { id } of racks) {
        const hosts = row.filter((n) => switches.get(n.id) === id),
          columns = hosts.length > 4 ? Math.ceil(Math.sqrt(2 * hosts.length)) : hosts.length,
          width = (0.88 * 0.8) / planes.length / racks.length;
        hosts.forEach((n, i) =>
          spots.set(n.id, {
            x: spots.get(id)!.x + width * (((i % columns) + 0.5) / columns - 0.5),
            y: y + 0.06 * Math.floor(i / columns),
          }),
        );
      }
    }
  });
  return spots;
}

/**
 * Layers by the hops from hosts, and without hosts from an end of the network, upwards: so a link joins two
 * neighbouring layers, or nodes of one. In a layer nodes stand where the middle of their neighbours is, again
 * and again, which leaves few crossings (Sugiyama, Tagawa and Toda's barycentres).
 */
function layered(nodes: readonly Placed[], edges: Edges): Map<string, Spot> {
  const near = new Map(nodes.map((n) => [n.id, new Set<string>()]));
  for (const [a, b] of edges) {
    if (a === b || !near.has(a) || !near.has(b)) continue;
    near.get(a)!.add(b);
    near.get(b)!.add(a);
  }
  const reach = (hops: Map<string, number>) => {
    for (const [id, n] of hops) for (const to of near.get(id)!) if (!hops.has(to)) hops.set(to, n + 1);
    return hops;
  };
  const hops = reach(new Map(nodes.filter((n) => n.tier === -1).map((n) => [n.id, 0])));
  for (const { id } of nodes)
    if (!hops.has(id))
      for (const [far, n] of reach(new Map([[[...reach(new Map([[id, 0]])).keys()].at(-1)!, 0]]))) hops.set(far, n);
  const layers = Array.from({ length: Math.max(...hops.values()) + 1 }, (_, hop) =>
    nodes.filter((n) => hops.get(n.id) === hop),
  );
  const x = new Map<string, number>();
  const place = () => layers.forEach((l) => l.forEach((n, i) => x.set(n.id, (i + 0.5) / l.length)));
  const middle = ({ id }: Placed) => {
    const at = [...near.get(id)!].map((to) => x.get(to)!);
    return at.length > 0 ? at.reduce((a, b) => a + b) / at.length : x.get(id)!;
  };
  place();
  for (let round = 0; round < 24; round++)
    for (const layer of round % 2 ? layers : layers.toReversed()) {
      const at = new Map(layer.map((n) => [n.id, middle(n)]));
      layer.sort((a, b) => at.get(a.id)! - at.get(b.id)!);
      place();
    }
  // Links within a layer do not lie on the nodes between their ends.
  const level = (l: readonly Placed[], i: number) => (l.length > 2 && hops.get(l[i]!.id)! > 0 && i % 2 ? 0.25 : 0);
  return new Map(
    layers.flatMap((l, depth) =>
      l.map((n, i) => [
        n.id,
        {
          x: 0.06 + 0.88 * x.get(n.id)!,
          y: layers.length > 1 ? 0.9 - (0.8 * (depth + level(l, i))) / (layers.length - 0.75) : 0.5,
        },
      ]),
    ),
  );
}
