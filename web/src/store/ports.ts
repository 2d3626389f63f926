import { useSyncExternalStore } from 'react';
import { follow, type PortColumns } from '../api/stream';
import { signal } from './signal';

const ports = signal<PortColumns | undefined>(undefined, (set) => {
  let stop: (() => void) | undefined;
  /** A tab that nobody sees has no stream: of some kinds of HTTP a browser has six connections for all its tabs. */
  const look = () => {
    if (document.visibilityState === 'visible')
      stop ??= follow<PortColumns>('/v1/telemetry/ports', { event: set, state: (up) => up || set(undefined) });
    else {
      stop?.();
      stop = undefined;
    }
  };
  document.addEventListener('visibilitychange', look);
  look();
  return () => {
    document.removeEventListener('visibilitychange', look);
    stop?.();
    set(undefined);
  };
});
const never = () => () => undefined;

/** What all ports carry, once a second; undefined while it is not known, and where it is not wanted. */
export function usePorts(wanted: boolean): PortColumns | undefined {
  return useSyncExternalStore(wanted ? ports.subscribe : never, () => (wanted ? ports.get() : undefined));
}
