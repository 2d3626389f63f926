import { useMutation, useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, type KeyboardEvent } from 'react';
import { body, client } from '../api/client';
import * as ask from '../api/queries';
import { Badge } from '../components/badge';
import { arrowOf } from '../components/canvas';
import { Choose } from '../components/choose';
import { Facts, Section } from '../components/facts';
import { Intent, To } from '../components/link';
import { Empty, Failure } from '../components/states';
import { lanes, line, numberOf, stack, stepOf, steps, way, type Header, type Hop, type Stop } from '../domain/journey';
import { submits } from '../store/change';
import { setParams, useParam } from '../store/place';
import './journey.css';

/** Catches one packet, and shows its way from switch to switch, step by step. */
export function Journey() {
  const [from] = useParam('from'),
    [to] = useParam('to'),
    [group] = useParam('group'),
    [caught] = useParam('caught');
  const topology = useQuery(ask.topology),
    groups = useQuery(ask.groups);
  const journey = useMutation({
    mutationFn: () =>
      body(
        client.GET('/v1/journeys', {
          params: { query: { from: from || undefined, to: to || undefined, group: group || undefined, wait: '20s' } },
        }),
      ),
  });
  const { mutate } = journey;
  const linked = useRef(caught !== '');
  useEffect(() => {
    if (linked.current) mutate(); // the link of somebody else: another packet of the same pair
    linked.current = false;
  }, [mutate]);
  const hosts = (topology.data?.hosts ?? []).map((h) => h.name);
  const choice = (label: string, name: string, value: string, all: readonly string[], none: string) => (
    <Choose
      label={label}
      value={value}
      set={(x) => setParams({ [name]: x || undefined, caught: undefined })}
      of={all}
      none={none}
    />
  );
  return (
    <>
      <h1>A packet’s journey</h1>
      <form
        className="filters"
        onSubmit={submits(() => {
          setParams({ caught: '1', step: undefined, way: undefined });
          mutate();
        })}
      >
        {choice('From', 'from', from, hosts, group ? 'the source' : 'choose a host')}
        {choice('To', 'to', to, hosts, 'any host')}
        {choice('Group', 'group', group, groups.data?.map((g) => g.name) ?? [], 'none')}
        <button type="submit" disabled={journey.isPending || !(from || group)}>
          Catch one
        </button>
        {journey.isPending && (
          <span role="status" className="quiet">
            Waiting for a packet, at most 20 s…
          </span>
        )}
      </form>
      {journey.isError && <Failure error={journey.error} />}
      {journey.data &&
        ((journey.data.hops ?? []).length === 0 ? (
          <Empty>No packet came in 20 s.</Empty>
        ) : (
          <Caught
            hops={journey.data.hops as Hop[]}
            from={journey.data.from}
            hosts={journey.data.delivered ?? []}
            to={to}
            ended={journey.data.complete}
          />
        ))}
    </>
  );
}

/** The way of a packet to one of the hosts that it reached, and where on it the reader is. */
function Caught(p: { hops: Hop[]; from: string; hosts: string[]; to: string; ended: boolean }) {
  const [chosen] = useParam('way', p.to || p.hosts[0]),
    [step] = useParam('step');
  const along = useMemo(() => {
    const found = way(p.hops, chosen);
    return (found.length > 0 ? found : [{ hop: p.hops[0]!, port: p.hops[0]!.sent[0]?.port ?? -1 }]).map((w) => {
      const records = line(w.hop.record, w.port);
      return { ...w, records: records.length > 0 ? records : [w.hop.record] };
    });
  }, [p.hops, chosen]);
  const all = useMemo(() => steps(along), [along]);
  const at = stepOf(all, step),
    here = all[at];
  const turnTo = (i: number) => setParams({ step: all[Math.min(Math.max(0, i), all.length - 1)]!.id });
  const current = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    void current.current?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [at]);
  if (!here) return <Empty>The switch says nothing of its steps.</Empty>;
  const turn = (e: KeyboardEvent) => {
    const by = e.target instanceof HTMLSelectElement ? undefined : arrowOf(e);
    if (by) turnTo(at + by.x + by.y);
  };
  const w = along[here.hop]!;
  return (
    <div
      className="journey"
      role="group"
      aria-label="Steps of the packet; the arrow keys go from one to the next"
      tabIndex={0}
      onKeyDown={turn}
    >
      <ol className="way" aria-label="Way of the packet">
        <li className="lit">{p.from}</li>
        {along.map((x, i) => (
          <li key={i} className={i <= here.hop ? 'lit' : undefined}>
            <button
              type="button"
              aria-current={i === here.hop ? 'step' : undefined}
              onClick={() => turnTo(all.findIndex((a) => a.hop === i))}
            >
              {x.hop.switch}
            </button>
          </li>
        ))}
        <li className={at === all.length - 1 ? 'lit' : undefined}>{p.hosts.includes(chosen) ? chosen : '…'}</li>
        {p.hosts.length > 1 && (
          <li className="copies">
            <Choose
              label="Copy for"
              value={chosen}
              set={(host) => setParams({ way: host, step: undefined })}
              of={p.hosts}
            />
          </li>
        )}
      </ol>
      {!p.ended && <Badge tone="warning">The time was over before each copy had an end</Badge>}
      {step && step !== here.id && <p>This packet does not meet {step}: packets of one pair differ.</p>}
      <p role="status">
        Step {at + 1} of {all.length}: {w.hop.switch}, {here.stop.lane.toLowerCase()}, {said(here.stop)}
      </p>
      <div className="lanes">
        {lanes.map((lane) => (
          <section key={lane} aria-label={lane}>
            <h2>{lane}</h2>
            {all.map(
              (x, i) =>
                x.hop === here.hop &&
                x.stop.lane === lane && (
                  <button
                    key={i}
                    type="button"
                    ref={i === at ? current : undefined}
                    className={i <= at ? 'lit' : undefined}
                    aria-current={i === at ? 'step' : undefined}
                    onClick={() => turnTo(i)}
                  >
                    {x.stop.hit === undefined ? (
                      x.stop.title
                    ) : (
                      <Badge tone={x.stop.hit ? 'ok' : 'quiet'}>{said(x.stop)}</Badge>
                    )}
                  </button>
                ),
            )}
          </section>
        ))}
      </div>
      <div className="beside">
        <Section title={here.stop.title} label="This step">
          <Facts of={here.stop.facts.map(([name, value]) => [name, <code key="v">{value}</code>])} />
          {here.stop.key && <Wanted sw={w.hop.switch} table={here.stop.table!} stop={here.stop} />}
        </Section>
        <section aria-label="Headers that leave the switch">
          <h2>
            Headers from {w.hop.switch} by port {w.port}
          </h2>
          {stack(w.records).map((h) => (
            <Octets key={`${h.is} ${h.name}`} of={h} />
          ))}
        </section>
      </div>
    </div>
  );
}

const said = (s: Stop) => (s.hit === undefined ? s.title : `${s.title}: ${s.hit ? 'hit' : 'miss'}`);

/** The most octets of a header that are shown. */
const most = 48;

function Octets({ of: h }: { of: Header }) {
  const tone = { same: 'quiet', changed: 'work', added: 'ok', removed: 'fault' } as const;
  return (
    <p className={`header ${h.is}`}>
      <strong>{h.name}</strong>{' '}
      <Badge tone={tone[h.is]}>{h.what.length > 0 ? `${h.is}: ${h.what.join(', ')}` : h.is}</Badge>
      <code>
        {h.octets.slice(0, most).map((o, i) => (h.lit[i] ? <mark key={i}>{o}</mark> : <span key={i}>{o}</span>))}
        {h.octets.length > most && ` and ${h.octets.length - most} more`}
      </code>
    </p>
  );
}

/** The entry that a packet hit, and what wanted it. */
function Wanted({ sw, table, stop }: { sw: string; table: string; stop: Stop }) {
  const entries = useQuery({ ...ask.entries(sw, table), staleTime: 60_000 });
  const entry = entries.data?.find((e) =>
    stop.key!.every((k) => {
      const m = e.match?.find((f) => f.name === k.name);
      return m !== undefined && (m.value === '*' || numberOf(m.value) === numberOf(k.value));
    }),
  );
  const intent = entry?.intent;
  return (
    <p>
      <To path={['switches', sw]} query={{ table }}>
        Entries of {table}
      </To>
      {intent && (
        <>
          , wanted by <Intent of={intent} />
        </>
      )}
      {entries.isError && <span className="quiet">: {entries.error.message}</span>}
    </p>
  );
}
