import { useSyncExternalStore } from 'react';

/** A value that all of the page share: what uses it is shown anew when it is another one. */
export function signal<T>(value: T) {
  const listeners = new Set<() => void>();
  const subscribe = (f: () => void) => {
    listeners.add(f);
    return () => void listeners.delete(f);
  };
  return {
    get: () => value,
    set(next: T) {
      value = next;
      listeners.forEach((f) => f());
    },
    subscribe,
    use: () => useSyncExternalStore(subscribe, () => value),
  };
}
