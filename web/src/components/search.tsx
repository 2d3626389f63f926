import { useQueries, type UseQueryOptions } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { Autocomplete, Input, ListBox, ListBoxItem, SearchField } from 'react-aria-components';
import type { Schemas } from '../api/client';
import * as ask from '../api/queries';
import { may, useMay, useSession, type Scope } from '../api/session';
import { find, type Target } from '../domain/search';
import { portsOf } from '../domain/load';
import { linkName } from '../domain/network';
import { pageOf } from '../domain/place';
import { pages } from '../domain/pages';
import { go } from '../store/place';
import { Dialog } from './dialog';

/** A QPN as people write it. */
const qpnWords = (qpn: number | undefined) => (qpn === undefined ? '' : `${qpn} 0x${qpn.toString(16)}`);

/** The resources of a collection that the search finds, with more words that each is found by. */
const source = <T extends { name: string }>(
  kind: string,
  collection: string,
  scope: Scope,
  query: { queryKey: readonly unknown[]; queryFn?: unknown },
  words?: (x: T) => string | undefined,
) => ({
  scope,
  query: query as UseQueryOptions,
  targets: (all: unknown) =>
    ((all ?? []) as T[]).map((x): Target => ({
      kind,
      name: x.name,
      words: words?.(x),
      ...pageOf(`${collection}/${x.name}`),
    })),
});

const sources = [
  source<Schemas['Group']>('multicast group', 'multicast-groups', 'tenant:read', ask.groups, ({ spec, status }) =>
    [
      spec.proxyAddress,
      status.tree?.sid,
      ...[spec.designatedQpn, spec.source?.qpn].map(qpnWords),
      ...[...(spec.receivers ?? []), ...(status.connections ?? [])].map((r) => qpnWords(r.qpn)),
    ].join(' '),
  ),
  source<Schemas['Job']>('job', 'jobs', 'tenant:read', ask.jobs, (j) => j.spec.hosts),
  source<Schemas['PathLease']>('lease', 'leases', 'tenant:read', ask.leases, (l) =>
    l.spec.pairs.map((p) => `${p.from} ${p.to}`).join(' '),
  ),
  source('maintenance', 'maintenances', 'read', ask.maintenances),
  source<Schemas['EvProfile']>('EV profile', 'ev-profiles', 'read', ask.profiles, (p) => p.status.hosts.join(' ')),
  source<Schemas['Srv6Policy']>('SRv6 policy', 'srv6-policies', 'read', ask.srv6Policies, (p) =>
    (p.status.path ?? []).join(' '),
  ),
  source('tenant', 'tenants', 'tenant:read', ask.tenants),
  source('PFC policy', 'pfc-policies', 'tenant:read', ask.pfcPolicies),
  source('BGP peer', 'bgp-peers', 'read', ask.peers),
  source('project', 'projects', 'tenant:read', ask.projects),
];
const targetsOf = (answers: { data: unknown }[]) => answers.flatMap((a, i) => sources[i]!.targets(a.data));

const keyOf = (t: Target) => `${t.kind} ${t.name} ${t.words ?? ''}`;

/** Finds any object by name, address or id. */
export function Search({ close }: { close: () => void }) {
  const [text, setText] = useState('');
  const session = useSession(),
    enabled = useMay('read');
  const resources = useQueries({
    queries: sources.map((s) => ({ ...s.query, enabled: may(session, s.scope) })),
    combine: targetsOf,
  });
  const [switches, links, hosts, planes, nodes, topology] = useQueries({
    queries: [
      { ...ask.switches, enabled },
      { ...ask.links, enabled },
      { ...ask.hosts, enabled },
      { ...ask.planes, enabled },
      { ...ask.nodes, enabled },
      { ...ask.topology, enabled },
    ],
  });
  // Parts of an MRC fabric alone are drained.
  const operates = useMay('operate'),
    tiered = operates && (planes.data?.length ?? 0) > 0;
  // A large fabric has as many ports as ends of links: they are targets while somebody writes SWITCH/PORT.
  const ports = text.includes('/');
  const targets = useMemo(() => {
    const drained = new Set((nodes.data ?? []).filter((n) => n.spec.admin === 'drained').map((n) => n.id));
    const port = (of: string, n: string | number): Target => ({
      kind: 'port',
      name: `${of}/${n}`,
      path: ['switches', of],
      query: { port: String(n) },
    });
    /** What can be drained, where there are planes. */
    const part = (kind: string, name: string, drains: string, is: boolean, place: string): Target => ({
      kind,
      name,
      ...(tiered && { drains, drained: is }),
      ...pageOf(place),
    });
    return [
      ...pages.filter((p) => !p.hidden).map((p): Target => ({ kind: 'page', name: p.title, path: [p.name] })),
      ...(switches.data ?? []).map((s): Target => ({
        ...part('switch', s.name, 'node', drained.has(s.node ?? ''), `switches/${s.name}`),
        words: `${s.node ?? ''} ${s.address ?? ''}`,
        looks: s.node ? ['node', s.node] : undefined,
      })),
      ...(hosts.data ?? []).flatMap((h): Target[] => [
        { kind: 'host', name: h.name, words: h.address, looks: ['host', h.name], ...pageOf(`hosts/${h.name}`) },
        ...h.ports.flatMap(({ port: n, spec, status: p }) => [
          part('host port', `${h.name} port ${n}`, `port ${n}`, spec.admin === 'drained', `hosts/${h.name}`),
          ...(ports && p.leafName && p.leafPort ? [port(p.leafName, p.leafPort)] : []),
        ]),
      ]),
      ...(tiered ? (planes.data ?? []) : []).map((p) =>
        part('plane', `Plane ${p.plane}`, 'plane', p.spec.admin === 'drained', `planes/${p.plane}`),
      ),
      ...(topology.data?.nodes ?? []).flatMap((n) =>
        (n.sids ?? []).map((s): Target => ({
          kind: `SID, ${s.behavior}`,
          name: s.address,
          words: n.name,
          ...pageOf(`switches/${n.name ?? n.id}`),
        })),
      ),
      ...(links.data ?? []).flatMap((l) => {
        const from = l.status.fromName ?? l.status.from,
          [n] = portsOf(l.id);
        return [
          {
            ...part('link', linkName(l), 'link', l.spec.admin === 'drained', `links/${l.id}`),
            words: `${l.id} ${l.status.fromName ?? ''}/${n}`,
          },
          ...(ports ? [port(from, n)] : []),
        ];
      }),
      ...resources,
    ].filter((t) => pages.some((p) => p.name === t.path[0] && may(session, p.scope)));
  }, [
    session,
    tiered,
    ports,
    resources,
    nodes.data,
    planes.data,
    topology.data,
    switches.data,
    links.data,
    hosts.data,
  ]);
  const found = useMemo(() => find(targets, text), [targets, text]);
  const choose = (t: Target) => {
    go(t.path, t.query);
    close();
  };
  return (
    <Dialog title="Search" close={close}>
      <Autocomplete inputValue={text} onInputChange={setText}>
        <SearchField autoFocus aria-label="Search for" className="">
          <Input placeholder="Name, SWITCH/PORT, QPN or SID; drain or undrain and a name; compare A B" />
        </SearchField>
        <ListBox aria-label="Found" className="found">
          {found.map((t) => (
            <ListBoxItem key={keyOf(t)} id={keyOf(t)} textValue={t.name} className="" onAction={() => choose(t)}>
              <span>{t.name}</span> <span className="quiet">{t.kind}</span>
            </ListBoxItem>
          ))}
        </ListBox>
      </Autocomplete>
      <p className="quiet" role="status">
        {text === ''
          ? `${targets.length} objects`
          : found.length === 0
            ? 'Nothing found.'
            : `${found.length === 20 ? 'The first 20' : found.length} found`}
      </p>
    </Dialog>
  );
}
