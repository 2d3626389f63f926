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

type Peer = Schemas['BgpPeerView'];

const malformed = (p: Peer) => (p.malformedNlris ?? 0) + (p.discardedAttributes ?? 0);

/** How much of what a peer said was malformed, with the last of that below the pointer. */
function Malformed({ of: p }: { of: Peer }) {
  const last = p.lastFault;
  const title =
    `${p.malformedNlris ?? 0} NLRIs left out, ${p.discardedAttributes ?? 0} attributes discarded` +
    (last ? `; the last: ${last.object} of ${last.length} octets at ${last.time}: ${last.octets}` : '');
  return (
    <Badge tone={malformed(p) > 0 ? 'warning' : 'ok'} title={title}>
      {formatCount(malformed(p))}
      {last && `: ${last.reason}`}
    </Badge>
  );
}

export function Peers() {
  const peers = useQuery(ask.peers);
  const topology = useQuery(ask.topology);
  const now = useNow();
  const [selected] = useParam('peer');
  const all = peers.data ?? [];
  const columns: Column<Peer>[] = [
    { name: 'Peer', key: (p) => p.name, width: 2.2 },
    counted('AS', (p) => p.asn, 0.9),
    toned(
      'State',
      (p) => [
        p.state === 'established' ? 'ok' : p.synced ? 'warning' : 'fault',
        p.synced ? p.state : `${p.state}, not in sync`,
      ],
      1.7,
    ),
    aged('For', (p) => p.since, now, 0.6, ''),
    counted('Sessions', (p) => p.sessions, 0.7),
    shown('Updates', (p) => p.updates, formatCount, { number: true, width: 0.7 }),
    counted('Nodes', (p) => p.nlris.nodes, 0.6),
    counted('Links', (p) => p.nlris.links, 0.6),
    counted('Prefixes', (p) => p.nlris.prefixes, 0.7),
    counted('SIDs', (p) => p.nlris.sids, 0.6),
    // What few peers have takes no room from what all have.
    ...(all.some(malformed)
      ? [{ name: 'Malformed', key: malformed, width: 1.4, cell: (p: Peer) => <Malformed of={p} /> }]
      : []),
    ...(all.some((p) => p.lastError) ? [long<Peer>('Last error', (p) => p.lastError, 2)] : []),
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
