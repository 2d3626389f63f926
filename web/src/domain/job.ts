import { pageOf, type Place } from './place';
import type { Schemas } from '../api/client';
import type { Spec } from './spec';

export const patterns = [
  'ring',
  'tree',
  'all-to-all',
  'pairwise',
  'pipeline',
  'broadcast',
  'all-gather',
] as const satisfies readonly Schemas['JobCommunicator']['pattern'][];

/** Says whether the fabric is ready for a job, as its status has it. */
export function verdict(j: Schemas['Job']): { tone: 'ok' | 'fault' | 'quiet'; text: string } {
  if (j.status.phase === 'Draining') return { tone: 'quiet', text: 'ended, hosts take back' };
  if (j.status.phase === 'Done') return { tone: 'quiet', text: 'ended' };
  const ready = j.status.conditions?.find((c) => c.type === 'Ready');
  if (ready?.status) return { tone: 'ok', text: 'GO' };
  const n = j.status.blockers ?? 0;
  return { tone: 'fault', text: n === 0 ? 'NO-GO' : `NO-GO: ${n} ${n === 1 ? 'cause' : 'causes'}` };
}

/** Says what a blocker means for the job. */
export function meaning(b: Schemas['JobBlocker']): string {
  if (b.state === 'unknown') return 'What is not known may be bad: a job that starts now may find out.';
  switch (b.kind) {
    case 'switch':
      return 'Packets of the ranks behind it have fewer paths, or none.';
    case 'link':
      return 'Hosts send around it: the ranks behind it have fewer paths.';
    case 'nic':
    case 'host':
      return 'Its ranks are not reached as they should, and all that wait for them stand still.';
    case 'path':
      return 'Too few paths are left between the racks: one more failure may stop traffic.';
    case 'fabric':
      return 'It concerns all ranks.';
    default:
      return '';
  }
}

/** The collections of the API that have what is in the way of a job. */
const collections: Record<string, string> = { switch: 'switches', link: 'links', nic: 'hosts' };

/** Where the object of a blocker is shown; undefined when it has no page. */
export function blockerPlace(b: Pick<Schemas['JobBlocker'], 'kind' | 'object'>): Place | undefined {
  const collection = collections[b.kind];
  return b.object && collection ? pageOf(`${collection}/${b.object}`) : undefined;
}

/** Returns a spec without a layout that has no size, and without an empty list: a form leaves them behind. */
export function trimmed(spec: Spec): Spec {
  const out = { ...spec };
  const { layout, communicators } = out;
  if (typeof layout === 'object' && layout !== null && Object.keys(layout).length === 0) delete out.layout;
  if (Array.isArray(communicators) && communicators.length === 0) delete out.communicators;
  return out;
}
