import type { Schemas } from '../api/client';

/** Writes the value of a field or parameter: numbers in decimal, what the API has as text as it is. */
export function fieldText(value: unknown): string {
  return value === undefined || value === null ? '*' : String(value);
}

/** Names an entry of a table by its key, as long as the table has no two with the same one. */
export function entryText(e: Schemas['EntryView']): string {
  if (e.default) return 'default';
  return `${fieldsText(e.match, ' ')} ${e.priority ?? ''}`.trim();
}

/** Writes fields or parameters as NAME=VALUE. */
export function fieldsText(fields: Schemas['FieldView'][] | null | undefined, between = ', '): string {
  return (fields ?? []).map((f) => `${f.name}=${fieldText(f.value)}`).join(between);
}

/** What an entry does with a packet: an action, or a member or group of an action profile. */
export function doneBy(e: Schemas['EntryView']): string {
  return e.action ?? (e.group ? `group ${e.group}` : `member ${e.member}`);
}
