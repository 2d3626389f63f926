import type { Schemas } from '../api/client';
import * as ask from '../api/queries';
import { useMay } from '../api/session';
import { Badge, type Tone } from '../components/badge';
import { Chart } from '../components/chart';
import { History } from '../components/history';
import { Choose } from '../components/choose';
import { conditions, counted, lasting, linked, long, named, rated, toned } from '../components/columns';
import { Facts, Section } from '../components/facts';
import { To } from '../components/link';
import { pagesOf, Part } from '../components/resource';
import { Empty } from '../components/states';
import { Table, type Column } from '../components/table';
import { formatAge, formatBitRate, formatCount, formatDuration, formatOctets } from '../domain/format';
import { between, columns as columnsOf, growth, spells } from '../domain/samples';
import { useNow } from '../store/now';
import { useSeen } from '../store/seen';
import { go, useParam } from '../store/place';
import { pfcForm, srv6Form, tenantForm } from './policies';

type SRv6 = Schemas['Srv6Policy'];
type Tenant = Schemas['Tenant'];
type PFC = Schemas['PfcPolicy'];

export const Pfc = pagesOf<PFC>({ ...pfcForm, one: ask.pfcPolicy, List: Lossless, Page: One });

/** The lossless tenants: PFC policies, tenants and SRv6 policies. */
export function Lossless() {
  const readsAll = useMay('read');
  const pfcColumns: Column<PFC>[] = [
    named('PFC policy', 'pfc'),
    conditions(),
    linked('Tenant', 'tenants', (p) => p.spec.tenant),
    linked('SRv6 policy', 'srv6-policies', (p) => p.spec.srv6Policy),
    {
      name: 'Tunnels up',
      key: (p) => p.status.tunnels?.length ?? 0,
      cell: (p) =>
        `${(p.status.tunnels ?? []).filter((t) => t.state === 'up').length} of ${p.status.tunnels?.length ?? 0}`,
      width: 0.7,
    },
    counted('Paused now', (p) => (p.status.nodes ?? []).filter((n) => n.queue?.paused).length, 0.7),
    counted('Dropped', dropped, 0.6),
  ];
  const tenantColumns: Column<Tenant>[] = [
    named('Tenant', 'tenants'),
    conditions(),
    counted('Slice', (t) => t.spec.slice, 0.5),
    counted('Priority', (t) => t.spec.priority, 0.6),
    rated('Rate', (t) => t.spec.rate, 0.8),
    {
      name: 'Sites',
      key: (t) => (t.status.sites ?? []).map((s) => s.switch).join(' '),
      cell: (t) => (t.spec.sites ?? []).map((s) => `${s.switch}:${s.port}`).join(', '),
      width: 1.4,
    },
    { name: 'SRv6 policies', key: (t) => (t.spec.policies ?? []).join(', '), width: 1.2 },
    counted('VRF', (t) => t.status.vrf, 0.5),
  ];
  const srv6Columns: Column<SRv6>[] = [
    named('SRv6 policy', 'srv6-policies'),
    conditions(),
    long('Path', (p) => (p.status.path ?? [p.spec.headend, '…', p.spec.endpoint]).join(' → '), 1.4),
    segments((p) => p.status.segmentList),
    { name: 'PFC at', key: (p) => (p.status.pfcNodes ?? []).join(', ') },
    long('Used by', (p) => (p.status.usedBy ?? []).join(', '), 1.7),
  ];
  return (
    <>
      <h1>Lossless tenants</h1>
      <Part<PFC>
        {...pfcForm}
        title="PFC policies"
        all={ask.pfcPolicies}
        columns={pfcColumns}
        empty="There is no PFC policy. It makes an SRv6 policy lossless for a tenant."
        done={(name) => go(['pfc', name])}
      />
      <Part<Tenant>
        {...tenantForm}
        title="Tenants"
        all={ask.tenants}
        columns={tenantColumns}
        empty="There is no tenant. A tenant is an L3VPN over SRv6 with a slice of the network."
      />
      {readsAll && (
        <Part<SRv6>
          {...srv6Form}
          title="SRv6 policies"
          all={ask.srv6Policies}
          columns={srv6Columns}
          empty="There is no SRv6 policy."
        />
      )}
    </>
  );
}

/** Segments by switch and behavior, with their SIDs below the pointer. */
const segments = <T,>(of: (row: T) => Schemas['PfcTunnel']['segments'] | null | undefined): Column<T> => ({
  name: 'Segments',
  key: (r) => (of(r) ?? []).map((s) => s.sid).join(' '),
  cell: (r) => (
    <span title={(of(r) ?? []).map((s) => `${s.node} ${s.sid} ${s.behavior}`).join('\n')}>
      {(of(r) ?? []).map((s) => `${s.node}.${s.behavior}`).join(', ')}
    </span>
  ),
  width: 2.2,
});

const dropped = (p: PFC) => (p.status.nodes ?? []).reduce((n, x) => n + (x.queue?.dropped ?? 0), 0);

const tunnelTones: Record<Schemas['PfcTunnel']['state'], Tone> = { up: 'ok', down: 'fault', unknown: 'quiet' };

function One({ of: p }: { of: PFC }) {
  const now = useNow();
  const nodes = p.status.nodes ?? [];
  return (
    <>
      <p>
        Tenant <To path={['tenants', p.spec.tenant]}>{p.spec.tenant}</To> on SRv6 policy{' '}
        <To path={['srv6-policies', p.spec.srv6Policy]}>{p.spec.srv6Policy}</To>, scenario {p.spec.scenario ?? 1},
        tunnels of mode {p.spec.tunnel ?? 'policy'}.
      </p>
      {p.status.cycle?.length ? <Cycle of={p.status.cycle} /> : null}
      <h2>Queues, upstream first</h2>
      {nodes.length === 0 ? (
        <Empty>No node of the path handles PFC.</Empty>
      ) : (
        <div className="columns">
          {nodes.map((n) => (
            <Queue key={`${n.switch} ${n.port}`} of={n} />
          ))}
        </div>
      )}
      <h2>Tunnels</h2>
      <Table<Schemas['PfcTunnel']>
        rows={p.status.tunnels ?? []}
        id={(t) => `${t.from} ${t.id} ${t.to}`}
        label="Tunnels"
        empty="There is no tunnel: nobody downstream pauses anybody."
        columns={[
          linked('From', 'switches', (t) => t.from, 0.6),
          linked('To', 'switches', (t) => t.to, 0.6),
          toned('State', (t) => [tunnelTones[t.state], t.state], 0.7),
          segments((t) => t.segments),
          lasting('Round trip', (t) => t.rtt, 0.8),
          lasting('Least', (t) => t.minRtt, 0.8),
          lasting('Most', (t) => t.maxRtt, 0.8),
          counted('Probes', (t) => t.sent, 0.6),
          counted('Lost', (t) => t.lost, 0.5),
        ]}
      />
      <TunnelCharts of={p} />
      <p className="quiet">
        Version {p.version}
        {p.created && `, made ${formatAge(p.created, now)} ago`}.
      </p>
    </>
  );
}

/** What a tunnel did, and the pauses that its upstream port received. */
function TunnelCharts({ of: p }: { of: PFC }) {
  const tunnels = p.status.tunnels ?? [],
    nodes = p.status.nodes ?? [];
  const reads = useMay('read');
  const [chosen, choose] = useParam('tunnel-id');
  const names = tunnels.map((t) => `${t.from}/${t.id}`);
  const name = names.includes(chosen) ? chosen : names[0];
  if (!reads || !name) return null;
  const tunnel = tunnels[names.indexOf(name)]!;
  // The queue that the tunnel's pauses stop is at its end.
  const stopped = nodes.find((n) => n.switch === tunnel.to) ?? nodes.find((n) => n.switch === tunnel.from);
  return (
    <Section title="Tunnels over time" label={`Tunnel ${name}`}>
      <p className="filters">
        <Choose
          label="Tunnel"
          value={name}
          set={choose}
          of={tunnels.map((t, i) => [names[i]!, `${t.from} → ${t.to} (${t.id})`])}
        />
      </p>
      <div className="charts">
        <History kind="tunnel" name={name} absent="No probe of this tunnel has been sent yet." />
        {stopped && (
          <History
            kind="port"
            name={`${stopped.switch}/${stopped.port}`}
            only={['traffic']}
            absent="The switch does not report what this port does."
          />
        )}
      </div>
    </Section>
  );
}

/** Queues that wait for each other: each is paused by the one after it, and the last by the first. */
function Cycle({ of }: { of: string[] }) {
  return (
    <p>
      <Badge tone="fault">deadlock possible</Badge> These queues wait for each other:{' '}
      {[...of, of[0]].map((q, i) => (
        <span key={i}>
          {i > 0 && ' → '}
          <code>{q}</code>
        </span>
      ))}
    </p>
  );
}

/**
 * The octets of a queue over time, against its marks: as this page has read it, for the controller keeps
 * no history of them.
 */
function Held({ of: n }: { of: Schemas['PfcNode'] }) {
  const q = n.queue,
    w = n.watermarks;
  const seen = useSeen(
    `queue ${n.switch} ${n.port} ${n.priority}`,
    q && {
      time: Date.parse(q.at),
      values: { held: q.held, paused: q.paused ? 1 : 0, received: q.pausesReceived, sent: q.xoffSent },
    },
  );
  const { times, values } = columnsOf(seen, ['held']);
  if (!q) return null;
  const paused = seen.filter((s) => s.values.paused).length;
  const counts = ['received', 'sent'].map((n) => columnsOf(growth(seen, n), [n]));
  return (
    <>
      <Chart
        label={`Octets held at ${n.switch}, port ${n.port}`}
        times={times}
        series={[{ label: 'held', unit: 'octets', values: values[0] ?? [] }]}
        lines={[
          { label: 'XOFF', value: w.xoff, tone: 'fault' },
          { label: 'XON', value: w.xon, tone: 'warning' },
        ]}
        spans={spells(between(seen, 'paused', 'received'), 'paused')}
        note={`Seen since this page was opened, at most 15 minutes; ${paused} of ${seen.length} readings paused. The strip below the line has these, and pauses between two readings.`}
      />
      <Chart
        label={`Pauses at ${n.switch}, port ${n.port}`}
        times={counts[0]!.times}
        height={90}
        series={[
          { label: 'pauses received', unit: 'frames/s', values: counts[0]!.values[0]! },
          { label: 'XOFF sent upstream', unit: 'frames/s', values: counts[1]!.values[0]! },
        ]}
      />
    </>
  );
}

function Queue({ of: n }: { of: Schemas['PfcNode'] }) {
  const now = useNow();
  const q = n.queue,
    w = n.watermarks;
  return (
    <section className="drawing" aria-label={`Queue of ${n.switch}, port ${n.port}`}>
      <h3>
        <To path={['switches', n.switch]}>{n.switch}</To>, port {n.port}, priority {n.priority}{' '}
        {q?.paused ? (
          <Badge tone="warning">paused for {formatDuration(q.pausedFor)}</Badge>
        ) : q ? (
          <Badge tone="ok">sends</Badge>
        ) : (
          <Badge tone="quiet">not heard of yet</Badge>
        )}
      </h3>
      <Held of={n} />
      <Facts
        of={[
          ['Held', q && `${formatOctets(q.held)}, ${formatOctets(q.maxHeld)} at most`],
          ['Stops upstream above', formatOctets(w.xoff)],
          ['Lets it go on at', formatOctets(w.xon)],
          ['Buffer', `${formatOctets(w.buffer)}, of which ${formatOctets(w.headroom)} headroom`],
          [
            'From',
            `round trip ${formatDuration(w.rtt)} (${w.measured ? 'measured' : 'assumed'}), ${formatBitRate(w.rate)}`,
          ],
          ['Upstream', n.upstream ? <To path={['switches', n.upstream]}>{n.upstream}</To> : 'the hosts of the tenant'],
          ['Paused by SID', n.sid && <code>{n.sid}</code>],
          ['Pauses received', q && formatCount(q.pausesReceived)],
          [
            'XOFF sent',
            q && `${formatCount(q.xoffSent)}${q.lastXoff ? `, last ${formatAge(q.lastXoff, now)} ago` : ''}`,
          ],
          ['XON sent', q && `${formatCount(q.xonSent)}${q.lastXon ? `, last ${formatAge(q.lastXon, now)} ago` : ''}`],
          ['Dropped', q && (q.dropped > 0 ? <Badge tone="fault">{formatCount(q.dropped)} packets</Badge> : '0')],
          ['Storms', q && (q.storms > 0 ? <Badge tone="fault">{q.storms}</Badge> : '0')],
        ]}
      />
    </section>
  );
}
