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
};
const since = '2026-01-02T03:04:05Z';

/** A fabric of planes, each of as many leaves as spines, and a link from each leaf to each spine. */
export class MadeUp {
  url = '';
  private readonly streams = new Set<ServerResponse>();
  private readonly down = new Set<string>();
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
    if (path.startsWith('/v1/links/')) return json(this.link(path.slice('/v1/links/'.length)));
    const answer = this.answers[path]?.(url.searchParams);
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
  ) {}

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
    return this;
  }

  stop(): Promise<void> {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(() => resolve()));
  }

  /** The id of a leaf (tier 0) or spine (tier 1). */
  private node(plane: number, tier: number, i: number): string {
    return `64512:10.${plane}.${tier * 2 + (i >> 8)}.${i & 255}`;
  }
  private name(plane: number, tier: number, i: number): string {
    return `P${plane}-T${tier}-${i + 1}`;
  }
  linkId(plane: number, leaf: number, spine: number): string {
    return `${this.node(plane, 0, leaf)},${spine + 1}~${this.node(plane, 1, spine)},${leaf + 1}`;
  }

  /** Takes a link from a leaf to a spine down, and says so. */
  fail(plane: number, leaf: number, spine: number): void {
    const id = this.linkId(plane, leaf, spine);
    this.down.add(id);
    this.say({ type: 'link.changed', object: id, message: 'down: made up' });
  }

  say(event: { type: string; object: string; message: string }): void {
    const data = { seq: ++this.seq, time: new Date().toISOString(), ...event };
    for (const s of this.streams) s.write(`id: ${data.seq}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  private link(id: string): Schemas['FabricLink'] {
    for (let plane = 1; plane <= this.planes; plane++) {
      for (let leaf = 0; leaf < this.width; leaf++) {
        if (!id.startsWith(`${this.node(plane, 0, leaf)},`)) continue;
        for (let spine = 0; spine < this.width; spine++) {
          if (this.linkId(plane, leaf, spine) !== id) continue;
          const down = this.down.has(id);
          return {
            id,
            version: 0,
            spec: { admin: 'up' },
            status: {
              from: this.node(plane, 0, leaf),
              fromName: this.name(plane, 0, leaf),
              to: this.node(plane, 1, spine),
              toName: this.name(plane, 1, spine),
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
    }
    throw new Error(`no link ${id}`);
  }

  private columns(): Schemas['LinkColumns'] {
    this.asked++;
    const { planes, width } = this;
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
      for (let tier = 0; tier < 2; tier++)
        for (let i = 0; i < width; i++) ends.push({ id: this.node(plane, tier, i), name: this.name(plane, tier, i) });
      const at = (tier: number, i: number) => ((plane - 1) * 2 + tier) * width + i;
      for (let tier = 0; tier < 2; tier++) {
        for (let i = 0; i < width; i++) {
          for (let j = 0; j < width; j++) {
            c.from.push(at(tier, i));
            c.to.push(at(1 - tier, j));
            c.fromId.push(j + 1);
            c.toId.push(i + 1);
            c.plane.push(plane - 1);
            c.phase.push(tier === 0 && this.down.has(this.linkId(plane, i, j)) ? 1 : 0);
          }
        }
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
    return [Math.floor(i / (2 * this.width)) + 1, Math.floor(i / this.width) % 2, i % this.width];
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
      items: [...this.down].map((id) => ({
        id: `link/${id}`,
        kind: 'link' as const,
        object: `links/${id}`,
        severity: 'fault' as const,
        what: `Link ${this.link(id).status.fromName} – ${this.link(id).status.toName} has failed`,
        means: 'Made up.',
        todo: 'Nothing.',
        since,
        total: 0,
        follows: [],
        counts: [],
      })) satisfies Schemas['Cause'][],
    }),
    '/v1/telemetry/history': (query) =>
      ({
        kind: (query.get('kind') ?? 'port') as Schemas['History']['kind'],
        name: query.get('name') ?? '',
        step: 1,
        times: [],
        series: [],
      }) satisfies Schemas['History'],
    '/healthz': () => ({ status: 'ok', version: 'made up' }),
    '/v1/link-columns': () => this.columns(),
    '/v1/fabric': () =>
      ({
        mode: 'stev',
        inSync: true,
        planes: this.planes,
        tiers: 2,
        leaves: this.planes * this.width,
        links: { all: 2 * this.planes * this.width ** 2, bad: this.down.size },
        hosts: { all: 0, connected: 0, current: 0 },
        hostPorts: { all: 0, usable: 0 },
        evProfiles: { all: this.width ** 2, bad: 0 },
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
        status: { links: 2 * this.width ** 2, deniedLinks: 0 },
      })),
    }),
    '/v1/nodes': (query) =>
      this.page(query, 2 * this.planes * this.width, (n) => {
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
      this.page(query, 2 * this.planes * this.width, (n) => {
        const [plane, tier, i] = this.of(n);
        return {
          name: this.name(plane, tier, i),
          node: this.node(plane, tier, i),
          deviceId: 1,
          managed: true,
          connected: true,
          since,
          entries: 1000,
          pending: 0,
          synced: true,
        } satisfies Schemas['SwitchStatus'];
      }),
    '/v1/events/latest': () => ({ items: [] }),
  };
}
