import { useEffect, useMemo, useRef, useState } from 'react';
import { useMay } from '../api/session';
import { marks as merged, type Moment } from '../domain/chart';
import { formatClock, formatTime } from '../domain/format';
import { reverse } from '../domain/network';
import { mostPast, moved, presets, spanText, zoomed } from '../domain/span';
import { showMoment } from '../store/crosshair';
import { useLive } from '../store/live';
import { useNow } from '../store/now';
import { jump, useMoment, usePast, useSpan } from '../store/past';
import { shapes, type Tone } from './badge';
import { Choose } from './choose';
import { Copy } from './copy';
import { record } from './clip';

/** Something that happened in the time of the bar. */
interface Mark extends Moment {
  tone: Tone;
}

const speeds = [1, 5, 20, 60];

/** How often a moment that goes on is another one, in milliseconds: browsers bound how often an address changes. */
const tick = 500;

/** The one bar of time: which time the charts show, and which moment the application shows. */
export function Replay() {
  return useMay('tenant:read') ? <Bar /> : null;
}

function Bar() {
  const { span, from, to, live, show } = useSpan();
  const at = useMoment(),
    now = useNow();
  const [speed, setSpeed] = useState(1),
    [playing, setPlaying] = useState(false);
  useEffect(() => showMoment(at), [at]);
  const back = () => {
    const size = to - from;
    show(presets.some((p) => p[2] === size) ? { last: size } : { last: presets[0]![2] });
  };
  const zoom = (factor: number) => {
    const next = zoomed(span, factor, now, at);
    if (at === undefined) show(next);
    else jump(at, next);
  };
  // Where it plays: between two seconds of the address, too.
  const moment = useRef(0);
  const step = useRef<(t: number) => void>(() => undefined);
  useEffect(() => {
    // Others go to moments too: it plays on from there.
    if (at !== undefined && at !== Math.floor(moment.current)) moment.current = at;
    step.current = (t) => {
      moment.current = Math.min(t, to);
      if (Math.floor(moment.current) !== at) jump(moment.current, { from, to });
      if (t >= to) setPlaying(false);
    };
  });
  const plays = playing && at !== undefined;
  useEffect(() => {
    if (!plays) return undefined;
    let before = performance.now();
    const timer = setInterval(() => {
      const time = performance.now(),
        passed = (speed * (time - before)) / 1000;
      before = time;
      step.current(moment.current + passed);
    }, tick);
    return () => clearInterval(timer);
  }, [plays, speed]);
  const said = at === undefined ? 'now' : formatTime(new Date(1000 * at).toISOString(), now);
  return (
    <div className="replay" role="group" aria-label="Time">
      <span className="buttons">
        <button
          type="button"
          aria-label={plays ? 'Pause' : 'Play'}
          onClick={() => {
            if (!plays) step.current(at === undefined || at >= to ? from : at);
            setPlaying(!plays);
          }}
        >
          <span aria-hidden="true">{plays ? '❚❚' : '▶'}</span>
        </button>
        <Choose
          name="Speed"
          value={String(speed)}
          set={(s) => setSpeed(Number(s))}
          of={speeds.map((s) => [String(s), `${s}×`])}
        />
      </span>
      <div className="track">
        <Marks from={from} to={to} jump={(t) => step.current(t)} />
        <input
          type="range"
          aria-label="Moment"
          aria-valuetext={said}
          min={from}
          max={to}
          value={at ?? to}
          onChange={(e) => {
            const t = Number(e.target.value);
            if (t >= Math.floor(now / 1000)) back();
            else step.current(t);
          }}
        />
      </div>
      <span className="quiet">
        {at === undefined ? spanText({ from, to }, now) : said}
        <Unknown at={at} />
      </span>
      <Choose
        name="Time shown"
        value={'last' in span ? (presets.find((p) => p[2] === span.last)?.[0] ?? '') : ''}
        set={(t) => show({ last: presets.find((p) => p[0] === t)?.[2] ?? 120 })}
        of={presets.map(([value, text]) => [value, text])}
        none={live ? undefined : 'a time'}
      />
      <span className="buttons">
        {(
          [
            ['‹', 'Earlier', () => show(moved(span, -0.5, now)), to - from >= mostPast],
            ['›', 'Later', () => show(moved(span, 0.5, now)), live],
            ['+', 'Shorter time', () => zoom(0.5), false],
            ['−', 'Longer time', () => zoom(2), false],
          ] as const
        ).map(([sign, label, act, disabled]) => (
          <button key={label} type="button" aria-label={label} disabled={disabled} onClick={act}>
            {sign}
          </button>
        ))}
        {(!live || at !== undefined) && (
          <button type="button" onClick={back}>
            Back to now
          </button>
        )}
        {at !== undefined && (
          <>
            <Copy text={window.location.href} label="Copy the link" />
            <Clip said={said} start={() => setPlaying(true)} ended={!plays} />
          </>
        )}
      </span>
    </div>
  );
}

/** Says where the controller does not know the moment that is shown, and what shows the present all the same. */
function Unknown({ at }: { at: number | undefined }) {
  const { past } = usePast(),
    now = useNow();
  if (at === undefined || !past) return null;
  const whole = past.changes.length < mostChanges;
  const since = whole ? past.since : past.changes[0]!.time;
  if (1000 * at < Date.parse(since)) return <> – not known before {formatTime(since, now)}</>;
  return <span className="said-only">. Tables and counts are those of now.</span>;
}

/** So many changes are in one answer of the API at most. */
const mostChanges = 10_000;

/** Saves what the picture of the page shows from now on, until the moment stops. */
function Clip({ said, start, ended }: { said: string; start: () => void; ended: boolean }) {
  const caption = useRef(said),
    stop = useRef<() => void>(undefined);
  const [state, setState] = useState<'no' | 'on' | 'none'>('no');
  useEffect(() => {
    caption.current = said;
  }, [said]);
  useEffect(() => () => stop.current?.(), []);
  const done = state === 'on' && ended;
  useEffect(() => {
    if (!done) return;
    stop.current?.();
    stop.current = undefined;
    setState('no');
  }, [done]);
  return (
    <button
      type="button"
      title="A film of the picture, from this moment on"
      onClick={() => {
        if (state === 'on') return (setState('no'), stop.current?.());
        stop.current = record(() => caption.current);
        setState(stop.current ? 'on' : 'none');
        if (stop.current) start();
      }}
    >
      {state === 'on' ? 'Save the clip' : state === 'none' ? 'No picture here' : 'Clip'}
    </button>
  );
}

/** Causes, drains, changes by clients and GO or NO-GO of jobs, on the line of time. */
function useMarks(): Mark[] {
  const { past } = usePast(),
    live = useLive();
  return useMemo(() => {
    const found: Mark[] = [];
    const add = (time: string, text: string, tone: Tone) =>
      found.push({ id: `${time} ${text}`, at: Date.parse(time) / 1000, text, tone });
    for (const c of past?.changes ?? []) {
      if (c.kind === 'cause') add(c.time, `${c.is ? '' : 'It ended: '}${c.what ?? c.id}`, c.is ? (c.is as Tone) : 'ok');
      if (c.kind === 'job') add(c.time, `Job ${c.id}: ${c.is ? 'NO-GO' : 'GO'}`, c.is ? 'fault' : 'ok');
      // Both directions of a link are drained at once.
      const drained = c.is === 'drained' || c.was === 'drained';
      if (drained && (c.kind === 'node' || (c.kind === 'link' && c.id < reverse(c.id))))
        add(c.time, `${c.id} is ${c.is === 'drained' ? 'drained' : 'used again'}`, 'work');
    }
    for (const e of live.events) if (e.state === 'written' || e.state === 'deleted') add(e.time, e.sentence, 'quiet');
    return found;
  }, [past, live.events]);
}

const mostSaid = 12;

function Marks({ from, to, jump }: { from: number; to: number; jump: (at: number) => void }) {
  const all = useMarks();
  const [box, setBox] = useState<HTMLUListElement | null>(null);
  const width = box?.clientWidth ?? 600;
  return (
    <ul className="marks" ref={setBox} aria-label="What happened">
      {merged(all, { from, to }, width, 26).map((m) => {
        const first = m.of[0]!;
        const text = m.of.slice(0, mostSaid).map((x) => `${formatClock(x.at)} ${x.text}`);
        if (m.of.length > mostSaid) text.push(`and ${m.of.length - mostSaid} more`);
        return (
          <li key={first.id} className={first.tone} style={{ left: `${(100 * (m.at - from)) / (to - from)}%` }}>
            <button type="button" className="plain" title={text.join('\n')} onClick={() => jump(Math.ceil(m.at))}>
              <span aria-hidden="true">
                {shapes[first.tone]}
                {m.of.length > 1 && m.of.length}
              </span>
              <span className="said-only">{text.join('; ')}</span>
            </button>
          </li>
        );
      })}
    </ul>
  );
}
