/** Returns things by what a function says of each, groups and things in the order that they had. */
export function grouped<T, K>(all: Iterable<T>, keyOf: (of: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const x of all) {
    const key = keyOf(x),
      group = groups.get(key);
    if (group) group.push(x);
    else groups.set(key, [x]);
  }
  return groups;
}
