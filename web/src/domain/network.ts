import type { components } from '../api/schema';

type S = components['schemas'];

export function condition(
  all: S['GroupCondition'][] | null | undefined,
  type: S['GroupCondition']['type'],
): S['GroupCondition'] | undefined {
  return all?.find((c) => c.type === type);
}

/** Lists names, at most three of them. */
export function names(all: string[]): string {
  if (all.length <= 3) return all.join(', ');
  return `${all.slice(0, 3).join(', ')} and ${all.length - 3} more`;
}

/** The id of the other direction of a link: that of the topology is LOCAL,PORT~REMOTE,PORT. */
export function reverse(id: string): string {
  const [from, to] = id.split('~');
  return to === undefined ? id : `${to}~${from}`;
}

export function linkName(l: S['FabricLink']): string {
  return `${l.status.fromName ?? l.status.from} → ${l.status.toName ?? l.status.to}`;
}

/** Takes from an error of a connection what is for programs: the steps by which it was made, and codes of gRPC. */
export function plain(error: string): string {
  const inner = /desc = "?((?:[^"\\]|\\.)*)"?$/.exec(error)?.[1] ?? error;
  const last = inner
    .replaceAll('\\"', '"')
    .replace(/^(transport|connection error|opening the stream|southbound|rpc error)[:,]? */g, '')
    .replace(/^Error while dialing[:,]? */i, '');
  if (/connection refused/.test(last)) {
    const at = /dial tcp (\S+):/.exec(last)?.[1];
    return `Nothing listens at ${at ?? 'its address'}: the connection was refused.`;
  }
  if (/i\/o timeout|deadline exceeded/i.test(last)) return 'It did not answer in time.';
  if (/connection reset|broken pipe/.test(last)) return 'It ended the connection.';
  if (/\bEOF\b/.test(last)) return 'The connection ended.';
  if (/no route to host|network is unreachable/.test(last)) return 'There is no route to its address.';
  const text = last.trim();
  return text === '' ? '' : `${text[0]!.toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;
}
