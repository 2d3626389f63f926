import { useQueries, useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { Autocomplete, Input, ListBox, ListBoxItem, SearchField } from 'react-aria-components';
import * as ask from '../api/queries';
import { may, useMay, useSession } from '../api/session';
import { find, type Target } from '../domain/search';
import { portsOf } from '../domain/load';
import { linkName } from '../domain/network';
import { pageOf } from '../domain/place';
import { pages } from '../domain/pages';
import { go } from '../store/place';
import { Dialog } from './dialog';

/** A QPN as people write it. */
const qpnWords = (qpn: number | undefined) => (qpn === undefined ? '' : `${qpn} 0x${qpn.toString(16)}`);

/** The objects of a collection as targets, with more words that each is found by. */
const of = <T extends { name: string }>(
  kind: string,
  all: readonly T[] | undefined,
  collection: string,
  words?: (x: T) => string | undefined,
  more?: (x: T) => Partial<Target>,
) =>
  (all ?? []).map((x): Target => ({
    kind,
    name: x.name,
    words: words?.(x),
    ...pageOf(`${collection}/${x.name}`),
    ...more?.(x),
  }));

const keyOf = (t: Target) => `${t.kind} ${t.name} ${t.words ?? ''}`;

/** Finds any object by name, address or id. */
export function Search({ close }: { close: () => void }) {
  const [text, setText] = useState('');
  const session = useSession(),
    enabled = useMay('read');
  const own = { enabled: useMay('tenant:read') };
  const [switches, links, hosts, groups, profiles, srv6, tenants, pfc, peers, projects, jobs, leases, maintenances] =
    useQueries({
      queries: [
        { ...ask.switches, enabled },
        { ...ask.links, enabled },
        { ...ask.hosts, enabled },
        { ...ask.groups, ...own },
        { ...ask.profiles, enabled },
        { ...ask.srv6Policies, enabled },
        { ...ask.tenants, ...own },
        { ...ask.pfcPolicies, ...own },
        { ...ask.peers, enabled },
        { ...ask.projects, ...own },
        { ...ask.jobs, ...own },
        { ...ask.leases, ...own },
        { ...ask.maintenances, enabled },
      ],
    });
  // Parts of an MRC fabric alone are drained.
  const planes = useQuery({ ...ask.planes, enabled }),
    operates = useMay('operate'),
    tiered = operates && (planes.data?.length ?? 0) > 0;
  const nodes = useQuery({ ...ask.nodes, enabled }),
    topology = useQuery({ ...ask.topology, enabled });
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
    const part = (kind: string, name: string, drains: string, admin: string, place: string): Target => ({
      kind,
      name,
      drains: tiered ? drains : undefined,
      drained: admin === 'drained',
      ...pageOf(place),
    });
    return (
      [
        ...pages.filter((p) => !p.hidden).map((p): Target => ({ kind: 'page', name: p.title, path: [p.name] })),
        ...of(
          'switch',
          switches.data,
          'switches',
          (s) => `${s.node ?? ''} ${s.address ?? ''}`,
          (s) => ({
            ...(tiered && { drains: 'node', drained: drained.has(s.node ?? '') }),
            ...(s.node && { looks: ['node', s.node] }),
          }),
        ),
        ...of(
          'host',
          hosts.data,
          'hosts',
          (h) => h.address,
          (h) => ({ looks: ['host', h.name] }),
        ),
        ...(tiered ? (planes.data ?? []) : []).map((p) =>
          part('plane', `Plane ${p.plane}`, 'plane', p.spec.admin, `planes/${p.plane}`),
        ),
        ...(hosts.data ?? []).flatMap((h) =>
          h.ports.flatMap((p): Target[] => [
            part('host port', `${h.name} port ${p.port}`, `port ${p.port}`, p.spec.admin, `hosts/${h.name}`),
            ...(ports && p.status.leafName && p.status.leafPort ? [port(p.status.leafName, p.status.leafPort)] : []),
          ]),
        ),
        ...(ports ? (links.data ?? []) : []).map((l) => port(l.status.fromName ?? l.status.from, portsOf(l.id)[0])),
        ...(topology.data?.nodes ?? []).flatMap((n) =>
          (n.sids ?? []).map((s): Target => ({
            kind: `SID, ${s.behavior}`,
            name: s.address,
            words: n.name,
            ...pageOf(`switches/${n.name ?? n.id}`),
          })),
        ),
        ...of('multicast group', groups.data, 'multicast-groups', (g) =>
          [
            g.spec.proxyAddress,
            g.status.tree?.sid,
            ...[g.spec.designatedQpn, g.spec.source?.qpn].map(qpnWords),
            ...[...(g.spec.receivers ?? []), ...(g.status.connections ?? [])].map((r) => qpnWords(r.qpn)),
          ].join(' '),
        ),
        ...of('job', jobs.data, 'jobs', (j) => j.spec.hosts),
        ...of('lease', leases.data, 'leases', (l) => l.spec.pairs.map((p) => `${p.from} ${p.to}`).join(' ')),
        ...of('maintenance', maintenances.data, 'maintenances'),
        ...of('EV profile', profiles.data, 'ev-profiles', (p) => p.status.hosts.join(' ')),
        ...(links.data ?? []).map((l) => ({
          ...part('link', linkName(l), 'link', l.spec.admin, `links/${l.id}`),
          words: `${l.id} ${l.status.fromName ?? ''}/${portsOf(l.id)[0]}`,
        })),
        ...of('SRv6 policy', srv6.data, 'srv6-policies', (p) => (p.status.path ?? []).join(' ')),
        ...of('tenant', tenants.data, 'tenants'),
        ...of('PFC policy', pfc.data, 'pfc-policies'),
        ...of('BGP peer', peers.data, 'bgp-peers'),
        ...of('project', projects.data, 'projects'),
      ] as Target[]
    ).filter((t) => pages.some((p) => p.name === t.path[0] && may(session, p.scope)));
  }, [
    session,
    tiered,
    ports,
    nodes.data,
    planes.data,
    topology.data,
    switches.data,
    links.data,
    hosts.data,
    groups.data,
    profiles.data,
    srv6.data,
    tenants.data,
    pfc.data,
    peers.data,
    projects.data,
    jobs.data,
    leases.data,
    maintenances.data,
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
