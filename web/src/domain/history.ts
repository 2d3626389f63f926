import { formatBitRate, formatOctets, formatShare } from './format';

/** What a history has of one metric. */
export interface Series {
  metric: string;
  unit: string;
  values: (number | null)[] | null;
}

/** Metrics that are shown together, by what people look for. */
export const views: Record<'port' | 'queue', Record<string, (metric: string) => boolean>> = {
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
};

/** A value with its unit, as of the API. */
export function formatValue(value: number, unit: string): string {
  switch (unit) {
    case 'bit/s':
      return formatBitRate(value);
    case 'octets':
      return formatOctets(value);
    case '1':
      return formatShare(value);
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

/** Runs of points without a gap: pairs of the first place and the one after the last. */
export function runs(values: readonly (number | null)[] | null): [number, number][] {
  const found: [number, number][] = [];
  (values ?? []).forEach((v, i) => {
    if (v === null) return;
    const last = found.at(-1);
    if (last && last[1] === i) last[1] = i + 1;
    else found.push([i, i + 1]);
  });
  return found;
}
