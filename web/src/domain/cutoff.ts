import type { Schemas } from '../api/client';
import { grouped } from './grouped';
import { reverse } from './network';
import { natural } from './natural';

/** What a port out of service takes away from others. */
interface CutOff {
  /** Switches that nothing leads to any more. */
  switches: string[];
  /** Hosts that nothing leads to any more. */
  hosts: string[];
  /** Hosts that lose a port, and have others. */
  fewer: { host: string; left: number; all: number }[];
  /** Groups of which hosts no longer get what their source sends. */
  groups: { name: string; receivers: string[] }[];
  /** Groups whose trees cross it, and find another way. */
  moved: string[];
  /** Tenants with a site at it or behind it, as switch/port. */
  tenants: { name: string; sites: string[] }[];
}

/** Computes what is cut off when a port goes out of service, by what is up now. */
export function cutOff(
  port: { switch: string; port: number; link?: string },
  links: readonly Schemas['FabricLink'][],
  hosts: readonly Schemas['FabricHost'][],
  groups: readonly Schemas['Group'][],
  tenants: readonly Schemas['Tenant'][],
): CutOff {
  const names = new Map(
    links.flatMap((l) => [
      [l.status.from, l.status.fromName ?? l.status.from],
      [l.status.to, l.status.toName ?? l.status.to],
    ]),
  );
  const gone = port.link === undefined ? [] : [port.link, reverse(port.link)];
  const up = links.filter(
    ({ id, status: s }) => !gone.includes(id) && s.phase !== 'down' && s.fromPort !== 'down' && s.toPort !== 'down',
  );
  const from = grouped(up, (l) => l.status.from);
  const reach = (first: string): Set<string> => {
    const seen = new Set([first]);
    // What is added meanwhile is gone through, too.
    for (const at of seen) for (const l of from.get(at) ?? []) seen.add(l.status.to);
    return seen;
  };
  const at = (p: Schemas['HostPort']) => p.status.leafName === port.switch && p.status.leafPort === port.port;
  const inside = (h: Schemas['FabricHost'], part: ReadonlySet<string>) => h.ports.some((p) => part.has(p.status.leaf));
  // Of the two parts that a link leaves, the one with fewer hosts is cut off.
  const link = links.find((l) => l.id === port.link);
  let lost: ReadonlySet<string> = new Set();
  if (link) {
    const near = reach(link.status.from);
    if (!near.has(link.status.to)) {
      const far = reach(link.status.to);
      const [a, b] = [near, far].map((part) => hosts.filter((h) => inside(h, part)).length);
      lost = a! < b! || (a === b && near.size < far.size) ? near : far;
    }
  }
  const left = (h: Schemas['FabricHost']) => h.ports.filter((p) => !at(p) && !lost.has(p.status.leaf)).length;
  const away = hosts.filter((h) => h.ports.length > 0 && left(h) === 0 && (h.ports.some(at) || inside(h, lost)));
  const isAway = new Set(away.map((h) => h.address));
  // Hosts at one disabled port are alone; those of one part still reach each other.
  const apart = (a: string, b: string) =>
    isAway.has(a) !== isAway.has(b) || (isAway.has(a) && hosts.some((h) => h.address === a && h.ports.some(at)));
  const nameOf = (address: string) => hosts.find((h) => h.address === address)?.name ?? address;
  const cut = groups
    .map((g) => ({
      name: g.name,
      receivers: (g.spec.receivers ?? [])
        .map((r) => r.address)
        .filter((r) => apart(g.spec.source?.address ?? '', r))
        .map(nameOf),
    }))
    .filter((g) => g.receivers.length > 0);
  const lostNames = new Set([...lost].map((n) => names.get(n) ?? n));
  return {
    switches: [...lostNames].sort(natural),
    hosts: away.map((h) => h.name).sort(natural),
    fewer: hosts
      .filter((h) => h.ports.some(at) && left(h) > 0)
      .map((h) => ({ host: h.name, left: left(h), all: h.ports.length })),
    groups: cut,
    moved: groups
      .filter(
        (g) =>
          !cut.some((c) => c.name === g.name) &&
          g.status.tree?.nodes?.some(
            (n) =>
              n.switch === port.switch &&
              (n.upstreamPort === port.port || n.branches?.some((b) => b.port === port.port)),
          ),
      )
      .map((g) => g.name),
    tenants: tenants
      .map((t) => ({
        name: t.name,
        sites: (t.spec.sites ?? [])
          .filter((s) => (s.switch === port.switch && s.port === port.port) || lostNames.has(s.switch))
          .map((s) => `${s.switch}/${s.port}`),
      }))
      .filter((t) => t.sites.length > 0),
  };
}
