import { useEffect, useRef, useState } from 'react';
import { steady, type Cause } from '../domain/causes';

let shown: readonly Cause[] = [];

/** Returns causes in the order in which this tab has shown those of them that last. */
export function lasting(now: readonly Cause[]): Cause[] {
  const kept = steady(shown, now);
  shown = kept;
  return kept;
}

/** How long a value may be held back, in milliseconds. */
const patience = 1_000;

/**
 * Returns a value as it was when nothing was being asked last. One event makes several answers stale,
 * and what the first new one says without the others would be a cause that there is not.
 */
export function useSettled<T>(value: T, busy: boolean): T {
  const [settled, setSettled] = useState(value);
  const latest = useRef(value);
  useEffect(() => {
    latest.current = value;
    if (!busy) setSettled(value);
  }, [value, busy]);
  useEffect(() => {
    if (!busy) return undefined;
    const timer = setInterval(() => setSettled(latest.current), patience);
    return () => clearInterval(timer);
  }, [busy]);
  return settled;
}
