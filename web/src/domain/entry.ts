import type { components } from '../api/schema';

type S = components['schemas'];

/** Writes the value of a field or parameter: numbers in decimal, what the API has as text as it is. */
export function fieldText(value: unknown): string {
  return value === undefined || value === null ? '*' : String(value);
}

/** Names an entry of a table by its key, as long as the table has no two with the same one. */
export function entryText(e: S['EntryView']): string {
  if (e.default) return 'default';
  return `${(e.match ?? []).map((m) => `${m.name}=${fieldText(m.value)}`).join(' ')} ${e.priority ?? ''}`.trim();
}
