import { useSyncExternalStore } from 'react';
import { kept } from '../store/kept';
import { signal } from '../store/signal';
import type { components } from './schema';

export type Session = components['schemas']['Session'];
/** The scopes of operations, as docs/access.md lists them. */
export type Scope = 'self' | 'read' | 'tenant:read' | 'tenant:write' | 'operate' | 'configure' | 'administer';

/**
 * The session of the user. Its cookie is the browser's secret: the page sees who the user is and what
 * it may do, and sends the CSRF value with every request that changes something.
 *
 * The user may act as a member of one project alone. The browser remembers which, and sends its name
 * with every request: session is what the user may do there, and whole what it may do at all.
 */
const key = 'weft-project';
const header = 'X-Weft-Project';
const session = signal<Session | undefined>(undefined);
let whole: Session | undefined;
const project = kept(key);

/** Adds what a request needs to its headers; anywhere: it is not bound to the chosen project. */
export function authorize(method: string, headers: Headers, anywhere = false): void {
  if (whole?.csrf && method !== 'GET' && method !== 'HEAD') headers.set('X-Weft-CSRF', whole.csrf);
  if (project.get() && !anywhere) headers.set(header, project.get());
}

let address = '',
  reading = 0;

/** Asks the server who the user is, and what it may do in the chosen project; the page shows nothing else before. */
export async function readSession(url: string = address): Promise<void> {
  address = url;
  const turn = ++reading;
  const ask = (headers: Record<string, string>) =>
    fetch(url, { headers: { Accept: 'application/json', ...headers }, cache: 'no-store' });
  const answer = await ask({});
  if (!answer.ok) throw new Error(`The controller answers ${answer.status}.`);
  const all = (await answer.json()) as Session;
  let own = all;
  const chosen = project.get();
  if (chosen && all.name !== '') {
    const there = await ask({ [header]: chosen });
    if (there.ok) own = (await there.json()) as Session;
    else if (there.status !== 403) throw new Error(`The controller answers ${there.status}.`);
  }
  if (turn !== reading) return;
  if (chosen && all.name !== '' && own === all) {
    // The user is no member any more, or the project is gone: what is shown of it goes too.
    project.set('');
    session.set(undefined);
  }
  whole = all;
  if (JSON.stringify(own) !== JSON.stringify(session.get())) session.set(own);
}

let again: Promise<void> | undefined;

/** Asks anew what the user may do: projects have changed, or the server has refused something. */
export function recheck(): void {
  again ??= readSession()
    .catch(() => undefined)
    .finally(() => {
      again = undefined;
    });
}

/** Notes that the server has forbidden a request: in a project that may be because the user is no member any more. */
export function forbidden(): void {
  if (project.get()) recheck();
}

/** Has the user act as a member of a project alone; '': of all that it may. */
export function chooseProject(name: string): void {
  if (name === project.get()) return;
  project.set(name);
  session.set(undefined);
  const retry = (wait: number) => {
    readSession().catch(() => setTimeout(() => retry(Math.min(5_000, 2 * wait)), wait));
  };
  retry(250);
}

/** The name of the chosen project; '' for none. */
export const useProject = () => useSyncExternalStore(subscribe, project.get);

/** Notes that the server refused a request for want of credentials: the session has ended. */
export function refuse(): void {
  if (session.get()?.name !== '') {
    whole = { name: '', way: 'none', role: 'viewer', scopes: [], ways: whole?.ways };
    session.set(whole);
  }
}

export async function began(s: Session): Promise<void> {
  whole = { ...s, ways: s.ways ?? whole?.ways };
  if (!project.get()) session.set(whole);
  else
    await readSession().catch(() => {
      project.set('');
      session.set(whole);
    });
}

/** The session; undefined until the server has said. */
export const { get: currentSession, use: useSession, subscribe } = session;

/** The session without the bounds of the chosen project. */
export const useWholeSession = () => useSyncExternalStore(subscribe, () => whole);

/** Reports whether the user may call operations of a scope. What it may not do is not offered. */
export function useMay(scope: Scope): boolean {
  return may(useSession(), scope);
}

export function may(s: Session | undefined, scope: Scope): boolean {
  return s?.scopes?.includes(scope) ?? false;
}
