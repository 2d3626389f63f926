import { plain } from './controller';
import { condition, lostSwitches, type Finding, type Kind, type Known, type S } from './finding';
import { drains, linkFindings } from './link';

/** The faults of the network below services: which of them touches which switches. */
interface Below {
  touching(switches: Iterable<string | undefined>): string[];
  /** Switches that refuse updates, or are being programmed. */
  programming: string[];
  leaves: Map<string, string[]>;
}

function below(known: Known): Below {
  const { byName, byNode } = lostSwitches(known);
  const links = new Map((known.links ?? []).map((l) => [l.id, l]));
  const faults = [
    ...[...byName].map((name) => ({ id: `switch/${name}`, ends: [name], work: false })),
    ...[...linkFindings(known), ...drains(known)]
      .filter((f) => f.id.startsWith('link/') || f.id.startsWith('drain/') || f.id.startsWith('node/'))
      .map((f) => {
        const l = links.get(f.query?.link ?? '');
        const node = f.id.startsWith('node/') ? known.nodes?.find((n) => `node/${n.id}` === f.id) : undefined;
        return {
          id: f.id,
          work: f.severity === 'work',
          ends: [l?.status.from, l?.status.to, l?.status.fromName, l?.status.toName, node?.id, node?.status.name],
        };
      }),
    ...(known.planes ?? [])
      .filter((p) => p.spec.admin === 'drained')
      .map((p) => ({ id: `plane/${p.plane}`, ends: [], work: true })),
  ];
  const leaves = new Map<string, string[]>();
  for (const h of known.topology?.hosts ?? []) leaves.set(h.address, [h.switch]);
  for (const h of known.hosts ?? []) {
    leaves.set(
      h.address,
      h.ports.flatMap((p) => [p.status.leaf, p.status.leafName].filter((x) => x !== undefined)),
    );
  }
  return {
    touching(switches) {
      const at = new Set([...switches].filter((x) => x !== undefined));
      for (const x of [...at]) {
        const name = byNode.get(x);
        if (name) at.add(name);
      }
      const own = faults.filter((f) => f.ends.some((x) => x !== undefined && at.has(x)));
      // Where nothing is wrong there, it is what is wrong elsewhere on the way.
      const chosen = own.length > 0 ? own : faults;
      const real = chosen.filter((f) => !f.work);
      return (real.length > 0 ? real : chosen).map((f) => f.id);
    },
    programming: [
      'programming',
      ...(known.switches ?? [])
        .filter((s) => s.managed && (!s.connected || s.errors?.length))
        .map((s) => `switch/${s.name}`),
    ],
    leaves,
  };
}

export function fabricFindings({ fabric }: Known): Finding[] {
  if (!fabric?.failure) return [];
  return [
    {
      id: 'fabric',
      kind: 'fabric',
      severity: 'fault',
      what: 'There is no MRC fabric of the present topology',
      detail: plain(fabric.failure),
      means: 'Hosts keep the EVs that they hold, and get no new ones.',
      todo: 'Compare the topology with the section mrc of the configuration.',
      path: ['fabric'],
      because: [],
    },
  ];
}

export function hostFindings(known: Known): Finding[] {
  const { hosts = [], fabric } = known;
  const { byName, byNode } = lostSwitches(known);
  return hosts.flatMap((h): Finding[] => {
    const at = { path: ['hosts', h.name], since: h.since };
    const found: Finding[] = [];
    const lost = (p: S['HostPort']) => {
      const name = byNode.get(p.status.leaf) ?? (byName.has(p.status.leafName ?? '') ? p.status.leafName : undefined);
      return name ? [`switch/${name}`] : [];
    };
    for (const p of h.ports) {
      if (p.status.linkDown || p.status.hostDown) {
        found.push({
          ...at,
          since: undefined,
          id: `hostport/${h.name}/${p.port}`,
          kind: 'host port',
          severity: 'fault',
          what: `Port ${p.port} of host ${h.name} is down`,
          detail: p.status.hostDown
            ? 'The host reports it.'
            : `Switch ${p.status.leafName ?? p.status.leaf} reports it.`,
          means: `Peers send to the other ports of ${h.name}, if there are any.`,
          todo: 'See that nobody has disabled the port; then its cable and transceivers, at both ends.',
          because: lost(p),
        });
      }
    }
    if (!fabric) return found; // without an MRC fabric hosts have no stream
    if (!h.connected)
      found.push({
        ...at,
        id: `host/${h.name}`,
        kind: 'host',
        severity: 'fault',
        what: `Host ${h.name} is not connected`,
        detail: plain(h.error ?? '') || 'It has no stream to the controller.',
        means: 'It goes on with the EVs that it holds, and does not hear of links that fail.',
        todo: `See that ${h.name} and its Weft agent run, and that the agent reaches the controller.`,
        because: h.ports.every((p) => lost(p).length > 0) ? h.ports.flatMap(lost) : [],
      });
    if (h.refusals?.length)
      found.push({
        ...at,
        id: `refusal/${h.name}`,
        kind: 'host',
        severity: 'fault',
        what: `Host ${h.name} refuses its configuration`,
        detail: `${h.refusals[0]!.field}: ${h.refusals[0]!.reason}`,
        means: 'It goes on with what it held before.',
        todo: 'See the reason: the device may hold fewer EVs or profiles than it is to.',
        because: [],
      });
    return found;
  });
}

export function profileFindings(known: Known): Finding[] {
  const profiles = (known.profiles ?? []).filter((p) => condition(p.status.conditions, 'Degraded')?.status);
  if (profiles.length === 0) return [];
  const net = below(known);
  return profiles.map((p): Finding => {
    const degraded = condition(p.status.conditions, 'Degraded')!;
    const lost = (p.status.lostLinks ?? []).flatMap((id) => id.split('~').map((end) => end.split(',')[0]));
    const few = p.status.active < p.status.minActive;
    return {
      id: `profile/${p.name}`,
      kind: 'EV profile',
      severity: few ? 'fault' : 'warning',
      what: `EV profile ${p.name} is degraded`,
      detail: plain(degraded.message || `${p.status.active} of ${p.status.count} EVs are active`),
      means: few
        ? 'Hosts have fewer paths than they need: what they send may be slower, or lost.'
        : 'Hosts have fewer paths: what they send spreads over the others.',
      todo: 'See which of its EVs are denied, and why.',
      path: ['evs', p.name],
      since: degraded.lastTransition,
      because: net.touching(lost.length > 0 ? lost : [...p.status.source, ...p.status.destination].map((x) => x.leaf)),
    };
  });
}

export function groupFindings(known: Known): Finding[] {
  const { groups = [], hosts = [] } = known;
  const net = below(known);
  const { byName } = lostSwitches(known);
  return groups.flatMap((g): Finding[] => {
    const tree = (g.status.tree?.nodes ?? []).map((n) => n.switch);
    const leaves = [g.spec.source.address, ...(g.spec.receivers ?? []).map((r) => r.address)].flatMap(
      (a) => net.leaves.get(a) ?? [],
    );
    const lost = tree.filter((n) => byName.has(n)).map((n) => `switch/${n}`);
    const stalled = (g.status.stalledReceivers ?? []).map((r): Finding => {
      const host = hosts.find((h) => h.address === r.address);
      return {
        id: `stalled/${g.name}/${r.address}`,
        kind: 'multicast group',
        severity: 'fault',
        what: `Receiver ${host?.name ?? r.address} stalls group ${g.name}`,
        detail: r.valid
          ? `Branch ${r.branch} of ${r.switch} has acknowledged nothing after PSN ${r.ackPsn}.`
          : `Branch ${r.branch} of ${r.switch} has acknowledged nothing.`,
        means: 'The source waits for it: no receiver of the group gets anything new.',
        todo: 'See that the receiver and its queue pair run, and that its port is up; or take it out of the group.',
        path: ['groups', g.name],
        since: r.since,
        because: [
          ...lost,
          ...(host ? [`host/${host.name}`, ...host.ports.map((p) => `hostport/${host.name}/${p.port}`)] : []),
        ],
      };
    });
    return [
      ...stalled,
      ...conditions(
        g.status.conditions,
        { id: `group/${g.name}`, kind: 'multicast group', name: `Group ${g.name}`, path: ['groups', g.name] },
        net,
        [...tree, ...leaves],
        [...lost, ...stalled.map((f) => f.id)],
      ),
    ];
  });
}

export function policyFindings(known: Known): Finding[] {
  const { srv6Policies = [], tenants = [], pfcPolicies = [] } = known;
  const net = below(known);
  return [
    ...srv6Policies.flatMap((p) =>
      conditions(
        p.status.conditions,
        {
          id: `srv6/${p.name}`,
          kind: 'SRv6 policy',
          name: `SRv6 policy ${p.name}`,
          path: ['pfc'],
          query: { srv6: p.name },
        },
        net,
        [p.spec.headend, p.spec.endpoint, ...(p.status.path ?? [])],
        [],
      ),
    ),
    ...tenants.flatMap((t) =>
      conditions(
        t.status.conditions,
        { id: `tenant/${t.name}`, kind: 'tenant', name: `Tenant ${t.name}`, path: ['pfc'], query: { tenant: t.name } },
        net,
        (t.spec.sites ?? []).map((s) => s.switch),
        (t.spec.policies ?? []).map((p) => `srv6/${p}`),
      ),
    ),
    ...pfcPolicies.flatMap((p) =>
      conditions(
        p.status.conditions,
        { id: `pfc/${p.name}`, kind: 'PFC policy', name: `PFC policy ${p.name}`, path: ['pfc', p.name] },
        net,
        [...(p.status.nodes ?? []).map((n) => n.switch), ...(p.status.tunnels ?? []).flatMap((t) => [t.from, t.to])],
        [`srv6/${p.spec.srv6Policy}`, `tenant/${p.spec.tenant}`],
      ),
    ),
  ];
}

/** Reasons that faults of switches and links explain. */
const ofNetwork = new Set(['Unreachable', 'NotPlannable', 'Disconnected', 'TunnelDown', 'NoPath']);
/** Reasons that a switch explains which refuses updates or is being programmed. */
const ofSwitch = new Set(['DeviceError', 'Installing']);

/** What an operator does about a condition, by its reason. */
const todos: Record<string, string> = {
  Unreachable: 'See the links and switches between its ends.',
  NotPlannable: 'See what the network lacks for it, or change it.',
  Disconnected: 'Bring the switches up.',
  TunnelDown: 'See the links and switches between the ends of the tunnel.',
  LimitExceeded: 'Take something out of it, or delete others of its kind.',
  DeviceError: 'See the switch that refuses it, and whether one of its tables is full.',
  Installing: 'Wait: it takes some seconds.',
  Removing: 'Wait: it takes some seconds.',
  ReceiverStalled: 'See that the receiver and its queue pair run; or take it out of the group.',
  ReceiversEvicted: 'Mend the receivers, and reset the group.',
  QueuePairShared: 'Give one of the groups another queue pair.',
  DeadlockRisk: 'Send one of the tenants another way.',
  InsufficientHeadroom: 'Give the queue a larger buffer, or a lower XOFF.',
  PFCStorm: 'See which device downstream pauses without end.',
  AwaitingPacket: 'Nothing: it is programmed on the first packet.',
};

/** The finding of a resource that was not accepted, is not programmed, or is degraded: the first of these. */
function conditions(
  all: S['GroupCondition'][] | null | undefined,
  of: { id: string; kind: Kind; name: string; path: string[]; query?: Record<string, string> },
  net: Below,
  switches: (string | undefined)[],
  also: string[],
): Finding[] {
  const accepted = condition(all, 'Accepted'),
    programmed = condition(all, 'Programmed'),
    degraded = condition(all, 'Degraded');
  const found = (c: S['GroupCondition'], severity: Finding['severity'], what: string, means: string): Finding[] => {
    const { name, ...rest } = of;
    return [
      {
        ...rest,
        severity,
        what: `${name} ${what}`,
        detail: plain(c.message || c.reason.replace(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase()),
        means,
        todo: todos[c.reason] ?? 'See its page for the reason.',
        since: c.lastTransition,
        because: [
          ...also,
          ...(ofNetwork.has(c.reason) ? net.touching(switches) : []),
          ...(ofSwitch.has(c.reason) ? net.programming : []),
        ],
      },
    ];
  };
  if (accepted && !accepted.status) return found(accepted, 'fault', 'is not accepted', 'It carries no traffic.');
  if (degraded?.status) return found(degraded, 'fault', 'is degraded', 'It does not carry all of its traffic.');
  if (programmed && !programmed.status && programmed.reason !== 'AwaitingPacket')
    return found(programmed, 'warning', 'is not programmed', 'What is new of it carries no traffic yet.');
  return [];
}
