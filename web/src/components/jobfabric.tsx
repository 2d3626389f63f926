import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import type { Schemas } from '../api/client';
import * as ask from '../api/queries';
import { useMay } from '../api/session';
import type { Cells, LinkState } from '../domain/fabric';
import { formatClock, formatCount, formatDuration, formatShare, parseDuration } from '../domain/format';
import { stretches, type Stretch } from '../domain/past';
import { reverse } from '../domain/network';
import { jump, useMoment, usePast, useSpan } from '../store/past';
import { useParam } from '../store/place';
import { Choose } from './choose';
import { Matrix } from './matrix';
import { Where, type Pointed } from './network';
import { Answer } from './states';
import { Section } from './facts';

type Racks = Schemas['JobRacks'];

/** The ranks of a job by each other, rack by rack, beside the part of the fabric that they use. */
export function JobFabric({ name }: { name: string }) {
  const racks = useQuery(ask.jobRacks(name));
  return (
    <Answer of={racks} what="its ranks">
      {(r) => <Pairs of={r} />}
    </Answer>
  );
}

/** Ranks that are neighbours, as 0–7; several such runs as the first of them. */
function ranksOf(rack: Schemas['JobRack']): string {
  const all = rack.nics ?? [];
  if (all.length === 0) return `${formatCount(rack.ranks)} ranks`;
  const [first, last] = [all[0]!.rank, all.at(-1)!.rank];
  return last - first + 1 === all.length ? (first === last ? `${first}` : `${first}–${last}`) : `${first}, …`;
}

function cellsOf(r: Racks): { cells: Cells; pairs: Map<number, Schemas['JobPair']>; longest: number } {
  const ends = r.racks.map((k, i) => ({ id: String(i), name: ranksOf(k) })),
    pairs = new Map((r.pairs ?? []).map((p) => [p.from * ends.length + p.to, p]));
  const state = (p: Schemas['JobPair'] | undefined): LinkState =>
    !p ? 'none' : p.left === undefined || p.left >= 1 ? 'up' : p.left > 0 ? 'denied' : 'down';
  return {
    pairs,
    longest: Math.max(1, ...(r.pairs ?? []).map((p) => parseDuration(p.roundTrip ?? '') ?? 0)),
    cells: {
      rows: ends,
      columns: ends,
      cells: Array.from({ length: ends.length ** 2 }, (_, i) => state(pairs.get(i))),
    },
  };
}

function Pairs({ of: r }: { of: Racks }) {
  const [show, setShow] = useParam('show', 'paths'),
    [cell, setCell] = useState<number>(),
    [part, setPart] = useState<Pointed>();
  const { cells, pairs, longest } = useMemo(() => cellsOf(r), [r]);
  const n = r.racks.length,
    rtt = (i: number) => pairs.get(i)?.roundTrip;
  const heat = useMemo(
    () =>
      show === 'paths'
        ? undefined
        : cells.cells.map((_, i) => (rtt(i) ? Math.round((1000 * parseDuration(rtt(i)!)!) / longest) : -1)),
    // eslint-disable-next-line react-hooks/exhaustive-deps
    [cells, show],
  );
  const rack = (i: number) => `ranks ${ranksOf(r.racks[i]!)} at ${r.racks[i]!.name || 'no rack'}`;
  const say = (i: number) => {
    const p = pairs.get(i),
      ends = `${rack(Math.floor(i / n))} to ${rack(i % n)}`;
    if (!p) return `${ends}: they do not talk`;
    return `${ends}: ${p.left === undefined ? 'paths not known' : `${formatShare(p.left)} of the paths left`}${p.roundTrip ? `, round trip ${formatDuration(p.roundTrip)}` : ''}`;
  };
  const { lit, text } = useHurt(r, part);
  const switches = useMemo(
    () =>
      (cell === undefined ? r.racks : [r.racks[Math.floor(cell / n)]!, r.racks[cell % n]!]).flatMap(
        (k) => k.switches ?? [],
      ),
    [r, cell, n],
  );
  return (
    <>
      <div className="heading">
        <h2>Ranks by ranks</h2>
        <Choose label="Show" value={show} set={setShow} of={{ paths: 'paths left', rtt: 'round trip' }} />
      </div>
      <div className="hero">
        {r.pairs ? (
          <Matrix
            title="From the ranks of a row to those of a column"
            label={`Ranks by ranks: ${n} by ${n} racks`}
            of={cells}
            heat={heat}
            say={say}
            value={(i) => formatDuration(rtt(i))}
            chosen={cell}
            choose={(i) => setCell(i === cell ? undefined : i)}
            lit={lit}
          />
        ) : (
          <p className="state">Its {formatCount(n)} racks are too many pairs for a picture.</p>
        )}
        <div>
          <Where switches={switches} point={setPart} />
          <p className="quiet" role="status">
            {text ?? 'Point at a link or a switch to see which ranks need it; choose a cell to see its racks.'}
          </p>
        </div>
      </div>
    </>
  );
}

/** What the job has of a part that is pointed at: the racks that need it, by their places, and the same in words. */
function useHurt(r: Racks, part: Pointed | undefined): { lit?: ReadonlySet<number>; text?: string } {
  const operates = useMay('operate');
  const needs = useQuery({
    ...ask.dependents(part?.kind ?? 'link', part?.name ?? ''),
    enabled: part !== undefined,
    placeholderData: keepPreviousData,
  });
  const lost = useQuery({ ...ask.without(part), enabled: part !== undefined && operates });
  return useMemo(() => {
    const need = part && needs.data?.find((j) => j.name === r.name);
    if (!part || !need) return part && needs.isSuccess ? { lit: new Set(), text: `No rank needs ${part.label}.` } : {};
    const less = lost.data?.find((j) => j.name === r.name),
      names = new Set(less?.pairs?.flatMap((p) => [p.from, p.to]));
    const at = new Set<number>();
    r.racks.forEach((k, i) => {
      if (names.has(k.name) || k.switches?.some((s) => part.ends.includes(s))) at.add(i);
    });
    const fewer = less && less.left < 1 ? `, ${formatShare(1 - less.left)} fewer paths without it` : '';
    return {
      lit: at.size > 0 ? at : undefined,
      text: `${part.label}: ${formatCount(need.affected)} of ${formatCount(need.ranks)} ranks${fewer}.`,
    };
  }, [r, part, needs.data, needs.isSuccess, lost.data]);
}

/** So many stretches of a lane are drawn at most, the latest. */
const mostDrawn = 500;

/** The time that is shown as lanes: when the job was GO, and what was wrong, drained or lost of the network. */
export function Lanes({ job }: { job: string }) {
  const { past } = usePast(),
    { from, to } = useSpan(),
    at = useMoment();
  const lanes = useMemo((): [title: string, Stretch[]][] => {
    if (!past) return [];
    const of = (wanted: Parameters<typeof stretches>[2]) => stretches(past, from, wanted).slice(-mostDrawn);
    return [
      ['NO-GO', of((t) => t.kind === 'job' && t.id === job)],
      ['Causes', of((t) => t.kind === 'cause' && t.state !== 'work')],
      ['Drains', of((t) => t.state === 'drained' && (t.kind === 'node' || t.id < reverse(t.id)))],
      ['Broken paths', of((t) => t.state === 'broken')],
    ];
    // Each second another one begins the time: what has changed comes with past.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [past, job]);
  const place = (t: number) => `${(100 * Math.max(0, Math.min(1, (t - from) / (to - from)))).toFixed(2)}%`;
  return (
    <Section title="What happened" label={`What happened to ${job}`}>
      <dl className="lanes">
        {lanes.map(([title, all]) => (
          <div key={title}>
            <dt>{title}</dt>
            <dd
              onClick={(e) => {
                const box = e.currentTarget.getBoundingClientRect();
                jump(from + ((e.clientX - box.left) / box.width) * (to - from), { from, to });
              }}
            >
              {all.length === 0 && <span className="quiet">none in this time</span>}
              {all.map((s) => {
                const text = `${s.what ?? (s.kind === 'job' ? 'NO-GO' : `${s.id}: ${s.state}`)}, ${formatClock(s.from)} to ${formatClock(s.to)}`;
                return (
                  <span
                    key={`${s.kind} ${s.id} ${s.from}`}
                    className={`stretch ${s.kind === 'job' ? 'fault' : s.kind === 'cause' ? s.state : s.state === 'drained' ? 'work' : 'warning'}`}
                    style={{ left: place(s.from), right: `calc(100% - ${place(s.to)})` }}
                    title={text}
                  >
                    <span className="said-only">{text}. </span>
                  </span>
                );
              })}
              {at !== undefined && <span className="moment" style={{ left: place(at) }} aria-hidden="true" />}
            </dd>
          </div>
        ))}
      </dl>
    </Section>
  );
}
