import type { Schemas } from '../api/client';
import { parseAddress } from './ev';

/** What this page reads of a trace.Record, as dataplane/trace has it. */
interface Step {
  stage?: { name: string };
  state?: { name: string };
  extract?: { header: string; offset: number; octets: number };
  select?: { state: string };
  table?: { name: string; hit: boolean; key?: { name: string; value: string; entry?: { value: string } }[] };
  action?: { name: string; args?: Field[]; made?: boolean };
  counter?: { name: string; index?: number; packets: number };
  replicate?: { group?: number; session?: number; copies: number };
  deparse?: { headers: { name: string; octets: number }[]; length: number };
  steps?: Step[];
}
interface Field {
  name: string;
  value: string;
}
export interface Record {
  id: number;
  origin: string;
  frame?: string;
  steps?: Step[];
  outcome?: { result: string; port?: number; frame?: string; reason?: string };
  copies?: Record[];
}
export type Hop = Omit<Schemas['JourneyHop'], 'record' | 'sent'> & {
  record: Record;
  sent: Omit<Schemas['JourneySent'], 'length'>[];
};

export const lanes = ['Parser', 'Ingress', 'Copies', 'Egress', 'Deparser'] as const;

/** Something that a packet meets in a switch. */
export interface Stop {
  lane: (typeof lanes)[number];
  title: string;
  /** Of a table. */
  hit?: boolean;
  facts: [name: string, value: string][];
  /** The table, by its last name, with the key of the entry that was hit. */
  table?: string;
  key?: Field[];
}

/** The packets from the received one to the copy that left by a port; none when none did. */
export function line(r: Record, port: number): Record[] {
  if (r.outcome?.result === 'transmitted' && r.outcome.port === port) return [r];
  for (const c of r.copies ?? []) {
    const rest = line(c, port);
    if (rest.length > 0) return [r, ...rest];
  }
  return [];
}

/** Returns the hops from the source to a host, each with the port by which the packet left. */
export function way(hops: readonly Hop[], host: string): { hop: Hop; port: number }[] {
  let at = hops.findIndex((h) => h.sent.some((s) => s.host === host)),
    port = hops[at]?.sent.find((s) => s.host === host)?.port ?? 0;
  const out: { hop: Hop; port: number }[] = [];
  while (at >= 0) {
    const hop = hops[at]!;
    out.unshift({ hop, port });
    at = hop.before;
    port = hops[at]?.sent.find((s) => s.switch === hop.switch)?.port ?? 0;
  }
  return out;
}

const short = (name: string) => name.slice(name.lastIndexOf('.') + 1);

/** Returns what a packet meets on its way through a switch. */
export function stops(records: readonly Record[]): Stop[] {
  const out: Stop[] = [];
  let lane: Stop['lane'] = 'Parser';
  const visit = (s: Step) => {
    if (s.stage) lane = lanes.find((l) => l.toLowerCase() === s.stage!.name) ?? lane;
    const last = out.at(-1);
    if (s.extract) out.push({ lane, title: s.extract.header, facts: [['octets', String(s.extract.octets)]] });
    else if (s.table)
      out.push({
        lane,
        title: short(s.table.name),
        hit: s.table.hit,
        facts: (s.table.key ?? []).map((k) => [k.name, k.value]),
        table: short(s.table.name),
        key: s.table.hit ? s.table.key?.map((k) => ({ name: k.name, value: k.entry?.value ?? k.value })) : undefined,
      });
    else if (s.action && !s.action.made && last?.table)
      last.facts.push(
        ['action', short(s.action.name)],
        ...(s.action.args ?? []).map((a): [string, string] => [`with ${a.name}`, a.value]),
      );
    else if (s.counter)
      last?.facts.push([`counter ${short(s.counter.name)}`, `${s.counter.packets} packets at ${s.counter.index ?? 0}`]);
    else if (s.replicate)
      out.push({
        lane: 'Copies',
        title: `${s.replicate.copies} ${s.replicate.copies === 1 ? 'copy' : 'copies'}`,
        facts: [['multicast group', String(s.replicate.group ?? s.replicate.session ?? '')]],
      });
    else if (s.deparse)
      out.push({
        lane: 'Deparser',
        title: `${s.deparse.length} octets`,
        facts: s.deparse.headers.map((h) => [h.name, `${h.octets} octets`]),
      });
    s.steps?.forEach(visit);
  };
  records.forEach((r) => r.steps?.forEach(visit));
  return out;
}

/** Something that a packet meets on its way, with the place on the way and what a link calls it. */
interface At {
  hop: number;
  stop: Stop;
  /** Switch, stage and, where it has one, the name: another packet may meet the same at another number. */
  id: string;
}

/** Returns what a packet meets on its whole way. */
export function steps(along: readonly { hop: Hop; records: readonly Record[] }[]): At[] {
  const met = new Map<string, number>();
  return along.flatMap(({ hop: { switch: sw }, records }, hop) =>
    stops(records).map((stop): At => {
      const name = stop.lane === 'Copies' || stop.lane === 'Deparser' ? '' : stop.title,
        id = `${sw} ${stop.lane.toLowerCase()} ${name}`.trimEnd(),
        n = (met.get(id) ?? 0) + 1;
      met.set(id, n);
      return { hop, stop, id: n > 1 ? `${id} ${n}` : id };
    }),
  );
}

/** Finds what a link calls so; where a packet does not meet it, the first of its stage, its switch, or all. */
export function stepOf(all: readonly At[], id: string): number {
  const words = id.split(' ');
  for (; words.length > 0; words.pop()) {
    const at = all.findIndex((s) => `${s.id} `.startsWith(`${words.join(' ')} `));
    if (at >= 0) return at;
  }
  return 0;
}

/** A header on its way in and out of a switch. */
export interface Header {
  name: string;
  /** Its octets as pairs of digits: those that leave, or of one that is taken off those that came. */
  octets: string[];
  /** What became of it. */
  is: 'same' | 'changed' | 'added' | 'removed';
  /** Which octets are not as they came. */
  lit: boolean[];
  /** Names of what has changed in it. */
  what: string[];
}

/** Fields of headers that people know: from which octet to which. */
type Known = [name: string, from: number, to: number][];
const ipv6: Known = [
  ['hop limit', 7, 8],
  ['source address', 8, 24],
  ['destination address', 24, 40],
];
const fields: { [header: string]: Known } = {
  ethernet: [
    ['destination MAC', 0, 6],
    ['source MAC', 6, 12],
  ],
  ipv6,
  outer_ipv6: ipv6,
  bth: [
    ['DestQPN', 5, 8],
    ['PSN', 9, 12],
  ],
  icrc: [['ICRC', 0, 4]],
};

const pairs = (hex: string) => hex.match(/../g) ?? [];

/** Reports whether an address has lost its first uSID: what follows has moved to the front, behind the block of it. */
const shifted = (before: string, after: string) =>
  [4, 8].some((block) => before.slice(block + 4, 32) === after.slice(block, 28) && /[1-9a-f]/.test(after.slice(block)));

/** Compares the headers with which a packet left a switch with those with which it came. */
export function stack(records: readonly Record[]): Header[] {
  const first = records[0],
    last = records.at(-1);
  const came = new Map<string, string[]>();
  const gather = (s: Step) => {
    if (s.extract)
      came.set(
        s.extract.header,
        pairs(first!.frame!.slice(2 * s.extract.offset, 2 * (s.extract.offset + s.extract.octets))),
      );
    s.steps?.forEach(gather);
  };
  first?.steps?.forEach(gather);
  const emitted =
    last?.steps?.flatMap((s) => [s, ...(s.steps ?? [])]).findLast((s) => s.deparse)?.deparse?.headers ?? [];
  let at = 0;
  const left = emitted.map((h): Header => {
    const octets = pairs(last!.outcome!.frame!.slice(2 * at, 2 * (at += h.octets))),
      before = came.get(h.name);
    came.delete(h.name);
    const lit = octets.map((o, i) => o !== before?.[i]);
    const what = (before ? (fields[h.name] ?? []) : [])
      .filter(([, from, to]) => lit.slice(from, to).some(Boolean))
      .map(([name, from, to]) =>
        name === 'destination address' && shifted(before!.slice(from, to).join(''), octets.slice(from, to).join(''))
          ? 'destination address: uSID shifted'
          : name,
      );
    return { name: h.name, octets, lit, what, is: !before ? 'added' : lit.some(Boolean) ? 'changed' : 'same' };
  });
  const gone = [...came].map(([name, octets]): Header => ({
    name,
    octets,
    lit: octets.map(() => false),
    what: [],
    is: 'removed',
  }));
  return [...left, ...gone];
}

/** A value of the API (a number, an address, a prefix) or of a trace (0x…) as a number. */
export function numberOf(value: unknown): bigint | undefined {
  if (typeof value !== 'string') return value === undefined ? undefined : BigInt(value as number);
  const text = value.split(/[/&.]{1,3}(?=[^.]*$)/)[0]!;
  try {
    if (/^([0-9a-f]{2}:){5}[0-9a-f]{2}$/i.test(text)) return BigInt(`0x${text.replaceAll(':', '')}`);
    return text.includes(':') ? parseAddress(text) : BigInt(text);
  } catch {
    return undefined;
  }
}
