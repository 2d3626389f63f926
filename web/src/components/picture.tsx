import { useId, useMemo, useState } from 'react';
import { stateTexts, type LinkState } from '../domain/fabric';
import type { Spot } from '../domain/layout';
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
}: {
  label: string;
  vertices: Vertex[];
  edges: Edge[];
  spots: Map<string, Spot>;
  height: number;
  chosen?: string;
  choose?: (id: string) => void;
  arrows?: boolean;
}) {
  const [at, setAt] = useState<string>();
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
    // What is well is drawn first: faults lie on top.
    for (const strong of [false, true]) {
      for (const e of edges) {
        if ((e.strong ?? e.state !== 'up') !== strong) continue;
        const a = where(e.from, w),
          b = where(e.to, w);
        if (!a || !b) continue;
        c.strokeStyle = e.state === 'up' ? (e.strong ? inks.accent : inks.edge) : ink[e.state];
        c.lineWidth = e.strong ? 3 : e.state === 'up' ? 1.2 : 2;
        c.setLineDash(e.state === 'drained' ? [6, 4] : e.state === 'down' ? [2, 4] : []);
        c.beginPath();
        c.moveTo(a.x, a.y);
        c.lineTo(b.x, b.y);
        c.stroke();
        c.setLineDash([]);
        const middle = { x: a.x + (b.x - a.x) * 0.5, y: a.y + (b.y - a.y) * 0.5 };
        if (arrows && e.strong) arrow(c, a, b, c.strokeStyle);
        const text = e.label ?? (small ? '' : stateMark[e.state]);
        if (text) note(c, text, middle, e.label ? inks.ink : ink[e.state], inks);
      }
    }
    for (const v of vertices) {
      const p = where(v.id, w);
      if (!p) continue;
      const size = small ? 4 : 9;
      c.fillStyle = v.state === 'up' ? inks.cell : v.state === 'none' ? inks.paper : ink[v.state];
      c.strokeStyle = v.id === at ? inks.accent : v.id === chosen ? inks.ink : inks.quiet;
      c.lineWidth = v.id === chosen || v.id === at ? 3 : 1.2;
      c.beginPath();
      if (v.host) c.arc(p.x, p.y, size * 0.8, 0, 2 * Math.PI);
      else c.rect(p.x - size, p.y - size, 2 * size, 2 * size);
      c.fill();
      c.stroke();
      if (!small || v.id === at || v.id === chosen || view.scale > 3)
        note(c, v.name, { x: p.x, y: p.y + size + 10 }, inks.ink, inks);
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
        inputs={[vertices, edges, spots, chosen, at]}
        point={(p) => setAt(p && find(p))}
        choose={(p) => {
          const id = find(p);
          if (id) choose?.(id);
        }}
      />
      <p id={said} className="quiet said" aria-live="polite">
        {now
          ? `${now.name}${now.state === 'up' || now.state === 'none' ? '' : `: ${stateTexts[now.state]}`}, ${touching(now.id).length} links${touching(now.id).some((e) => e.state !== 'up') ? `, ${touching(now.id).filter((e) => e.state !== 'up').length} of them not up` : ''}`
          : `${vertices.length} nodes, ${edges.length} links`}
      </p>
    </div>
  );
}

function note(c: CanvasRenderingContext2D, text: string, p: Spot, colour: string, inks: Inks) {
  c.font = '12px sans-serif';
  c.textAlign = 'center';
  c.textBaseline = 'middle';
  c.lineWidth = 4;
  c.strokeStyle = inks.paper;
  c.strokeText(text, p.x, p.y);
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
