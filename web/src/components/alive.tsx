import { useQuery } from '@tanstack/react-query';
import { useCallback, useMemo } from 'react';
import type { Schemas } from '../api/client';
import * as ask from '../api/queries';
import { blocksOf } from '../domain/blocks';
import { linkState, mostDrawn, suspectLinks } from '../domain/fabric';
import { Blocks } from './blocks';
import { NetworkPicture } from './network';

/** The network as it is now: a picture in which what it carries moves, of a large one its planes and pods. */
export function Alive({ height }: { height?: number }) {
  const nodes = useQuery(ask.nodes),
    links = useQuery(ask.links),
    suspects = useQuery(ask.suspects);
  const bad = useMemo(() => suspectLinks(suspects.data ?? []), [suspects.data]);
  const stateOf = useCallback((l: Schemas['FabricLink']) => linkState(l, bad), [bad]);
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
