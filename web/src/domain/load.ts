import type { components } from '../api/schema';
import { formatShare } from './format';
import { formatValue } from './history';

type Top = components['schemas']['Top'];

/** What ports send, of the greatest of a network. */
export interface Loads {
  /** From 0 to 1: a share of the speed of a port, or of what the busiest sends where speeds are not known. */
  of: (sw: string, port: string) => number | undefined;
  /** The same as text, with its unit. */
  text: (sw: string, port: string) => string;
  /** What 1 is. */
  full: string;
}

/** Reads what ports send from the busiest of them. What is not among them sends nothing, or little. */
export function loadsOf(top: Top | undefined): Loads {
  const shares = top?.metric === 'utilization';
  const sent = new Map(
    (top?.items ?? []).map((i) => [
      i.name,
      { value: shares ? (i.out ?? 0) : i.value, rate: shares ? (i.out ?? 0) * (i.speed ?? 0) : i.value },
    ]),
  );
  const most = shares ? 1 : Math.max(0, ...[...sent.values()].map((s) => s.value));
  return {
    of: (sw, port) => {
      const s = sent.get(`${sw}/${port}`);
      return s && most > 0 ? Math.min(1, s.value / most) : undefined;
    },
    text: (sw, port) => {
      const s = sent.get(`${sw}/${port}`);
      if (!s) return '';
      return formatValue(s.rate, 'bit/s') + (shares ? ` (${formatShare(s.value)})` : '');
    },
    full: shares ? 'the speed of the port' : formatValue(most, 'bit/s'),
  };
}

/** Which of so many steps a load is in, from 0; nothing is in none of them. */
export function step(load: number | undefined, steps: number): number | undefined {
  if (load === undefined || load < 0.001) return undefined;
  // Little is told apart more finely than much.
  return Math.min(steps - 1, Math.floor(Math.sqrt(load) * steps));
}

/** The ports of a link by its id, LOCAL,PORT~REMOTE,PORT. */
export function portsOf(id: string): [string, string] {
  const [a = '', b = ''] = id.split('~');
  return [a.split(',')[1] ?? '', b.split(',')[1] ?? ''];
}
