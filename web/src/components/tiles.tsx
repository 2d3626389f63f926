import { useQueries, useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, useState } from 'react';
import type { Schemas } from '../api/client';
import * as ask from '../api/queries';
import { blockText, cellsOf, counted, divided, loadsOf, tileAt, tilesOf } from '../domain/blocks';
import { states, type LinkState } from '../domain/fabric';
import { step } from '../domain/load';
import { go, usePlace } from '../store/place';
import { Canvas, imageOf, Rings, whole, write, type At, type Inks, type View } from './canvas';
import { useMoment } from '../store/past';
import { LoadLegend, StateLegend } from './statelegend';

/** Where the use of all links is more than this many numbers, it is not read: the busiest ports are known alone. */
const mostCells = 300_000;
/** The height of a name of a block, in pixels. */
const head = 17;

/**
 * A large fabric: each pod as a miniature of T0 by T1 that shows what links carry and which fail, and the top tier
 * by pods. Who zooms in far enough, clicks or presses Enter comes into the pod. A ring goes out from what fails.
 */
export function Tiles(props: {
  nodes: readonly Schemas['FabricNode'][];
  links: readonly Schemas['FabricLink'][];
  stateOf: (l: Schemas['FabricLink']) => LinkState;
  /** This plane alone. */
  plane?: string;
  /** The block from which somebody comes back: the keyboard goes on there. */
  back?: string;
  height?: number;
}) {
  const { nodes, links, stateOf, plane, back, height = 520 } = props;
  const moment = useMoment(),
    place = usePlace();
  const division = useMemo(() => divided(nodes, links), [nodes, links]),
    cells = useMemo(() => cellsOf(division, stateOf), [division, stateOf]);
  const planes = useMemo(
    () => division.planes.filter((p) => !plane || String(p.plane) === plane),
    [division.planes, plane],
  );
  const blocks = useMemo(() => planes.flatMap((p) => [...(p.top ? [p.top] : []), ...p.pods]), [planes]);
  const top = useQuery(ask.loads(moment));
  const small = planes.filter((p) => {
    const size = (side: 'rows' | 'columns') => p.pods.reduce((n, b) => n + b[side].length, 0);
    return size('rows') * size('columns') <= mostCells;
  });
  const uses = useQueries({
    queries: small.map((p) => ({ ...ask.utilization(p.plane, moment), retry: false })),
    combine: (all) => all.flatMap((u) => (u.data?.rows ? [u.data] : [])),
  });
  const loads = useMemo(() => {
    const items = top.data?.metric === 'utilization' ? top.data.items : [],
      busiest = items.map((i) => ({ name: i.name, share: i.out ?? 0 }));
    return loadsOf(division, uses, busiest);
  }, [division, uses, top.data]);
  const [at, setAt] = useState(back);
  const [view, setView] = useState(whole);
  const box = useRef<HTMLDivElement>(null),
    size = useRef({ width: 0 }),
    images = useRef(new Map<string, { of: unknown[]; image: HTMLCanvasElement }>());
  useEffect(() => {
    if (back) box.current?.focus();
  }, [back]);
  const open = (id: string) =>
    go(['fabric'], { ...(place.path[0] === 'fabric' && place.query), block: id, view: undefined });
  const tiles = (width: number) => tilesOf(planes, width, height, head);
  const find = (p: At) => tileAt(tiles(p.width), (p.x - view.x) / view.scale, (p.y - view.y) / view.scale, head);
  /** Zooms; what fills the picture is opened: it has names, and then ports. */
  const zoom = (v: View) => {
    const { width } = size.current,
      k = v.scale / view.scale;
    const [x, y] = [(v.x - k * view.x) / (1 - k), (v.y - k * view.y) / (1 - k)]; // what stays where it is
    const into = k > 1 && find({ x, y, width });
    if (into && blocks.length > 1 && v.scale * Math.max(into.width, into.height) > 0.9 * width) open(into.block.id);
    else setView(v);
  };
  const image = (id: string, inks: Inks) => {
    const i = division.all.findIndex((b) => b.id === id),
      { rows, columns } = division.all[i]!,
      of = [cells[i], loads[i], Object.values(inks).join()],
      before = images.current.get(id);
    if (before && before.of.every((x, k) => x === of[k])) return before.image;
    const colours = states.map((s) => inks.states[s]),
      up = states.indexOf('up');
    const made = imageOf(columns.length, rows.length, (k) => {
      const state = cells[i]![k]!,
        load = state === up ? step(Math.max(0, loads[i]![k]!), 5) : undefined;
      return state === 0 ? undefined : load === undefined ? colours[state]! : inks.load[load]!;
    });
    images.current.set(id, { of, image: made });
    return made;
  };
  const draw = (c: CanvasRenderingContext2D, width: number, inks: Inks) => {
    size.current.width = width;
    c.clearRect(0, 0, width, height);
    const up = states.indexOf('up');
    tiles(width).forEach((t, n, all) => {
      const x = view.x + view.scale * t.x,
        y = view.y + view.scale * t.y,
        w = view.scale * t.width,
        h = view.scale * t.height;
      const i = division.all.indexOf(t.block),
        { rows, columns } = t.block;
      const name = (text: string, above: number, weight?: string) =>
        write(c, inks, text, x, y - view.scale * head * above, { align: 'left', weight });
      c.fillStyle = inks.ink;
      if (t.block.plane !== all[n - 1]?.block.plane)
        name(`Plane ${t.block.plane}`, t.block.id.endsWith('.top') ? 1.5 : 0.5, '600');
      c.font = `${inks.text}px ${inks.family}`;
      c.fillStyle = inks.quiet;
      if (t.block.name !== 'All switches' && c.measureText(t.block.name).width < w) name(t.block.name, 0.5);
      if (rows.length * columns.length > 0) {
        c.imageSmoothingEnabled = w < columns.length;
        c.drawImage(image(t.block.id, inks), x, y, w, h);
        // A fault is not to vanish among thousands of cells that are smaller than a pixel.
        const cw = Math.max(3, w / columns.length),
          ch = Math.max(3, h / rows.length);
        let shown = 0;
        for (let k = 0; k < cells[i]!.length && shown < 2000; k++) {
          if (cells[i]![k]! <= up) continue;
          shown++;
          c.fillStyle = inks.states[states[cells[i]![k]!]!];
          c.fillRect(
            x + (w * ((k % columns.length) + 0.5)) / columns.length - cw / 2,
            y + (h * (Math.floor(k / columns.length) + 0.5)) / rows.length - ch / 2,
            cw,
            ch,
          );
        }
      }
      c.strokeStyle = t.block.id === at ? inks.accent : inks.line;
      c.lineWidth = t.block.id === at ? 3 : 1;
      c.strokeRect(x, y, w, h);
    });
  };
  // What has just failed, as BLOCK CELL.
  const rings = useRef(new Rings()),
    known = useRef<typeof cells>(undefined);
  const [moving, setMoving] = useState(false);
  useEffect(() => {
    const down = states.indexOf('down'),
      before = known.current;
    known.current = cells;
    if (before?.length !== cells.length) return;
    cells.forEach((of, i) => {
      for (let k = 0; k < of.length && rings.current.size < 50; k++)
        if (of[k] === down && before[i]![k] !== down) rings.current.add(`${division.all[i]!.id} ${k}`);
    });
    setMoving(rings.current.size > 0);
  }, [cells, division]);
  const move = (c: CanvasRenderingContext2D, width: number, inks: Inks, seconds: number) => {
    const where = new Map(tiles(width).map((t) => [t.block.id, t]));
    rings.current.draw(c, inks, seconds, (name) => {
      const [id, k] = name.split(' '),
        t = where.get(id!);
      if (!t) return undefined;
      const { rows, columns } = t.block,
        [row, column] = [Math.floor(Number(k) / columns.length) + 0.5, (Number(k) % columns.length) + 0.5];
      return {
        x: view.x + view.scale * (t.x + (column / columns.length) * t.width),
        y: view.y + view.scale * (t.y + (row / rows.length) * t.height),
      };
    });
    if (rings.current.size === 0) setMoving(false);
  };
  // It goes through all cells of a block: not anew for each step of a move.
  const chosen = useMemo(() => {
    const b = blocks.find((x) => x.id === at),
      i = b ? division.all.indexOf(b) : -1;
    return b && blockText(b, cells[i]!, loads[i]);
  }, [blocks, at, division, cells, loads]);
  const summary = useMemo(
    () =>
      planes.map((p) => {
        const bad = [...(p.top ? [p.top] : []), ...p.pods].flatMap((b) =>
          [...cells[division.all.indexOf(b)]!.filter((i) => i > states.indexOf('up'))].map((i) => states[i]!),
        );
        return `Plane ${p.plane}: ${counted(bad).join(', ') || 'all links up'}`;
      }),
    [planes, cells, division],
  );
  return (
    <>
      <Canvas
        box={box}
        label="The fabric by planes and pods"
        said={chosen ?? `${summary.join('. ')}.`}
        height={height}
        draw={draw}
        view={view}
        setView={zoom}
        inputs={[planes, cells, loads, at]}
        move={moving ? move : undefined}
        point={(p) => setAt(p && find(p)?.block.id)}
        choose={(p) => {
          const tile = find(p);
          if (tile) open(tile.block.id);
        }}
        step={({ x, y }) => {
          const i = blocks.findIndex((b) => b.id === at);
          setAt(blocks[i < 0 ? 0 : (i + x + y + blocks.length) % blocks.length]?.id);
        }}
        press={(key) => key === 'Enter' && at && open(at)}
      />
      <p className="quiet">
        <StateLegend />{' '}
        <LoadLegend full="the speed of the port" measured={uses.length > 0 || (top.data?.items.length ?? 0) > 0} />
      </p>
    </>
  );
}
