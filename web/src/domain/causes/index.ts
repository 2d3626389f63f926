import { natural } from '../natural';
import { controllerFindings, peerFindings } from './controller';
import type { Finding, Known } from './finding';
import { balanceFindings, drains, linkFindings } from './link';
import { fabricFindings, groupFindings, hostFindings, policyFindings, profileFindings } from './service';
import { switchFindings } from './switch';

export { condition, linkName, names, reverse, type Finding, type Known } from './finding';
export { plain } from './controller';

/** A finding with all that follows from it. */
export interface Cause {
  finding: Finding;
  consequences: Finding[];
}

export function findings(known: Known): Finding[] {
  return [
    ...controllerFindings(known),
    ...peerFindings(known),
    ...switchFindings(known),
    ...drains(known),
    ...linkFindings(known),
    ...balanceFindings(known),
    ...fabricFindings(known),
    ...hostFindings(known),
    ...profileFindings(known),
    ...groupFindings(known),
    ...policyFindings(known),
  ];
}

const rank = { fault: 0, warning: 1, work: 2 };

/**
 * Finds what is wrong and why, as far as the state of the network says it: a lost switch or a link
 * that is down explains the BGP-LS session, profiles, groups and tenants that depend on it. The
 * causes are those findings that nothing else explains: faults first, then the oldest. Their order
 * does not depend on what follows from them, which comes and goes.
 */
export function causes(known: Known): Cause[] {
  const all = findings(known);
  const byId = new Map(all.map((f) => [f.id, f]));
  const roots = (f: Finding, seen: Set<string>): Finding[] => {
    if (seen.has(f.id)) return [];
    seen.add(f.id);
    const above = [...new Set(f.because)].map((id) => byId.get(id)).filter((x) => x !== undefined);
    return above.length === 0 ? [f] : above.flatMap((x) => roots(x, seen));
  };
  const result = new Map<string, Cause>();
  for (const f of all) {
    for (const root of new Set(roots(f, new Set()))) {
      let cause = result.get(root.id);
      if (!cause) result.set(root.id, (cause = { finding: root, consequences: [] }));
      if (root !== f) cause.consequences.push(f);
    }
  }
  return [...result.values()].sort(
    (a, b) =>
      rank[a.finding.severity] - rank[b.finding.severity] ||
      time(a.finding) - time(b.finding) ||
      natural(a.finding.id, b.finding.id),
  );
}

const time = (f: Finding) => (f.since ? Date.parse(f.since) : Infinity);

/**
 * Keeps causes as they were shown before: one that lasts keeps its place and the time when it began,
 * though its state has a later time since; a fault comes before what is none.
 */
export function steady(before: readonly Cause[], now: readonly Cause[]): Cause[] {
  const was = new Map(before.map((c, i) => [c.finding.id, { at: i, since: c.finding.since }]));
  const place = (c: Cause) => was.get(c.finding.id)?.at ?? Infinity;
  return now
    .map((c): Cause => {
      const since = was.get(c.finding.id)?.since;
      return since && time({ ...c.finding, since }) < time(c.finding) ? { ...c, finding: { ...c.finding, since } } : c;
    })
    .map((c, i) => ({ c, i }))
    .sort(
      (a, b) =>
        rank[a.c.finding.severity] - rank[b.c.finding.severity] ||
        (place(a.c) === place(b.c) ? a.i - b.i : place(a.c) - place(b.c)),
    )
    .map((x) => x.c);
}

/** Counts what follows from a cause, such as "2 EV profiles and 1 multicast group". */
export function affected(c: Cause): string {
  const counts = new Map<string, number>();
  const seen = new Set([key(c.finding)]);
  for (const f of c.consequences) {
    if (seen.has(key(f))) continue; // another finding of the same thing
    seen.add(key(f));
    counts.set(f.kind, (counts.get(f.kind) ?? 0) + 1);
  }
  const parts = [...counts].map(([kind, n]) => `${n} ${n === 1 ? kind : plural(kind)}`);
  return parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;
}

const key = (f: Finding) =>
  `${f.kind} ${f.path.join('/')} ${JSON.stringify(f.query ?? {})} ${f.kind === 'host port' ? f.id : ''}`;

const plural = (kind: string) =>
  kind.endsWith('y') ? `${kind.slice(0, -1)}ies` : kind.endsWith('ch') ? `${kind}es` : `${kind}s`;
