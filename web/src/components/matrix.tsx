import { useId, useMemo, useRef, useState } from 'react';
import { stateTexts, states, type LinkState, type Matrix as Cells } from '../domain/fabric';
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
  // The cells that are not up, unless there are so many that the image shows them well.
  const odd = useMemo(() => {
    const found: number[] = [];
    of.cells.forEach((state, i) => { if (state !== 'none' && state !== 'up') found.push(i); });
    return found.length <= 2000 ? found : [];
  }, [of]);
  const image = useRef<{ of: Cells; colours: string; canvas: HTMLCanvasElement }>(undefined);
  const pixels = (ink: Record<LinkState, string>) => {
    const colours = states.map((x) => ink[x]).join();
    if (image.current?.of !== of || image.current.colours !== colours) image.current = { of, colours, canvas: imageOf(of, ink) };
    return image.current.canvas;
  };
  const draw = (c: CanvasRenderingContext2D, w: number, inks: Inks) => {
    if (w !== width) setWidth(w);
    const s = size(w), ink = stateInk(inks), gap = 1;
    c.clearRect(0, 0, w, height);
    c.save();
    c.translate(view.x, view.y);
    c.scale(view.scale, view.scale);
    const shown = s * view.scale;
    // What is on the screen is drawn cell by cell where cells are large enough to have a gap or a mark, and
    // else as an image with a pixel for each.
    if (shown >= 6) {
      const first = (at: number, from: number) => Math.max(0, Math.floor((-at / view.scale - from) / s));
      const last = (at: number, size: number, from: number, n: number) => Math.min(n, Math.ceil(((size - at) / view.scale - from) / s));
      for (let row = first(view.y, top); row < last(view.y, height, top, rows); row++) {
        for (let column = first(view.x, left); column < last(view.x, w, left, columns); column++) {
          const state = of.cells[row * columns + column]!;
          if (state === 'none') continue;
          const x = left + column * s, y = top + row * s, g = gap / view.scale;
          c.fillStyle = ink[state];
          c.fillRect(x, y, s - g, s - g);
          if (shown >= 11 && stateMark[state]) {
            c.fillStyle = inks.paper;
            c.font = `${(s * 0.62).toFixed(2)}px sans-serif`;
            c.textAlign = 'center';
            c.textBaseline = 'middle';
            c.fillText(stateMark[state], x + (s - g) / 2, y + (s - g) / 2);
          }
        }
      }
    } else {
      c.imageSmoothingEnabled = shown < 1;
      c.drawImage(pixels(ink), left, top, s * columns, s * rows);
      // A fault is not to vanish among thousands of cells that are smaller than a pixel.
      const least = 3 / view.scale;
      for (const i of odd) {
        c.fillStyle = ink[of.cells[i]!];
        c.fillRect(left + ((i % columns) + 0.5) * s - Math.max(s, least) / 2, top + (Math.floor(i / columns) + 0.5) * s - Math.max(s, least) / 2, Math.max(s, least), Math.max(s, least));
      }
    }
    for (const [i, colour] of [[chosen, inks.ink], [at, inks.accent]] as const) {
      if (i === undefined) continue;
      c.strokeStyle = colour;
      c.lineWidth = 2 / view.scale;
      c.strokeRect(left + (i % columns) * s, top + Math.floor(i / columns) * s, s - gap / view.scale, s - gap / view.scale);
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
    of.columns.forEach((r, i) => { if (i % every === 0) c.fillText(r.name, left + Math.max(28, (i + 0.5) * s), top / 2, Math.max(s, 56)); });
    c.restore();
  };
  const counts = useMemo(() => summary(of), [of]);
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
      <p id={said} className="quiet said" aria-live="polite">{at !== undefined ? text(at) : counts}</p>
    </div>
  );
}

/** An image of a matrix with one pixel a cell. */
function imageOf(m: Cells, ink: Record<LinkState, string>): HTMLCanvasElement {
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, m.columns.length);
  canvas.height = Math.max(1, m.rows.length);
  const c = canvas.getContext('2d')!;
  // The colours of the page, as numbers: the canvas itself reads them.
  const colour = new Map<LinkState, Uint8ClampedArray>();
  for (const state of states) {
    c.clearRect(0, 0, 1, 1);
    c.fillStyle = ink[state];
    if (state !== 'none') c.fillRect(0, 0, 1, 1);
    colour.set(state, c.getImageData(0, 0, 1, 1).data);
  }
  const data = c.createImageData(canvas.width, canvas.height);
  m.cells.forEach((state, i) => data.data.set(colour.get(state)!, 4 * i));
  c.putImageData(data, 0, 0);
  return canvas;
}

/** How many cells there are of each state but none. */
function summary(m: Cells): string {
  const count = new Map<string, number>();
  for (const c of m.cells) if (c !== 'none') count.set(stateTexts[c], (count.get(stateTexts[c]) ?? 0) + 1);
  return [...count].map(([text, n]) => `${n} ${text}`).join(', ');
}
