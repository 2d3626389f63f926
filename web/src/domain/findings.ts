import type { components } from '../api/schema';
import { natural } from './natural';

type S = components['schemas'];

/** What the API says, as far as it is known now. */
export interface Known {
  ready?: S['ReadinessView'];
  switches?: S['SwitchStatus'][];
  peers?: S['BgpPeerView'][];
  links?: S['FabricLink'][];
  nodes?: S['FabricNode'][];
  planes?: S['FabricPlane'][];
  hosts?: S['FabricHost'][];
  suspects?: S['SuspectView'][];
  profiles?: S['EvProfile'][];
  groups?: S['Group'][];
  tenants?: S['Tenant'][];
  srv6Policies?: S['Srv6Policy'][];
  pfcPolicies?: S['PfcPolicy'][];
  fabric?: S['FabricView'] | null;
  balance?: S['PlaneBalance'][];
}

/** Something that is not as it should be, or that somebody has taken out of use. */
export interface Finding {
  id: string;
  /** work: what an operator has drained. */
  severity: 'fault' | 'warning' | 'work';
  what: string;
  detail: string;
  /** Path of the page that shows it. */
  path: string[];
  query?: Record<string, string>;
  since?: string;
  /** Ids of the findings that this one follows from. */
  because: string[];
}

/** A finding with all that follows from it. */
export interface Cause {
  finding: Finding;
  consequences: Finding[];
}

/**
 * Finds what is wrong and why, as far as the state of the network says it: a lost switch or a link
 * that is down explains EVs denied, profiles degraded and groups stalled that depend on it. The
 * causes are those findings that nothing else explains, faults first.
 */
export function causes(known: Known): Cause[] {
  const all = findings(known);
  const byId = new Map(all.map((f) => [f.id, f]));
  const roots = (f: Finding, seen: Set<string>): Finding[] => {
    if (seen.has(f.id)) return [];
    seen.add(f.id);
    const above = f.because.map((id) => byId.get(id)).filter((x) => x !== undefined);
    return above.length === 0 ? [f] : above.flatMap((x) => roots(x, seen));
  };
  const result = new Map<string, Cause>();
  for (const f of all) {
    for (const root of new Set(roots(f, new Set()))) {
      let cause = result.get(root.id);
      if (!cause) result.set(root.id, (cause = { finding: root, consequences: [] }));
      if (root !== f) cause.consequences.push(f);
    }
  }
  const rank = { fault: 0, warning: 1, work: 2 };
  return [...result.values()].sort(
    (a, b) =>
      rank[a.finding.severity] - rank[b.finding.severity] ||
      b.consequences.length - a.consequences.length ||
      natural(a.finding.id, b.finding.id),
  );
}

export function findings(known: Known): Finding[] {
  return [
    ...storeFindings(known),
    ...peerFindings(known),
    ...switchFindings(known),
    ...drains(known),
    ...linkFindings(known),
    ...suspectFindings(known),
    ...balanceFindings(known),
    ...fabricFindings(known),
    ...hostFindings(known),
    ...profileFindings(known),
    ...groupFindings(known),
    ...policyFindings(known),
  ];
}

/** What keeps the controller from keeping changes, and what is wrong with the other controllers. */
function storeFindings({ ready }: Known): Finding[] {
  const what: Record<string, string> = {
    store: 'Changes are refused',
    disk: "The controller's disk is not well",
    share: 'Switches are shared out unevenly',
  };
  const disk = ready?.checks.find((c) => c.name === 'disk' && !c.ok);
  return (ready?.checks ?? [])
    .filter((c) => !c.ok && what[c.name])
    .map((c) => ({
      id: c.name,
      severity: c.advisory ? 'warning' : 'fault',
      what: what[c.name]!,
      detail: c.message ?? '',
      path: ['controllers'],
      because: c.name === 'store' && disk ? ['disk'] : [],
    }));
}

function peerFindings({ peers = [], ready }: Known): Finding[] {
  const found: Finding[] = peers
    .filter((p) => p.state !== 'established')
    .map((p) => ({
      id: `peer/${p.name}`,
      severity: p.synced ? 'warning' : 'fault',
      what: `No BGP-LS session with ${p.name}`,
      detail: p.lastError ?? p.state,
      path: ['peers'],
      query: { peer: p.name },
      since: p.since,
      because: [],
    }));
  for (const p of peers) {
    const left = p.malformedNlris ?? 0,
      discarded = p.discardedAttributes ?? 0;
    if (left + discarded === 0) continue;
    const counts = [
      left > 0 && `${left} NLRI${left === 1 ? '' : 's'} left out`,
      discarded > 0 && `${discarded} attribute${discarded === 1 ? '' : 's'} discarded`,
    ].filter(Boolean);
    found.push({
      id: `malformed/${p.name}`,
      severity: 'warning',
      what: `BGP-LS peer ${p.name} sends what is malformed`,
      detail: `${counts.join(', ')} so far: the topology lacks them. ${p.lastFault ? `The last: ${p.lastFault.reason}. ` : ''}Look at the software of the peer.`,
      path: ['peers'],
      query: { peer: p.name },
      since: p.lastFault?.time,
      because: [],
    });
  }
  const topology = ready?.checks.find((c) => c.name === 'bgp-ls');
  if (topology && !topology.ok) {
    found.push({
      id: 'bgp-ls',
      severity: 'fault',
      what: 'The topology is not complete',
      detail: topology.message ?? '',
      path: ['peers'],
      because: found.filter((f) => f.id.startsWith('peer/')).map((f) => f.id),
    });
  }
  return found;
}

function switchFindings({ switches = [] }: Known): Finding[] {
  const settling = switches.filter((s) => s.managed && s.settling);
  const found =
    settling.length === 0
      ? []
      : [
          {
            id: 'settling',
            severity: 'warning' as const,
            what:
              settling.length === 1
                ? `Switch ${settling[0]!.name} keeps old routes`
                : `${settling.length} switches keep old routes`,
            detail: 'The topology may be incomplete, or was until just now: the controller removes nothing yet.',
            path: ['switches'],
            because: [],
          },
        ];
  return [
    ...found,
    ...switches
      .filter((s) => s.managed)
      .flatMap((s): Finding[] => {
        const at = { path: ['switches', s.name], since: s.since, because: [] };
        if (!s.connected)
          return [
            {
              ...at,
              id: `switch/${s.name}`,
              severity: 'fault',
              what: `Switch ${s.name} is not connected`,
              detail: s.reason ?? s.errors?.[0] ?? '',
            },
          ];
        if (s.errors?.length)
          return [
            {
              ...at,
              id: `switch/${s.name}`,
              severity: 'fault',
              what: `Switch ${s.name} refuses updates`,
              detail: s.errors[0]!,
            },
          ];
        if (!s.synced)
          return [
            {
              ...at,
              id: `switch/${s.name}`,
              severity: 'warning',
              what: `Switch ${s.name} is being programmed`,
              detail: s.reason ?? `${s.pending} updates pending`,
            },
          ];
        return [];
      }),
  ];
}

/** What operators have taken out of use, each with the hosts that still hold EVs over it. */
function drains({ links = [], nodes = [], planes = [], hosts = [] }: Known): Finding[] {
  const one = (
    id: string,
    what: string,
    path: string[],
    query: Record<string, string>,
    since: string | undefined,
    drain?: S['DrainView'] | undefined,
  ): Finding => ({
    id,
    severity: 'work',
    what: `${what} is drained`,
    path,
    query,
    since,
    because: [],
    detail: !drain || drain.drained ? 'Out of use.' : `Waits for ${names(drain.awaits ?? [])}.`,
  });
  // A drain is one of both directions: the one that comes first stands for both.
  const taken = new Set(links.filter((l) => l.spec.admin === 'drained').map((l) => l.id));
  const own = (drains: S['DrainView'][] | null | undefined, target: string) => drains?.find((d) => d.target === target);
  return [
    ...planes
      .filter((p) => p.spec.admin === 'drained')
      .map((p) =>
        one(
          `plane/${p.plane}`,
          `Plane ${p.plane}`,
          ['fabric'],
          { plane: String(p.plane) },
          p.changed,
          own(p.status.drains, `plane ${p.plane}`),
        ),
      ),
    ...nodes
      .filter((n) => n.spec.admin === 'drained')
      .map((n) =>
        one(
          `node/${n.id}`,
          `Switch ${n.status.name ?? n.id}`,
          ['fabric'],
          { node: n.id },
          n.changed,
          own(n.status.drains, `node ${n.id}`),
        ),
      ),
    ...links
      .filter((l) => l.spec.admin === 'drained' && !(natural(reverse(l.id), l.id) < 0 && taken.has(reverse(l.id))))
      .map((l) =>
        one(
          `drain/${l.id}`,
          `Link ${linkName(l)}`,
          ['fabric'],
          { link: l.id },
          l.changed,
          own(l.status.drains, `link ${l.id}`),
        ),
      ),
    ...hosts.flatMap((h) =>
      h.ports
        .filter((p) => p.spec.admin === 'drained')
        .map((p) =>
          one(
            `port/${h.name}/${p.port}`,
            `Port ${p.port} of host ${h.name}`,
            ['hosts', h.name],
            {},
            p.changed,
            p.status.drains?.[0],
          ),
        ),
    ),
  ];
}

function linkFindings(known: Known): Finding[] {
  const { links = [] } = known;
  const lost = new Map(
    (known.switches ?? []).filter((s) => s.managed && !s.connected && s.node).map((s) => [s.node!, s.name]),
  );
  const gone = new Set((known.nodes ?? []).filter((n) => !n.status.present).map((n) => n.id));
  const drainedPlanes = new Set((known.planes ?? []).filter((p) => p.spec.admin === 'drained').map((p) => p.plane));
  const drainedNodes = new Set((known.nodes ?? []).filter((n) => n.spec.admin === 'drained').map((n) => n.id));
  const suspected = new Map((known.suspects ?? []).flatMap((s) => s.links.map((l) => [l, suspectId(s)] as const)));
  let byId: Map<string, S['FabricLink']> | undefined; // made when a link is down: most are up
  const found: Finding[] = [];
  for (const l of links) {
    const s = l.status;
    const down = s.phase !== 'up' || s.fromPort === 'down' || s.toPort === 'down';
    if (!down && (!s.denied || s.drained)) continue;
    const because: string[] = [];
    for (const end of [s.from, s.to]) {
      if (lost.has(end)) because.push(`switch/${lost.get(end)}`);
      if (drainedNodes.has(end)) because.push(`node/${end}`);
    }
    const back = reverse(l.id);
    if (s.plane !== undefined && drainedPlanes.has(s.plane)) because.push(`plane/${s.plane}`);
    if (l.spec.admin === 'drained') because.push(`drain/${l.id}`, `drain/${back}`);
    if (suspected.has(l.id)) because.push(suspected.get(l.id)!);
    if (down) {
      // Both directions of a cable go down together: the one that comes first stands for both.
      byId ??= new Map(links.map((x) => [x.id, x]));
      const other = byId.get(back);
      const otherDown =
        other && (other.status.phase !== 'up' || other.status.fromPort === 'down' || other.status.toPort === 'down');
      if (otherDown && natural(back, l.id) < 0) because.push(`link/${back}`);
      found.push({
        id: `link/${l.id}`,
        severity: s.phase === 'down' || s.phase === 'up' ? 'fault' : 'warning',
        what: `Link ${linkName(l)} is ${s.phase === 'up' ? 'down at a port' : phases[s.phase]}`,
        detail: s.cause ?? (gone.has(s.from) || gone.has(s.to) ? 'A switch has left the topology.' : ''),
        path: ['fabric'],
        query: { link: l.id },
        since: s.since,
        because,
      });
    } else {
      found.push({
        id: `link/${l.id}`,
        severity: 'warning',
        what: `EVs over link ${linkName(l)} are denied`,
        detail: s.cause ?? '',
        path: ['fabric'],
        query: { link: l.id },
        since: s.since,
        because,
      });
    }
  }
  return found;
}

const phases = { up: 'up', down: 'down', held: 'up again, and held', trying: 'being probed' };

/** The id of the other direction of a link: that of the topology is LOCAL,PORT~REMOTE,PORT. */
export function reverse(id: string): string {
  const [from, to] = id.split('~');
  return to === undefined ? id : `${to}~${from}`;
}

export function linkName(l: S['FabricLink']): string {
  return `${l.status.fromName ?? l.status.from} → ${l.status.toName ?? l.status.to}`;
}

const suspectId = (s: S['SuspectView']) => `suspect/${s.links.join(' ')}`;

function suspectFindings({ suspects = [] }: Known): Finding[] {
  return suspects.map((s) => ({
    id: suspectId(s),
    severity: s.denied ? 'fault' : 'warning',
    what: `${s.links.length === 1 ? 'Link' : `One of ${s.links.length} links`} ${s.fromName ?? s.from ?? '?'} → ${s.toName ?? s.to ?? '?'} loses packets`,
    detail: `Loss ${(s.loss * 100).toPrecision(2)} %, confidence ${(s.confidence * 100).toFixed(0)} %${s.denied ? '; EVs over it are denied' : s.why ? `; not denied: ${s.why}` : ''}`,
    path: ['fabric'],
    query: { link: s.links[0] ?? '' },
    since: s.since,
    because: [],
  }));
}

/** A leaf that uses its links into a plane unevenly: the first sign of much that goes wrong there. */
function balanceFindings({ balance = [] }: Known): Finding[] {
  return balance.flatMap((b): Finding[] => {
    const c = condition(b.conditions, 'Unbalanced');
    if (!c?.status) return [];
    return [
      {
        id: `balance/${b.plane}/${b.leaf}`,
        severity: 'warning',
        what: `${b.leaf} uses its links into plane ${b.plane} unevenly`,
        detail: c.message || `The busiest, to ${b.busiest ?? '?'}, carries ${b.index.toFixed(2)} of the mean.`,
        path: ['fabric'],
        query: { plane: String(b.plane), show: 'up' },
        since: c.lastTransition,
        because: [],
      },
    ];
  });
}

function fabricFindings({ fabric }: Known): Finding[] {
  if (!fabric?.failure) return [];
  return [
    {
      id: 'fabric',
      severity: 'fault',
      what: 'There is no MRC fabric of the present topology',
      detail: fabric.failure,
      path: ['fabric'],
      because: [],
    },
  ];
}

function hostFindings({ hosts = [], fabric }: Known): Finding[] {
  if (!fabric) return []; // without an MRC fabric hosts have no stream
  return hosts.flatMap((h): Finding[] => {
    const at = { path: ['hosts', h.name], since: h.since, because: [] };
    const found: Finding[] = [];
    if (!h.connected)
      found.push({
        ...at,
        id: `host/${h.name}`,
        severity: 'fault',
        what: `Host ${h.name} is not connected`,
        detail: h.error ?? 'It has no stream to the controller.',
      });
    if (h.refusals?.length)
      found.push({
        ...at,
        id: `refusal/${h.name}`,
        severity: 'fault',
        what: `Host ${h.name} refuses its configuration`,
        detail: `${h.refusals[0]!.field}: ${h.refusals[0]!.reason}`,
      });
    for (const p of h.ports) {
      if (p.status.linkDown || p.status.hostDown) {
        found.push({
          ...at,
          id: `hostport/${h.name}/${p.port}`,
          severity: 'fault',
          what: `Port ${p.port} of host ${h.name} is down`,
          detail: p.status.hostDown ? 'The host says so.' : `Switch ${p.status.leafName ?? p.status.leaf} says so.`,
        });
      }
    }
    return found;
  });
}

function profileFindings(known: Known): Finding[] {
  const present = new Set([...linkFindings(known), ...drains(known)].map((f) => f.id));
  return (known.profiles ?? []).flatMap((p): Finding[] => {
    const degraded = condition(p.status.conditions, 'Degraded');
    if (!degraded?.status) return [];
    const because = (p.status.lostLinks ?? [])
      .flatMap((id) => [`link/${id}`, `drain/${id}`, `drain/${reverse(id)}`])
      .filter((id) => present.has(id));
    for (const n of known.nodes ?? []) {
      if (n.spec.admin === 'drained' && (p.status.lostLinks ?? []).some((id) => id.includes(`${n.id},`)))
        because.push(`node/${n.id}`);
    }
    const planes = (known.planes ?? []).filter((x) => x.spec.admin === 'drained');
    if (because.length === 0) because.push(...planes.map((x) => `plane/${x.plane}`));
    return [
      {
        id: `profile/${p.name}`,
        severity: p.status.active < p.status.minActive ? 'fault' : 'warning',
        what: `EV profile ${p.name} is degraded`,
        detail: degraded.message || `${degraded.reason}: ${p.status.active} of ${p.status.count} EVs active`,
        path: ['evs', p.name],
        since: degraded.lastTransition,
        because,
      },
    ];
  });
}

function groupFindings({ groups = [], switches = [] }: Known): Finding[] {
  const lost = new Set(switches.filter((s) => s.managed && !s.connected).map((s) => s.name));
  return groups.flatMap((g): Finding[] => {
    const because = (g.status.tree?.nodes ?? []).filter((n) => lost.has(n.switch)).map((n) => `switch/${n.switch}`);
    const found: Finding[] = (g.status.stalledReceivers ?? []).map((r) => ({
      id: `stalled/${g.name}/${r.address}`,
      severity: 'fault',
      what: `Receiver ${r.address} stalls group ${g.name}`,
      detail: `Branch ${r.branch} of ${r.switch} has acknowledged nothing after PSN ${r.ackPsn}.`,
      path: ['groups', g.name],
      since: r.since,
      because,
    }));
    return [
      ...found,
      ...conditions(
        g.status.conditions,
        `group/${g.name}`,
        `Group ${g.name}`,
        ['groups', g.name],
        [...because, ...found.map((f) => f.id)],
      ),
    ];
  });
}

function policyFindings({ srv6Policies = [], tenants = [], pfcPolicies = [] }: Known): Finding[] {
  return [
    ...srv6Policies.flatMap((p) =>
      conditions(p.status.conditions, `srv6/${p.name}`, `SRv6 policy ${p.name}`, ['pfc'], []),
    ),
    ...tenants.flatMap((t) =>
      conditions(
        t.status.conditions,
        `tenant/${t.name}`,
        `Tenant ${t.name}`,
        ['pfc'],
        (t.spec.policies ?? []).map((p) => `srv6/${p}`),
      ),
    ),
    ...pfcPolicies.flatMap((p) =>
      conditions(
        p.status.conditions,
        `pfc/${p.name}`,
        `PFC policy ${p.name}`,
        ['pfc', p.name],
        [`srv6/${p.spec.srv6Policy}`, `tenant/${p.spec.tenant}`],
      ),
    ),
  ];
}

/** The finding of a resource that was not accepted, is not programmed, or is degraded: the first of these. */
function conditions(
  all: S['GroupCondition'][] | null | undefined,
  id: string,
  what: string,
  path: string[],
  because: string[],
): Finding[] {
  const accepted = condition(all, 'Accepted'),
    programmed = condition(all, 'Programmed'),
    degraded = condition(all, 'Degraded');
  const of = (c: S['GroupCondition'], severity: Finding['severity'], says: string): Finding[] => [
    {
      id,
      severity,
      what: `${what} ${says}`,
      detail: [c.reason, c.message].filter(Boolean).join(': '),
      path,
      since: c.lastTransition,
      because,
    },
  ];
  if (accepted && !accepted.status) return of(accepted, 'fault', 'is not accepted');
  if (degraded?.status) return of(degraded, 'fault', 'is degraded');
  if (programmed && !programmed.status) return of(programmed, 'warning', 'is not programmed');
  return [];
}

export function condition(
  all: S['GroupCondition'][] | null | undefined,
  type: S['GroupCondition']['type'],
): S['GroupCondition'] | undefined {
  return all?.find((c) => c.type === type);
}

/** Lists names, at most three of them. */
export function names(all: string[]): string {
  if (all.length <= 3) return all.join(', ');
  return `${all.slice(0, 3).join(', ')} and ${all.length - 3} more`;
}
