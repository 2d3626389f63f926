import type { Finding, Known } from './finding';

const checks: Record<string, Pick<Finding, 'what' | 'means' | 'todo'>> = {
  store: {
    what: 'Changes are refused',
    means: 'Nobody can change anything. What is in force goes on.',
    todo: 'See what the store says, and that more than half of the controllers reach each other.',
  },
  disk: {
    what: "The controller's disk is not well",
    means: 'Traffic goes on. A full disk stops all changes.',
    todo: 'Make room on the disk, or move the data directory to another one.',
  },
  share: {
    what: 'Switches are shared out unevenly',
    means: 'Traffic goes on. The controller with the most switches programs them later than the others.',
    todo: 'See which controller has few or none, and why it cannot reach its switches.',
  },
};

/** What keeps the controller from keeping changes, and what is wrong with the other controllers. */
export function controllerFindings({ ready }: Known): Finding[] {
  const disk = ready?.checks.find((c) => c.name === 'disk' && !c.ok);
  return (ready?.checks ?? [])
    .filter((c) => !c.ok && checks[c.name])
    .map((c) => ({
      ...checks[c.name]!,
      id: c.name,
      kind: 'controller',
      severity: c.advisory ? 'warning' : 'fault',
      detail: c.message ?? '',
      path: ['controllers'],
      because: c.name === 'store' && disk ? ['disk'] : [],
    }));
}

/** The lost switches by the addresses that their BGP speakers may have. */
function lostSpeakers({ switches = [], topology }: Known): Map<string, string> {
  const lost = new Map<string, string>();
  for (const s of switches.filter((x) => x.managed && !x.connected)) {
    const id = `switch/${s.name}`;
    const host = /^\[?(.*?)\]?:[0-9]+$/.exec(s.address ?? '')?.[1];
    if (host && switches.filter((x) => x.address?.startsWith(host + ':')).length === 1) lost.set(host, id);
    const router = s.node?.split(':').slice(1).join(':');
    if (router) lost.set(router, id);
    const loopback = topology?.nodes?.find((n) => n.id === s.node)?.loopback;
    if (loopback) lost.set(loopback, id);
  }
  return lost;
}

/** Sessions that are lost, and peers that send what is malformed. */
export function peerFindings(known: Known): Finding[] {
  const { peers = [], ready } = known;
  const speakers = lostSpeakers(known);
  const lost = peers
    .filter((p) => p.state !== 'established')
    .map((p): Finding => {
      const at = speakers.get(p.address ?? '') ?? speakers.get(p.name);
      return {
        id: `peer/${p.name}`,
        kind: 'BGP-LS peer',
        severity: p.synced ? 'warning' : 'fault',
        what: `There is no BGP-LS session with ${p.name}`,
        detail: p.lastError ? plain(p.lastError) : `The session is ${p.state}.`,
        means: 'Traffic goes on. What changes in the part of the network that the peer describes is not seen.',
        todo: 'See that the peer runs, that it has this controller as a neighbor, and that port 179 is open.',
        path: ['peers'],
        query: { peer: p.name },
        since: p.since,
        because: at ? [at] : [],
      };
    });
  const malformed = peers
    .filter((p) => (p.malformedNlris ?? 0) + (p.discardedAttributes ?? 0) > 0)
    .map((p): Finding => {
      const left = p.malformedNlris ?? 0,
        discarded = p.discardedAttributes ?? 0;
      const counts = [
        left > 0 && `${left} NLRI${left === 1 ? '' : 's'} left out`,
        discarded > 0 && `${discarded} attribute${discarded === 1 ? '' : 's'} discarded`,
      ].filter(Boolean);
      return {
        id: `malformed/${p.name}`,
        kind: 'BGP-LS peer',
        severity: 'warning',
        what: `BGP-LS peer ${p.name} sends what is malformed`,
        detail: `${counts.join(', ')} so far.${p.lastFault ? ` The last: ${p.lastFault.reason}.` : ''}`,
        means: 'The topology lacks what was left out: traffic may take longer ways.',
        todo: 'Look at the software of the peer.',
        path: ['peers'],
        query: { peer: p.name },
        since: p.lastFault?.time,
        because: [],
      };
    });
  const complete = ready?.checks.find((c) => c.name === 'bgp-ls');
  const topology: Finding[] =
    complete && !complete.ok
      ? [
          {
            id: 'bgp-ls',
            kind: 'controller',
            severity: 'fault',
            what: 'The topology is not complete',
            detail: complete.message ?? '',
            means: 'What is programmed goes on. The controller removes nothing before it knows the whole topology.',
            todo: 'Bring the BGP-LS peers up.',
            path: ['peers'],
            because: lost.map((f) => f.id),
          },
        ]
      : [];
  return [...lost, ...malformed, ...topology];
}

/** Takes from an error of a connection what is for programs: the steps by which it was made, and codes of gRPC. */
export function plain(error: string): string {
  const inner = /desc = "?((?:[^"\\]|\\.)*)"?$/.exec(error)?.[1] ?? error;
  const last = inner
    .replaceAll('\\"', '"')
    .replace(/^(transport|connection error|opening the stream|southbound|rpc error)[:,]? */g, '')
    .replace(/^Error while dialing[:,]? */i, '');
  if (/connection refused/.test(last)) {
    const at = /dial tcp (\S+):/.exec(last)?.[1];
    return `Nothing listens at ${at ?? 'its address'}: the connection was refused.`;
  }
  if (/i\/o timeout|deadline exceeded/i.test(last)) return 'It did not answer in time.';
  if (/connection reset|broken pipe/.test(last)) return 'It ended the connection.';
  if (/\bEOF\b/.test(last)) return 'The connection ended.';
  if (/no route to host|network is unreachable/.test(last)) return 'There is no route to its address.';
  const text = last.trim();
  return text === '' ? '' : `${text[0]!.toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;
}
