import createClient, { type Middleware } from 'openapi-fetch';
import type { components, paths } from './schema';
import { formatExact, large, markLarge, revive } from '../domain/json';
import { authorize, forbidden, refuse } from './session';

export type Schemas = components['schemas'];

/** The address of the server: that of the page, whatever path a proxy gives it. */
export const base = new URL('.', document.baseURI).href.replace(/\/$/, '');

/** An answer that is not the one asked for: a problem of RFC 9457, or no answer at all. */
export class ApiError extends Error {
  override name = 'ApiError';
  constructor(
    readonly status: number,
    readonly problem: Partial<Schemas['Problem']>,
    message: string,
  ) {
    super(message);
  }
  /** The code of the problem, such as last_path; '' without an answer. */
  get code(): string {
    return this.problem.code ?? '';
  }
}

/** Has requests say who asks, in the chosen project or anywhere. */
const session = (anywhere: boolean): Middleware => ({
  onRequest({ request }) {
    authorize(request.method, request.headers, anywhere);
    return request;
  },
  onResponse({ response }) {
    if (response.status === 401) refuse();
    if (response.status === 403 && !anywhere) forbidden();
  },
});

/** Answers of which large numbers are marked strings until body has made BigInts of them. */
const exact = new WeakSet<Response>();
const numbers: Middleware = {
  async onResponse({ response, schemaPath }) {
    // All links come in an answer of megabytes, without a number that large.
    if (!response.ok || response.status === 204 || schemaPath === '/v1/link-columns') return undefined;
    const text = await response.text();
    const whole = new Response(large(text) ? markLarge(text) : text, response);
    if (large(text)) exact.add(whole);
    return whole;
  },
};

const options = { baseUrl: base, headers: { Accept: 'application/json' }, bodySerializer: formatExact };
export const client = createClient<paths>(options);
client.use(numbers, session(false));

/** The client for what is not bound to the chosen project. */
export const anywhere = createClient<paths>(options);
anywhere.use(numbers, session(true));

/** Returns the body of an answer, or throws an ApiError. */
export async function body<T>(answer: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  let got;
  try {
    got = await answer;
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === 'AbortError') throw cause;
    throw new ApiError(0, {}, 'The controller does not answer.');
  }
  if (got.response.ok) return (exact.has(got.response) ? revive(got.data) : got.data) as T;
  const problem = typeof got.error === 'object' && got.error ? (got.error as Partial<Schemas['Problem']>) : {};
  throw new ApiError(
    got.response.status,
    problem,
    problem.detail ?? problem.title ?? `The server answered ${got.response.status}.`,
  );
}

/** Asks for all pages of a list, or for as many as have that many objects. */
export async function everything<T>(
  page: (query: { limit: number; continue?: string }) => Promise<{ items: T[] | null; continue?: string }>,
  most = Infinity,
): Promise<T[]> {
  const items: T[] = [];
  let next: string | undefined;
  do {
    const got = await page({ limit: 1000, ...(next ? { continue: next } : {}) });
    items.push(...(got.items ?? []));
    next = got.continue || undefined;
  } while (next && items.length < most);
  return items;
}
