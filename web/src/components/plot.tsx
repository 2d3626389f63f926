import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { dashes, plotLeft as left, plotRight as right } from '../domain/chart';
import { formatClock } from '../domain/format';
import { axisTop, binary, formatValue, isolated } from '../domain/history';
import { crosshair, onCrosshair, setCrosshair } from '../store/crosshair';
import { useDark } from '../store/theme';
import { inks, useWidth, type Inks } from './canvas';
import type { PlotProps } from './chart';

/** The lines of a chart, drawn by uPlot: what is around them is in chart.tsx. */
export default function Plot({ times, series, lines, spans, from, to, height, brush }: PlotProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const dark = useDark();
  const width = useWidth(box);
  const unit = series[0]?.unit ?? '1';
  const now = useRef({ from, to, lines, spans, brush, top: 1 });
  const most = Math.max(...series.flatMap((s) => s.values.map((v) => v ?? 0)), ...(lines ?? []).map((l) => l.value), 0);
  useEffect(() => {
    now.current = { from, to, lines, spans, brush, top: axisTop(most, series[0]?.unit) };
  });
  const shape = series.map((s) => s.label).join('\n') + unit;
  const data = (): uPlot.AlignedData => [times, ...series.map((s) => s.values)] as uPlot.AlignedData;
  const ready = width > 0;
  useEffect(() => {
    if (!ready) return;
    const colours = inks();
    // The last event of the pointer. uPlot calls setCursor for new values too: they choose no moment.
    let seen: MouseEvent | undefined;
    const made = new uPlot(
      {
        width: box.current!.clientWidth,
        height,
        pxAlign: 1,
        padding: [8, right, 0, 0],
        legend: { show: false },
        scales: {
          x: { time: true, range: () => [now.current.from, now.current.to] },
          y: { range: () => [0, now.current.top] },
        },
        axes: [axis(colours, 'x', unit), axis(colours, 'y', unit)],
        cursor: {
          y: false,
          points: { size: 7 },
          drag: { x: true, y: false, setScale: false, dist: 5 },
        },
        series: [
          {},
          ...series.map((_, i): uPlot.Series => ({
            stroke: colours.series[i % 8],
            width: 1.7,
            dash: dashes[i % dashes.length],
            spanGaps: false,
            points: {
              size: 4,
              fill: colours.series[i % 8],
              filter: (u, n) => isolated(u.data[n] as (number | null)[]),
            },
          })),
        ],
        hooks: {
          draw: [(u) => extras(u, now.current, colours), (u) => follow(u)],
          setCursor: [
            (u) => {
              if (u.cursor.event === seen) return;
              seen = u.cursor.event;
              const x = u.cursor.left ?? -1;
              setCrosshair(x < 0 ? undefined : Math.round(u.posToVal(x, 'x')));
            },
          ],
          setSelect: [
            (u) => {
              const s = u.select;
              if (s.width < 5) return;
              const range = [u.posToVal(s.left, 'x'), u.posToVal(s.left + s.width, 'x')] as const;
              u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
              now.current.brush?.(Math.floor(range[0]), Math.ceil(range[1]));
            },
          ],
        },
      },
      data(),
      box.current!,
    );
    plot.current = made;
    // The line of the crosshair is at its moment, in all charts, and goes with it as time goes on.
    const follow = (u: uPlot) => {
      const at = crosshair(),
        { from, to } = now.current;
      const x = at === undefined || at < from || at > to ? -10 : u.valToPos(at, 'x');
      if (u.cursor.left === undefined || Math.abs(u.cursor.left - x) >= 0.5) u.setCursor({ left: x, top: 1 }, false);
    };
    const stop = onCrosshair(() => follow(made));
    return () => {
      stop();
      plot.current = undefined;
      made.destroy();
    };
    // A plot is made anew when its lines are others, or in other colours; values go into the one that is there.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [ready, shape, dark, height]);
  useEffect(() => {
    if (width > 0) plot.current?.setSize({ width, height });
  }, [width, height]);
  useEffect(() => {
    plot.current?.setData(data(), true);
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [times, series, from, to, lines, spans]);
  return <div ref={box} className="plot" style={{ height }} aria-hidden="true" />;
}

function axis(colours: Inks, of: 'x' | 'y', unit: string): uPlot.Axis {
  return {
    stroke: colours.quiet,
    font: `${colours.tick}px ${colours.family}`,
    grid: { stroke: colours.line, width: 1, show: of === 'y' },
    ticks: { stroke: colours.line, width: 1, size: 4, show: of === 'x' },
    ...(of === 'y'
      ? {
          size: left,
          space: 36,
          ...(unit === 'octets' && { incrs: binary }),
          values: (_, all) => all.map((v) => formatValue(v, unit).replace(/ (packets|frames)\/s$/, '/s')),
        }
      : {
          size: 24,
          space: 76,
          values: (_, all, __, ___, step) => all.map((t) => formatClock(t).slice(0, step < 60 ? 8 : 5)),
        }),
  };
}

/** Draws marks that a value is held against, and the times in which something was so. */
function extras(
  u: uPlot,
  { lines, spans, from, to }: Pick<PlotProps, 'lines' | 'spans' | 'from' | 'to'>,
  colours: Inks,
): void {
  const c = u.ctx,
    k = devicePixelRatio,
    { left, top, width, height } = u.bbox;
  c.save();
  c.font = `${colours.tick * k}px ${colours.family}`;
  c.textAlign = 'right';
  c.textBaseline = 'bottom';
  let last = Infinity;
  for (const l of [...(lines ?? [])].sort((a, b) => a.value - b.value)) {
    const y = u.valToPos(l.value, 'y', true);
    c.strokeStyle = c.fillStyle = colours[l.tone];
    c.lineWidth = k;
    c.setLineDash([5 * k, 3 * k]);
    c.beginPath();
    c.moveTo(left, y);
    c.lineTo(left + width, y);
    c.stroke();
    c.setLineDash([]);
    if (last - y > 13 * k) c.fillText(l.label, left + width - 4 * k, y - 2 * k);
    last = y;
  }
  for (const s of spans ?? []) {
    if (s.to < from || s.from > to) continue;
    const x = u.valToPos(Math.max(from, s.from), 'x', true),
      end = u.valToPos(Math.min(to, s.to), 'x', true);
    c.fillStyle = colours.warning;
    c.fillRect(x - k, top + height - 6 * k, Math.max(3 * k, end - x), 6 * k);
  }
  c.restore();
}
