import type { Schemas } from '../api/client';
import { countOf } from './format';

export type Cause = Schemas['Cause'];
export type Severity = Cause['severity'];

/** Counts what a cause concerns, such as "2 EV profiles and 1 multicast group". */
export function affected(c: Pick<Cause, 'counts'>): string {
  const parts = (c.counts ?? []).map(({ kind, count }) => countOf(count, kind));
  return parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;
}

/** What carries traffic, as causes count it. */
const carriers = ['host', 'EV profile', 'multicast group', 'SRv6 policy', 'tenant', 'PFC policy'];

/**
 * Whom causes hurt: the jobs that depend on what they are about, of which the API names some, and what else
 * carries traffic by number, with what causes are about.
 */
export function hurt(all: readonly (Pick<Cause, 'counts' | 'jobs'> & { kind?: Cause['kind'] })[]): {
  jobs: { name: string; object: string }[];
  more: boolean;
  named: string;
} {
  const jobs = new Map<string, string>(),
    counts = new Map<string, number>();
  let more = false;
  for (const c of all) {
    for (const name of c.jobs?.names ?? []) jobs.set(`jobs/${name}`, `job ${name}`);
    more ||= (c.jobs?.count ?? 0) > (c.jobs?.names?.length ?? 0);
    const own = c.kind ? [{ kind: c.kind, count: 1 }] : [];
    for (const { kind, count } of [...own, ...(c.counts ?? [])])
      if (carriers.includes(kind)) counts.set(kind, (counts.get(kind) ?? 0) + count);
  }
  return {
    jobs: [...jobs].map(([object, name]) => ({ name, object })),
    more,
    named: affected({ counts: [...counts].map(([kind, count]) => ({ kind, count })) }),
  };
}
