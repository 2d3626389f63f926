import type { Schemas } from '../api/client';
import type { Spec } from './spec';

/** Reports whether source and receivers of a group connect by RDMA CM, and bring their queue pairs. */
export const connects = (spec: Spec): boolean => spec['connect'] !== undefined;

/** Reports whether the first host that connects is the source. */
export const anySource = (spec: Spec): boolean => (spec['connect'] as Spec | undefined)?.['source'] === 'any';

/**
 * Returns a spec whose hosts connect by RDMA CM: without what applications bring then (queue pairs, PSNs,
 * keys and addresses of memory), and without what the API refuses beside it.
 */
export function byConnect(spec: Spec): Spec {
  const next: Spec = { ...spec, connect: spec['connect'] ?? {}, receivers: receivers(spec).map(host) };
  if (spec['source'] !== undefined) next['source'] = host(spec['source'] as Spec);
  if (spec['mode'] === 'inband') delete next['mode'];
  if (spec['rewriteSource'] === false) delete next['rewriteSource'];
  return next;
}

/** The numbers of the queue pairs that a form begins with. */
interface Qpns {
  source: number;
  receiver: number;
}

/** Returns the first numbers from 256 and from 512 on that no group uses at any host. */
export function freeQpns(groups: readonly Pick<Schemas['Group'], 'spec' | 'status'>[]): Qpns {
  const used = new Set(
    groups.flatMap(({ spec, status }) =>
      [spec.source, ...(spec.receivers ?? []), ...(status.connections ?? [])].map((end) => end?.qpn),
    ),
  );
  const free = (n: number): number => (used.has(n) ? free(n + 1) : n);
  return { source: free(256), receiver: free(512) };
}

/** Returns a spec of typed queue pairs, with numbers to begin with. */
export function byQueuePairs(spec: Spec, qpns: Qpns): Spec {
  const next: Spec = {
    ...spec,
    source: { ...(spec['source'] as Spec | undefined), qpn: qpns.source },
    receivers: receivers(spec).map((r) => ({ ...r, qpn: qpns.receiver })),
  };
  delete next['connect'];
  return next;
}

/** Returns a spec in whose group any host may be the source, or the one of the spec alone. */
export function sourceOf(spec: Spec, any: boolean): Spec {
  const connect: Spec = { ...(spec['connect'] as Spec | undefined) },
    next: Spec = { ...spec, connect };
  if (any) {
    connect['source'] = 'any';
    delete next['source'];
  } else delete connect['source'];
  return next;
}

const receivers = (spec: Spec) => (spec['receivers'] as Spec[] | undefined) ?? [];
const host = (of: Spec): Spec => ('address' in of ? { address: of['address'] } : {});

/** Returns the receivers that hold a group up, by the branches "SWITCH INDEX" that lead to them. */
export function stalledBranches<R extends Pick<Schemas['StalledReceiver'], 'switch' | 'branch'>>(
  receivers: readonly R[],
  branches: readonly { switch: string; index: number; child?: string }[],
): Map<string, R> {
  const found = new Map<string, R>();
  const mark = (r: R, sw: string, index: number) => {
    if (found.has(`${sw} ${index}`)) return;
    found.set(`${sw} ${index}`, r);
    for (const b of branches) if (b.child === sw) mark(r, b.switch, b.index);
  };
  for (const r of receivers) mark(r, r.switch, r.branch);
  return found;
}

type Said = [tone: 'ok' | 'work' | 'quiet', text: string, title: string];
const connectionStates: Record<string, Said> = {
  asked: ['work', 'waits for the tree', 'The application has asked, and gets its answer then.'],
  replied: ['work', 'answered', 'The application has its answer, and has not confirmed it.'],
  asking: ['work', 'was asked', 'The controller has asked the application that listens.'],
  answered: ['work', 'agreed', 'The application that listens has agreed.'],
  established: ['ok', 'connected', 'Both ends are connected.'],
  leaving: ['quiet', 'leaves', 'The connection is being ended.'],
  'time wait': ['quiet', 'has left', 'The connection has ended.'],
};

/** The state of a connection of RDMA CM in words, with what it means. */
export function connectionState(state: string) {
  const [tone, text, title] = connectionStates[state] ?? ['quiet', state, ''];
  return { tone, text, title };
}
