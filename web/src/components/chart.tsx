import { lazy, Suspense, useMemo, type ReactNode } from 'react';
import { dashes } from '../domain/chart';
import { formatClock, formatShare } from '../domain/format';
import { formatValue, nearest, summary } from '../domain/history';
import { setCrosshair, useCrosshair } from '../store/crosshair';
import { useSpan } from '../store/past';
import { token } from './canvas';

const Plot = lazy(() => import('./plot'));

/** A line of a chart, with a value or null for each time. */
interface Line {
  label: string;
  unit: string;
  values: readonly (number | null)[];
}

/** A value that others are held against, such as a threshold. */
interface Threshold {
  label: string;
  value: number;
  tone: 'fault' | 'warning' | 'work';
}

export interface PlotProps {
  /** Unix seconds, ascending. */
  times: readonly number[];
  /** All of one unit. */
  series: readonly Line[];
  lines?: readonly Threshold[];
  /** Times in which something was so, at the foot. */
  spans?: readonly { from: number; to: number }[];
  from: number;
  to: number;
  height: number;
  brush?: (from: number, to: number) => void;
}

interface ChartProps extends Pick<PlotProps, 'times' | 'series' | 'lines' | 'spans'> {
  label: string;
  title?: ReactNode;
  /** Seconds from one time to the next. */
  step?: number;
  /** The greatest values are shown as a share of it, too: bit/s. */
  speed?: number;
  height?: number;
  note?: ReactNode;
}

/**
 * Values over time: lines with a legend of what they are at the crosshair, on average and at most. The
 * crosshair is one for all charts of a page; dragging over a time shows that time, in all of them.
 */
export function Chart(props: ChartProps) {
  const { label, title, times, series, step = 1, speed, lines, spans, height = 150, note } = props;
  const { from, to, show } = useSpan();
  const at = useCrosshair();
  const shown = useMemo(() => {
    // Of many lines, those that are not always 0.
    const some = series.length <= 4 ? series : series.filter((s) => (summary(s.values)?.most ?? 0) > 0);
    return some.slice(0, 8);
  }, [series]);
  const empty = times.length === 0 || shown.every((s) => s.values.every((v) => v === null));
  const place = at === undefined ? undefined : nearest(times, at, Math.max(step, 2));
  const move = (by: number) => {
    const i = at === undefined ? times.length - 1 : (nearest(times, at, Infinity) ?? 0) + by;
    setCrosshair(times[Math.max(0, Math.min(times.length - 1, i))]);
  };
  return (
    <figure
      className="chart"
      role="group"
      aria-label={label}
      tabIndex={0}
      onKeyDown={(e) => {
        if (e.target !== e.currentTarget) return;
        const by = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
        if (by) {
          e.preventDefault();
          move(by);
        }
        if (e.key === 'Escape') setCrosshair(undefined);
      }}
    >
      {title && <figcaption>{title}</figcaption>}
      {empty ? (
        <p className="state">
          {shown.length === 0 && series.length > 0 ? 'All of these were 0.' : 'Nothing was measured in this time.'}
        </p>
      ) : (
        <>
          <div className="plotbox" style={{ minHeight: height }} onMouseLeave={() => setCrosshair(undefined)}>
            <Suspense fallback={null}>
              <Plot
                {...{ times, series: shown, lines, spans, from, to, height }}
                brush={(a, b) => show({ from: a, to: Math.max(b, a + 5) })}
              />
            </Suspense>
          </div>
          <Legend {...{ label, series: shown, place, speed }} time={place === undefined ? undefined : times[place]} />
        </>
      )}
      <p className="quiet">
        {step > 1 && `Each point is ${step} seconds. `}
        {note}
      </p>
    </figure>
  );
}

function Legend(props: { label: string; series: readonly Line[]; place?: number; time?: number; speed?: number }) {
  const { label, series, place, time, speed } = props;
  const text = (v: number | null | undefined, unit: string) =>
    v === undefined || v === null ? 'not measured' : formatValue(v, unit);
  return (
    <table className="facts legendtable" aria-label={label}>
      <thead>
        <tr>
          <th scope="col">Line</th>
          <th scope="col">{time === undefined ? 'Now' : formatClock(time)}</th>
          <th scope="col">Mean</th>
          <th scope="col">Most</th>
          {speed ? <th scope="col">Most of the speed</th> : null}
        </tr>
      </thead>
      <tbody>
        {series.map((s, i) => {
          const of = summary(s.values);
          return (
            <tr key={s.label}>
              <th scope="row">
                <svg className="swatch" viewBox="0 0 26 8" aria-hidden="true">
                  <line
                    style={{ stroke: token(`series-${(i % 8) + 1}`) }}
                    x1="1"
                    y1="4"
                    x2="25"
                    y2="4"
                    strokeDasharray={dashes[i % dashes.length]!.join(' ') || undefined}
                  />
                </svg>{' '}
                {s.label}
              </th>
              <td>{text(place === undefined ? of?.last : s.values[place], s.unit)}</td>
              <td>{text(of?.mean, s.unit)}</td>
              <td>{text(of?.most, s.unit)}</td>
              {speed ? <td>{of && s.unit === 'bit/s' ? formatShare(of.most / speed) : ''}</td> : null}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
