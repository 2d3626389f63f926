import { useMemo, useRef, useState } from 'react';
import { stateMark, stateTexts, type Cells } from '../domain/fabric';
import { formatShare } from '../domain/format';
import { counted } from '../domain/blocks';
import { mix } from '../domain/colour';
import { prefix } from '../domain/labels';
import { Canvas, imageOf, whole, write, type At, type Inks } from './canvas';

/**
 * A matrix as one picture, whatever its size. The arrow keys move from cell to cell,
 * and what the cell holds is said; Enter chooses it.
 */
export function Matrix({
  of,
  title,
  label,
  heat,
  value = (i) => String(Math.round(heat![i]! / 10)),
  ports = () => [],
  say = (i) => {
    const [row = '', column = ''] = ports(i).map((p) => ` port ${p}`);
    return `${of.rows[Math.floor(i / of.columns.length)]!.name}${row} – ${of.columns[i % of.columns.length]!.name}${column}: ${stateTexts[of.cells[i]!]}${heat ? (heat[i]! < 0 ? ', not measured' : `, ${formatShare(heat[i]! / 1000)} used`) : ''}`;
  },
  chosen,
  choose,
  lit,
  chooseNode,
}: {
  of: Cells;
  title: string;
  /** What a screen reader calls it. */
  label: string;
  /**
   * Utilization of the cells in thousandths; -1 where it is not known. It is shown in place of the
   * states of cells that are up.
   */
  heat?: readonly number[];
  /** What stands in a cell that is measured, in a few letters, and what is said of any cell. */
  value?: (cell: number) => string;
  say?: (cell: number) => string;
  /** Rows and columns that the page is about, by place: cells of no such row or column are faint. */
  lit?: ReadonlySet<number>;
  /** The ports of the link of a cell, at its row and at its column. */
  ports?: (cell: number) => readonly string[];
  chosen?: number;
  choose: (cell: number) => void;
  /** Chooses a switch, by its id. */
  chooseNode?: (id: string) => void;
}) {
  const [at, setAt] = useState<number>();
  const [view, setView] = useState(whole);
  const rows = of.rows.length,
    columns = of.columns.length;
  const labelled = rows <= 40;
  const left = labelled ? 84 : 8,
    top = 22;
  // Cells are square, and not larger than they need be.
  const size = (width: number) => Math.min(34, (width - left - 2) / columns);
  const [width, setWidth] = useState(900);
  const cell = size(width);
  const height = Math.min(top + Math.ceil(cell * rows) + 2, 900);
  const find = (p: At) => {
    const c = size(p.width),
      x = (p.x - view.x) / view.scale,
      y = (p.y - view.y) / view.scale;
    const column = Math.floor((x - left) / c),
      row = Math.floor((y - top) / c);
    return column >= 0 && column < columns && row >= 0 && row < rows ? row * columns + column : undefined;
  };
  const mark = (i: number, shown: number) =>
    stateMark[of.cells[i]!] || (heat && heat[i]! >= 0 && shown >= 22 ? value(i) : '');
  // The cells that are not up, unless there are so many that the image shows them well.
  const odd = useMemo(() => {
    const found: number[] = [];
    of.cells.forEach((state, i) => {
      if (state !== 'none' && state !== 'up') found.push(i);
    });
    return found.length <= 2000 ? found : [];
  }, [of]);
  const image = useRef<{ of: Cells; heat?: readonly number[]; colours: string; canvas: HTMLCanvasElement }>(undefined);
  const pixels = (ink: (i: number) => string, inks: Inks) => {
    const colours = Object.values(inks).join();
    if (image.current?.of !== of || image.current.heat !== heat || image.current.colours !== colours)
      image.current = {
        of,
        heat,
        colours,
        canvas: imageOf(columns, rows, (i) => (of.cells[i] === 'none' ? undefined : ink(i))),
      };
    return image.current.canvas;
  };
  const draw = (c: CanvasRenderingContext2D, w: number, inks: Inks) => {
    if (w !== width) setWidth(w);
    const s = size(w),
      gap = 1;
    const ramp = Array.from({ length: 21 }, (_, i) => mix(inks.paper, inks.accent, 0.08 + (0.92 * i) / 20));
    const ink = (i: number) =>
      heat && of.cells[i] === 'up'
        ? heat[i]! < 0
          ? inks.line
          : ramp[Math.min(20, Math.round(heat[i]! / 50))]!
        : inks.states[of.cells[i]!];
    c.clearRect(0, 0, w, height);
    c.save();
    c.translate(view.x, view.y);
    c.scale(view.scale, view.scale);
    const shown = s * view.scale;
    // What is on the screen is drawn cell by cell where cells are large enough to have a gap or a mark, and
    // else as an image with a pixel for each.
    if (shown >= 6) {
      const first = (at: number, from: number) => Math.max(0, Math.floor((-at / view.scale - from) / s));
      const last = (at: number, size: number, from: number, n: number) =>
        Math.min(n, Math.ceil(((size - at) / view.scale - from) / s));
      for (let row = first(view.y, top); row < last(view.y, height, top, rows); row++) {
        for (let column = first(view.x, left); column < last(view.x, w, left, columns); column++) {
          const i = row * columns + column;
          if (of.cells[i] === 'none') continue;
          const x = left + column * s,
            y = top + row * s,
            g = gap / view.scale;
          c.globalAlpha = lit && !lit.has(row) && !lit.has(column) ? 0.22 : 1;
          c.fillStyle = ink(i);
          c.fillRect(x, y, s - g, s - g);
          const said = mark(i, shown);
          if (shown >= 11 && said) {
            c.fillStyle = heat && of.cells[i] === 'up' && heat[i]! < 500 ? inks.ink : inks.paper;
            const size = s * (said.length > 1 ? 0.42 : 0.62);
            write(c, inks, said, x + (s - g) / 2, y + (s - g) / 2, { size, most: s - g });
          }
          if (shown >= 60) {
            c.fillStyle = inks.ink;
            write(c, inks, ports(i).join(' – '), x + (s - g) / 2, y + 0.85 * s, { size: s * 0.17, most: s - g });
          }
        }
      }
      c.globalAlpha = 1;
    } else {
      c.imageSmoothingEnabled = shown < 1;
      c.drawImage(pixels(ink, inks), left, top, s * columns, s * rows);
      // A fault is not to vanish among thousands of cells that are smaller than a pixel.
      const least = 3 / view.scale;
      for (const i of odd) {
        c.fillStyle = ink(i);
        c.fillRect(
          left + ((i % columns) + 0.5) * s - Math.max(s, least) / 2,
          top + (Math.floor(i / columns) + 0.5) * s - Math.max(s, least) / 2,
          Math.max(s, least),
          Math.max(s, least),
        );
      }
    }
    for (const [i, colour] of [
      [chosen, inks.ink],
      [at, inks.accent],
    ] as const) {
      if (i === undefined) continue;
      c.strokeStyle = colour;
      c.lineWidth = 2 / view.scale;
      c.strokeRect(
        left + (i % columns) * s,
        top + Math.floor(i / columns) * s,
        s - gap / view.scale,
        s - gap / view.scale,
      );
    }
    c.fillStyle = inks.ink;
    c.font = `${inks.text}px ${inks.family}`;
    const beside = (text: string, y: number) => write(c, inks, text, left - 6, y, { align: 'right', most: left - 8 });
    if (labelled && s >= 11) of.rows.forEach((r, i) => beside(r.name, top + (i + 0.5) * s));
    // Names that do not fit have what they share once, at the left, so that each column is named if it can be.
    const names = of.columns.map((r) => r.name),
      widest = Math.max(...names.map((n) => c.measureText(n).width)) + 6;
    const shared = widest > s && labelled ? prefix(names) : '';
    const shorts = names.map((n) => n.slice(shared.length)),
      room = Math.max(...shorts.map((n) => c.measureText(n).width)) + 6;
    const every = Math.max(1, Math.ceil(room / s));
    shorts.forEach((n, i) => {
      const x = left + Math.max(shared || labelled ? 0 : room / 2 - left, (i + 0.5) * s);
      if (i % every === 0) write(c, inks, n, x, top / 2);
    });
    c.fillStyle = inks.quiet;
    if (shared) beside(`${shared}…`, top / 2);
    c.restore();
  };
  const counts = useMemo(() => summary(of), [of]);
  const move = (step: number) =>
    setAt((at) => {
      const from = at ?? chosen;
      return from === undefined ? 0 : Math.max(0, Math.min(of.cells.length - 1, from + step));
    });
  return (
    <Canvas
      label={label}
      title={title}
      said={at !== undefined ? say(at) : counts}
      height={height}
      draw={draw}
      view={view}
      setView={setView}
      inputs={[of, heat, lit, chosen, at, width]}
      point={(p) => setAt(p && find(p))}
      choose={(p) => {
        const i = find(p),
          c = size(p.width),
          x = (p.x - view.x) / view.scale - left,
          y = (p.y - view.y) / view.scale - top;
        const node = x < 0 ? of.rows[Math.floor(y / c)] : y < 0 ? of.columns[Math.floor(x / c)] : undefined;
        if (i !== undefined && of.cells[i] !== 'none') choose(i);
        else if (node) chooseNode?.(node.id);
      }}
      step={({ x, y }) => move(x + columns * y)}
      press={(key) => {
        if (key === 'Enter' && at !== undefined) choose(at);
        if (key === '+' || key === '-')
          setView((v) => {
            const scale = Math.min(64, Math.max(1, v.scale * (key === '+' ? 1.5 : 1 / 1.5)));
            return scale === 1 ? whole : { ...v, scale };
          });
      }}
    />
  );
}

/** How many cells there are of each state but none. */
const summary = (m: Cells) => counted(m.cells).reverse().join(', ');
