import { natural } from '../natural';
import { plain } from './controller';
import { linkName, lostSwitches, names, reverse, type Finding, type Known, type S } from './finding';

/** The id of a cable: that of its direction which comes first. */
export function cable(id: string): string {
  const back = reverse(id);
  return natural(back, id) < 0 ? back : id;
}

/** Reports whether a direction of a link carries nothing because of a fault. */
function failed(l: S['FabricLink']): boolean {
  const s = l.status;
  return s.phase !== 'up' || s.fromPort === 'down' || s.toPort === 'down';
}

/** What operators have taken out of use, each with the hosts that still hold EVs over it. */
export function drains({ links = [], nodes = [], planes = [], hosts = [] }: Known): Finding[] {
  const one = (
    id: string,
    what: string,
    path: string[],
    query: Record<string, string>,
    since: string | undefined,
    drain?: S['DrainView'],
  ): Finding => ({
    id,
    kind: 'drain',
    severity: 'work',
    what: `${what} is drained`,
    path,
    query,
    since,
    because: [],
    detail:
      !drain || drain.drained
        ? 'Nobody uses it any more.'
        : `It waits for ${names(drain.awaits ?? []) || 'what is on its way'}.`,
    means: 'It carries no new packets: traffic takes what is left.',
    todo: 'Undrain it when the work on it is done.',
  });
  const taken = new Set(links.filter((l) => l.spec.admin === 'drained').map((l) => l.id));
  const own = (of: S['DrainView'][] | null | undefined, target: string) => of?.find((d) => d.target === target);
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
      .filter((l) => l.spec.admin === 'drained' && !(cable(l.id) !== l.id && taken.has(cable(l.id))))
      .map((l) =>
        one(
          `drain/${cable(l.id)}`,
          `Link ${cableName(l)}`,
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

/** Names a cable by its ends, those of the direction that comes first. */
function cableName(l: S['FabricLink']): string {
  const ends = linkName(l).split(' → ');
  return (cable(l.id) === l.id ? ends : ends.reverse()).join(' – ');
}

/** What is wrong with one cable: its directions that carry nothing, and the accusation that it loses packets. */
interface Wrong {
  directions: S['FabricLink'][];
  suspect?: S['SuspectView'];
}

/**
 * Cables that carry less than they should. A cable is one finding, whatever is known of it: that it
 * loses packets, that a port is down, that its EVs are denied. So it stays the same one while the
 * news of it come in.
 */
export function linkFindings(known: Known): Finding[] {
  const { links = [], suspects = [] } = known;
  const wrong = new Map<string, Wrong>();
  const at = (id: string) => {
    const c = cable(id);
    let w = wrong.get(c);
    if (!w) wrong.set(c, (w = { directions: [] }));
    return w;
  };
  for (const l of links) if (failed(l) || (l.status.denied && !l.status.drained)) at(l.id).directions.push(l);
  for (const s of suspects) if (s.links.length === 1) at(s.links[0]!).suspect ??= s;
  const { byNode: lost } = lostSwitches(known);
  const drainedPlanes = new Set((known.planes ?? []).filter((p) => p.spec.admin === 'drained').map((p) => p.plane));
  const drainedNodes = new Set((known.nodes ?? []).filter((n) => n.spec.admin === 'drained').map((n) => n.id));
  const found: Finding[] = [];
  for (const [id, w] of wrong) {
    const because: string[] = [];
    const l = w.directions.find((x) => x.id === id) ?? w.directions[0];
    if (l) {
      const s = l.status;
      for (const end of [s.from, s.to]) {
        if (lost.has(end)) because.push(`switch/${lost.get(end)}`);
        if (drainedNodes.has(end)) because.push(`node/${end}`);
      }
      if (s.plane !== undefined && drainedPlanes.has(s.plane)) because.push(`plane/${s.plane}`);
      if (w.directions.some((x) => x.spec.admin === 'drained')) because.push(`drain/${id}`);
    }
    const hostPort = w.suspect?.host && `hostport/${w.suspect.host}/${w.suspect.hostPort ?? 0}`;
    if (hostPort) because.push(hostPort);
    found.push({ id: `link/${id}`, kind: 'link', path: ['fabric'], because, ...(accuse(w) ?? describe(w, l!)) });
  }
  for (const s of suspects.filter((x) => x.links.length !== 1)) {
    found.push({
      id: `suspect/${cable(s.links[0] ?? '')}`,
      kind: 'link',
      path: ['fabric'],
      query: { link: s.links[0] ?? '' },
      because: s.links.map((x) => `link/${cable(x)}`).filter((x) => found.some((f) => f.id === x)),
      ...accusation(s, `One of several links ${s.fromName ?? s.from ?? ''} → ${s.toName ?? s.to ?? ''}`.trim()),
    });
  }
  return found;
}

type Words = Pick<Finding, 'severity' | 'what' | 'detail' | 'means' | 'todo' | 'since' | 'query'>;

/** The words for a cable of which a direction is down, held, being probed or denied. */
function describe(w: Wrong, l: S['FabricLink']): Words {
  const name = cableName(l);
  const down = w.directions.find(
    (x) => x.status.phase === 'down' || x.status.fromPort === 'down' || x.status.toPort === 'down',
  );
  const s = (down ?? l).status;
  const since = w.directions.map((x) => x.status.since).sort()[0];
  const out = w.directions.every((x) => x.status.denied);
  const at = { since, query: { link: l.id } };
  const means = out
    ? 'Hosts do not use it: their traffic takes other paths.'
    : 'What crossed it takes other paths, where there are any.';
  if (!w.directions.some(failed))
    return {
      ...at,
      severity: 'warning',
      what: `EVs over link ${name} are denied`,
      detail: plain(s.cause ?? ''),
      means,
      todo: 'See the reason. Undrain it, or mend it.',
    };
  if (down) {
    const ports = [s.fromPort === 'down' && (s.fromName ?? s.from), s.toPort === 'down' && (s.toName ?? s.to)];
    const both = ports.filter((x) => x !== false);
    return {
      ...at,
      severity: 'fault',
      what: `Link ${name} has failed`,
      detail:
        both.length > 0
          ? `The ${both.length > 1 ? 'ports' : 'port'} at ${both.join(' and ')} ${both.length > 1 ? 'are' : 'is'} down.`
          : plain(s.cause ?? '') || 'It is down.',
      means,
      todo: `See that nobody has disabled a port of it; then its cable and transceivers, at both ends.`,
    };
  }
  return {
    ...at,
    severity: 'fault',
    what: `Link ${name} has failed`,
    detail:
      s.phase === 'held' ? 'It is up again, and has to stay so for a while.' : 'It is up again, and is being probed.',
    means,
    todo: 'Wait: it is used again by itself. If it fails again, change its cable.',
  };
}

/** The words for a cable that loses packets, unless it is known to be down for another reason. */
function accuse(w: Wrong): Words | undefined {
  const s = w.suspect;
  const down = w.directions.some((x) => x.status.fromPort === 'down' || x.status.toPort === 'down');
  const other = w.directions.some((x) => failed(x) && !/^loses /.test(x.status.cause ?? ''));
  if (!s || down || other) return undefined;
  const name =
    s.host !== undefined
      ? `Link between host ${s.host} and ${s.fromName ?? s.toName ?? 'its leaf'}`
      : `Link ${s.fromName ?? s.from ?? '?'} → ${s.toName ?? s.to ?? '?'}`;
  return accusation(s, name);
}

function accusation(s: S['SuspectView'], name: string): Words {
  const figures = `It loses ${(s.loss * 100).toPrecision(2)} % of its packets, with a confidence of ${Math.floor(s.confidence * 100)} %.`;
  return {
    severity: s.denied ? 'fault' : 'warning',
    what: `${name} loses packets`,
    detail: s.denied || !s.why ? figures : `${figures} It is in use still: ${s.why}.`,
    means: s.denied
      ? 'Hosts do not use it: their traffic takes other paths.'
      : 'Packets over it are lost and sent again: what crosses it is slower.',
    todo: 'Drain it, then clean or change its cable and transceivers.',
    since: s.since,
    query: { link: s.links[0] ?? '' },
  };
}

/** A leaf that uses its links into a plane unevenly: the first sign of much that goes wrong there. */
export function balanceFindings({ balance = [] }: Known): Finding[] {
  return balance.flatMap((b): Finding[] => {
    const c = b.conditions?.find((x) => x.type === 'Unbalanced');
    if (!c?.status) return [];
    return [
      {
        id: `balance/${b.plane}/${b.leaf}`,
        kind: 'link',
        severity: 'warning',
        what: `${b.leaf} uses its links into plane ${b.plane} unevenly`,
        detail: c.message || `The busiest, to ${b.busiest ?? '?'}, carries ${b.index.toFixed(2)} of the mean.`,
        means: 'The busiest link is full before the others are: what crosses it is slower.',
        todo: 'See whether one flow is much larger than the others, or hosts there hold few EVs.',
        path: ['fabric'],
        query: { plane: String(b.plane), show: 'up' },
        since: c.lastTransition,
        because: [],
      },
    ];
  });
}
