import type { Schemas } from '../api/client';
import { Badge } from './badge';

type Host = Schemas['FabricHost'];
type Port = Host['ports'][number];

/** The state of a host; mrc: hosts of this network have streams and versions. */
export function HostState({ of: h, mrc }: { of: Host; mrc: boolean }) {
  const usable = h.ports.filter((p) => p.status.usable).length;
  if (mrc && !h.connected)
    return (
      <Badge tone="fault" title={h.error}>
        not connected
      </Badge>
    );
  if (h.refusals?.length)
    return (
      <Badge tone="fault" title={h.refusals[0]!.reason}>
        refuses {h.refusals[0]!.field}
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
