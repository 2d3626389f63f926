/** A place in the dashboard: a page, the object it shows, and its selections and filters. */
export interface Place {
  /** Segments of the path; the first is the page, 'overview' when there is none. */
  path: string[];
  query: Record<string, string>;
}

/** Reads the fragment of an address, such as #/groups/g1?tab=tree. */
export function parsePlace(hash: string): Place {
  const text = hash.replace(/^#?\/?/, '');
  const mark = text.indexOf('?');
  const path = (mark < 0 ? text : text.slice(0, mark))
    .split('/')
    .filter((s) => s !== '')
    .map(decode);
  const query: Record<string, string> = {};
  if (mark >= 0) for (const [key, value] of new URLSearchParams(text.slice(mark + 1))) query[key] = value;
  return { path: path.length > 0 ? path : ['overview'], query };
}

/** Writes the fragment of a place. Empty values are left out; the order of keys does not matter. */
export function formatPlace(path: string[], query: Record<string, string | undefined> = {}): string {
  const params = new URLSearchParams();
  for (const key of Object.keys(query).sort()) {
    const value = query[key];
    if (value) params.set(key, value);
  }
  const text = params.toString();
  return '#/' + path.map(encodeURIComponent).join('/') + (text ? '?' + text : '');
}

/** Reads what is escaped in a path; text that is not well escaped stays as it is. */
export function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment; // a stray % in an address that somebody typed, or an escape that was cut off
  }
}
