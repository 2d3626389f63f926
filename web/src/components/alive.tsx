import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import * as ask from '../api/queries';
import { blocksOf } from '../domain/blocks';
import { mostDrawn } from '../domain/fabric';
import { useLinkState } from '../store/past';
import { Blocks } from './blocks';
import { NetworkPicture } from './network';

/** The network as it is now: a picture in which what it carries moves, of a large one its planes and pods. */
export function Alive({ height }: { height?: number }) {
  const nodes = useQuery(ask.nodes),
    links = useQuery(ask.links),
    stateOf = useLinkState();
  const large = (nodes.data?.length ?? 0) > mostDrawn;
  const planes = useMemo(
    () => (large ? blocksOf(nodes.data ?? [], links.data ?? [], stateOf) : []),
    [large, nodes.data, links.data, stateOf],
  );
  if (!nodes.data?.length || !links.data) return null;
  return (
    <section aria-label="The network now">
      {large ? (
        <Blocks planes={planes} />
      ) : (
        <NetworkPicture nodes={nodes.data} links={links.data} stateOf={stateOf} height={height} racks />
      )}
    </section>
  );
}
