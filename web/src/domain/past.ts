import type { Schemas } from '../api/client';
import type { Event } from '../api/stream';
import type { LinkState } from './fabric';
import { reverse } from './network';

/** What of an event says how a link was from then on. */
type Told = Pick<Event, 'time' | 'type' | 'object' | 'state' | 'reason'> & {
  objects?: readonly Schemas['EventObject'][] | null;
};

/** The state that a link came to by an event; undefined when the event says nothing of a link. */
function told(e: Told, portLink: ReadonlyMap<string, string>): { link: string; state: LinkState } | undefined {
  const of = e.objects?.[0];
  const link = of?.kind === 'link' ? of.id : e.type === 'port.changed' ? portLink.get(e.object ?? '') : undefined;
  if (link === undefined) return undefined;
  switch (e.type) {
    case 'link.changed':
      if (e.state === 'used') return { link, state: 'up' };
      return { link, state: /\bdown\b|failed|left/.test(e.reason ?? '') ? 'down' : 'denied' };
    case 'drain.changed':
      return { link, state: e.state === 'used' ? 'up' : 'drained' };
    case 'port.changed':
      return e.state === 'down' || e.state === 'up' ? { link, state: e.state } : undefined;
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
