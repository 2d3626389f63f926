import type { components } from '../api/schema';

export type Cause = components['schemas']['Cause'];
export type Severity = Cause['severity'];

/** Counts what a cause concerns, such as "2 EV profiles and 1 multicast group". */
export function affected(c: Pick<Cause, 'counts'>): string {
  const parts = (c.counts ?? []).map(({ kind, count }) => `${count} ${count === 1 ? kind : plural(kind)}`);
  return parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;
}

const plural = (kind: string) =>
  kind.endsWith('y') ? `${kind.slice(0, -1)}ies` : kind.endsWith('ch') ? `${kind}es` : `${kind}s`;
