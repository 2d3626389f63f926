import type { Schemas } from '../api/client';

export function condition(
  all: Schemas['GroupCondition'][] | null | undefined,
  type: Schemas['GroupCondition']['type'],
): Schemas['GroupCondition'] | undefined {
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

export function linkName(l: Schemas['FabricLink']): string {
  return `${l.status.fromName ?? l.status.from} → ${l.status.toName ?? l.status.to}`;
}

/** Writes a phrase of the API as a sentence. */
export function plain(phrase: string): string {
  const text = phrase.trim();
  return text === '' ? '' : `${text[0]!.toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;
}
