import { useQuery } from '@tanstack/react-query';
import * as ask from '../api/queries';
import type { Schemas } from '../api/client';
import { Badge } from '../components/badge';
import { aged, counted, long, shown, toned } from '../components/columns';
import { Answer } from '../components/states';
import { Rows, type Column } from '../components/table';
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
    counted('AS', (p) => p.asn, 0.9),
    toned('State', (p) => [p.state === 'established' ? 'ok' : p.synced ? 'warning' : 'fault', p.state], 1.7),
    { name: 'In sync', key: (p) => (p.synced ? 'yes' : 'no'), width: 0.6 },
    aged('For', (p) => p.since, now, 0.6, ''),
    counted('Sessions', (p) => p.sessions, 0.7),
    shown('Updates', (p) => p.updates, formatCount, { number: true, width: 0.7 }),
    counted('Nodes', (p) => p.nlris.nodes, 0.6),
    counted('Links', (p) => p.nlris.links, 0.6),
    counted('Prefixes', (p) => p.nlris.prefixes, 0.7),
    counted('SIDs', (p) => p.nlris.sids, 0.6),
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
    long('Last error', (p) => p.lastError, 2),
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
      <Rows
        of={peers}
        what="peers"
        columns={columns}
        id={(p) => p.name}
        label="BGP-LS peers"
        selected={selected}
        empty="The controller has no BGP-LS peer: its configuration names them in bgp.peers."
      />
    </>
  );
}
