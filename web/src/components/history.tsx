import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import * as ask from '../api/queries';
import { ceiling, formatValue, runs, summary, views, type Series } from '../domain/history';
import { formatClock } from '../domain/format';
import { useParam } from '../store/place';
import { Canvas, type Inks } from './canvas';
import { Answer, Empty } from './states';

const ranges: [since: string, text: string, minutes: number][] = [
  ['2m', '2 minutes', 2],
  ['15m', '15 minutes', 15],
  ['3h', '3 hours', 180],
  ['24h', '24 hours', 1440],
];

/** What an object did: its metrics over a time that the user chooses within what the controller keeps. */
export function History({ kind, name }: { kind: 'port' | 'queue'; name: string }) {
  const [since, setSince] = useParam('since', '2m');
  const [ago, setAgo] = useParam('ago', '0');
  const [view, setView] = useParam('metrics', 'traffic');
  const minutes = ranges.find((r) => r[0] === since)?.[2] ?? 2,
    end = Number(ago) || 0;
  const history = useQuery(ask.history(kind, name, `${minutes + end}m`, end ? `${end}m` : undefined));
  const shown = views[kind][view] ? view : 'traffic';
  return (
    <section className="chosen" aria-label={`History of ${kind} ${name}`}>
      <header>
        <h2>
          What {kind} {name} did
        </h2>
      </header>
      <p className="filters">
        <label>
          Show{' '}
          <select value={shown} onChange={(e) => setView(e.target.value)}>
            {Object.keys(views[kind]).map((v) => (
              <option key={v}>{v}</option>
            ))}
          </select>
        </label>
        <label>
          over{' '}
          <select value={since} onChange={(e) => setSince(e.target.value)}>
            {ranges.map(([v, text]) => (
              <option key={v} value={v}>
                {text}
              </option>
            ))}
          </select>
        </label>
        <label>
          up to{' '}
          <input
            type="range"
            min={0}
            max={1440 - minutes}
            step={minutes > 60 ? 15 : 1}
            value={1440 - minutes - end}
            aria-valuetext={end ? `${end} minutes ago` : 'now'}
            onChange={(e) => setAgo(String(1440 - minutes - Number(e.target.value)))}
          />
        </label>
        <span className="quiet">{end ? `${end} minutes ago` : 'now'}</span>
      </p>
      <Answer of={history} what="the history">
        {(h) => (
          <Lines
            times={h.times}
            step={h.step}
            speed={h.speed}
            series={h.series.filter((s) => views[kind][shown]!(s.metric))}
            label={`${shown} of ${name}`}
          />
        )}
      </Answer>
    </section>
  );
}

const dashes = [[], [6, 3], [2, 3], [8, 3, 2, 3]];

function Lines({
  times,
  step,
  speed,
  series: all,
  label,
}: {
  times: number[];
  step: number;
  speed?: number;
  series: Series[];
  label: string;
}) {
  // Of many, those that are not always 0.
  const series = useMemo(
    () => (all.length <= 4 ? all : all.filter((s) => (summary(s.values)?.most ?? 0) > 0)).slice(0, 8),
    [all],
  );
  const most = Math.max(0, ...series.map((s) => summary(s.values)?.most ?? 0)),
    top = ceiling(most * 1.02);
  const height = 190,
    left = 84,
    bottom = 20;
  const measured = series.some((s) => summary(s.values));
  if (times.length === 0 || all.length === 0 || (!measured && series.length > 0))
    return <Empty>Nothing was measured in this time.</Empty>;
  if (series.length === 0) return <Empty>All of these were 0.</Empty>;
  const unit = series[0]!.unit;
  const ink = (inks: Inks, i: number) =>
    [inks.accent, inks.warning, inks.work, inks.fault, inks.ok, inks.ink, inks.quiet, inks.edge][i]!;
  const draw = (c: CanvasRenderingContext2D, w: number, inks: Inks) => {
    const x = (i: number) => left + ((w - left - 8) * i) / Math.max(1, times.length - 1),
      y = (v: number) => height - bottom - ((height - bottom - 10) * v) / top;
    c.clearRect(0, 0, w, height);
    c.font = '11px sans-serif';
    c.textBaseline = 'middle';
    c.textAlign = 'right';
    for (const v of [0, top / 2, top]) {
      c.strokeStyle = inks.line;
      c.lineWidth = 1;
      c.setLineDash([]);
      c.beginPath();
      c.moveTo(left, y(v));
      c.lineTo(w - 8, y(v));
      c.stroke();
      c.fillStyle = inks.quiet;
      c.fillText(formatValue(v, unit), left - 5, y(v));
    }
    series.forEach((s, n) => {
      c.strokeStyle = c.fillStyle = ink(inks, n);
      c.lineWidth = 1.6;
      c.setLineDash(dashes[n % dashes.length]!);
      for (const [first, end] of runs(s.values)) {
        c.beginPath();
        for (let i = first; i < end; i++) c[i === first ? 'moveTo' : 'lineTo'](x(i), y(s.values![i]!));
        c.stroke();
        if (end === first + 1) c.fillRect(x(first) - 1, y(s.values![first]!) - 1, 2, 2);
      }
    });
    c.setLineDash([]);
    c.fillStyle = inks.quiet;
    const clock = (t: number) => formatClock(new Date(1000 * t).toISOString()).slice(0, 8);
    c.textAlign = 'left';
    c.fillText(clock(times[0]!), left, height - 8);
    c.textAlign = 'right';
    c.fillText(clock(times.at(-1)!), w - 8, height - 8);
  };
  return (
    <>
      <Canvas height={height} draw={draw} inputs={[times, series]} />
      <table className="facts" aria-label={label}>
        <thead>
          <tr>
            <th scope="col">Metric</th>
            <th scope="col">Now</th>
            <th scope="col">Mean</th>
            <th scope="col">Most</th>
            {speed ? <th scope="col">Most of the speed</th> : null}
          </tr>
        </thead>
        <tbody>
          {series.map((s) => {
            const of = summary(s.values);
            const text = (v: number | undefined) => (v === undefined ? 'not measured' : formatValue(v, s.unit));
            return (
              <tr key={s.metric}>
                <th scope="row">{s.metric}</th>
                <td>{text(of?.last)}</td>
                <td>{text(of?.mean)}</td>
                <td>{text(of?.most)}</td>
                {speed ? <td>{of && s.unit === 'bit/s' ? formatValue(of.most / speed, '1') : ''}</td> : null}
              </tr>
            );
          })}
        </tbody>
      </table>
      <p className="quiet said">
        Each point is {step === 1 ? '1 second' : `${step} seconds`}; times without a measurement stay empty.
      </p>
    </>
  );
}
