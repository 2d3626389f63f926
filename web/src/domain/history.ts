import { formatBitRate, formatCount, formatNanoseconds, formatOctets, formatShare } from './format';

/** The kinds of objects that the controller keeps a history of. */
export type HistoryKind = 'port' | 'queue' | 'group' | 'ev-profile' | 'tunnel' | 'fabric';

/** Metrics that are shown together, by what people look for. */
export const views: Record<HistoryKind, Record<string, (metric: string) => boolean>> = {
  port: {
    traffic: (m) => m === 'inBits' || m === 'outBits',
    packets: (m) => m === 'inPackets' || m === 'outPackets',
    losses: (m) => /(Errors|Discards)$/.test(m),
    'PFC frames': (m) => m.startsWith('pfc'),
  },
  queue: {
    traffic: (m) => m === 'bits' || m === 'droppedBits',
    packets: (m) => /Packets$|^packets$/.test(m),
    length: (m) => m === 'longest',
  },
  group: {
    goodput: (m) => m === 'ackedPackets',
    CNPs: (m) => m === 'cnps',
    'stalled receivers': (m) => m === 'stalledReceivers',
  },
  'ev-profile': {
    packets: (m) => m === 'sentPackets' || m === 'lostPackets',
    EVs: (m) => m.endsWith('Evs'),
  },
  tunnel: {
    'round trip': (m) => m === 'rtt',
    probes: (m) => m === 'probes' || m === 'lostProbes',
    failure: (m) => m === 'down',
  },
  fabric: {
    goodput: (m) => m === 'offeredBits' || m === 'deliveredBits',
    losses: (m) => m === 'lostPackets',
  },
};

const texts: Record<string, string> = {
  inBits: 'received',
  outBits: 'sent',
  inPackets: 'received',
  outPackets: 'sent',
  inErrors: 'received with errors',
  outErrors: 'not sent for errors',
  inDiscards: 'received and discarded',
  outDiscards: 'discarded, not sent',
  bits: 'sent',
  packets: 'sent',
  droppedBits: 'dropped',
  droppedPackets: 'dropped',
  markedPackets: 'marked (ECN)',
  trimmedPackets: 'trimmed',
  longest: 'longest queue',
  ackedPackets: 'acknowledged by all',
  cnps: 'CNPs to the source',
  stalledReceivers: 'stalled receivers',
  sentPackets: 'sent',
  lostPackets: 'lost',
  activeEvs: 'active EVs',
  deniedEvs: 'denied EVs',
  assumedBadEvs: 'EVs assumed bad',
  rtt: 'round trip',
  lostProbes: 'lost probes',
  offeredBits: 'from hosts',
  deliveredBits: 'delivered to hosts',
  down: 'down',
};

/** A metric as people say it. */
export const metricText = (metric: string) =>
  texts[metric] ??
  metric.replace(/^pfc(In|Out)(\d)$/, (_, way, n) => `${way === 'In' ? 'received' : 'sent'}, priority ${n}`);

/** A value with its unit, as of the API. */
export function formatValue(value: number, unit: string): string {
  switch (unit) {
    case 'bit/s':
      return formatBitRate(value);
    case 'octets':
      return formatOctets(value);
    case 's':
      return formatNanoseconds(1e9 * value);
    case 'share':
      return formatShare(value);
    case '1':
      return Number.isInteger(value) ? formatCount(value) : value.toPrecision(2);
    default:
      return `${value >= 100 || Number.isInteger(value) ? Math.round(value).toLocaleString('en') : value.toPrecision(2)} ${unit}`;
  }
}

/** The least, mean and greatest of the values that are there; undefined when there are none. */
export function summary(
  values: readonly (number | null)[] | null,
): { mean: number; most: number; last?: number } | undefined {
  let n = 0,
    sum = 0,
    most = 0;
  for (const v of values ?? []) {
    if (v === null) continue;
    n++;
    sum += v;
    most = Math.max(most, v);
  }
  return n === 0 ? undefined : { mean: sum / n, most, last: values!.at(-1) ?? undefined };
}

/** A round number at or above a value, for the top of an axis. */
export function ceiling(value: number): number {
  if (value <= 0) return 1;
  const unit = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((k) => k * unit).find((x) => x >= value)!;
}

/** The steps of an axis of octets, whose units are binary. */
export const binary = Array.from({ length: 50 }, (_, i) => 2 ** i);

/** The top of an axis: there is room above the greatest value, unless that is all there can be. */
export function axisTop(most: number, unit?: string): number {
  if (unit === 'share' && most <= 1) return 1;
  return (unit === 'octets' && binary.find((n) => n >= 1.05 * most)) || ceiling(1.05 * most);
}

/** The places of points that have a gap before and after them: no line shows these. */
export function isolated(values: readonly (number | null | undefined)[]): number[] {
  const is = (i: number) => values[i] !== null && values[i] !== undefined;
  return values.flatMap((_, i) => (is(i) && !is(i - 1) && !is(i + 1) ? [i] : []));
}

/** The place of the time that is nearest to a moment; undefined where none is within a step. */
export function nearest(times: readonly number[], at: number, step: number): number | undefined {
  let low = 0,
    high = times.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle]! < at) low = middle + 1;
    else high = middle;
  }
  const best = low > 0 && at - times[low - 1]! < Math.abs(times[low]! - at) ? low - 1 : low;
  return times.length > 0 && Math.abs(times[best]! - at) <= step ? best : undefined;
}
