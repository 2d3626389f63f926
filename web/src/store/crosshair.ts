import { useSyncExternalStore } from 'react';
import { signal } from './signal';

// The moment that the pointer is at in one of the charts of a page: all of them show it.
const moments = signal<{ pointed?: number; shown?: number }>({});
const change = (next: { pointed?: number } | { shown?: number }) => {
  const now = moments.get(),
    then = { ...now, ...next };
  if (then.pointed !== now.pointed || then.shown !== now.shown) moments.set(then);
};

/** Calls a function with each moment that is pointed at, in Unix seconds, and otherwise with the one that is shown. */
export const onCrosshair = moments.subscribe;
export const crosshair = () => moments.get().pointed ?? moments.get().shown;
export const setCrosshair = (pointed: number | undefined) => change({ pointed });
/** Has charts show a moment while none is pointed at. */
export const showMoment = (shown: number | undefined) => change({ shown });
export const useCrosshair = () => useSyncExternalStore(onCrosshair, crosshair);
