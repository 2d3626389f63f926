import type { Schemas } from '../api/client';
import { formatShare } from './format';
import { formatValue } from './history';

type Top = Schemas['Top'];

/** A port of a switch, or of a host, which no switch reports. */
export type Port = readonly [owner: string, port: string];

/** What ports carry. */
interface Loads {
  /** What flows from a port to the one at its other end, as either of them counts it; undefined: nothing, or little. */
  flow: (from: Port, to: Port) => { share: number; text: string } | undefined;
  /** What a share of 1 is. */
  full: string;
}

/** Bits per second that are drawn as nothing and as all where speeds are not known, as powers of ten. */
const least = 3,
  most = 11;

/** Reads what the busiest ports send and receive. What is not among them carries nothing, or little. */
export function loadsOf(top: Top | undefined): Loads {
  const shares = top?.metric === 'utilization';
  const ports = new Map((top?.items ?? []).map((i) => [i.name, i]));
  const read = (value: number | undefined, speed = 0) => {
    if (!value) return undefined;
    if (shares && speed)
      return { share: Math.min(1, value), text: `${formatValue(value * speed, 'bit/s')} (${formatShare(value)})` };
    // The steps of a picture are those of the root of a share.
    const decades = Math.max(0, Math.min(1, (Math.log10(value) - least) / (most - least)));
    return { share: decades ** 2, text: formatValue(value, 'bit/s') };
  };
  return {
    flow: (from, to) => {
      const a = ports.get(from.join('/')),
        b = ports.get(to.join('/'));
      return read(a?.out, a?.speed) ?? read(b?.in, b?.speed);
    },
    full: shares ? 'the speed of the port' : `${formatValue(10 ** most, 'bit/s')}, in powers of ten`,
  };
}

/** Columns of what all ports carry as the list that pictures of the past have; rates where a speed is not known. */
export function topOf(c: Schemas['PortColumns'] | undefined): Top | undefined {
  if (!c) return undefined;
  const speeds = c.switches.some((s) => s.speed.some((x) => Number(x) > 0));
  const items = c.switches.flatMap((s) =>
    s.ports.map((port, i) => {
      const speed = Number(s.speed[i]);
      const read = (v: number | undefined) => Math.max(0, v ?? 0) / (speed || 1);
      return { name: `${s.name}/${port}`, value: 0, in: read(s.in[i]), out: read(s.out[i]), speed };
    }),
  );
  return { kind: 'port', metric: speeds ? 'utilization' : 'outBits', unit: '1', over: c.over, time: c.time, items };
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
