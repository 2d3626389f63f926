import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { Schemas } from '../api/client';
import * as ask from '../api/queries';
import { doneBy, entryText, fieldText } from '../domain/entry';
import { linkState, stateSince, stateTexts, stateTone, suspectLinks } from '../domain/fabric';
import { formatAge, formatCount } from '../domain/format';
import type { HistoryKind } from '../domain/history';
import { portsOf } from '../domain/load';
import { linkName, reverse } from '../domain/network';
import { useNow } from '../store/now';
import { looks, setParams, usePlace, type Look } from '../store/place';
import { Badge, Messages, Summary } from './badge';
import { Dependents } from './dependents';
import { Folded } from './documented';
import { DrainButton } from './drain';
import { Chosen, Facts, Grid } from './facts';
import { History, PortCharts } from './history';
import { groupsOf, HostFaults, HostState, PortsOf, PortState } from './hoststate';
import { Intent, See, To } from './link';
import { Empty, Failure } from './states';

interface Panel {
  id: string;
  /** Ends the look at it. */
  close: () => void;
  /** Keeps it beside what is looked at next; absent: it is kept. */
  pin?: () => void;
}

const panels: Record<Look, (p: Panel) => ReactNode> = {
  link: LinkPanel,
  node: NodePanel,
  host: HostPanel,
  group: GroupPanel,
  profile: ProfilePanel,
  entry: EntryPanel,
  plane: PlanePanel,
};

/**
 * A drawer at the right with what is chosen in a picture or table, while the page stays as it is. One thing can
 * be pinned: what is chosen next comes beside it, and two switches or hosts are compared.
 */
export default function Inspector() {
  const { query } = usePlace();
  const kind = looks.find((k) => query[k]);
  const [pinned = '', ...rest] = (query.pin ?? '').split(' '),
    pin = looks.find((k) => k === pinned),
    id = rest.join(' ');
  const now = kind && { kind, id: query[kind]! },
    kept = pin && !(pin === kind && id === now?.id) ? { kind: pin, id } : undefined;
  if (!now && !kept) return null;
  return (
    <aside className="drawer" aria-label="Inspector">
      {kept && <One of={kept} close={() => setParams({ pin: undefined })} />}
      {now && (
        <One
          of={now}
          close={() => setParams({ [now.kind]: undefined })}
          pin={() => setParams({ pin: `${now.kind} ${now.id}` })}
        />
      )}
      {kept && kept.kind === now?.kind && <Compared kind={kept.kind} a={kept.id} b={now.id} />}
    </aside>
  );
}

function One({ of, ...rest }: { of: { kind: Look; id: string } } & Omit<Panel, 'id'>) {
  const View = panels[of.kind];
  return <View key={of.id} id={of.id} {...rest} />;
}

/** Two switches or hosts beside each other, by all that the controller has of both; what differs stands out. */
function Compared({ kind, a, b }: { kind: Look; a: string; b: string }) {
  const nodes = useQuery(ask.nodes),
    switches = useQuery(ask.switches),
    hosts = useQuery(ask.hosts);
  const node = (id: string): [string, string][] => {
    const n = nodes.data?.find((x) => x.id === id),
      s = switches.data?.find((x) => x.node === id || x.name === n?.status.name);
    return [
      ['Switch', n?.status.name ?? id],
      ['State', !s?.connected ? 'not connected' : n?.spec.admin === 'drained' ? 'drained' : 'in use'],
      ['Ports up', s?.ports ? `${s.ports.up} of ${s.ports.up + (s.ports.down?.length ?? 0)}` : '–'],
      ['Entries', s ? formatCount(s.entries) : '–'],
      ['Updates that wait', s ? formatCount(s.pending) : '–'],
      ['Directions of links', formatCount(n?.status.links ?? 0)],
      ['Denied to EVs', formatCount(n?.status.deniedLinks ?? 0)],
      ['Planes', (n?.status.planes ?? []).join(', ')],
      ['Tier', n?.status.tier === undefined ? '–' : `T${n.status.tier}`],
    ];
  };
  const host = (name: string): [string, string][] => {
    const h = hosts.data?.find((x) => x.name === name);
    const ports = h?.ports ?? [];
    return [
      ['Host', name],
      ['Address', h?.address ?? '–'],
      ['Stream', h?.connected ? 'open' : 'closed'],
      ['Ports usable', `${ports.filter((p) => p.status.usable).length} of ${ports.length}`],
      ['Its switches', ports.map((p) => p.status.leafName ?? p.status.leaf).join(', ')],
      ['EV profiles', formatCount(h?.evProfiles ?? 0)],
      ['EVs', formatCount(h?.evs ?? 0)],
      ['State applied', `${h?.versions.applied ?? 0} of ${h?.versions.wanted ?? 0}`],
      ['Queue pairs', `${h?.queuePairs?.count ?? 0}, ${h?.queuePairs?.failed ?? 0} failed`],
      ['Software', h?.software ?? '–'],
    ];
  };
  const facts = kind === 'node' ? node : kind === 'host' ? host : undefined;
  if (!facts) return null;
  const [x, y] = [facts(a), facts(b)];
  return (
    <Grid
      label={`${x[0]![1]} and ${y[0]![1]} compared`}
      className="compared"
      heads={['', x[0]![1], y[0]![1]]}
      of={x.slice(1).map(([fact, value], i) => [fact, value, y[i + 1]![1]] as const)}
      id={([fact]) => fact}
      mark={([, a, b]) => (a === b ? undefined : 'differs')}
      cells={(row) => row}
    />
  );
}

/** Names that open in the drawer, the first of them. */
function Seen({ label, kind, of }: { label: string; kind: Look; of: readonly string[] }) {
  const most = 12;
  if (of.length === 0) return null;
  return (
    <p className="names">
      {label}:{' '}
      {of.slice(0, most).map((id) => (
        <See key={id} kind={kind} id={id}>
          {id}
        </See>
      ))}
      {of.length > most && `and ${of.length - most} more`}
    </p>
  );
}

/** A host: state and cause, ports with what they did, groups and EV profiles, and what can be done. */
function HostPanel({ id, ...rest }: Panel) {
  const host = useQuery(ask.hosts).data?.find((h) => h.name === id),
    mrc = !!useQuery(ask.fabric).data,
    groups = useQuery(ask.groups),
    profiles = useQuery({ ...ask.profilesOf(id), enabled: mrc });
  if (!host) return null;
  return (
    <Beside title={`Host ${id}`} drains={host.ports.flatMap((p) => p.status.drains ?? [])} {...rest}>
      <p>
        <HostState of={host} mrc={mrc} /> <code>{host.address}</code>. <To path={['hosts', id]}>All of it</To>
      </p>
      <HostFaults of={host} />
      {host.ports.map((p) => (
        <p key={p.port}>
          <PortState of={p} /> Port {p.port} at{' '}
          <See kind="node" id={p.status.leaf}>
            {p.status.leafName ?? p.status.leaf}
          </See>
          {p.status.leafPort && `, port ${p.status.leafPort}`}{' '}
          {mrc && (
            <DrainButton
              target={{ kind: 'port', host: id, port: p.port }}
              admin={p.spec.admin}
              what={`port ${p.port} of ${id}`}
            />
          )}
        </p>
      ))}
      <Dependents kind="host" name={id} />
      <Seen label="Multicast groups" kind="group" of={groupsOf(host, groups.data).map((g) => g.name)} />
      <Seen label="EV profiles" kind="profile" of={(profiles.data ?? []).map((p) => p.name)} />
      <PortsOf of={host} mrc={mrc} />
    </Beside>
  );
}

/** The hosts of addresses, by their names. */
function useNames(addresses: readonly (string | undefined)[]): string[] {
  const hosts = useQuery(ask.hosts).data ?? [];
  return hosts.filter((h) => addresses.includes(h.address)).map((h) => h.name);
}

function GroupPanel({ id, ...rest }: Panel) {
  const group = useQuery(ask.groups).data?.find((g) => g.name === id);
  const { spec, status } = group ?? {},
    now = useNow();
  const source = useNames([spec?.source?.address]),
    receivers = useNames((spec?.receivers ?? []).map((r) => r.address));
  if (!spec || !status) return null;
  return (
    <Beside title={`Group ${id}`} {...rest}>
      <p>
        <Summary of={status.conditions} /> <code>{spec.proxyAddress}</code>, QPN {spec.designatedQpn}.{' '}
        <To path={['groups', id]}>Its tree, and what can be done</To>
      </p>
      <Messages of={status.conditions} />
      {(status.stalledReceivers ?? []).map((r) => (
        <p key={r.address}>
          <Badge tone="fault">stalled</Badge> <code>{r.address}</code> at {r.switch} for {formatAge(r.since, now)}
        </p>
      ))}
      <Seen label="Source" kind="host" of={source} />
      <Seen label="Receivers" kind="host" of={receivers} />
      <Measured kind="group" name={id} />
      <Folded collection="multicast-groups" name={id} of={group} />
    </Beside>
  );
}

function ProfilePanel({ id, ...rest }: Panel) {
  const profile = useQuery(ask.profile(id)).data;
  if (!profile) return null;
  const s = profile.status;
  return (
    <Beside title={`EV profile ${id}`} {...rest}>
      <p>
        <Summary of={s.conditions} /> {s.active} of {s.count} EVs in use, {s.denied} denied, {s.assumedBad} assumed bad.{' '}
        <To path={['evs', id]}>Its paths</To>
      </p>
      <Messages of={s.conditions} />
      {s.note && <p>{s.note}</p>}
      <Seen label="Links that it lost" kind="link" of={s.lostLinks ?? []} />
      <Seen label="Hosts" kind="host" of={s.hosts} />
      <Seen label="Behind" kind="host" of={s.behind ?? []} />
      <Measured kind="ev-profile" name={id} />
      <Folded collection="ev-profiles" name={id} of={profile} />
    </Beside>
  );
}

/** An entry of a table, by SWITCH TABLE KEY: what it matches and does, and what wanted it. */
function EntryPanel({ id, ...rest }: Panel) {
  const [sw = '', table = '', ...key] = id.split(' ');
  const entries = useQuery(ask.entries(sw, table)),
    entry = entries.data?.find((e) => entryText(e) === key.join(' '));
  return (
    <Beside title={`Entry of ${table}, ${sw}`} {...rest}>
      <p>
        <To path={['switches', sw]} query={{ table }}>
          All entries of {table}
        </To>
      </p>
      {entries.isError && <Failure error={entries.error} />}
      {entries.data && !entry && <Empty>The switch has no such entry (any more).</Empty>}
      {entry && (
        <Facts
          label={`Entry ${key.join(' ')}`}
          of={[
            ...(entry.match ?? []).map((m) => [m.name, <code>{fieldText(m.value)}</code>] as const),
            ['Priority', entry.priority],
            ['Action', <code>{doneBy(entry)}</code>],
            ...(entry.params ?? []).map((p) => [p.name, <code>{fieldText(p.value)}</code>] as const),
            ['Wanted by', entry.intent && <Intent of={entry.intent} />],
          ]}
        />
      )}
    </Beside>
  );
}

/** What an object did, by all charts of its kind. */
function Measured({ kind, name }: { kind: HistoryKind; name: string }) {
  return (
    <div className="charts">
      <History kind={kind} name={name} />
    </div>
  );
}

function PlanePanel({ id, ...rest }: Panel) {
  const plane = useQuery(ask.planes).data?.find((p) => String(p.plane) === id);
  if (!plane) return null;
  return (
    <Beside title={`Plane ${id}`} drains={plane.status.drains} {...rest}>
      <p>
        {plane.status.links} directions of links, {plane.status.deniedLinks} of them denied.
      </p>
      <Dependents kind="plane" name={id} />
      <DrainButton
        target={{ kind: 'plane', plane: plane.plane }}
        admin={plane.spec.admin}
        what={`plane ${plane.plane}`}
      />
      <Folded collection="planes" name={id} of={{ ...plane, name: id }} />
    </Beside>
  );
}

function NodePanel({ id, ...rest }: Panel) {
  const node = useQuery(ask.nodes).data?.find((n) => n.id === id),
    switches = useQuery(ask.switches),
    hosts = useQuery(ask.hosts),
    top = useQuery(ask.top);
  if (!node) return null;
  const name = node.status.name,
    tiered = node.status.tier !== undefined,
    sw = switches.data?.find((s) => s.node === id || s.name === name);
  const busiest = (top.data?.items ?? []).filter((i) => i.name.startsWith(`${name}/`)).slice(0, 2);
  return (
    <Beside title={`Switch ${name ?? id}`} drains={node.status.drains} {...rest}>
      {sw && (
        <p>
          <Badge tone={!sw.connected ? 'fault' : sw.synced ? 'ok' : 'warning'}>
            {!sw.connected ? 'not connected' : sw.synced ? 'programmed' : `${sw.pending} updates wait`}
          </Badge>{' '}
          {sw.reason ?? sw.errors?.[0] ?? `${formatCount(sw.entries)} entries`}
        </p>
      )}
      <p>
        {tiered && `T${node.status.tier}, `}
        {node.status.links} directions of links, {node.status.deniedLinks} of them denied
        {!node.status.present && '; it has left the topology'}.{' '}
        {name && <To path={['switches', name]}>What it holds</To>}
      </p>
      {tiered && name && <Dependents kind="switch" name={name} />}
      <Seen
        label="Hosts at it"
        kind="host"
        of={(hosts.data ?? []).filter((h) => h.ports.some((p) => p.status.leaf === id)).map((h) => h.name)}
      />
      {tiered && <DrainButton target={{ kind: 'node', id }} admin={node.spec.admin} what={name ?? id} />}
      <PortCharts
        label="Its busiest ports"
        of={busiest.map((i) => [i.name, `port ${i.name.slice(i.name.lastIndexOf('/') + 1)}`])}
      />
      {tiered && <Folded collection="nodes" name={id} of={{ ...node, name: id }} />}
    </Beside>
  );
}

function Beside(
  props: { title: string; children: ReactNode; drains?: Schemas['DrainView'][] | null } & Omit<Panel, 'id'>,
) {
  const { title, children, close, pin, drains } = props;
  return (
    <Chosen
      title={title}
      close={close}
      buttons={
        pin && (
          <button type="button" aria-label={`Pin ${title}`} onClick={pin}>
            Pin
          </button>
        )
      }
    >
      {children}
      {(drains ?? []).map((d) => (
        <p key={d.target}>
          <Badge tone="work">{d.drained ? 'drained' : 'draining'}</Badge> by the drain of {d.target}
          {d.awaits?.length ? `; waits for ${d.awaits.join(', ')}` : ''}
        </p>
      ))}
    </Chosen>
  );
}

/** The port at an end of a link, where its charts and settings are. */
function End({ of: name, port }: { of: string; port: string }) {
  return (
    <To path={['switches', name]} query={{ port: port || undefined }}>
      {name}
      {port && `, port ${port}`}
    </To>
  );
}

/** A link that has left the topology, as one that fails may: where it led, and what its ports did. */
function LeftPanel({ id, ...rest }: Panel) {
  const nodes = useQuery(ask.nodes).data ?? [];
  const ports = portsOf(id),
    [from, to] = id.split('~').map((end) => {
      const node = end.slice(0, end.lastIndexOf(','));
      return nodes.find((n) => n.id === node)?.status.name ?? node;
    });
  if (!from || !to) return <Empty>There is no link {id}.</Empty>;
  return (
    <Beside title={`Link ${from} → ${to}`} {...rest}>
      <p>
        <Badge tone="fault">has left the topology</Badge> It led from <End of={from} port={ports[0]} /> to{' '}
        <End of={to} port={ports[1]} />.
      </p>
      <p className="quiet">
        <code>{id}</code>
      </p>
      <PortCharts
        label="What its ports did"
        of={[from, to].map((name, i) => [`${name}/${ports[i]}`, `${name}, port ${ports[i]}`])}
      />
    </Beside>
  );
}

/** A direction of a link: its state with the cause, what its ports did, whom it concerns, and what can be done. */
function LinkPanel({ id, ...rest }: Panel) {
  const links = useQuery(ask.links),
    nodes = useQuery(ask.nodes),
    planes = useQuery(ask.planes),
    suspects = useQuery(ask.suspects);
  const now = useNow(),
    place = usePlace();
  const link = links.data?.find((l) => l.id === id);
  if (!link) return links.data ? <LeftPanel id={id} {...rest} /> : null;
  const s = link.status,
    doubts = suspects.data ?? [],
    state = linkState(link, suspectLinks(doubts)),
    since = stateSince(link, state, nodes.data ?? [], planes.data ?? [], doubts),
    drainable = (nodes.data ?? []).every((n) => n.status.tier !== undefined);
  return (
    <Beside title={`Link ${linkName(link)}`} drains={s.drains} {...rest}>
      <p>
        <Badge tone={stateTone[state]}>{stateTexts[state]}</Badge> {since && `for ${formatAge(since, now)}`}
        {s.cause && `: ${s.cause}`}
        {s.until && `, until ${s.until}`}.{' '}
        {s.denied ? 'EVs over it are denied.' : drainable ? 'EVs over it are in use.' : ''} Port{' '}
        {s.fromPort ?? 'unknown'} at <End of={s.fromName ?? s.from} port={portsOf(link.id)[0]} />,{' '}
        {s.toPort ?? 'unknown'} at <End of={s.toName ?? s.to} port={portsOf(link.id)[1]} />.{' '}
        <To path={place.path} query={{ ...place.query, link: reverse(link.id) }}>
          Other direction
        </To>
      </p>
      <p className="quiet">
        <code>{link.id}</code>
      </p>
      {doubts
        .filter((x) => x.links.includes(link.id))
        .map((x) => (
          <p key={x.links.join()}>
            <Badge tone="warning">suspect</Badge> for {formatAge(x.since, now)}: loss {(100 * x.loss).toPrecision(2)} %,
            confidence {(100 * x.confidence).toFixed(0)} %. {x.evidence.lost} of {x.evidence.sent} packets lost on{' '}
            {x.evidence.paths} paths.{x.why && ` Not denied: ${x.why}.`}
            {x.links.length > 1 && ` No path tells it from ${x.links.length - 1} more.`}
          </p>
        ))}
      {drainable && <Dependents kind="link" name={link.id} />}
      {drainable ? (
        <DrainButton target={{ kind: 'link', id: link.id }} admin={link.spec.admin} what="this link" />
      ) : (
        <p className="quiet">Links are drained in an MRC fabric only.</p>
      )}
      <PortCharts
        label="What its ports did"
        of={portsOf(link.id).flatMap((port, i) => {
          const name = i === 0 ? s.fromName : s.toName;
          return name && port ? [[`${name}/${port}`, `${name}, port ${port}`]] : [];
        })}
      />
      {drainable && <Folded key={link.id} collection="links" name={link.id} of={{ ...link, name: link.id }} />}
    </Beside>
  );
}
