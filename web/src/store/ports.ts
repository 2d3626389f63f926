import { useSyncExternalStore } from 'react';
import { follow, type PortColumns } from '../api/stream';

let latest: PortColumns | undefined;
let stop: (() => void) | undefined;
const listeners = new Set<() => void>();

function set(columns: PortColumns | undefined): void {
  latest = columns;
  listeners.forEach((f) => f());
}

/** A tab that nobody sees has no stream: of some kinds of HTTP a browser has six connections for all its tabs. */
function look(): void {
  const wanted = listeners.size > 0 && document.visibilityState === 'visible';
  if (wanted && !stop) {
    stop = follow<PortColumns>('/v1/telemetry/ports', { event: set, state: (up) => up || set(undefined) });
  } else if (!wanted && stop) {
    stop();
    stop = undefined;
  }
}

function subscribe(f: () => void): () => void {
  if (listeners.size === 0) document.addEventListener('visibilitychange', look);
  listeners.add(f);
  look();
  return () => {
    listeners.delete(f);
    look();
    if (listeners.size === 0) {
      document.removeEventListener('visibilitychange', look);
      latest = undefined;
    }
  };
}
const never = () => () => undefined;

/** What all ports carry, once a second; undefined while it is not known, and where it is not wanted. */
export function usePorts(wanted: boolean): PortColumns | undefined {
  return useSyncExternalStore(wanted ? subscribe : never, () => (wanted ? latest : undefined));
}
