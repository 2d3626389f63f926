import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Schemas } from '../api/client';
import * as ask from '../api/queries';
import { Badge } from '../components/badge';
import { Choose } from '../components/choose';
import { actions, aged, coded, counted, leading, named } from '../components/columns';
import { Dependents } from '../components/dependents';
import { DrainButton } from '../components/drain';
import { Facts, Heading } from '../components/facts';
import { groupsOf, HostFaults, HostState, PortsOf, PortState } from '../components/hoststate';
import { To } from '../components/link';
import { Answer, Empty } from '../components/states';
import { Searched, Table, type Column } from '../components/table';
import { countOf, formatAge } from '../domain/format';
import { useNow } from '../store/now';
import { go } from '../store/place';

type Host = Schemas['FabricHost'];
type Port = Host['ports'][number];
type Group = NonNullable<Host['queuePairs']>['groups'][number];

export function Hosts({ path }: { path: string[] }) {
  const hosts = useQuery(ask.hosts),
    fabric = useQuery(ask.fabric);
  return (
    <Answer of={hosts} what="hosts">
      {(all) => {
        const mrc = !!fabric.data;
        if (path[0] === undefined) return <List all={all} mrc={mrc} />;
        const host = all.find((h) => h.name === path[0]);
        return host ? (
          <One host={host} all={all} mrc={mrc} />
        ) : (
          <Empty>
            There is no host {path[0]}. <To path={['hosts']}>All hosts</To>
          </Empty>
        );
      }}
    </Answer>
  );
}

function List({ all, mrc }: { all: Host[]; mrc: boolean }) {
  const now = useNow();
  const columns: Column<Host>[] = [
    named('Host', 'hosts', 0.8),
    coded('Address', (h) => h.address, 1.7),
    {
      name: 'State',
      key: (h) => `${h.connected} ${h.ports.filter((p) => p.status.usable).length}`,
      cell: (h) => <HostState of={h} mrc={mrc} />,
      width: 1.2,
    },
    {
      name: 'Ports',
      key: (h) => h.ports.map((p) => p.status.leafName ?? p.status.leaf).join(' '),
      cell: (h) => {
        const at = h.ports.map((p) => `${p.status.leafName ?? p.status.leaf}:${p.status.leafPort ?? '?'}`).join(', ');
        return <span title={at}>{at}</span>;
      },
      width: 2.2,
    },
    ...(mrc
      ? [
          counted<Host>('Profiles', (h) => h.evProfiles, 0.6),
          counted<Host>('EVs', (h) => h.evs, 0.5),
          {
            name: 'Applied',
            key: (h: Host) => h.versions.applied - h.versions.wanted,
            cell: (h: Host) => `${h.versions.applied} of ${h.versions.wanted}`,
            width: 0.7,
          },
          aged<Host>('Stream for', (h) => h.since, now, 0.75, ''),
          { name: 'Software', key: (h: Host) => h.software ?? '', width: 0.7 },
        ]
      : []),
  ];
  return (
    <>
      <h1>Hosts</h1>
      <Searched
        rows={all}
        what={countOf(all.length, 'host')}
        columns={columns}
        id={(x) => x.name}
        label="Hosts"
        empty="The inventory has no host."
      />
    </>
  );
}

function QueuePairs({ of: q, host }: { of: NonNullable<Host['queuePairs']>; host: string }) {
  return (
    <>
      <h2>
        Queue pairs{' '}
        <span className="quiet">
          {q.count}, to {q.peers} peers{q.leftOut ? `; ${q.leftOut} are not listed` : ''}
        </span>
        {q.failed > 0 && <Badge tone="fault">{q.failed} failed</Badge>}
      </h2>
      <Table<Group>
        rows={q.groups}
        id={(g) => [g.peer, g.evProfile, g.ccProfile, JSON.stringify(g.hints)].join(' ')}
        label={`Queue pairs of ${host}`}
        columns={[
          {
            name: 'Peer',
            key: (g) => g.peerName ?? g.peer,
            cell: (g) => (g.peerName ? <To path={['hosts', g.peerName]}>{g.peerName}</To> : <code>{g.peer}</code>),
          },
          counted('Queue pairs', (g) => g.count, 0.6),
          counted('Failed', (g) => g.failed ?? 0, 0.5),
          { name: 'EV profile', key: (g) => g.evProfile ?? '', cell: (g) => profileName(g.evProfile) },
          { name: 'CC profile', key: (g) => g.ccProfile ?? '', cell: (g) => profileName(g.ccProfile) },
          {
            name: 'Their program expects',
            key: (g) => g.hints?.numQpsPerPeer ?? 0,
            cell: (g) =>
              g.hints &&
              `${g.hints.numQpsPerPeer} a peer, ${g.hints.numSendPeers} peers sent to, ${g.hints.numRemoteRecvPeers} received from`,
            width: 1.6,
          },
        ]}
      />
    </>
  );
}

/** Profiles that a program on the host has made have "~" and a number as their name. */
const profileName = (name?: string) => (name?.startsWith('~') ? `${name.slice(1)}, of the host` : name);

function One({ host: h, all, mrc }: { host: Host; all: Host[]; mrc: boolean }) {
  const now = useNow();
  const [other, setOther] = useState('');
  const groups = useQuery(ask.groups);
  const own = groupsOf(h, groups.data);
  return (
    <>
      <Heading title={`Host ${h.name}`} state={<HostState of={h} mrc={mrc} />} />
      <Dependents kind="host" name={h.name} />
      <HostFaults of={h} />
      <h2>Ports</h2>
      <Table<Port>
        rows={h.ports}
        id={(p) => String(p.port)}
        label={`Ports of ${h.name}`}
        columns={[
          counted('Port', (p) => p.port, 0.4),
          leading(
            'At',
            (p) => `${p.status.leafName ?? p.status.leaf}, port ${p.status.leafPort ?? 'unknown'}`,
            ({ status: p }) => ({
              path: ['switches', p.leafName ?? p.leaf],
              query: { port: p.leafPort ? String(p.leafPort) : undefined },
            }),
            1.6,
          ),
          { name: 'State', key: (p) => String(p.status.usable), cell: (p) => <PortState of={p} /> },
          { name: 'Wanted', key: (p) => p.spec.admin, width: 0.6 },
          {
            name: 'Errors at the host',
            key: (p) => (p.status.errors ?? []).map((e) => `${e.source} ${e.counter} ${e.count}`).join(', '),
            width: 1.2,
          },
          {
            name: 'Drains',
            key: (p) => (p.status.drains ?? []).map((d) => d.target).join(' '),
            cell: (p) =>
              (p.status.drains ?? [])
                .map((d) => `${d.target}${d.awaits?.length ? ` (waits for ${d.awaits.join(', ')})` : ''}`)
                .join('; '),
            width: 1.4,
          },
          ...(mrc
            ? [
                actions<Port>(1.2, (p) => (
                  <DrainButton
                    target={{ kind: 'port', host: h.name, port: p.port }}
                    admin={p.spec.admin}
                    what={`port ${p.port} of ${h.name}`}
                  />
                )),
              ]
            : []),
        ]}
      />
      <PortsOf of={h} mrc={mrc} />
      {h.queuePairs && <QueuePairs of={h.queuePairs} host={h.name} />}
      {mrc && (
        <p className="filters">
          <Choose
            label="Paths to"
            value={other}
            set={(to) => {
              setOther(to);
              go(['evs'], { from: h.name, to });
            }}
            of={all.map((x) => x.name).filter((n) => n !== h.name)}
            none="a host"
          />
        </p>
      )}
      {own.length > 0 && (
        <p>
          Multicast groups:{' '}
          {own.map((g) => (
            <span key={g.name}>
              <To path={['groups', g.name]}>{g.name}</To> (
              {g.spec.source?.address === h.address ? 'source' : 'receiver'}){' '}
            </span>
          ))}
        </p>
      )}
      <Facts
        label={`Host ${h.name}`}
        of={[
          ['Address', <code>{h.address}</code>],
          ['Prefixes', h.prefixes?.join(', ')],
          ...(mrc
            ? ([
                ['Stream', `${h.connected ? 'open' : 'closed'}${h.since ? ` for ${formatAge(h.since, now)}` : ''}`],
                ['Software', h.software],
                ['Instance', h.instance && <code>{h.instance}</code>],
                [
                  'State',
                  `${h.versions.applied} of ${h.versions.wanted} sent applied${h.versions.held ? `; epoch ${h.versions.held.epoch}` : ''}`,
                ],
                ['EV profiles', `${h.evProfiles}, ${h.evs} EVs`],
                ['EV formats', h.capabilities?.evFormatModes.join(', ')],
                ['EV modes', h.capabilities?.evModes.join(', ')],
                [
                  'EVs at most',
                  h.capabilities && `${h.capabilities.evMaxCount}, ${h.capabilities.evMaxCountProfile} a profile`,
                ],
                ['Options', h.capabilities?.options.join(', ')],
                ['Transport', h.capabilities?.transport.join(', ')],
                ['Congestion control', h.capabilities?.ccAlgorithms.join(', ')],
              ] as const)
            : []),
        ]}
      />
    </>
  );
}
