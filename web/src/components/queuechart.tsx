import { useEffect } from 'react';
import { formatClock, formatOctets } from '../domain/format';
import { add, type Sample } from '../domain/samples';
import { Canvas, type Inks } from './canvas';

/** What the page has seen of queues since it was opened, by name. */
const seen = new Map<string, readonly Sample[]>();
const span = 5 * 60_000;

/**
 * The octets of a queue over time, against its marks. It shows what was read since this page was
 * opened, at most five minutes, and no line across times of which nothing was read.
 */
export function QueueChart({
  name,
  at,
  held,
  paused,
  marks,
}: {
  name: string;
  at: string;
  held: number;
  paused: boolean;
  marks: { buffer: number; xoff: number; xon: number };
}) {
  const samples = add(seen.get(name) ?? [], { time: Date.parse(at), value: held, marked: paused }, span);
  useEffect(() => {
    seen.set(name, samples);
  }, [name, samples]);
  const most = Math.max(marks.xoff, ...samples.map((s) => s.value), 1) * 1.1;
  const first = samples[0]!.time,
    last = samples.at(-1)!.time,
    long = Math.max(30_000, last - first);
  const height = 130,
    left = 74,
    bottom = 18;
  const text = `${formatOctets(held)} held now; ${formatOctets(Math.max(...samples.map((s) => s.value)))} at most and ${samples.filter((s) => s.marked).length} of ${samples.length} readings paused since ${formatClock(new Date(first).toISOString())}.`;
  const draw = (c: CanvasRenderingContext2D, w: number, inks: Inks) => {
    const x = (t: number) => left + ((w - left - 6) * (t - (last - long))) / long,
      y = (v: number) => height - bottom - ((height - bottom - 8) * v) / most;
    c.clearRect(0, 0, w, height);
    c.font = '11px sans-serif';
    c.textBaseline = 'middle';
    const line = (v: number, label: string, colour: string, dash: number[]) => {
      c.strokeStyle = colour;
      c.lineWidth = 1;
      c.setLineDash(dash);
      c.beginPath();
      c.moveTo(left, y(v));
      c.lineTo(w - 6, y(v));
      c.stroke();
      c.setLineDash([]);
      c.fillStyle = colour;
      c.textAlign = 'right';
      c.fillText(label, left - 4, y(v));
    };
    line(0, '0', inks.quiet, []);
    line(marks.xoff, `XOFF ${formatOctets(marks.xoff)}`.replace(' octets', ''), inks.fault, [5, 3]);
    if (Math.abs(y(marks.xon) - y(marks.xoff)) > 11)
      line(marks.xon, `XON ${formatOctets(marks.xon)}`.replace(' octets', ''), inks.warning, [2, 3]);
    // Pauses lie at the foot, as a timeline.
    c.fillStyle = inks.warning;
    for (const s of samples) if (s.marked) c.fillRect(x(s.time) - 1.5, height - bottom + 2, 3, 5);
    c.strokeStyle = inks.accent;
    c.lineWidth = 1.5;
    c.beginPath();
    samples.forEach((s, i) => {
      const before = samples[i - 1];
      if (!before || s.time - before.time > 5_000) c.moveTo(x(s.time), y(s.value));
      else c.lineTo(x(s.time), y(s.value));
    });
    c.stroke();
    const lastSample = samples.at(-1)!;
    c.fillStyle = inks.accent;
    c.fillRect(x(lastSample.time) - 2, y(lastSample.value) - 2, 4, 4);
    c.fillStyle = inks.quiet;
    c.textAlign = 'left';
    c.fillText(formatClock(new Date(last - long).toISOString()).slice(0, 8), left, height - 6);
    c.textAlign = 'right';
    c.fillText(formatClock(new Date(last).toISOString()).slice(0, 8), w - 6, height - 6);
  };
  return (
    <div>
      <Canvas height={height} draw={draw} inputs={[samples, marks.xoff, marks.xon]} />
      <p className="quiet said">{text}</p>
    </div>
  );
}
