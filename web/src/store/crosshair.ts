import { useSyncExternalStore } from 'react';

// The moment that the pointer is at in one of the charts of a page: all of them show it.
let pointed: number | undefined, shown: number | undefined;
const listeners = new Set<() => void>();

/** Calls a function with each moment that is pointed at, in Unix seconds, and otherwise with the one that is shown. */
export function onCrosshair(f: () => void): () => void {
  listeners.add(f);
  return () => listeners.delete(f);
}

export const crosshair = () => pointed ?? shown;

export function setCrosshair(at: number | undefined): void {
  if (at === pointed) return;
  pointed = at;
  listeners.forEach((f) => f());
}

/** Has charts show a moment while none is pointed at. */
export function showMoment(at: number | undefined): void {
  if (at === shown) return;
  shown = at;
  listeners.forEach((f) => f());
}

export function useCrosshair(): number | undefined {
  return useSyncExternalStore(onCrosshair, crosshair);
}
