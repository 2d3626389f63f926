import type { Schemas } from '../api/client';

/** Reads an IPv6 address (RFC 4291) as a number; undefined for text that is none. */
export function parseAddress(text: string): bigint | undefined {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const groups = (half: string) => (half === '' ? [] : half.split(':'));
  const left = groups(halves[0]!),
    right = groups(halves[1] ?? '');
  const missing = 8 - left.length - right.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined;
  let value = 0n;
  for (const g of [...left, ...Array<string>(halves.length === 2 ? missing : 0).fill('0'), ...right]) {
    if (!/^[0-9a-fA-F]{1,4}$/.test(g)) return undefined;
    value = (value << 16n) | BigInt(parseInt(g, 16));
  }
  return value;
}

/** Writes an IPv6 address as RFC 5952 has it, which is how hosts stand in a URL. */
export function formatAddress(value: bigint): string {
  const digits = value.toString(16).padStart(32, '0');
  return new URL(`http://[${digits.match(/.{4}/g)!.join(':')}]`).hostname.slice(1, -1);
}

/** The bits of a structured EV, field by field; its fields begin at the most significant bit. */
interface EvField {
  bits: string;
  value: number;
}

export function fieldsOf(ev: string, widths: readonly number[]): EvField[] {
  const hex = ev.split('@')[0]!.replace(/^0x/, '');
  const bits = [...hex].map((d) => parseInt(d, 16).toString(2).padStart(4, '0')).join('');
  let at = 0;
  return widths.map((w) => {
    const part = bits.slice(at, (at += w));
    return { bits: part, value: parseInt(part || '0', 2) };
  });
}

/** What a packet of an EV carries when it comes to a switch, by uSIDs (RFC 9800). */
interface Container {
  /** Destination address. */
  address: string;
  /** The active uSID, in hexadecimal. */
  active: string;
  /** Its digits in the address without colons: [from, to). */
  digits: [number, number];
  /** The address was taken from the segment routing header. */
  fromHeader: boolean;
}

/**
 * Returns the destination addresses by which a packet goes its way, one a uSID: each switch shifts
 * its uSID out, and the one that has taken the last goes on with the next segment. The widths are
 * those of the profile's format, that of the locator block first.
 */
export function containers(packet: Schemas['EvPacket'], widths: readonly number[]): Container[] {
  const block = BigInt(widths[0] ?? 32),
    id = BigInt(widths[1] ?? 16);
  const list: Container[] = [];
  for (const [i, text] of [packet.destination, packet.segment].entries()) {
    let value = text === undefined ? undefined : parseAddress(text);
    if (value === undefined) continue;
    const rest = 128n - block,
      prefix = (value >> rest) << rest,
      most = (1n << rest) - 1n;
    for (let ids = value & most; ids !== 0n; ids = (ids << id) & most) {
      value = prefix | ids;
      list.push({
        address: formatAddress(value),
        active: `0x${(ids >> (rest - id)).toString(16).padStart(Number(id) / 4, '0')}`,
        digits: [Number(block) / 4, Number(block + id) / 4],
        fromHeader: i === 1,
      });
    }
  }
  return list;
}

/** Reports whether a prefix such as 2001:db8::/32 contains an address. */
export function contains(prefix: string, address: string): boolean {
  const [base, length] = prefix.split('/');
  const p = parseAddress(base ?? ''),
    a = parseAddress(address),
    n = Number(length ?? 128);
  if (p === undefined || a === undefined || !(n >= 0 && n <= 128)) return false;
  return p >> BigInt(128 - n) === a >> BigInt(128 - n);
}
