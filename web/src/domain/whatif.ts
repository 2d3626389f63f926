import type { Schemas } from '../api/client';
import { reverse } from './network';

/** Part is something of the fabric: of a link the id of a direction, of a switch that of its node. */
export interface Part {
  kind: 'link' | 'node' | 'plane';
  name: string;
}

/** Parts are in the address as kind and name, with a bar between. */
export const formatParts = (parts: readonly Part[]): string => parts.map((p) => `${p.kind} ${p.name}`).join('|');

/** Reads what formatParts has written; what is none is left out. */
export function parseParts(text: string): Part[] {
  return text.split('|').flatMap((t): Part[] => {
    const [, kind, name] = /^(link|node|plane) (.+)$/.exec(t) ?? [];
    return kind && name ? [{ kind: kind as Part['kind'], name }] : [];
  });
}

/** Takes a part from a list that has it, and adds it to one that has not. */
export function toggle(parts: readonly Part[], part: Part): Part[] {
  const same = (p: Part) =>
    p.kind === part.kind && (p.name === part.name || (p.kind === 'link' && reverse(p.name) === part.name));
  return parts.some(same) ? parts.filter((p) => !same(p)) : [...parts, part];
}

/** The events of a simulation in which the same happens to all parts. */
export function eventsOf(
  parts: readonly Part[],
  action: Schemas['SimulationEvent']['action'],
): Schemas['SimulationEvent'][] {
  return parts.map(({ kind, name }) => ({
    action,
    object: kind === 'plane' ? { plane: Number(name) } : kind === 'link' ? { link: name } : { node: name },
  }));
}

/** A scenario of "weft simulate", of a network in a file, with the jobs that have not ended. */
export function scenarioOf(names: readonly string[], action: string, jobs: readonly Schemas['Job'][]): object {
  return {
    network: 'NETWORK.yaml',
    model: 'flows',
    jobs: jobs
      .filter((j) => j.spec.state !== 'done')
      .map((j) => ({
        name: j.name,
        ...(j.spec.hosts && { hosts: j.spec.hosts }),
        ...(j.spec.layout && { layout: j.spec.layout }),
        ...(j.spec.communicators && { communicators: j.spec.communicators }),
        step: { bytes: Object.fromEntries(groups(j.spec).map((g) => [g, '64MiB'])) },
        steps: 10,
      })),
    events: names.map((n) => ({ at: '0s', [action]: n.replace(' – ', ' ') })),
  };
}

/** The names of the communicators of a job. */
function groups(s: Schemas['JobSpec']): string[] {
  if (!s.layout) return (s.communicators ?? []).map((c) => c.name);
  const l = s.layout;
  return [
    (l.tp ?? 1) > 1 && 'tp',
    (l.cp ?? 1) > 1 && 'cp',
    (l.dp ?? 1) * (l.cp ?? 1) > 1 && ((l.cp ?? 1) > 1 ? 'dp-cp' : 'dp'),
    (l.ep ?? 1) > 1 && 'ep',
    (l.pp ?? 1) > 1 && 'pp',
  ].filter((g): g is string => g !== false);
}
