import { createContext, lazy, Suspense, use, useMemo, useState, type ReactNode } from 'react';
import { dashes, marks, plotLeft as left, plotRight as right, type Moment } from '../domain/chart';
import { formatClock, formatShare } from '../domain/format';
import { formatValue, nearest, summary } from '../domain/history';
import { bounds, formatSpan, moved, parseSpan, presets, spanText, zoomed, type Span } from '../domain/span';
import type { Place } from '../domain/place';
import { setCrosshair, useCrosshair } from '../store/crosshair';
import { useNow } from '../store/now';
import { setParams, usePlace } from '../store/place';
import type { Tone } from './badge';
import { shapes } from './badge';
import { To } from './link';

const Plot = lazy(() => import('./plot'));

/** A line of a chart, with a value or null for each time. */
export interface Line {
  label: string;
  unit: string;
  values: readonly (number | null)[];
}

/** A value that others are held against, such as a threshold. */
export interface Threshold {
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

/** Something that happened, on the axis of a chart. */
export interface Mark extends Moment {
  tone: Tone;
  place?: Place;
}

/** The time that charts show before somebody chooses one: one of the presets. */
export const FirstSpan = createContext(presets[0]![0]);

/** The time that the charts of a page show, and a function that changes it: it is in the address. */
export function useSpan(): { span: Span; from: number; to: number; live: boolean; show: (s: Span) => void } {
  const place = usePlace(),
    now = useNow();
  const first = use(FirstSpan),
    span = parseSpan({ since: first, ...place.query });
  return { span, ...bounds(span, now), live: 'last' in span, show: (s) => setParams(formatSpan(s)) };
}

/** Chooses the time that all charts of a page show. */
export function TimeBar({ children }: { children?: ReactNode }) {
  const { span, from, to, live, show } = useSpan();
  const now = useNow();
  const chosen = 'last' in span ? presets.find((p) => p[2] === span.last)?.[0] : '';
  return (
    <div className="filters timebar" role="group" aria-label="Time of the charts">
      <label>
        Show{' '}
        <select
          aria-label="Time shown"
          value={chosen}
          onChange={(e) => show({ last: presets.find((p) => p[0] === e.target.value)?.[2] ?? 120 })}
        >
          {!live && <option value="">a time</option>}
          {presets.map(([value, text]) => (
            <option key={value} value={value}>
              the last {text}
            </option>
          ))}
        </select>
      </label>
      <span className="buttons">
        <button type="button" onClick={() => show(moved(span, -0.5, now))}>
          Earlier
        </button>
        <button type="button" disabled={live} onClick={() => show(moved(span, 0.5, now))}>
          Later
        </button>
        <button type="button" aria-label="Shorter time" onClick={() => show(zoomed(span, 0.5, now))}>
          +
        </button>
        <button type="button" aria-label="Longer time" onClick={() => show(zoomed(span, 2, now))}>
          −
        </button>
        <button type="button" disabled={live} onClick={() => show({ last: 120 })}>
          Now
        </button>
      </span>
      <span className="quiet">{spanText({ from, to }, now)}</span>
      {children}
    </div>
  );
}

/**
 * Values over time: lines with a legend of what they are at the crosshair, on average and at most. The
 * crosshair is one for all charts of a page; dragging over a time shows that time, in all of them.
 */
export function Chart({
  label,
  title,
  times,
  series,
  step = 1,
  speed,
  lines,
  spans,
  marks: happened,
  height = 150,
  note,
}: {
  label: string;
  title?: ReactNode;
  times: readonly number[];
  series: readonly Line[];
  /** Seconds from one time to the next. */
  step?: number;
  /** The greatest values are shown as a share of it, too: bit/s. */
  speed?: number;
  lines?: readonly Threshold[];
  spans?: readonly { from: number; to: number }[];
  marks?: readonly Mark[];
  height?: number;
  note?: ReactNode;
}) {
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
            {happened && <Marks of={happened} from={from} to={to} />}
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

function Legend({
  label,
  series,
  place,
  time,
  speed,
}: {
  label: string;
  series: readonly Line[];
  place?: number;
  time?: number;
  speed?: number;
}) {
  const text = (v: number | null | undefined, unit: string) =>
    v === undefined || v === null ? 'not measured' : formatValue(v, unit);
  return (
    <table className="facts legendtable" aria-label={label}>
      <thead>
        <tr>
          <th scope="col">Line</th>
          <th scope="col">
            {time === undefined ? 'Now' : formatClock(new Date(1000 * time).toISOString()).slice(0, 8)}
          </th>
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
                    className={`series-${(i % 8) + 1}`}
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

function Marks({ of, from, to }: { of: readonly Mark[]; from: number; to: number }) {
  const [box, setBox] = useState<HTMLUListElement | null>(null);
  const width = (box?.clientWidth ?? 600) - left - right;
  return (
    <ul className="marks" ref={setBox} aria-label="What happened">
      {marks(of, { from, to }, width, 26).map((m) => {
        const first = m.of[0]!;
        const text = m.of.map((x) => `${formatClock(new Date(1000 * x.at).toISOString()).slice(0, 8)} ${x.text}`);
        return (
          <li
            key={first.id}
            className={first.tone}
            style={{ left: left + (width * (m.at - from)) / (to - from) }}
            title={text.join('\n')}
          >
            <To {...(first.place ?? { path: [] })}>
              <span aria-hidden="true">
                {shapes[first.tone]}
                {m.of.length > 1 && m.of.length}
              </span>
              <span className="said-only">{text.join('; ')}</span>
            </To>
          </li>
        );
      })}
    </ul>
  );
}
