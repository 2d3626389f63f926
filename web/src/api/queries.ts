import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { pathIn, placeIn, type Collection } from '../domain/kinds';
import { decode } from '../domain/route';
import type { HistoryKind } from '../domain/history';
import { linksOf } from '../domain/linkcolumns';
import type { OpenApi } from '../domain/completion';
import type { paths } from './schema';
import { anywhere, ApiError, base, body, client, everything, type Schemas } from './client';

/** What an MRC page shows where the controller has no fabric: undefined, and no error. */
async function ifConfigured<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ApiError && error.code === 'not_configured') return null;
    throw error;
  }
}

export const ready = queryOptions({
  queryKey: ['ready'],
  queryFn: async ({ signal }) => {
    // Not ready is an answer too, of status 503.
    const { data, error, response } = await client.GET('/readyz', { signal });
    const answer = data ?? (error as unknown);
    if (typeof answer === 'object' && answer && 'checks' in answer) return answer as Schemas['ReadinessView'];
    return body<Schemas['ReadinessView']>(Promise.resolve({ error, response }));
  },
});
/** What changes without an event is asked for again soon while it is about to, and else now and then. */
const soon = 2_000,
  later = 30_000;
type Drains = { status: { drains?: Schemas['DrainView'][] | null } };
const draining = (all: Drains[] | undefined) =>
  all?.some((x) => x.status.drains?.some((d) => !d.drained)) ? soon : later;

type Answers<P extends keyof paths> = paths[P] extends {
  get: { responses: { 200: { content: { 'application/json': infer B } } } };
}
  ? B
  : never;
type Items<P extends keyof paths> = Answers<P> extends { items: (infer T)[] | null } ? T : never;
// Asked for by a path that is a parameter, for which openapi-fetch has no type.
const get = <T>(path: string, params: object, signal?: AbortSignal) =>
  body((client as unknown as Getter).GET<T>(path, { params, signal }));
interface Getter {
  GET<T>(path: string, init: object): Promise<{ data?: T; error?: unknown; response: Response }>;
}
/** What a path of the API answers to a query. */
const answer = <P extends keyof paths>(path: P, query: object, signal?: AbortSignal, of?: Record<string, string>) =>
  get<Answers<P>>(path, { query, path: of }, signal);
const again = (every?: number) => (every ? { refetchInterval: every, ...(every <= soon && { staleTime: 0 }) } : {});

/** One object of the API, which is asked for again after so many milliseconds. */
const one = <P extends keyof paths>(queryKey: string[], path: P, of: Record<string, string>, every?: number) =>
  queryOptions({ queryKey, queryFn: ({ signal }) => get<Answers<P>>(path, { path: of }, signal), ...again(every) });

interface Asked {
  query?: object;
  path?: object;
  /** It is asked for again after so many milliseconds. */
  every?: number;
  /** What only a fabric has is not asked for once the controller has said that there is none. */
  inFabric?: true;
}
const items = <T>(queryKey: unknown[], ask: (signal: AbortSignal) => Promise<T[]>, { every, inFabric }: Asked) =>
  queryOptions({
    queryKey,
    queryFn: async ({ signal, client: queries }) => {
      const known = inFabric && queries.fetchQuery({ ...fabric, staleTime: later }).catch(() => undefined);
      return (await known) === null ? [] : ((await ifConfigured(ask(signal))) ?? []);
    },
    ...again(every),
  });
/** All pages of a list of the API, or the first ones of many objects; none where what has them is not configured. */
const list = <P extends keyof paths>(queryKey: unknown[], path: P, asked: Asked = {}, most?: number) =>
  items(
    queryKey,
    (signal) =>
      everything((page) => {
        const params = { path: asked.path, query: { ...page, ...asked.query } };
        return get<{ items: Items<P>[]; continue?: string }>(path, params, signal);
      }, most),
    asked,
  );
/** A list of the API that has no pages. */
const few = <P extends keyof paths>(queryKey: unknown[], path: P, { query, path: of, ...asked }: Asked = {}) =>
  items(
    queryKey,
    async (signal) => (await get<{ items: Items<P>[] | null }>(path, { query, path: of }, signal)).items ?? [],
    asked,
  );

export const health = one(['health'], '/healthz', {});
export const switches = queryOptions({
  ...list(['switches'], '/v1/switches'),
  refetchInterval: (q) => (q.state.data?.some((s) => s.managed && (s.settling || !s.synced)) ? soon : later),
});
export const topology = one(['topology'], '/v1/topology', {});
export const peers = few(['peers'], '/v1/bgp-peers');
export const fabric = queryOptions({
  queryKey: ['fabric'],
  queryFn: ({ signal }) => ifConfigured(answer('/v1/fabric', {}, signal)),
});
export const planes = queryOptions({
  ...few(['planes'], '/v1/planes', { inFabric: true }),
  refetchInterval: (q) => draining(q.state.data),
});
export const nodes = queryOptions({ ...list(['nodes'], '/v1/nodes'), refetchInterval: (q) => draining(q.state.data) });
export const links = queryOptions({
  queryKey: ['links'],
  queryFn: async ({ signal }) => linksOf(await answer('/v1/link-columns', {}, signal)),
  refetchInterval: (q) => draining(q.state.data),
  structuralSharing: false, // a comparison of all links takes longer than what it saves
});
export const link = (id: string) => answer('/v1/links/{id}', {}, undefined, { id });
export const hosts = queryOptions({
  ...list(['hosts'], '/v1/hosts'),
  refetchInterval: (q) => draining(q.state.data?.flatMap((h) => h.ports)),
});
/** What is wrong, and why: the first of what there may be more of than a page is for. */
export const causes = few(['causes'], '/v1/causes', { query: { limit: 200 }, every: soon });
export const suspects = few(['suspects'], '/v1/suspects', { inFabric: true, every: 5_000 });
/** A large fabric has more EV profiles than a table is for. */
export const mostProfiles = 5_000;
const profilesBy = (queryKey: string[], query?: object) =>
  list(queryKey, '/v1/ev-profiles', { inFabric: true, query }, mostProfiles);
export const profiles = profilesBy(['profiles']);
export const degradedProfiles = profilesBy(['profiles', 'degraded'], { degraded: true });
export const groups = list(['groups'], '/v1/multicast-groups');
export const tenants = list(['tenants'], '/v1/tenants');
export const srv6Policies = list(['srv6-policies'], '/v1/srv6-policies');
export const pfcPolicies = list(['pfc-policies'], '/v1/pfc-policies');
export const projects = list(['projects'], '/v1/projects');
/** The names of all projects that the user may act in, whichever it has chosen. */
export const projectNames = queryOptions({
  queryKey: ['projects', 'names'],
  queryFn: async ({ signal }) =>
    (await everything((query) => body(anywhere.GET('/v1/projects', { params: { query }, signal })))).map((p) => p.name),
});
export const project = (name: string) => one(['projects', 'one', name], '/v1/projects/{name}', { name });
export const jobs = list(['jobs'], '/v1/jobs');
export const job = (name: string) => one(['jobs', 'one', name], '/v1/jobs/{name}', { name }, 5_000);
export const leases = list(['leases'], '/v1/leases', { every: 5_000 });
export const lease = (name: string) => one(['leases', 'one', name], '/v1/leases/{name}', { name }, 5_000);
export const maintenances = list(['maintenances'], '/v1/maintenances', { every: 5_000 });
export const maintenance = (name: string) =>
  one(['maintenances', 'one', name], '/v1/maintenances/{name}', { name }, soon);
export const readiness = (name: string) =>
  one(['jobs', 'readiness', name], '/v1/jobs/{name}/readiness', { name }, soon);
export const jobRacks = (name: string) => one(['jobs', 'racks', name], '/v1/jobs/{name}/racks', { name }, 5_000);
export type PartKind = 'link' | 'switch' | 'host' | 'plane';
export const dependents = (kind: PartKind, name: string) =>
  few(['jobs', 'dependents', kind, name], '/v1/job-dependents', { query: { kind, name }, every: later });
/** What jobs would lose without a link or a switch, of an intact fabric: what a maintenance of it would say. */
export const without = (part: { kind: string; name: string } | undefined) =>
  queryOptions({
    queryKey: ['jobs', 'without', part?.kind, part?.name],
    queryFn: async ({ signal }) => {
      // Who passes over a link does not ask about it.
      await new Promise((resolve) => setTimeout(resolve, 250));
      signal.throwIfAborted();
      const objects = [part?.kind === 'link' ? { link: part.name } : { node: part?.name }];
      const from = new Date(Date.now() + 3_600_000).toISOString(),
        until = new Date(Date.now() + 7_200_000).toISOString();
      const spec = { objects, from, until, priority: 1000 };
      const query = { dryRun: true };
      const answer = await body(
        client.POST('/v1/maintenances', { params: { query }, body: { name: 'of-dashboard', spec }, signal }),
      );
      return answer?.status?.jobs ?? [];
    },
    retry: false,
    staleTime: later,
    refetchInterval: false,
  });
export const ccProfiles = list(['cc-profiles'], '/v1/cc-profiles');
export const controllers = few(['controllers'], '/v1/controllers', { every: 5_000 });

// One object each. The first part of a key is that of the list, so what makes the list stale makes these stale.

export const group = (name: string) => one(['groups', name], '/v1/multicast-groups/{name}', { name }, 5_000);
export const groupState = (name: string) =>
  one(['groups', name, 'state'], '/v1/multicast-groups/{name}/state', { name }, 1_000);
export const profile = (name: string) => one(['profiles', name], '/v1/ev-profiles/{name}', { name }, 5_000);
export const profilesOf = (host: string) => list(['profiles', 'of host', host], '/v1/ev-profiles', { query: { host } });
export const evPath = (name: string, ev: string) =>
  one(['profiles', name, 'path', ev], '/v1/ev-profiles/{name}/evs/{ev}/path', { name, ev });
export const probes = (name: string) =>
  list(['profiles', name, 'probes'], '/v1/ev-probes', { query: { profile: name }, every: 5_000 });
export const pfcPolicy = (name: string) => one(['pfc-policies', name], '/v1/pfc-policies/{name}', { name }, 1_000);
export const tables = (id: string) => few(['switches', id, 'tables'], '/v1/switches/{id}/tables', { path: { id } });
export const entries = (id: string, table: string) =>
  list(['switches', id, 'entries', table], '/v1/switches/{id}/tables/{table}/entries', {
    path: { id, table },
    every: 10_000,
  });
export const counters = (id: string) =>
  few(['switches', id, 'counters'], '/v1/switches/{id}/counters', { path: { id }, every: soon });
export const orphans = (id: string) => list(['switches', id, 'orphans'], '/v1/orphans', { query: { switch: id } });
export const ports = (id: string) =>
  list(['switches', id, 'ports'], '/v1/ports', { query: { switch: id }, every: 5_000 });
export const gnmi = (id: string) => one(['switches', id, 'gnmi'], '/v1/switches/{id}/gnmi', { id });
/** What an object did in the last seconds, or from a time to another, both in Unix seconds. */
export const history = (kind: HistoryKind, name: string, span: number | { from: number; to: number }) =>
  queryOptions({
    queryKey: ['history', kind, name, span],
    queryFn: ({ signal }) => {
      const time =
        typeof span === 'number' ? { since: `${span}s` } : { since: moment(span.from), until: moment(span.to) };
      return answer('/v1/telemetry/history', { kind, name, ...time }, signal);
    },
    // A day changes more slowly than a minute.
    refetchInterval: typeof span !== 'number' ? false : span <= 900 ? 1_000 : 15_000,
    staleTime: 0,
    placeholderData: (before, query) => (query?.queryKey[2] === name ? before : undefined),
  });
/** How things were at the end of a time, and what changed in it. */
export const past = (span: number | { from: number; to: number }) =>
  queryOptions({
    queryKey: ['past', span],
    queryFn: ({ signal }) => {
      const { from, to } = typeof span === 'number' ? { from: Date.now() / 1000 - span, to: Infinity } : span;
      return answer('/v1/past', { from: moment(from), at: moment(to) }, signal);
    },
    // A thousandth of the time is a pixel of the bar.
    refetchInterval: typeof span === 'number' && Math.max(5_000, span),
    staleTime: typeof span === 'number' ? 0 : Infinity,
    placeholderData: keepPreviousData,
  });
/** A time in Unix seconds as the API takes it; one that is to come is now. */
const moment = (at = Infinity) => (1000 * at >= Date.now() ? undefined : new Date(1000 * at).toISOString());
export const utilization = (plane: number, at?: number) =>
  queryOptions({
    queryKey: ['utilization', plane, at],
    queryFn: ({ signal }) =>
      answer('/v1/telemetry/matrices/{plane}', { until: moment(at) }, signal, { plane: String(plane) }),
    refetchInterval: at ? false : 5_000,
    staleTime: 0,
  });
export const balance = few(['balance'], '/v1/telemetry/balance', { inFabric: true, every: 5_000 });
/** What the busiest ports send and receive, now or at a time in Unix seconds: as many as a picture has links. */
export const loads = (at?: number) =>
  queryOptions({
    queryKey: ['top', 'loads', at],
    queryFn: async ({ signal }) => {
      const busiest = (metric?: string) =>
        answer('/v1/telemetry/top', { kind: 'port', metric, limit: 1000, over: '5s', until: moment(at) }, signal);
      const top = await busiest();
      if (top.metric === 'utilization') return top;
      // Without speeds the controller has each direction by itself.
      const into = new Map((await busiest('inBits')).items.map((i) => [i.name, i.value]));
      const out = new Map(top.items.map((i) => [i.name, i.value]));
      const names = [...new Set([...out.keys(), ...into.keys()])],
        items = names.map((name) => ({ name, value: 0, in: into.get(name), out: out.get(name) }));
      return { ...top, items };
    },
    refetchInterval: at === undefined ? 2_000 : false,
    staleTime: at === undefined ? 0 : Infinity,
    placeholderData: keepPreviousData,
  });
/** The ports that carry most now. */
export const top = queryOptions({
  queryKey: ['top'],
  queryFn: ({ signal }) => answer('/v1/telemetry/top', { kind: 'port', limit: 5 }, signal),
  ...again(soon),
});
export const traces = (id: string, port: string, count: number) =>
  answer('/v1/switches/{id}/traces', { port: port || undefined, count, wait: '20s' }, undefined, { id });
export const audit = (identity: string, path: string, outcome: string) => {
  const query = { limit: 500, latest: true, identity: identity || undefined, path: path || undefined };
  return few(['audit', identity, path, outcome], '/v1/audit', {
    query: { ...query, outcome: outcome || undefined },
    every: 5_000,
  });
};
export const tenant = (name: string) => one(['tenants', 'one', name], '/v1/tenants/{name}', { name }, 5_000);
export const srv6Policy = (name: string) =>
  one(['srv6-policies', 'one', name], '/v1/srv6-policies/{name}', { name }, 5_000);
export const notifications = list(['notifications'], '/v1/notifications', { every: 5_000 });
export const notification = (name: string) =>
  one(['notifications', 'one', name], '/v1/notifications/{name}', { name }, soon);
export const users = list(['users'], '/v1/users');
export const tokens = list(['tokens'], '/v1/tokens');
export const sessions = list(['sessions'], '/v1/sessions');
/** A resource that a client writes, of whatever kind. */
export interface Resource {
  name: string;
  version: number;
  created?: string;
  spec: unknown;
  status?: { conditions?: Schemas['GroupCondition'][] };
}
/** What a document and its history need of a resource. */
export type Intent = Pick<Resource, 'name' | 'version' | 'spec'>;
export const resources = (collection: Collection) =>
  queryOptions({
    queryKey: [collection, 'resources'],
    queryFn: async ({ signal }) =>
      (await ifConfigured(
        everything((query) => get<{ items: Resource[] }>(`/v1/${collection}`, { query }, signal), mostProfiles),
      )) ?? [],
  });
export const resource = (collection: Collection, name: string) =>
  queryOptions({
    queryKey: [collection, 'resource', name],
    queryFn: ({ signal }) => {
      const { path, of } = placeIn(collection, name);
      return get<Resource>(path, { path: of }, signal);
    },
    refetchInterval: 5_000,
  });
/** The changes of a resource that the audit log has, the latest one first: another version has another one. */
export const changesOf = (collection: Collection, name: string, version: number | undefined) =>
  queryOptions({
    queryKey: ['changes', collection, name, version],
    queryFn: async ({ signal }) => {
      // Clients escape what stands in a path as they like: what comes before it is the same.
      const path = placeIn(collection, name).path.split('{')[0]!,
        whole = decode(pathIn(collection, name));
      const all = await everything((page) => answer('/v1/audit', { ...page, path, outcome: 'success' }, signal));
      return all.filter((r) => decode(r.serviceRequest.path.split('?')[0]!) === whole).reverse();
    },
    placeholderData: keepPreviousData,
    refetchInterval: 5_000,
  });
/** The latest events about an object that the controller has. */
export const eventsOf = (families: readonly string[], object: string) =>
  few(['events', families, object], '/v1/events/latest', { query: { type: [families.join()], object, limit: 200 } });
/** The OpenAPI document, which says what fields of documents mean. */
export const openApi = queryOptions({
  queryKey: ['openapi'],
  queryFn: async ({ signal }) => {
    const answer = await fetch(`${base}/openapi.json`, { headers: { Accept: 'application/json' }, signal });
    if (!answer.ok) throw new Error(`The controller answers ${answer.status}.`);
    return (await answer.json()) as OpenApi;
  },
  staleTime: Infinity,
  refetchInterval: false,
});
