import type { Schemas } from '../api/client';

type Condition = Schemas['GroupCondition'];

/** What a condition is called while it is so, and while it is not. */
const words: Record<Condition['type'], readonly [is: string, isNot: string]> = {
  Accepted: ['accepted', 'not accepted'],
  Programmed: ['programmed', 'not programmed'],
  Ready: ['ready', 'not ready'],
  Degraded: ['degraded', 'not degraded'],
  OrphansKept: ['holds entries that nothing explains', 'holds no entries of others'],
  InventoryDiffers: ['its ports are not as configured', 'its ports are as configured'],
  Miscabled: ['cabled wrongly', 'cabled as known'],
  Unsupported: ['cannot do all that it should', 'can do what it should'],
  Undescribed: ['not described whole by the topology', 'described by the topology'],
  Contested: ['programmed by another installation', 'programmed by no other installation'],
  Unbalanced: ['unbalanced', 'balanced'],
};

const wanted: readonly Condition['type'][] = ['Accepted', 'Programmed', 'Ready'];

/** Whether a condition is as one wants it: some are good news, the others faults. */
export function isGood(c: Condition): boolean {
  return wanted.includes(c.type) === c.status;
}

/** A condition in words; one that is not good with its reason. */
export function conditionText(c: Condition): string {
  if (c.type === 'Programmed' && !c.status && c.reason === 'Installing') return 'being programmed';
  const text = words[c.type][c.status ? 0 : 1];
  return isGood(c) || !c.reason || c.reason === c.type ? text : `${text}: ${reasonText(c.reason)}`;
}

/** A reason of the API, such as QueuePairShared, as words. */
export function reasonText(reason: string): string {
  return reason
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z]{2})/g, '$1 $2')
    .split(' ')
    .map((w) => (/^[A-Z]{2,}s?$/.test(w) ? w : w.toLowerCase()))
    .join(' ');
}
