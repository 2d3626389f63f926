/** Units of durations, as Go writes them, in nanoseconds. */
const units: Record<string, number> = { ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9, m: 60e9, h: 3600e9 };

/** Reads a duration as Go writes it, such as 1m2.5s, and returns nanoseconds; undefined for what is none. */
export function parseDuration(text: string): number | undefined {
  const [, sign, parts] = /^([+-]?)((?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+|0)$/.exec(text) ?? [];
  if (parts === undefined) return undefined;
  let total = 0;
  for (const [, n, unit] of parts.matchAll(/([\d.]+)(\D+)/g)) total += Number(n) * units[unit!]!;
  return sign === '-' ? -total : total;
}

/** Writes nanoseconds with three digits and a unit. */
export function formatNanoseconds(ns: number): string {
  if (ns === 0) return '0 s';
  // A minute and an hour are shown from two of them on.
  const least: Record<string, number> = { h: 2 * units.h!, m: 2 * units.m!, s: 1e9, ms: 1e6, µs: 1e3 };
  const unit = Object.keys(least).find((u) => Math.abs(ns) >= least[u]!) ?? 'ns';
  return `${digits(ns / units[unit]!)} ${unit === 'm' ? 'min' : unit}`;
}

/** Writes a duration of the API for people; text that is no duration stays as it is. */
export function formatDuration(text: string | undefined): string {
  if (!text) return '';
  const ns = parseDuration(text);
  return ns === undefined ? text : formatNanoseconds(ns);
}

/** Writes how long ago a time was, in whole units: 5 s, 12 min, 3 h, 4 d. */
export function formatAge(time: string | undefined, now: number): string {
  if (!time) return '';
  const at = Date.parse(time);
  if (Number.isNaN(at)) return '';
  const seconds = Math.max(0, Math.round((now - at) / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} d`;
}

/** Writes how long it is until a time: in 5 s. */
export const formatUntil = (time: string, now: number) =>
  `in ${formatAge(new Date(now).toISOString(), Date.parse(time))}`;

/** Writes the local time of day of Unix seconds: 10:02:11. */
export function formatClock(at: number): string {
  const t = new Date(1000 * at);
  return [t.getHours(), t.getMinutes(), t.getSeconds()].map((n) => String(n).padStart(2, '0')).join(':');
}

const days = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];

/** Writes the local time to the second, with the date unless it is today. */
export function formatTime(time: string, now: number): string {
  const t = new Date(time);
  if (Number.isNaN(t.getTime())) return time;
  const clock = formatClock(t.getTime() / 1000);
  if (t.toDateString() === new Date(now).toDateString()) return clock;
  const two = (n: number) => String(n).padStart(2, '0');
  return `${days[t.getDay()]} ${t.getFullYear()}-${two(t.getMonth() + 1)}-${two(t.getDate())} ${clock}`;
}

/** Writes a time as fields of forms take it: local, to the second. Text that is no time is empty. */
export function localTime(time: unknown): string {
  const t = new Date(String(time));
  if (time === undefined || Number.isNaN(t.getTime())) return '';
  return new Date(t.getTime() - t.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/** Writes a number with groups of three digits. */
export function formatCount(n: number): string {
  return n.toLocaleString('en-US');
}

/** A text as a sentence or a title begins with it. */
export const capital = (text: string) => text.slice(0, 1).toUpperCase() + text.slice(1);

/** A noun as it stands for so many. */
export const nounOf = (n: number, noun: string) =>
  n === 1 ? noun : noun.endsWith('y') ? `${noun.slice(0, -1)}ies` : noun.endsWith('ch') ? `${noun}es` : `${noun}s`;

/** Writes how many there are of something: 1 switch, 2 switches. */
export const countOf = (n: number, noun: string) => `${n} ${nounOf(n, noun)}`;

/** Writes octets with a binary unit. */
export function formatOctets(n: number): string {
  return scaled(n, 1024, ['octets', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']);
}

/** Writes bits a second with a decimal unit. */
export function formatBitRate(n: number): string {
  return scaled(n, 1000, ['b/s', 'kb/s', 'Mb/s', 'Gb/s', 'Tb/s']);
}

/** Writes a share between 0 and 1 in percent. */
export function formatShare(share: number): string {
  return `${digits(share * 100)} %`;
}

function scaled(n: number, base: number, names: string[]): string {
  let value = n,
    i = 0;
  while (Math.abs(value) >= base && i < names.length - 1) {
    value /= base;
    i++;
  }
  return `${digits(value)} ${names[i]}`;
}

/** Three significant digits without an exponent; integers up to six digits stay whole. */
function digits(n: number): string {
  if (Number.isInteger(n) && Math.abs(n) < 1e6) return String(n);
  const size = Math.abs(n);
  if (size < 0.01) return n.toPrecision(2);
  return n.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
}
