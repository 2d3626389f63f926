import type { LinkState } from './fabric';
import { reverse } from './network';

/** What of an event says how a link was from then on. */
interface Told {
  time: string;
  type: string;
  object?: string;
  message?: string;
}

/** The state that a link came to by an event; undefined when the event says nothing of a link. */
function told(e: Told, portLink: ReadonlyMap<string, string>): { link: string; state: LinkState } | undefined {
  const object = e.object ?? '',
    message = e.message ?? '';
  switch (e.type) {
    case 'link.changed':
      if (message === 'restored') return { link: object, state: 'up' };
      return { link: object, state: /\bdown\b|failed|left/.test(message) ? 'down' : 'denied' };
    case 'drain.changed':
      if (!object.startsWith('link ')) return undefined;
      return { link: object.slice(5), state: message === 'in use' ? 'up' : 'drained' };
    case 'port.changed': {
      const link = portLink.get(object);
      if (link === undefined) return undefined;
      if (message.startsWith('down')) return { link, state: 'down' };
      return message === 'its link is used again' ? { link, state: 'up' } : undefined;
    }
    default:
      return undefined;
  }
}

/**
 * The states of links at a time in milliseconds, from the events that are known, oldest first: that of the
 * last event until then, or what the first one after it ended. Links that no event is about are as they
 * are now. portLink has the link of each port SWITCH/PORT.
 */
export function statesAt(
  at: number,
  events: readonly Told[],
  portLink: ReadonlyMap<string, string>,
): Map<string, LinkState> {
  const states = new Map<string, LinkState>(),
    after = new Set<string>();
  for (const e of events) {
    const t = told(e, portLink);
    if (!t) continue;
    for (const id of [t.link, reverse(t.link)]) {
      if (Date.parse(e.time) <= at) states.set(id, t.state);
      else if (!states.has(id) && !after.has(id)) {
        after.add(id);
        states.set(id, t.state === 'up' ? 'down' : 'up');
      }
    }
  }
  return states;
}
