import { useQuery } from '@tanstack/react-query';
import * as ask from '../api/queries';
import { mostDrawn } from '../domain/fabric';
import { useLinkState } from '../store/past';
import { NetworkPicture } from './network';
import { Tiles } from './tiles';

/** The network as it is now: a picture in which what it carries moves, of a large one its planes and pods. */
export function Alive({ height }: { height?: number }) {
  const nodes = useQuery(ask.nodes),
    links = useQuery(ask.links),
    stateOf = useLinkState();
  const large = (nodes.data?.length ?? 0) > mostDrawn;
  if (!nodes.data?.length || !links.data) return null;
  return (
    <section aria-label="The network now">
      {large ? (
        <Tiles nodes={nodes.data} links={links.data} stateOf={stateOf} height={height} />
      ) : (
        <NetworkPicture nodes={nodes.data} links={links.data} stateOf={stateOf} height={height} racks />
      )}
    </section>
  );
}
