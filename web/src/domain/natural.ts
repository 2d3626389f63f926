const collator = new Intl.Collator('en', { numeric: true });

/** Compares names in natural order: P1-T0-2 comes before P1-T0-10. The API sorts its lists so. */
export function natural(a: string, b: string): number {
  return collator.compare(a, b) || (a < b ? -1 : a > b ? 1 : 0);
}
