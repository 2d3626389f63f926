import { useSyncExternalStore } from 'react';

/**
 * A value that all of the page share: what uses it is shown anew when it is another one. While something uses it,
 * it is what live makes of it, which returns what ends that.
 */
export function signal<T>(value: T, live?: (set: (next: T) => void) => () => void) {
  const listeners = new Set<() => void>();
  let end: (() => void) | undefined;
  const set = (next: T) => {
    value = next;
    listeners.forEach((f) => f());
  };
  const subscribe = (f: () => void) => {
    listeners.add(f);
    if (listeners.size === 1) end = live?.(set);
    return () => {
      listeners.delete(f);
      if (listeners.size === 0) end?.();
    };
  };
  return { get: () => value, set, subscribe, use: () => useSyncExternalStore(subscribe, () => value) };
}
