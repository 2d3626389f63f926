import { useId, useState } from 'react';
import { stateTexts, type Matrix as Cells } from '../domain/fabric';
import { Canvas, stateInk, stateMark, whole, type Inks } from './canvas';

/**
 * A matrix of two tiers as one picture, whatever its size. The arrow keys move from cell to cell,
 * and what the cell holds is said; Enter chooses it.
 */
export function Matrix({ of, chosen, choose }: { of: Cells; chosen?: number; choose: (cell: number) => void }) {
  const [at, setAt] = useState<number>();
  const [view, setView] = useState(whole);
  const said = useId();
  const rows = of.rows.length, columns = of.columns.length;
  const labelled = rows <= 40;
  const left = labelled ? 84 : 8, top = 22;
  // Cells are square, and not larger than they need be.
  const size = (width: number) => Math.min(34, (width - left - 2) / columns);
  const [width, setWidth] = useState(900);
  const cell = size(width);
  const height = Math.min(top + Math.ceil(cell * rows) + 2, 900);
  const find = (p: { x: number; y: number; width: number }) => {
    const c = size(p.width), x = (p.x - view.x) / view.scale, y = (p.y - view.y) / view.scale;
    const column = Math.floor((x - left) / c), row = Math.floor((y - top) / c);
    return column >= 0 && column < columns && row >= 0 && row < rows ? row * columns + column : undefined;
  };
  const text = (i: number) => {
    return `${of.rows[Math.floor(i / columns)]!.name} – ${of.columns[i % columns]!.name}: ${stateTexts[of.cells[i]!]}`;
  };
  const draw = (c: CanvasRenderingContext2D, w: number, inks: Inks) => {
    if (w !== width) setWidth(w);
    const s = size(w), ink = stateInk(inks), gap = s >= 6 ? 1 : 0;
    c.clearRect(0, 0, w, height);
    c.save();
    c.translate(view.x, view.y);
    c.scale(view.scale, view.scale);
    const shown = s * view.scale;
    for (let i = 0; i < of.cells.length; i++) {
      const state = of.cells[i]!;
      if (state === 'none') continue;
      const x = left + (i % columns) * s, y = top + Math.floor(i / columns) * s;
      c.fillStyle = ink[state];
      c.fillRect(x, y, s - gap, s - gap);
      if (shown >= 11 && stateMark[state]) {
        c.fillStyle = inks.paper;
        c.font = `${Math.round(s * 0.62)}px sans-serif`;
        c.textAlign = 'center';
        c.textBaseline = 'middle';
        c.fillText(stateMark[state], x + (s - gap) / 2, y + (s - gap) / 2);
      }
    }
    for (const [i, colour] of [[chosen, inks.ink], [at, inks.accent]] as const) {
      if (i === undefined) continue;
      c.strokeStyle = colour;
      c.lineWidth = 2 / view.scale;
      c.strokeRect(left + (i % columns) * s, top + Math.floor(i / columns) * s, s - gap, s - gap);
    }
    c.fillStyle = inks.ink;
    c.font = '12px sans-serif';
    c.textBaseline = 'middle';
    if (labelled && s >= 11) {
      c.textAlign = 'right';
      of.rows.forEach((r, i) => c.fillText(r.name, left - 6, top + (i + 0.5) * s, left - 8));
    }
    c.textAlign = 'center';
    const every = Math.max(1, Math.ceil(58 / s));
    of.columns.forEach((r, i) => { if (i % every === 0) c.fillText(r.name, Math.max(left + 24, left + (i + 0.5) * s), top / 2, Math.max(s, 56)); });
    c.restore();
  };
  const move = (step: number) => setAt((i) => Math.max(0, Math.min(of.cells.length - 1, (i ?? chosen ?? 0) + (i === undefined && chosen === undefined ? 0 : step))));
  const name = `Plane ${of.plane}, T${of.tier} by T${of.tier + 1}`;
  return (
    <div className="drawing" role="application" tabIndex={0} aria-label={`${name}: ${rows} by ${columns} switches`} aria-describedby={said}
      onKeyDown={(e) => {
        const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[e.key];
        if (step) { e.preventDefault(); move(step); }
        if (e.key === 'Enter' && at !== undefined) choose(at);
        if (e.key === '+' || e.key === '-') setView((v) => { const scale = Math.min(64, Math.max(1, v.scale * (e.key === '+' ? 1.5 : 1 / 1.5))); return scale === 1 ? whole : { ...v, scale }; });
      }}>
      <h3>{name}</h3>
      <Canvas height={height} draw={draw} view={view} setView={setView} inputs={[of, chosen, at, width]}
        point={(p) => setAt(p && find(p))} choose={(p) => { const i = find(p); if (i !== undefined && of.cells[i] !== 'none') choose(i); }} />
      <p id={said} className="quiet said" aria-live="polite">{at !== undefined ? text(at) : summary(of)}</p>
    </div>
  );
}

/** How many cells there are of each state but none. */
function summary(m: Cells): string {
  const count = new Map<string, number>();
  for (const c of m.cells) if (c !== 'none') count.set(stateTexts[c], (count.get(stateTexts[c]) ?? 0) + 1);
  return [...count].map(([text, n]) => `${n} ${text}`).join(', ');
}
