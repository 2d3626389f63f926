import { useQueries, useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useRef } from 'react';
import * as ask from '../api/queries';
import { blockLoads, type Block, type BlockLoad, type Counts, type PlaneBlocks } from '../domain/blocks';
import { states, stateTexts } from '../domain/fabric';
import { formatCount, formatShare } from '../domain/format';
import { step } from '../domain/load';
import { formatPlace } from '../domain/route';
import { useMoment } from '../store/past';
import { usePlace } from '../store/place';
import { stateMark } from './canvas';
import { LoadLegend } from './statelegend';

/** Where the use of all links is more than this many numbers, it is not read: the busiest ports are known alone. */
const mostCells = 300_000;

/** A large fabric by planes and pods: tiers as rows, with what fails and what is carried summed in each block. */
export function Blocks({ planes, back }: { planes: PlaneBlocks[]; back?: string }) {
  const at = useMoment(),
    place = usePlace();
  const top = useQuery(ask.loads(at));
  const small = planes.filter((p) => {
    const size = (tier: number) =>
      p.pods.reduce((n, b) => n + (b.tiers.find((t) => t.tier === tier)?.nodes.length ?? 0), 0);
    return size(0) * size(1) <= mostCells;
  });
  const uses = useQueries({
    queries: small.map((p) => ({
      ...ask.utilization(p.plane, at),
      retry: false,
      refetchInterval: at ? false : 15_000,
    })),
    combine: (all) => all.flatMap((u) => (u.data?.rows ? [u.data] : [])),
  });
  const loads = useMemo(() => {
    const shares = top.data?.metric === 'utilization';
    const busiest = (top.data?.items ?? []).map((i) => ({ name: i.name, share: shares ? (i.out ?? 0) : 0 }));
    return blockLoads(planes, uses, shares ? busiest : []);
  }, [planes, uses, top.data]);
  const box = useRef<HTMLDivElement>(null);
  // Who comes back from a block goes on from there.
  useEffect(() => {
    if (back) box.current?.querySelector<HTMLElement>(`[data-block="${CSS.escape(back)}"]`)?.focus();
  }, [back]);
  const to = (b: Block) => formatPlace(['fabric'], { ...place.query, block: b.id, view: undefined });
  return (
    <>
      <div
        ref={box}
        className="blocks"
        role="group"
        aria-label="The fabric by planes and pods"
        onKeyDown={(e) => {
          const move = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[e.key];
          const all = [...(box.current?.querySelectorAll<HTMLElement>('a.block') ?? [])];
          const i = all.indexOf(document.activeElement as HTMLElement);
          if (!move || i < 0) return;
          e.preventDefault();
          all[(i + move + all.length) % all.length]!.focus();
        }}
      >
        {planes.map((p) => (
          <section key={p.plane} className="planeblock" aria-label={`Plane ${p.plane}`}>
            <h3>
              Plane {p.plane} <Faults of={total(p)} none="all links up" />
            </h3>
            {p.top && (
              <ul className="tops">
                <li>
                  <BlockCard of={p.top} load={loads.get(p.top.id)} href={to(p.top)} />
                </li>
              </ul>
            )}
            <ul className="pods">
              {p.pods.map((b) => (
                <li key={b.id}>
                  <BlockCard of={b} load={loads.get(b.id)} href={to(b)} />
                </li>
              ))}
            </ul>
          </section>
        ))}
      </div>
      <p className="quiet">
        <LoadLegend full="the speed of the port" measured={loads.size > 0} />
      </p>
    </>
  );
}

/** The states of the links of a plane that are not up. A fault between a pod and the top counts once. */
function total(p: PlaneBlocks): Counts {
  const sum: Counts = {};
  for (const b of p.pods) for (const s of states) if (b.bad[s]) sum[s] = (sum[s] ?? 0) + b.bad[s];
  return sum;
}

/** How much of what is not well, each state with its shape, colour and words; the worst first. */
function Faults({ of, none, what = '' }: { of: Counts; none: string; what?: string }) {
  const bad = [...states].reverse().filter((s) => s !== 'up' && s !== 'none' && of[s]);
  if (bad.length === 0) return <span className="quiet">{none}</span>;
  return (
    <span className="faultcounts">
      {bad.map((s) => (
        <span key={s} className="state-of">
          <span className={`cell ${s}`} aria-hidden="true">
            {stateMark[s]}
          </span>{' '}
          {formatCount(of[s]!)} {what}
          {stateTexts[s]}
        </span>
      ))}
    </span>
  );
}

function BlockCard({ of: b, load, href }: { of: Block; load?: BlockLoad; href: string }) {
  const failing =
    Object.entries(b.bad).some(([s, n]) => n > 0 && s !== 'drained') || b.tiers.some((t) => t.states.down);
  return (
    <a className={`block${failing ? ' failing' : ''}`} href={href} data-block={b.id}>
      <strong>{b.name}</strong>
      {b.up > 0 && (
        <span className="tierrow">
          <span />
          <span className="quiet">
            {formatCount(b.up)} links to T{b.tiers[0]!.tier + 1}
          </span>
        </span>
      )}
      {b.tiers.map((t, i) => (
        <span key={t.tier} className="tierrow">
          <span className="tiername">T{t.tier}</span>
          <span>
            {formatCount(t.nodes.length)} switches <Faults of={t.states} none="" />
          </span>
          {i < b.tiers.length - 1 && (
            <>
              <Bar load={load} />
              <span className="quiet">{formatCount(b.within)} links</span>
            </>
          )}
        </span>
      ))}
      <Faults of={b.bad} none="all links up" />
      {load && <span className="quiet">{loadText(load)}</span>}
    </a>
  );
}

/** What the links between two tiers carry, by width and colour as in the pictures. */
function Bar({ load }: { load?: BlockLoad }) {
  const at = step(load?.mean ?? load?.most, 5);
  return (
    <svg className="ramp bond" viewBox="0 0 12 24" aria-hidden="true">
      <line
        className={at === undefined ? 'load-none' : `load-${at + 1}`}
        x1="6"
        x2="6"
        y1="0"
        y2="24"
        strokeWidth={at === undefined ? 1 : 2 + 2 * at}
      />
    </svg>
  );
}

function loadText(load: BlockLoad): string {
  const most = `busiest port ${formatShare(load.most)}`;
  return load.mean === undefined ? most : `load ${formatShare(load.mean)}, ${most}`;
}
