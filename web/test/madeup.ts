// A server that answers as a controller of a fabric of any size would: the dashboard's built files,
// and an API of made-up answers.
import { readFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Schemas } from './kit';

const dist = join(import.meta.dirname, '../dist');
const types: Record<string, string> = {
  html: 'text/html',
  js: 'text/javascript',
  css: 'text/css',
  svg: 'image/svg+xml',
  woff2: 'font/woff2',
};
const since = '2026-01-02T03:04:05Z';

/**
 * A fabric of planes, each of pods with as many T0 as T1 and a link from each to each. Where there are several
 * pods, there are as many T2 as T1: each T1 has links to those at its place, one for each pod.
 */
export class MadeUp {
  url = '';
  private readonly streams = new Set<ServerResponse>();
  private readonly down = new Map<string, string>();
  /** Switches to which the controller has no connection. */
  readonly dead = new Set<string>();
  /** Answers in place of the usual ones, and besides them, by path. */
  besides: Record<string, unknown> = {};
  private seq = 0;
  /** How often all links were asked for. */
  asked = 0;
  private readonly server = createServer((request, response) => {
    const url = new URL(request.url!, 'http://localhost');
    const json = (body: unknown) =>
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
    const path = decodeURIComponent(url.pathname);
    if (path === '/v1/events') {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write(': weft\n\n');
      this.streams.add(response);
      response.on('close', () => this.streams.delete(response));
      return;
    }
    if (path === '/v1/telemetry/ports') {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      const tick = () => response.write(`event: ports\ndata: ${JSON.stringify(this.ports())}\n\n`);
      tick();
      const timer = setInterval(tick, 1000);
      response.on('close', () => clearInterval(timer));
      return;
    }
    if (path.startsWith('/v1/links/')) return json(this.link(path.slice('/v1/links/'.length)));
    const of = /^\/v1\/telemetry\/matrices\/(\d+)$/.exec(path);
    const answer = this.besides[path] ?? (of ? this.matrix(Number(of[1])) : this.answers[path]?.(url.searchParams));
    if (answer !== undefined) return json(answer);
    if (path.startsWith('/v1/') || path === '/readyz') return json({ items: [] });
    const file = path === '/' ? 'index.html' : path.slice(1);
    try {
      const content = readFileSync(join(dist, `${file}.gz`));
      response
        .writeHead(200, { 'Content-Type': types[file.split('.').at(-1)!] ?? '', 'Content-Encoding': 'gzip' })
        .end(content);
    } catch {
      response.writeHead(404).end();
    }
  });

  constructor(
    readonly planes: number,
    readonly width: number,
    readonly pods = 1,
    /** T0 of a pod, where there are not as many as T1. */
    readonly tall = width,
  ) {
    const t0 = pods * tall,
      t1 = pods * width;
    this.perTier = pods > 1 ? [t0, t1, t1] : [t0, t1];
    this.perPlane = this.perTier.reduce((a, b) => a + b);
    // Links up, as pairs of indexes: from which tier, and of which switches.
    for (let i = 0; i < t0; i++)
      for (let j = 0; j < width; j++) this.rises.push([0, i, Math.floor(i / tall) * width + j]);
    if (pods > 1)
      for (let i = 0; i < t1; i++) for (let j = 0; j < pods; j++) this.rises.push([1, i, (i % width) * pods + j]);
  }
  private readonly perTier: number[];
  private readonly perPlane: number;
  private readonly rises: [tier: number, low: number, high: number][] = [];
  /** What all links between T0 and T1 carry up, in thousandths. */
  load = 0;
  /** Ports SWITCH/PORT with the share of their speed of 100 Gb/s that they send. */
  busy: Record<string, number> = {};
  /** The same of what they receive. */
  hears: Record<string, number> = {};
  /** What histories have: bit/s of each metric, the same at all times from a time to one in Unix seconds. */
  history: { from: number; to: number; metrics: Record<string, number> } = {
    from: 0,
    to: 0,
    metrics: {},
  };

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
    return this;
  }

  stop(): Promise<void> {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(() => resolve()));
  }

  /** The id of a switch by its tier and place. */
  private node(plane: number, tier: number, i: number): string {
    return `64512:10.${plane}.${tier * 16 + (i >> 8)}.${i & 255}`;
  }
  private name(plane: number, tier: number, i: number): string {
    return `P${plane}-T${tier}-${i + 1}`;
  }
  /** The id of the direction up of a link. Ports are numbered by the place at the other end, those up from 1001. */
  linkId(plane: number, low: number, high: number, tier = 0): string {
    return `${this.node(plane, tier, low)},${1001 + high}~${this.node(plane, tier + 1, high)},${low + 1}`;
  }

  /** Takes the direction up of a link down, and says so. */
  fail(plane: number, low: number, high: number, tier = 0): void {
    const id = this.linkId(plane, low, high, tier);
    this.down.set(id, new Date().toISOString());
    this.say({ type: 'link.changed', object: id, message: 'down: made up' });
  }

  private failure(id: string): string {
    return `Link ${this.link(id).status.fromName} – ${this.link(id).status.toName} has failed`;
  }

  say(event: { type: string; object: string; message: string }): void {
    const objects = [{ kind: event.type.split('.')[0]!, id: event.object }];
    const told = { severity: 'fault', sentence: `${event.object}: ${event.message}.`, objects };
    const data = { seq: ++this.seq, time: new Date().toISOString(), ...event, ...told };
    for (const s of this.streams) s.write(`id: ${data.seq}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  private ports(): Schemas['PortColumns'] {
    const names = [...new Set([...Object.keys(this.busy), ...Object.keys(this.hears)])];
    const switches = names.map((n) => ({
      name: n.split('/')[0]!,
      ports: [Number(n.split('/')[1])],
      in: [(this.hears[n] ?? 0) * 100e9],
      out: [(this.busy[n] ?? 0) * 100e9],
      speed: [100e9],
    }));
    return { time: since, over: 3, switches };
  }

  private link(id: string): Schemas['FabricLink'] {
    for (let plane = 1; plane <= this.planes; plane++) {
      if (!id.startsWith(`64512:10.${plane}.`)) continue;
      for (const [tier, low, high] of this.rises) {
        if (this.linkId(plane, low, high, tier) !== id) continue;
        const down = this.down.has(id);
        return {
          id,
          version: 0,
          spec: { admin: 'up' },
          status: {
            from: this.node(plane, tier, low),
            fromName: this.name(plane, tier, low),
            to: this.node(plane, tier + 1, high),
            toName: this.name(plane, tier + 1, high),
            plane,
            phase: down ? 'down' : 'up',
            since,
            denied: down,
            drained: false,
            ...(down ? { cause: 'made up' } : {}),
          },
        };
      }
    }
    throw new Error(`no link ${id}`);
  }

  private columns(): Schemas['LinkColumns'] {
    this.asked++;
    const { planes } = this;
    const ends: Schemas['LinkEnd'][] = [];
    const c = {
      from: [] as number[],
      to: [] as number[],
      fromId: [] as number[],
      toId: [] as number[],
      plane: [] as number[],
      phase: [] as number[],
    };
    for (let plane = 1; plane <= planes; plane++) {
      const start = ends.length,
        first = this.perTier.map((_, t) => this.perTier.slice(0, t).reduce((x, y) => x + y, start));
      this.perTier.forEach((n, tier) => {
        for (let i = 0; i < n; i++) ends.push({ id: this.node(plane, tier, i), name: this.name(plane, tier, i) });
      });
      for (const back of [false, true])
        for (const [tier, low, high] of this.rises) {
          const a = first[tier]! + low,
            b = first[tier + 1]! + high;
          c.from.push(back ? b : a);
          c.to.push(back ? a : b);
          c.fromId.push(back ? low + 1 : 1001 + high);
          c.toId.push(back ? 1001 + high : low + 1);
          c.plane.push(plane - 1);
          c.phase.push(!back && this.down.size > 0 && this.down.has(this.linkId(plane, low, high, tier)) ? 1 : 0);
        }
    }
    const one = <T>(value: T) => ({ values: [value] });
    return {
      count: c.from.length,
      from: { values: ends, index: c.from },
      to: { values: ends, index: c.to },
      fromId: c.fromId,
      toId: c.toId,
      admin: one({ version: 0, spec: { admin: 'up' as const } }),
      plane: { values: Array.from({ length: planes }, (_, i) => i + 1), index: c.plane },
      phase: { values: ['up', 'down'], index: c.phase },
      fromPort: one('up'),
      toPort: one('up'),
      cause: one(''),
      since: one(since),
      until: one(''),
      sources: one(['bgp-ls']),
      denied: { values: [false, true], index: c.phase },
      drained: one(false),
      drains: one([]),
    };
  }

  /** A page of a list of so many. */
  private page<T>(query: URLSearchParams, all: number, item: (i: number) => T): { items: T[]; continue?: string } {
    const first = Number(query.get('continue') ?? 0),
      end = Math.min(all, first + Number(query.get('limit') ?? 100));
    return {
      items: Array.from({ length: end - first }, (_, i) => item(first + i)),
      ...(end < all ? { continue: String(end) } : {}),
    };
  }

  private of(i: number): [plane: number, tier: number, i: number] {
    let at = i % this.perPlane,
      tier = 0;
    while (at >= this.perTier[tier]!) at -= this.perTier[tier++]!;
    return [Math.floor(i / this.perPlane) + 1, tier, at];
  }

  /** How much the links of a plane between T0 and T1 carry: as much as load has. */
  private matrix(plane: number): Schemas['Matrix'] {
    const names = (tier: number) => Array.from({ length: this.perTier[tier]! }, (_, i) => this.name(plane, tier, i));
    const values = (load: number) =>
      names(0).map((_, i) =>
        names(1).map((_, j) => (Math.floor(i / this.tall) === Math.floor(j / this.width) ? load : -1)),
      );
    return { plane, over: 5, time: since, rows: names(0), columns: names(1), up: values(this.load), down: values(0) };
  }

  private readonly answers: Record<string, (query: URLSearchParams) => unknown> = {
    '/v1/session': () =>
      ({
        name: 'anybody',
        way: 'none',
        role: 'admin',
        scopes: ['self', 'read', 'tenant:read', 'tenant:write', 'operate', 'configure', 'administer'],
        ways: ['none'],
      }) satisfies Schemas['Session'],
    '/readyz': () => ({ ready: true, checks: [{ name: 'bgp-ls', ok: true }] }) satisfies Schemas['ReadinessView'],
    '/v1/causes': () => ({
      items: [...this.down.keys()].map((id) => ({
        id: `link/${id}`,
        kind: 'link' as const,
        object: `links/${id}`,
        severity: 'fault' as const,
        what: this.failure(id),
        means: 'Made up.',
        todo: 'Nothing.',
        since,
        total: 0,
        follows: [],
        counts: [],
      })) satisfies Schemas['Cause'][],
    }),
    '/v1/past': (query) => {
      const to = query.get('at') ?? new Date().toISOString(),
        from = query.get('from') ?? to;
      const begun = [...this.down].filter(([, at]) => at <= to),
        failed = ([id]: [string, string]) => [
          { kind: 'link' as const, id, state: 'down' },
          { kind: 'cause' as const, id: `link/${id}`, state: 'fault', what: this.failure(id) },
        ];
      return {
        at: to,
        since: from,
        things: begun.flatMap(failed),
        changes: begun
          .filter(([, at]) => at >= from)
          .flatMap((d) => failed(d).map(({ state, ...t }) => ({ ...t, time: d[1], is: state }))),
      } satisfies Schemas['Past'];
    },
    '/v1/telemetry/history': (query) => {
      const { from, to, metrics } = this.history;
      const times = Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i);
      return {
        kind: (query.get('kind') ?? 'port') as Schemas['History']['kind'],
        name: query.get('name') ?? '',
        step: 1,
        times,
        series: Object.entries(metrics).map(([metric, value]) => ({
          metric,
          unit: 'bit/s' as const,
          values: times.map(() => value),
        })),
      } satisfies Schemas['History'];
    },
    '/v1/telemetry/top': () =>
      ({
        kind: 'port',
        metric: 'utilization',
        unit: '1',
        over: 5,
        time: since,
        items: Object.entries(this.busy).map(([name, out]) => ({ name, value: out, in: 0, out, speed: 100e9 })),
      }) satisfies Schemas['Top'],
    '/healthz': () => ({ status: 'ok', version: 'made up' }),
    '/v1/link-columns': () => this.columns(),
    '/v1/fabric': () =>
      ({
        mode: 'stev',
        inSync: true,
        planes: this.planes,
        tiers: this.perTier.length,
        leaves: this.planes * this.perTier[0]!,
        links: { all: 2 * this.planes * this.rises.length, bad: this.down.size },
        hosts: { all: 0, connected: 0, current: 0 },
        hostPorts: { all: 0, usable: 0, errors: 0 },
        evProfiles: { all: this.width ** 2, bad: 0 },
        queuePairs: { all: 0, failed: 0, controller: 0, local: 0, hinted: 0 },
        probes: { sent: 0, answered: 0 },
        counters: {
          unknownHosts: 0,
          unknownEvs: 0,
          badCounts: 0,
          badEvents: 0,
          lostEvents: 0,
          unknownPaths: 0,
          unknownProbes: 0,
          lostProbes: 0,
          badPorts: 0,
        },
      }) satisfies Schemas['FabricView'],
    '/v1/planes': () => ({
      items: Array.from({ length: this.planes }, (_, i) => ({
        plane: i + 1,
        version: 0,
        spec: { admin: 'up' as const },
        status: { links: 2 * this.rises.length, deniedLinks: 0 },
      })),
    }),
    '/v1/nodes': (query) =>
      this.page(query, this.planes * this.perPlane, (n) => {
        const [plane, tier, i] = this.of(n);
        return {
          id: this.node(plane, tier, i),
          version: 0,
          spec: { admin: 'up' as const },
          status: {
            name: this.name(plane, tier, i),
            tier,
            planes: [plane],
            present: true,
            links: 2 * this.width,
            deniedLinks: 0,
          },
        } satisfies Schemas['FabricNode'];
      }),
    '/v1/switches': (query) =>
      this.page(query, this.planes * this.perPlane, (n) => {
        const [plane, tier, i] = this.of(n);
        const name = this.name(plane, tier, i),
          connected = !this.dead.has(name);
        return {
          name,
          node: this.node(plane, tier, i),
          deviceId: 1,
          managed: true,
          connected,
          since,
          entries: 1000,
          pending: 0,
          synced: connected,
          ports: { up: 2, ...(connected ? {} : { error: 'the connection was lost' }) },
        } satisfies Schemas['SwitchStatus'];
      }),
    '/v1/events/latest': () => ({ items: [] }),
  };
}
