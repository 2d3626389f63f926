import { natural } from './natural';

export interface Spot {
  x: number;
  y: number;
}

/** A node to be placed. */
export interface Placed {
  id: string;
  name: string;
  tier?: number;
  planes: number[];
}

/**
 * Places nodes in the unit square, always at the same spots for the same network: a Clos by plane,
 * tier and index, any other graph by springs that start from a circle and come to rest.
 */
export function layout(nodes: readonly Placed[], edges: readonly (readonly [string, string])[]): Map<string, Spot> {
  const sorted = [...nodes].sort((a, b) => natural(a.name, b.name) || natural(a.id, b.id));
  return sorted.length > 0 && sorted.every((n) => n.tier !== undefined) ? clos(sorted) : springs(sorted, edges);
}

/** Planes side by side, tiers above each other with T0 at the bottom, or hosts as tier -1 below it; each by name. */
function clos(nodes: readonly Placed[]): Map<string, Spot> {
  const spots = new Map<string, Spot>();
  const planes = [...new Set(nodes.map((n) => n.planes[0] ?? 0))].sort((a, b) => a - b);
  const tiers = nodes.map((n) => n.tier!),
    low = Math.min(...tiers),
    top = Math.max(...tiers);
  planes.forEach((plane, p) => {
    for (let tier = low; tier <= top; tier++) {
      const row = nodes.filter((n) => (n.planes[0] ?? 0) === plane && n.tier === tier);
      row.forEach((n, i) =>
        spots.set(n.id, {
          x: (p + 0.06 + (0.88 * (i + 0.5)) / row.length) / planes.length,
          y: top === low ? 0.5 : 0.9 - (0.8 * (tier - low)) / (top - low),
        }),
      );
    }
  });
  return spots;
}

/** Above this many nodes springs would take too long: the nodes stay on the circle. */
const mostSprings = 400;

/** Fruchterman and Reingold's layout, from a circle in the order of names, with a fixed number of steps. */
function springs(nodes: readonly Placed[], edges: readonly (readonly [string, string])[]): Map<string, Spot> {
  const n = nodes.length;
  const at = nodes.map((_, i): Spot => ({
    x: 0.5 + 0.4 * Math.cos((2 * Math.PI * i) / n),
    y: 0.5 + 0.4 * Math.sin((2 * Math.PI * i) / n),
  }));
  const index = new Map(nodes.map((x, i) => [x.id, i]));
  const pairs = new Map<string, [number, number]>();
  for (const [a, b] of edges) {
    const i = index.get(a),
      j = index.get(b);
    if (i !== undefined && j !== undefined && i !== j) pairs.set(`${Math.min(i, j)} ${Math.max(i, j)}`, [i, j]);
  }
  const rest = 0.75 / Math.sqrt(Math.max(1, n));
  const steps = n > mostSprings ? 0 : 300;
  for (let step = 0; step < steps; step++) {
    const pull = at.map(() => ({ x: 0, y: 0 }));
    for (let i = 0; i < n; i++) {
      for (let j = i + 1; j < n; j++) {
        const dx = at[i]!.x - at[j]!.x || 1e-4 * (i - j),
          dy = at[i]!.y - at[j]!.y || 1e-4;
        const d = Math.max(1e-3, Math.hypot(dx, dy)),
          f = (rest * rest) / d / d;
        pull[i]!.x += dx * f;
        pull[i]!.y += dy * f;
        pull[j]!.x -= dx * f;
        pull[j]!.y -= dy * f;
      }
    }
    for (const [i, j] of pairs.values()) {
      const dx = at[i]!.x - at[j]!.x,
        dy = at[i]!.y - at[j]!.y,
        f = Math.hypot(dx, dy) / rest;
      pull[i]!.x -= dx * f;
      pull[i]!.y -= dy * f;
      pull[j]!.x += dx * f;
      pull[j]!.y += dy * f;
    }
    const most = 0.08 * (1 - step / steps);
    for (let i = 0; i < n; i++) {
      const size = Math.hypot(pull[i]!.x, pull[i]!.y);
      if (size === 0) continue;
      at[i]!.x += (pull[i]!.x / size) * Math.min(size, most);
      at[i]!.y += (pull[i]!.y / size) * Math.min(size, most);
    }
  }
  return new Map(fit(at).map((spot, i) => [nodes[i]!.id, spot]));
}

/** Moves and stretches spots so that they fill the square but for a margin. */
function fit(spots: readonly Spot[]): Spot[] {
  const margin = 0.08;
  const range = (values: number[]) => {
    const low = Math.min(...values),
      size = Math.max(...values) - low;
    return (v: number) => (size < 1e-6 ? 0.5 : margin + ((1 - 2 * margin) * (v - low)) / size);
  };
  const x = range(spots.map((s) => s.x)),
    y = range(spots.map((s) => s.y));
  return spots.map((s) => ({ x: x(s.x), y: y(s.y) }));
}
