import { useSyncExternalStore } from 'react';
import type { components } from './schema';

export type Session = components['schemas']['Session'];
/** The scopes of operations, as docs/access.md lists them. */
export type Scope = 'self' | 'read' | 'tenant:read' | 'tenant:write' | 'operate' | 'configure' | 'administer';

/**
 * The session of the user. Its cookie is the browser's secret: the page sees who the user is and what
 * it may do, and sends the CSRF value with every request that changes something.
 */
let session: Session | undefined;
const listeners = new Set<() => void>();

function set(s: Session): void {
  session = s;
  listeners.forEach((f) => f());
}

/** Adds what a request that changes something needs to its headers. */
export function authorize(method: string, headers: Headers): void {
  if (session?.csrf && method !== 'GET' && method !== 'HEAD') headers.set('X-Weft-CSRF', session.csrf);
}

/** Asks the server who the user is; the page shows nothing else before. */
export async function readSession(url: string): Promise<void> {
  const answer = await fetch(url, { headers: { Accept: 'application/json' }, cache: 'no-store' });
  if (!answer.ok) throw new Error(`The controller answers ${answer.status}.`);
  set((await answer.json()) as Session);
}

/** Notes that the server refused a request for want of credentials: the session has ended. */
export function refuse(): void {
  if (session?.name !== '') set({ name: '', way: 'none', role: 'viewer', scopes: [], ways: session?.ways });
}

export function began(s: Session): void {
  set({ ...s, ways: s.ways ?? session?.ways });
}

/** The session; undefined until the server has said. */
export function useSession(): Session | undefined {
  return useSyncExternalStore(subscribe, () => session);
}

/** Reports whether the user may call operations of a scope. What it may not do is not offered. */
export function useMay(scope: Scope): boolean {
  return useSession()?.scopes?.includes(scope) ?? false;
}

export function may(s: Session | undefined, scope: Scope): boolean {
  return s?.scopes?.includes(scope) ?? false;
}

export function subscribe(f: () => void): () => void {
  listeners.add(f);
  return () => listeners.delete(f);
}

export function currentSession(): Session | undefined {
  return session;
}
