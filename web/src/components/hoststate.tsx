import type { Schemas } from '../api/client';
import { Badge } from './badge';
import { Folded } from './documented';
import { PortCharts } from './history';

type Host = Schemas['FabricHost'];
type Port = Host['ports'][number];

/** The state of a host; mrc: hosts of this network have streams and versions. */
export function HostState({ of: h, mrc }: { of: Host; mrc: boolean }) {
  const usable = h.ports.filter((p) => p.status.usable).length;
  const away = mrc && !h.connected,
    refused = h.refusals?.[0];
  if (away || refused)
    return (
      <Badge tone="fault" title={away ? h.error : refused!.reason}>
        {away ? 'not connected' : `refuses ${refused!.field}`}
      </Badge>
    );
  if (usable < h.ports.length)
    return (
      <Badge tone={h.ports.some((p) => p.status.linkDown || p.status.hostDown) ? 'fault' : 'work'}>
        {usable} of {h.ports.length} ports usable
      </Badge>
    );
  if (mrc && !h.versions.current) return <Badge tone="warning">behind</Badge>;
  return <Badge tone="ok">well</Badge>;
}

/** The state of a port of a host. */
export function PortState({ of: p }: { of: Port }) {
  const s = p.status;
  if (s.linkDown) return <Badge tone="fault">down, says the switch</Badge>;
  if (s.hostDown) return <Badge tone="fault">down, says the host</Badge>;
  if (s.drains?.length) return <Badge tone="work">{s.drained ? 'drained' : 'draining'}</Badge>;
  if (s.held) return <Badge tone="warning">up again, and held</Badge>;
  return s.usable ? <Badge tone="ok">usable</Badge> : <Badge tone="warning">not usable</Badge>;
}

/** What keeps a host from doing what is wanted: why its stream ended, and what it refuses. */
export function HostFaults({ of: h }: { of: Host }) {
  return (
    <>
      {h.error && !h.connected && <p>Its last stream ended: {h.error}</p>}
      {(h.refusals ?? []).map((r, i) => (
        <p key={i}>
          <Badge tone="fault">refused</Badge> <code>{r.field}</code>: {r.reason} ({r.code})
        </p>
      ))}
    </>
  );
}

/** What the ports of a host did and what of it is not known, and the document and history of each. */
export function PortsOf({ of: h, mrc }: { of: Host; mrc: boolean }) {
  return (
    <>
      {!!h.errorsLeftOut && (
        <p>
          <Badge tone="warning">{h.errorsLeftOut} more</Badge> counters of errors of its ports are not listed: there
          were too many for its stream.
        </p>
      )}
      <PortCharts
        label="What its switches received from it, and sent to it"
        of={h.ports.flatMap(({ port, status: p }) =>
          p.leafName && p.leafPort ? [[`${p.leafName}/${p.leafPort}`, `port ${port}, at ${p.leafName}`]] : [],
        )}
      />
      {mrc &&
        h.ports.map((p) => (
          <Folded
            key={p.port}
            title={`Document and history of port ${p.port}`}
            collection="host-ports"
            name={`${h.name}/${p.port}`}
            of={{ ...p, name: `${h.name}/${p.port}` }}
          />
        ))}
    </>
  );
}

/** The multicast groups of which a host is the source or a receiver. */
export const groupsOf = (h: Host, all: readonly Schemas['Group'][] = []) =>
  all.filter((g) =>
    [g.spec.source, ...(g.spec.receivers ?? [])].some((end) => end?.address && end.address === h.address),
  );
