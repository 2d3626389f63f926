import { useSyncExternalStore } from 'react';

// The moment that the pointer is at in one of the charts of a page: all of them show it.
let moment: number | undefined;
const listeners = new Set<() => void>();

/** Calls a function with each moment that is pointed at, in Unix seconds, and with undefined when none is. */
export function onCrosshair(f: () => void): () => void {
  listeners.add(f);
  return () => listeners.delete(f);
}

export const crosshair = () => moment;

export function setCrosshair(at: number | undefined): void {
  if (at === moment) return;
  moment = at;
  listeners.forEach((f) => f());
}

export function useCrosshair(): number | undefined {
  return useSyncExternalStore(onCrosshair, crosshair);
}
