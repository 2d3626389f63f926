import { signal } from './signal';

/** The time, once a second. */
export const { use: useNow } = signal(Date.now(), (set) => {
  const timer = setInterval(() => set(Date.now()), 1000);
  return () => clearInterval(timer);
});
