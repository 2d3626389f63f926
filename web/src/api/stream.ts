import { createParser } from 'eventsource-parser';
import { base, type Schemas } from './client';
import { authorize, recheck, refuse } from './session';

export type Event = Schemas['Event'];

/** What every port carries: a stream has it once a second. */
export type PortColumns = Schemas['PortColumns'];

interface Follower<T> {
  /** Called with every event in order. */
  event(e: T): void;
  /** Called when the stream is up, and when it is lost, with the time of the last word in milliseconds of the clock. */
  state(up: boolean, last: number): void;
}

/** The server sends a comment every 2 s: a stream that is silent for longer than two of them is lost. */
const silence = 4_500;
/** The end of that time, in which a page that stood still reads what came meanwhile. */
const grace = 500;
const retryFirst = 250,
  retryMost = 5_000;

/**
 * Follows a stream of the controller until stop is called. After a loss it comes back with the id
 * of its last event: the server repeats what was missed, or says by an event of type gap that it cannot.
 * fetch and not EventSource: that does not notice a dead connection.
 */
export function follow<T>(path: '/v1/events' | '/v1/telemetry/ports', follower: Follower<T>): () => void {
  let last = '';
  let word = Date.now();
  let retry = retryFirst;
  let connection: AbortController | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let stopped = false;

  const connect = async () => {
    timer = undefined;
    const abort = (connection = new AbortController());
    let watchdog: ReturnType<typeof setTimeout> | undefined;
    const alive = () => {
      clearTimeout(watchdog);
      watchdog = setTimeout(() => {
        watchdog = setTimeout(() => abort.abort(), grace);
      }, silence - grace);
    };
    try {
      alive();
      const headers = new Headers({ Accept: 'text/event-stream' });
      authorize('GET', headers);
      if (last) headers.set('Last-Event-ID', last);
      const answer = await fetch(base + path, { headers, signal: abort.signal, cache: 'no-store' });
      if (answer.status === 401) refuse();
      if (answer.status === 403) recheck();
      if (!answer.ok || !answer.body) throw new Error(`${path}: ${answer.status}`);
      retry = retryFirst;
      word = Date.now();
      follower.state(true, word);
      const parser = createParser({
        onEvent(message) {
          if (message.id) last = message.id;
          follower.event(JSON.parse(message.data) as T);
        },
      });
      const decoder = new TextDecoder();
      const reader = answer.body.getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        word = Date.now();
        alive();
        parser.feed(decoder.decode(value, { stream: true }));
      }
    } catch {
      // Lost, refused or asleep: the connection is tried again.
    } finally {
      clearTimeout(watchdog);
    }
    if (stopped) return;
    follower.state(false, word);
    timer = setTimeout(connect, retry);
    retry = Math.min(retryMost, retry * 2);
  };

  // A machine that wakes up, and a network that comes back, do not wait for the next attempt.
  const hurry = () => {
    if (timer === undefined || document.visibilityState === 'hidden') return;
    clearTimeout(timer);
    retry = retryFirst;
    void connect();
  };
  window.addEventListener('online', hurry);
  document.addEventListener('visibilitychange', hurry);
  void connect();
  return () => {
    stopped = true;
    clearTimeout(timer);
    connection?.abort();
    window.removeEventListener('online', hurry);
    document.removeEventListener('visibilitychange', hurry);
  };
}
