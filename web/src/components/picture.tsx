import { useId, useMemo, useState } from 'react';
import { stateTexts, type LinkState } from '../domain/fabric';
import type { Spot } from '../domain/layout';
import { Places } from '../domain/labels';
import { step } from '../domain/load';
import { natural } from '../domain/natural';
import { Canvas, stateInk, stateMark, whole, type Inks } from './canvas';

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
  /** How much of it is used, in either direction: 0 to 1. */
  load?: number;
  /** What it carries, from "from" to "to" and back, with units. */
  carries?: [string, string];
  /** The ports at its ends. */
  ports?: [string, string];
}

/** A network as nodes and links. The arrow keys go from node to node in the order of names; Enter chooses one. */
export function Picture({
  label,
  vertices,
  edges,
  spots,
  height,
  chosen,
  choose,
  arrows,
  lit,
  chooseEdge,
}: {
  label: string;
  vertices: Vertex[];
  edges: Edge[];
  spots: Map<string, Spot>;
  height: number;
  chosen?: string;
  choose?: (id: string) => void;
  chooseEdge?: (id: string) => void;
  arrows?: boolean;
  /** Ids of the vertices and edges that the page is about: the others are faint. */
  lit?: ReadonlySet<string>;
}) {
  const [at, setAt] = useState<string>();
  const [over, setOver] = useState<string>(); // an edge
  const [view, setView] = useState(whole);
  const said = useId();
  const order = useMemo(() => [...vertices].sort((a, b) => natural(a.name, b.name)), [vertices]);
  const byId = useMemo(() => new Map(vertices.map((v) => [v.id, v])), [vertices]);
  const small = vertices.length > 60;
  const where = (id: string, width: number) => {
    const s = spots.get(id);
    return s && { x: view.x + view.scale * s.x * width, y: view.y + view.scale * s.y * height };
  };
  const draw = (c: CanvasRenderingContext2D, w: number, inks: Inks) => {
    const ink = stateInk(inks);
    c.clearRect(0, 0, w, height);
    const places = new Places();
    const faint = (id: string) => (lit && !lit.has(id) ? 0.22 : 1);
    const texts: [text: string, at: Spot, colour: string][] = [];
    // What is well is drawn first: faults lie on top.
    for (const strong of [false, true]) {
      for (const e of edges) {
        if ((e.strong ?? e.state !== 'up') !== strong) continue;
        const a = where(e.from, w),
          b = where(e.to, w);
        if (!a || !b) continue;
        const used = step(e.load, inks.load.length);
        c.globalAlpha = faint(e.id);
        c.strokeStyle =
          e.state !== 'up' ? ink[e.state] : used !== undefined ? inks.load[used]! : e.strong ? inks.accent : inks.edge;
        c.lineWidth = Math.max(
          e.strong ? 3 : e.state === 'up' ? 1.2 : small ? 2 : 3,
          used === undefined ? 0 : (small ? 1 : 1.5) + used * 1.4,
          e.id === over ? 3 : 0,
          lit?.has(e.id) ? 3 : 0,
        );
        c.setLineDash(e.state === 'drained' ? [6, 4] : e.state === 'down' ? [5, 4] : []);
        c.beginPath();
        c.moveTo(a.x, a.y);
        c.lineTo(b.x, b.y);
        c.stroke();
        c.setLineDash([]);
        const middle = { x: a.x + (b.x - a.x) * 0.5, y: a.y + (b.y - a.y) * 0.5 };
        if (arrows && e.strong) arrow(c, a, b, c.strokeStyle);
        c.globalAlpha = 1;
        const text = e.label ?? (small ? '' : stateMark[e.state]);
        if (text) texts.push([text, middle, e.label ? inks.ink : ink[e.state]]);
        // The ports of what is pointed at.
        if (e.ports && (e.id === over || e.from === at || e.to === at)) {
          const d = Math.hypot(b.x - a.x, b.y - a.y) || 1,
            k = Math.min(0.4, 26 / d);
          texts.unshift(
            [e.ports[0], { x: a.x + (b.x - a.x) * k, y: a.y + (b.y - a.y) * k }, inks.ink],
            [e.ports[1], { x: b.x + (a.x - b.x) * k, y: b.y + (a.y - b.y) * k }, inks.ink],
          );
        }
      }
    }
    for (const v of vertices) {
      const p = where(v.id, w);
      if (!p) continue;
      const size = small ? 4 : 9;
      c.globalAlpha = faint(v.id);
      c.fillStyle = v.state === 'up' ? inks.cell : v.state === 'none' ? inks.paper : ink[v.state];
      c.strokeStyle = v.id === at ? inks.accent : v.id === chosen ? inks.ink : inks.quiet;
      c.lineWidth = v.id === chosen || v.id === at ? 3 : 1.2;
      c.beginPath();
      if (v.host) c.arc(p.x, p.y, size * 0.8, 0, 2 * Math.PI);
      else c.rect(p.x - size, p.y - size, 2 * size, 2 * size);
      c.fill();
      c.stroke();
      if (!small && !v.host && stateMark[v.state]) {
        c.fillStyle = inks.paper;
        c.font = `bold ${inks.text}px ${inks.family}`;
        c.textAlign = 'center';
        c.textBaseline = 'middle';
        c.fillText(stateMark[v.state], p.x, p.y);
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
      if (places.take(q.x, q.y, c.measureText(v.name).width + 6, inks.text + 2)) note(c, v.name, q, inks.ink, inks);
    }
    for (const [text, p, colour] of texts) {
      c.font = `${inks.text}px ${inks.family}`;
      if (places.take(p.x, p.y, c.measureText(text).width + 4, inks.text + 1)) note(c, text, p, colour, inks);
    }
  };
  const find = (p: { x: number; y: number; width: number }) => {
    let best: { id: string; d: number } | undefined;
    for (const v of vertices) {
      const q = where(v.id, p.width);
      const d = q ? Math.hypot(q.x - p.x, q.y - p.y) : Infinity;
      if (d < 16 && (!best || d < best.d)) best = { id: v.id, d };
    }
    return best?.id;
  };
  const findEdge = (p: { x: number; y: number; width: number }) => {
    let best: { id: string; d: number } | undefined;
    for (const e of edges) {
      const a = where(e.from, p.width),
        b = where(e.to, p.width);
      if (!a || !b) continue;
      const size = (b.x - a.x) ** 2 + (b.y - a.y) ** 2 || 1,
        k = Math.max(0, Math.min(1, ((p.x - a.x) * (b.x - a.x) + (p.y - a.y) * (b.y - a.y)) / size));
      const d = Math.hypot(a.x + k * (b.x - a.x) - p.x, a.y + k * (b.y - a.y) - p.y);
      if (d < 6 && (!best || d < best.d)) best = { id: e.id, d };
    }
    return best?.id;
  };
  const edge = over === undefined ? undefined : edges.find((e) => e.id === over);
  const now = at !== undefined ? byId.get(at) : undefined;
  const touching = (id: string) => edges.filter((e) => e.from === id || e.to === id);
  return (
    <div
      className="drawing"
      role="application"
      tabIndex={0}
      aria-label={label}
      aria-describedby={said}
      onKeyDown={(e) => {
        const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 }[e.key];
        if (step) {
          e.preventDefault();
          const i = order.findIndex((v) => v.id === (at ?? chosen));
          setAt(order[(i + step + order.length) % order.length]?.id);
        }
        if (e.key === 'Enter' && at !== undefined) choose?.(at);
      }}
    >
      <Canvas
        height={height}
        draw={draw}
        view={view}
        setView={setView}
        inputs={[vertices, edges, spots, chosen, at, over, lit]}
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
      />
      <p id={said} className="quiet said" aria-live="polite">
        {now
          ? nodeText(now, touching(now.id), byId)
          : edge
            ? edgeText(edge, byId)
            : `${vertices.length} nodes, ${edges.length} links`}
      </p>
    </div>
  );
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
  c.textAlign = 'center';
  c.textBaseline = 'middle';
  // No line strikes it through.
  const w = c.measureText(text).width + 4;
  c.fillStyle = inks.paper;
  c.fillRect(p.x - w / 2, p.y - inks.text / 2 - 1, w, inks.text + 2);
  c.fillStyle = colour;
  c.fillText(text, p.x, p.y);
}

function arrow(c: CanvasRenderingContext2D, a: Spot, b: Spot, colour: string | CanvasGradient | CanvasPattern) {
  const d = Math.hypot(b.x - a.x, b.y - a.y) || 1,
    ux = (b.x - a.x) / d,
    uy = (b.y - a.y) / d;
  const tip = { x: b.x - ux * 13, y: b.y - uy * 13 };
  c.fillStyle = colour;
  c.beginPath();
  c.moveTo(tip.x, tip.y);
  c.lineTo(tip.x - ux * 10 - uy * 5, tip.y - uy * 10 + ux * 5);
  c.lineTo(tip.x - ux * 10 + uy * 5, tip.y - uy * 10 - ux * 5);
  c.fill();
}
