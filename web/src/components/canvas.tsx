import { useEffect, useId, useRef, useState, type KeyboardEvent, type RefObject } from 'react';
import { channels } from '../domain/colour';
import { states, stateToken, type LinkState } from '../domain/fabric';
import type { Spot } from '../domain/layout';
import { useDark, useStill } from '../store/theme';

/** Tokens of colours that are drawn with. */
const colours = ['ink', 'quiet', 'line', 'accent', 'ok', 'warning', 'fault', 'work', 'cell'] as const;

/** The colours of the page, for what is drawn by hand. */
export interface Inks extends Record<(typeof colours)[number] | 'paper' | 'edge', string> {
  /** States of links. */
  states: Record<LinkState, string>;
  /** Lines of a chart, in their order. */
  series: string[];
  /** Load of a link, from little to much. */
  load: string[];
  /** Size of texts of pictures and of charts, in pixels, and their typeface. */
  text: number;
  tick: number;
  family: string;
}

export function inks(): Inks {
  const style = getComputedStyle(document.documentElement);
  const dark = style.colorScheme === 'dark';
  // A token has the colours of both themes.
  const of = (name: string) =>
    style
      .getPropertyValue(`--${name}`)
      .replace(/light-dark\((.+),\s*(.+)\)/, dark ? '$2' : '$1')
      .trim();
  const all = <K extends string>(names: readonly K[], token: (name: K) => string = (name) => name) =>
    Object.fromEntries(names.map((name) => [name, of(token(name))])) as Record<K, string>;
  const scale = (name: string, steps: number) => Array.from({ length: steps }, (_, i) => of(`${name}-${i + 1}`));
  const size = (name: string) => Math.round(parseFloat(of(name)) * parseFloat(style.fontSize));
  return {
    ...all(colours),
    paper: of('raised'),
    edge: of('cell-edge'),
    states: all(states, (s) => stateToken[s]),
    series: scale('series', 8),
    load: scale('load', 5),
    text: size('text-picture'),
    tick: size('text-chart'),
    family: of('sans'),
  };
}

/** A token as styles of elements have it. */
export const token = (name: string) => `var(--${name})`;

/** The scale and place of a picture that can be zoomed and moved. */
export interface View {
  scale: number;
  x: number;
  y: number;
}

/** A point of a canvas of a width. */
export interface At {
  x: number;
  y: number;
  width: number;
}

export const whole: View = { scale: 1, x: 0, y: 0 };

/** Gives a canvas the pixels of a size, and returns what draws on it in CSS pixels. */
function size(at: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const dpr = window.devicePixelRatio || 1,
    c = at.getContext('2d')!;
  const [w, h] = [Math.round(width * dpr), Math.round(height * dpr)];
  // Even the same size would make them anew, and clear them.
  if (at.width !== w || at.height !== h) Object.assign(at, { width: w, height: h });
  c.setTransform(dpr, 0, 0, dpr, 0, 0);
  return c;
}

/** How wide an element is without its padding, so that what is drawn in it is not stretched; 0 before it is there. */
export function useWidth(of: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const box = of.current!,
      look = () => setWidth(box.clientWidth);
    const watch = new ResizeObserver(look);
    watch.observe(box);
    look();
    return () => watch.disconnect();
  }, [of]);
  return width;
}

/** The direction of an arrow key, which then does not scroll the page; undefined for another key. */
export function arrowOf(e: KeyboardEvent): { x: number; y: number } | undefined {
  const x = { ArrowLeft: -1, ArrowRight: 1 }[e.key] ?? 0,
    y = { ArrowUp: -1, ArrowDown: 1 }[e.key] ?? 0;
  if (x || y) e.preventDefault();
  return x || y ? { x, y } : undefined;
}

/**
 * A picture as wide as its place that draws itself when its inputs change, in the colours of the theme.
 * The wheel zooms with Ctrl, dragging moves what is zoomed, and the arrow keys go through what it has. What the
 * pointer or the keys are at is said below it, for everybody to read.
 */
export function Canvas(props: {
  /** What a screen reader calls it. */
  label: string;
  title?: string;
  said: string;
  box?: RefObject<HTMLDivElement | null>;
  height: number;
  draw: (c: CanvasRenderingContext2D, width: number, inks: Inks) => void;
  /** What is below the pointer; called with undefined when it leaves. */
  point: (at: At | undefined) => void;
  choose: (at: At) => void;
  /** Goes on by an arrow key. */
  step: (by: { x: number; y: number }) => void;
  /** Called with any other key. */
  press: (key: string) => void;
  inputs: unknown[];
  /** Draws what moves, frame by frame, so many seconds after the one before; not for whom motion disturbs. */
  move?: (c: CanvasRenderingContext2D, width: number, inks: Inks, seconds: number) => void;
  view: View;
  setView: (v: View) => void;
}) {
  const { label, title, said, box, height, draw, point, choose, step, press, inputs, move, view, setView } = props;
  const id = useId();
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(canvas);
  const dark = useDark(),
    still = useStill();
  const drag = useRef<{ x: number; y: number; view: View; moved: boolean }>(undefined);
  // The typeface may come after the first picture.
  const [typed, setTyped] = useState(document.fonts.status === 'loaded');
  useEffect(() => void document.fonts.ready.then(() => setTyped(true)), []);
  useEffect(() => {
    const at = canvas.current!;
    if (width === 0) return;
    const frame = requestAnimationFrame(() => draw(size(at, width, height), width, inks()));
    return () => cancelAnimationFrame(frame);
    // draw is made anew with each render; what it depends on is in inputs.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [width, height, dark, view, typed, ...inputs]);
  useEffect(() => {
    // React listens to the wheel passively, and then the page would zoom too.
    const at = canvas.current!;
    const zoom = (e: WheelEvent) => {
      if (!(e.ctrlKey || e.metaKey)) return;
      e.preventDefault();
      const scale = Math.min(64, Math.max(1, view.scale * Math.exp(-e.deltaY / 300))),
        k = scale / view.scale;
      setView(
        scale === 1
          ? whole
          : { scale, x: e.offsetX - k * (e.offsetX - view.x), y: e.offsetY - k * (e.offsetY - view.y) },
      );
    };
    at.addEventListener('wheel', zoom, { passive: false });
    return () => at.removeEventListener('wheel', zoom);
  }, [view, setView]);
  const above = useRef<HTMLCanvasElement>(null),
    latest = useRef(move);
  useEffect(() => {
    latest.current = move;
  });
  const moves = move !== undefined && !still;
  useEffect(() => {
    const at = above.current;
    if (!at || !moves || width === 0) return undefined;
    const c = size(at, width, height),
      colours = inks();
    let before = 0,
      frame = 0;
    const next = (now: number) => {
      c.clearRect(0, 0, width, height);
      latest.current?.(c, width, colours, before ? Math.min(0.1, (now - before) / 1000) : 0);
      before = now;
      frame = requestAnimationFrame(next);
    };
    frame = requestAnimationFrame(next);
    return () => cancelAnimationFrame(frame);
  }, [moves, width, height, dark]);
  const place = (e: React.PointerEvent) => ({ x: e.nativeEvent.offsetX, y: e.nativeEvent.offsetY, width });
  return (
    <div
      ref={box}
      className="drawing"
      role="application"
      tabIndex={0}
      aria-label={label}
      aria-describedby={id}
      onKeyDown={(e) => {
        const by = arrowOf(e);
        if (by) step(by);
        else press(e.key);
      }}
    >
      {title && <h3>{title}</h3>}
      <div className="layers">
        <canvas
          ref={canvas}
          aria-hidden="true"
          style={{ width: '100%', height, display: 'block', touchAction: 'none' }}
          onPointerDown={(e) => {
            drag.current = { x: e.clientX, y: e.clientY, view, moved: false };
          }}
          onPointerMove={(e) => {
            const d = drag.current;
            if (d && Math.hypot(e.clientX - d.x, e.clientY - d.y) > 4) d.moved = true;
            if (d?.moved && d.view.scale > 1)
              setView({ ...d.view, x: d.view.x + e.clientX - d.x, y: d.view.y + e.clientY - d.y });
            else point(place(e));
          }}
          onPointerUp={(e) => {
            if (drag.current && !drag.current.moved) choose(place(e));
            drag.current = undefined;
          }}
          onPointerLeave={() => {
            drag.current = undefined;
            point(undefined);
          }}
        />
        {moves && <canvas ref={above} aria-hidden="true" className="above" style={{ width: '100%', height }} />}
      </div>
      <p id={id} className="quiet said" aria-live="polite">
        {said}
      </p>
    </div>
  );
}

/** Writes a text around a point; align, size in pixels and the greatest width are those of a canvas. */
export function write(
  c: CanvasRenderingContext2D,
  { text: normal, family }: Inks,
  text: string,
  x: number,
  y: number,
  how: { align?: CanvasTextAlign; weight?: string; size?: number; most?: number } = {},
) {
  c.font = `${how.weight ?? 'normal'} ${(how.size ?? normal).toFixed(2)}px ${family}`;
  c.textAlign = how.align ?? 'center';
  c.textBaseline = 'middle';
  c.fillText(text, x, y, how.most);
}

/** Rings that go out from what has just failed, each by its name. */
export class Rings {
  private readonly ages = new Map<string, number>();
  add(name: string) {
    this.ages.set(name, 0);
  }
  get size() {
    return this.ages.size;
  }
  /** Draws the rings so many seconds later; where is the place of a name, if it has one still. */
  draw(c: CanvasRenderingContext2D, inks: Inks, seconds: number, where: (name: string) => Spot | undefined) {
    c.strokeStyle = inks.fault;
    c.lineWidth = 2;
    for (const [name, age] of this.ages) {
      const at = where(name);
      if (age > 1.6 || !at) {
        this.ages.delete(name);
        continue;
      }
      this.ages.set(name, age + seconds);
      c.globalAlpha = 1 - age / 1.6;
      c.beginPath();
      c.arc(at.x, at.y, 8 + 50 * age, 0, 2 * Math.PI);
      c.stroke();
    }
    c.globalAlpha = 1;
  }
}

/** An image of cells with one pixel for each, row by row, of the colour that ink gives it; undefined: none. */
export function imageOf(columns: number, rows: number, ink: (i: number) => string | undefined): HTMLCanvasElement {
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, columns);
  canvas.height = Math.max(1, rows);
  const c = canvas.getContext('2d')!;
  const data = c.createImageData(canvas.width, canvas.height),
    pixels = new Uint32Array(data.data.buffer);
  const colours = new Map<string, number>();
  for (let i = 0; i < columns * rows; i++) {
    const text = ink(i);
    if (text === undefined) continue;
    let colour = colours.get(text);
    if (colour === undefined) {
      colour = new Uint32Array(Uint8Array.of(...channels(text), 255).buffer)[0]!;
      colours.set(text, colour);
    }
    pixels[i] = colour;
  }
  c.putImageData(data, 0, 0);
  return canvas;
}
