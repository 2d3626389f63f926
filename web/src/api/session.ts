/**
 * The session of the user. A controller that was started with a file of tokens asks for one of them;
 * the tab keeps it until it is closed. This is the one place that knows how requests are authorized:
 * accounts, a cookie and a CSRF header belong here.
 */
const key = 'weft.token';
const listeners = new Set<() => void>();
let wanted = false;

/** Adds what authorizes a request to its headers. */
export function authorize(headers: Headers): void {
  const token = sessionStorage.getItem(key);
  if (token) headers.set('Authorization', `Bearer ${token}`);
}

/** Notes that the server refused a request for want of a token. */
export function refuse(): void {
  if (!wanted) {
    wanted = true;
    listeners.forEach((f) => f());
  }
}

export function signIn(token: string): void {
  sessionStorage.setItem(key, token);
  wanted = false;
  listeners.forEach((f) => f());
}

/** Reports whether the user has to sign in. */
export function signInWanted(): boolean {
  return wanted;
}

export function onSession(f: () => void): () => void {
  listeners.add(f);
  return () => listeners.delete(f);
}
