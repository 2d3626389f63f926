import { useEffect, useMemo, useRef, useState } from 'react';
import { stateMark, stateTexts, type LinkState } from '../domain/fabric';
import type { Spot } from '../domain/layout';
import { Places } from '../domain/labels';
import { step } from '../domain/load';
import { natural } from '../domain/natural';
import { Canvas, Rings, whole, write, type At, type Inks } from './canvas';

export interface Vertex {
  id: string;
  name: string;
  state: LinkState;
  /** Hosts are drawn round, switches square. */
  host?: boolean;
}

export interface Edge {
  id: string;
  from: string;
  to: string;
  state: LinkState;
  /** Drawn thick, with an arrow to "to": the edges of a tree or of a path. */
  strong?: boolean;
  label?: string;
  /** How much of it is used, from "from" to "to" and back, 0 to 1: each is a lane of its own. */
  lanes?: [number | undefined, number | undefined];
  /** What it carries, from "from" to "to" and back, with units. */
  carries?: [string, string];
  /** The ports at its ends. */
  ports?: [string, string];
}

interface Lane {
  /** 0: from "from" to "to"; 1: back. */
  way: number;
  share: number;
  /** Which step of the scale the share is; undefined: nothing. */
  used: number | undefined;
  width: number;
  from: Spot;
  to: Spot;
}

/** A network as nodes and links. The arrow keys go from node to node in the order of names; Enter chooses one. */
export function Picture(props: {
  label: string;
  vertices: Vertex[];
  edges: Edge[];
  spots: Map<string, Spot>;
  height: number;
  chosen?: string;
  choose?: (id: string) => void;
  chooseEdge?: (id: string) => void;
  /** Called with the vertex or edge that the pointer or the keys are at, and with undefined when there is none. */
  point?: (id: string | undefined) => void;
  arrows?: boolean;
  /** Ids of the vertices and edges that the page is about: the others are faint. */
  lit?: ReadonlySet<string>;
}) {
  const { label, vertices, edges, spots, height, chosen, choose, arrows, lit, chooseEdge, point } = props;
  const [at, setAt] = useState<string>();
  const [over, setOver] = useState<string>(); // an edge
  const [view, setView] = useState(whole);
  useEffect(() => point?.(at ?? over), [point, at, over]);
  const order = useMemo(() => [...vertices].sort((a, b) => natural(a.name, b.name)), [vertices]);
  const byId = useMemo(() => new Map(vertices.map((v) => [v.id, v])), [vertices]);
  const small = vertices.length > 60;
  // A link of a switch that is down carries nothing, whatever is known of the link.
  const gone = (e: Edge) => byId.get(e.from)?.state === 'down' || byId.get(e.to)?.state === 'down';
  /** The lanes of a link beside each other, each at the right of its way; none of one that is not up. */
  const lanesOf = (e: Edge, a: Spot, b: Spot, small: boolean): Lane[] => {
    if (!e.lanes || e.state !== 'up' || gone(e)) return [];
    const long = distance(a, b) || 1,
      x = -(b.y - a.y) / long,
      y = (b.x - a.x) / long;
    return e.lanes.map((share = 0, way) => {
      const used = step(share, 5),
        width = used === undefined ? 1 : (small ? 0.8 : 1.2) + used * (small ? 0.7 : 1.3),
        off = (way === 0 ? 1 : -1) * (width / 2 + 0.8);
      const from = { x: a.x + x * off, y: a.y + y * off },
        to = { x: b.x + x * off, y: b.y + y * off };
      return { way, share, used, width, from: way === 0 ? from : to, to: way === 0 ? to : from };
    });
  };
  const where = (id: string, width: number) => {
    const s = spots.get(id);
    return s && { x: view.x + view.scale * s.x * width, y: view.y + view.scale * s.y * height };
  };
  /** Both ends of a link; undefined while one of them has no place. */
  const endsOf = (e: Edge, width: number): [Spot, Spot] | undefined => {
    const a = where(e.from, width),
      b = where(e.to, width);
    return a && b && [a, b];
  };
  const draw = (c: CanvasRenderingContext2D, w: number, inks: Inks) => {
    const ink = inks.states;
    c.clearRect(0, 0, w, height);
    const places = new Places();
    const faint = (id: string) => (lit && !lit.has(id) ? 0.22 : 1);
    const texts: [text: string, at: Spot, colour: string][] = [];
    const line = (a: Spot, b: Spot) => {
      c.beginPath();
      c.moveTo(a.x, a.y);
      c.lineTo(b.x, b.y);
      c.stroke();
    };
    // What is well is drawn first: faults lie on top.
    for (const strong of [false, true]) {
      for (const e of edges) {
        if ((e.strong ?? e.state !== 'up') !== strong) continue;
        const ends = endsOf(e, w);
        if (!ends) continue;
        const [a, b] = ends,
          stands = e.id === over || lit?.has(e.id),
          dead = gone(e);
        c.globalAlpha = faint(e.id);
        for (const lane of lanesOf(e, a, b, small)) {
          c.strokeStyle = lane.used === undefined ? inks.edge : inks.load[lane.used]!;
          c.lineWidth = lane.width + (e.id === over ? 2 : 0);
          line(lane.from, lane.to);
        }
        c.strokeStyle = dead ? inks.line : e.state !== 'up' ? ink[e.state] : e.strong ? inks.accent : inks.edge;
        c.lineWidth = Math.max(e.strong ? 3 : e.state === 'up' ? 1.2 : small ? 2 : 3, stands ? 3 : 0);
        c.setLineDash(e.state === 'drained' ? [6, 4] : dead || e.state === 'down' ? [5, 4] : []);
        if (!lanesOf(e, a, b, small).length) line(a, b);
        c.setLineDash([]);
        if (arrows && e.strong) arrow(c, a, b, c.strokeStyle);
        c.globalAlpha = 1;
        const text = e.label ?? (small ? '' : stateMark[e.state]);
        if (text) texts.push([text, along(a, b, 0.5), e.label ? inks.ink : ink[e.state]]);
        // The ports of what is pointed at.
        if (e.ports && (e.id === over || e.from === at || e.to === at)) {
          const k = Math.min(0.4, 26 / distance(a, b));
          texts.unshift([e.ports[0], along(a, b, k), inks.ink], [e.ports[1], along(b, a, k), inks.ink]);
        }
      }
    }
    for (const v of vertices) {
      const p = where(v.id, w);
      if (!p) continue;
      const size = small ? 4 : 9;
      // What is dead is an empty outline.
      const dead = v.state === 'down';
      c.strokeStyle = v.id === at ? inks.accent : v.id === chosen ? inks.ink : dead ? inks.fault : inks.quiet;
      c.setLineDash(dead ? [3, 3] : []);
      c.lineWidth = v.id === chosen || v.id === at ? 3 : 1.2;
      c.beginPath();
      if (v.host) c.arc(p.x, p.y, size * 0.8, 0, 2 * Math.PI);
      else c.rect(p.x - size, p.y - size, 2 * size, 2 * size);
      // No line shows through what is faint.
      c.fillStyle = inks.paper;
      c.fill();
      c.globalAlpha = faint(v.id);
      c.fillStyle = v.state === 'up' ? inks.cell : v.state === 'none' || dead ? inks.paper : ink[v.state];
      c.fill();
      c.stroke();
      c.setLineDash([]);
      if (!small && !v.host && stateMark[v.state]) {
        c.fillStyle = dead ? inks.fault : inks.paper;
        write(c, inks, stateMark[v.state], p.x, p.y, { weight: 'bold' });
      }
      c.globalAlpha = 1;
    }
    // What is pointed at, chosen or at fault has its name first; what has no place for one, none.
    const first = (v: Vertex) =>
      v.id === at || v.id === chosen ? 0 : lit?.has(v.id) ? 1 : v.state === 'up' || v.state === 'none' ? 3 : 2;
    c.font = `${inks.text}px ${inks.family}`;
    // Nor do texts lie on nodes.
    for (const v of vertices) {
      const p = where(v.id, w);
      if (p && !small) places.take(p.x, p.y, 16, 16);
    }
    for (const v of [...vertices].sort((a, b) => first(a) - first(b))) {
      const p = where(v.id, w);
      if (!p || (lit && !lit.has(v.id) && first(v) > 0)) continue;
      // Links of what is at the top lead down: its name is above it.
      const side = spots.get(v.id)!.y < 0.2 ? -1 : 1;
      const q = { x: p.x, y: p.y + side * ((small ? 4 : 9) + 10) };
      if (places.take(q.x, q.y, c.measureText(v.name).width + 6, inks.text + 2))
        note(c, v.name, q, v.state === 'down' ? inks.fault : inks.ink, inks);
    }
    for (const [text, p, colour] of texts) {
      c.font = `${inks.text}px ${inks.family}`;
      if (places.take(p.x, p.y, c.measureText(text).width + 4, inks.text + 1)) note(c, text, p, colour, inks);
    }
  };
  // What moves: dots at the rate of what is carried, and a ring around what has just failed.
  const phases = useRef(new Map<string, number>()),
    rings = useRef(new Rings()),
    failed = useRef<Set<string>>(undefined);
  useEffect(() => {
    const now = new Set([...vertices, ...edges].filter((x) => x.state === 'down').map((x) => x.id));
    if (failed.current) for (const id of now) if (!failed.current.has(id)) rings.current.add(id);
    failed.current = now;
  }, [vertices, edges]);
  const move = (c: CanvasRenderingContext2D, w: number, inks: Inks, seconds: number) => {
    c.fillStyle = inks.ink;
    const edge = small ? 5 : 12; // of the nodes at its ends
    for (const e of edges) {
      const ends = endsOf(e, w);
      if (!ends) continue;
      c.globalAlpha = lit && !lit.has(e.id) ? 0.2 : 0.75;
      for (const lane of lanesOf(e, ...ends, small)) {
        if (lane.used === undefined) continue;
        const key = `${e.id} ${lane.way}`,
          long = distance(...ends),
          gap = 64 - 9 * lane.used;
        const phase = ((phases.current.get(key) ?? 0) + seconds * (14 + 150 * lane.share)) % gap;
        phases.current.set(key, phase);
        const size = Math.max(2.6, lane.width * 0.8);
        for (let d = phase + edge; d < long - edge; d += gap) {
          const { x, y } = along(lane.from, lane.to, d / long);
          c.fillRect(x - size / 2, y - size / 2, size, size);
        }
      }
    }
    rings.current.draw(c, inks, seconds, (id) => {
      const e = edges.find((x) => x.id === id),
        [a, b] = [where(e?.from ?? id, w), where(e?.to ?? id, w)];
      return a && b && along(a, b, 0.5);
    });
  };
  const find = (p: At) =>
    closest(vertices, 16, (v) => {
      const q = where(v.id, p.width);
      return q ? distance(q, p) : Infinity;
    });
  const findEdge = (p: At) =>
    closest(edges, 6, (e) => {
      const [a, b] = endsOf(e, p.width) ?? [];
      if (!a || !b) return Infinity;
      const share = ((p.x - a.x) * (b.x - a.x) + (p.y - a.y) * (b.y - a.y)) / (distance(a, b) ** 2 || 1);
      return distance(along(a, b, Math.max(0, Math.min(1, share))), p);
    });
  const edge = over === undefined ? undefined : edges.find((e) => e.id === over);
  const now = at !== undefined ? byId.get(at) : undefined;
  const touching = (id: string) => edges.filter((e) => e.from === id || e.to === id);
  return (
    <Canvas
      label={label}
      said={
        now
          ? nodeText(now, touching(now.id), byId)
          : edge
            ? edgeText(edge, byId)
            : `${vertices.length} nodes, ${edges.length} links`
      }
      height={height}
      draw={draw}
      view={view}
      setView={setView}
      inputs={[vertices, edges, spots, chosen, at, over, lit]}
      move={edges.some((e) => e.lanes) ? move : undefined}
      point={(p) => {
        const id = p && find(p);
        setAt(id);
        setOver(p && id === undefined ? findEdge(p) : undefined);
      }}
      choose={(p) => {
        const id = find(p);
        const link = id ? undefined : findEdge(p);
        if (id) choose?.(id);
        else if (link) chooseEdge?.(link);
      }}
      step={({ x, y }) => {
        const i = order.findIndex((v) => v.id === (at ?? chosen));
        setAt(order[(i + x + y + order.length) % order.length]?.id);
      }}
      press={(key) => key === 'Enter' && at !== undefined && choose?.(at)}
    />
  );
}

/** The point at a share of the way from one to another. */
const along = (a: Spot, b: Spot, share: number): Spot => ({
  x: a.x + (b.x - a.x) * share,
  y: a.y + (b.y - a.y) * share,
});
const distance = (a: Spot, b: Spot) => Math.hypot(b.x - a.x, b.y - a.y);

/** The id of what is nearest to a point; undefined where nothing is within so many pixels. */
function closest<T extends { id: string }>(all: readonly T[], within: number, far: (x: T) => number) {
  let best: string | undefined;
  for (const x of all) {
    const d = far(x);
    if (d < within) [best, within] = [x.id, d];
  }
  return best;
}

/** What there is to say of a node: its state, and its ports with what is behind them. */
function nodeText(v: Vertex, touching: readonly Edge[], names: ReadonlyMap<string, Vertex>): string {
  const bad = touching.filter((e) => e.state !== 'up').length;
  const ends = touching.slice(0, 8).flatMap((e) => {
    const out = e.from === v.id;
    const port = e.ports?.[out ? 0 : 1],
      carried = e.carries?.[out ? 0 : 1];
    const to = names.get(out ? e.to : e.from)?.name ?? '';
    return port ? [`port ${port} to ${to}${carried ? ` ${carried}` : ''}`] : [];
  });
  return (
    v.name +
    (v.state === 'up' || v.state === 'none' ? '' : `: ${stateTexts[v.state]}`) +
    `, ${touching.length} links${bad > 0 ? `, ${bad} of them not up` : ''}` +
    (ends.length > 0 ? `: ${ends.join(', ')}${touching.length > ends.length ? ', …' : ''}` : '')
  );
}

/** What there is to say of an edge: its ends and ports, its state, and what it carries. */
function edgeText(e: Edge, names: ReadonlyMap<string, Vertex>): string {
  const name = (id: string) => names.get(id)?.name ?? id;
  const end = (id: string, port?: string) => name(id) + (port ? ` port ${port}` : '');
  const carried = (e.carries ?? []).map((text, i) => (text ? `, ${text} to ${name(i === 0 ? e.to : e.from)}` : ''));
  return `${end(e.from, e.ports?.[0])} – ${end(e.to, e.ports?.[1])}: ${stateTexts[e.state]}${carried.join('')}`;
}

function note(c: CanvasRenderingContext2D, text: string, p: Spot, colour: string, inks: Inks) {
  c.font = `${inks.text}px ${inks.family}`;
  // No line strikes it through.
  const w = c.measureText(text).width + 4;
  c.fillStyle = inks.paper;
  c.fillRect(p.x - w / 2, p.y - inks.text / 2 - 1, w, inks.text + 2);
  c.fillStyle = colour;
  write(c, inks, text, p.x, p.y);
}

function arrow(c: CanvasRenderingContext2D, a: Spot, b: Spot, colour: string | CanvasGradient | CanvasPattern) {
  const d = distance(a, b) || 1,
    ux = (b.x - a.x) / d,
    uy = (b.y - a.y) / d,
    tip = along(a, b, 1 - 13 / d);
  c.fillStyle = colour;
  c.beginPath();
  c.moveTo(tip.x, tip.y);
  c.lineTo(tip.x - ux * 10 - uy * 5, tip.y - uy * 10 + ux * 5);
  c.lineTo(tip.x - ux * 10 + uy * 5, tip.y - uy * 10 - ux * 5);
  c.fill();
}
