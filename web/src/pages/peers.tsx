import { useQuery } from '@tanstack/react-query';
import * as ask from '../api/queries';
import type { Schemas } from '../api/client';
import { Badge } from '../components/badge';
import { Answer } from '../components/states';
import { Table, type Column } from '../components/table';
import { formatAge, formatCount } from '../domain/format';
import { useNow } from '../store/now';
import { useParam } from '../store/place';

export function Peers() {
  const peers = useQuery(ask.peers);
  const topology = useQuery(ask.topology);
  const now = useNow();
  const [selected] = useParam('peer');
  const columns: Column<Schemas['BgpPeerView']>[] = [
    { name: 'Peer', key: (p) => p.name, width: 2.2 },
    { name: 'AS', key: (p) => p.asn, number: true, width: 0.9 },
    {
      name: 'State',
      key: (p) => p.state,
      cell: (p) => <Badge tone={p.state === 'established' ? 'ok' : p.synced ? 'warning' : 'fault'}>{p.state}</Badge>,
      width: 1.7,
    },
    { name: 'In sync', key: (p) => (p.synced ? 'yes' : 'no'), width: 0.6 },
    { name: 'For', key: (p) => p.since ?? '', cell: (p) => formatAge(p.since, now), width: 0.6 },
    { name: 'Sessions', key: (p) => p.sessions, number: true, width: 0.7 },
    { name: 'Updates', key: (p) => p.updates, cell: (p) => formatCount(p.updates), number: true, width: 0.7 },
    { name: 'Nodes', key: (p) => p.nlris.nodes, number: true, width: 0.6 },
    { name: 'Links', key: (p) => p.nlris.links, number: true, width: 0.6 },
    { name: 'Prefixes', key: (p) => p.nlris.prefixes, number: true, width: 0.7 },
    { name: 'SIDs', key: (p) => p.nlris.sids, number: true, width: 0.6 },
    {
      name: 'Malformed',
      key: (p) => (p.malformedNlris ?? 0) + (p.discardedAttributes ?? 0),
      number: true,
      width: 0.7,
      cell: (p) => {
        const n = (p.malformedNlris ?? 0) + (p.discardedAttributes ?? 0);
        return n === 0 ? (
          '0'
        ) : (
          <Badge
            tone="warning"
            title={`${p.malformedNlris ?? 0} NLRIs left out, ${p.discardedAttributes ?? 0} attributes discarded`}
          >
            {formatCount(n)}
          </Badge>
        );
      },
    },
    {
      name: 'Last fault',
      key: (p) => p.lastFault?.reason ?? '',
      width: 1.4,
      cell: (p) =>
        p.lastFault && (
          <span
            title={`${p.lastFault.object} of ${p.lastFault.length} octets at ${p.lastFault.time}: ${p.lastFault.octets}`}
          >
            {p.lastFault.reason}
          </span>
        ),
    },
    {
      name: 'Last error',
      key: (p) => p.lastError ?? '',
      cell: (p) => <span title={p.lastError}>{p.lastError}</span>,
      width: 2,
    },
  ];
  return (
    <>
      <h1>BGP-LS peers</h1>
      <Answer of={topology} what="the topology">
        {(t) => (
          <p>
            Topology version {t.version}: {formatCount(t.nodes.length)} nodes, {formatCount(t.links.length)} links,{' '}
            {formatCount(t.prefixes.length)} prefixes.{' '}
            {t.stale ? (
              <Badge tone="warning">
                stale for {formatAge(t.stale.since, now)}: {t.stale.reason}
              </Badge>
            ) : (
              <Badge tone="ok">whole</Badge>
            )}
          </p>
        )}
      </Answer>
      <Answer of={peers} what="peers">
        {(all) => (
          <Table
            rows={all}
            columns={columns}
            id={(p) => p.name}
            label="BGP-LS peers"
            selected={selected}
            empty="The controller has no BGP-LS peer: its configuration names them in bgp.peers."
          />
        )}
      </Answer>
    </>
  );
}
