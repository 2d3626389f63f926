import type { Event } from '../api/stream';
import { kinds } from './kinds';
import { pageOf, type Place } from './place';

/** The collections of what no client writes. */
const others: Record<string, string> = {
  switch: 'switches',
  'bgp-peer': 'bgp-peers',
  host: 'hosts',
  port: 'switches',
  'host-port': 'hosts',
};

/** Where what an event is about is shown; undefined when it has no page. */
export function placeOf(e: Pick<Event, 'type' | 'objects'>): Place | undefined {
  const o = e.objects?.[0];
  if (!o) return undefined;
  const collection = others[o.kind] ?? kinds.find((k) => k.kind === o.kind)?.collection;
  if (e.type === 'suspect.changed') return { path: ['fabric'] };
  if (collection) return pageOf(`${collection}/${o.id}`);
  switch (o.kind) {
    case 'queue':
    case 'tunnel':
      return { path: ['pfc'] };
    case 'cause':
      return { path: [] };
    default:
      return undefined;
  }
}
