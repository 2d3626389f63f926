import { useQueries, useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import * as ask from '../api/queries';
import { shares } from '../domain/shares';
import { useSpan } from '../store/past';
import { Chart } from './chart';
import { Choose } from './choose';

/** How what a host sends is spread over the planes: each port of it leads to a leaf of one plane. */
export function PlaneShares({ hosts }: { hosts: readonly string[] }) {
  const [chosen, choose] = useState<string>();
  const all = useQuery(ask.hosts),
    nodes = useQuery(ask.nodes);
  const { span, from, to, live } = useSpan();
  const name = chosen !== undefined && hosts.includes(chosen) ? chosen : hosts[0];
  const ports = (all.data?.find((h) => h.name === name)?.ports ?? []).flatMap((p) => {
    const leaf = nodes.data?.find((n) => n.id === p.status.leaf);
    return leaf?.status.name && p.status.leafPort
      ? [{ plane: leaf.status.planes[0] ?? 0, port: `${leaf.status.name}/${p.status.leafPort}` }]
      : [];
  });
  const answers = useQueries({
    queries: ports.map((p) => ask.history('port', p.port, live && 'last' in span ? span.last : { from, to })),
  });
  const read = answers.map((a) => a.data);
  const key = answers.map((a) => a.dataUpdatedAt).join() + ports.map((p) => p.port).join();
  const { times, lines, step } = useMemo(
    () => {
      // The newest values of a port may be newer than those of another: what is now is what is known of all.
      const known = Math.min(...read.map((h) => h?.times.at(-1) ?? 0));
      return shares(
        ports.map((p, i) => ({
          plane: p.plane,
          times: (read[i]?.times ?? []).filter((t) => t <= known),
          step: read[i]?.step ?? 1,
          values: read[i]?.series.find((s) => s.metric === 'inBits')?.values ?? [],
        })),
      );
    },
    // eslint-disable-next-line react-hooks/exhaustive-deps
    [key],
  );
  if (!name || ports.length === 0) return null;
  return (
    <Chart
      label={`Planes that ${name} sends into`}
      title={
        <>
          share of each plane, of what{' '}
          {hosts.length > 1 ? <Choose name="Host" value={name} set={choose} of={hosts} /> : name} sends
        </>
      }
      times={times}
      step={step}
      series={lines.map((l) => ({ label: `plane ${l.plane}`, unit: 'share', values: l.values }))}
      note="By the ports of its leaves: the traffic of all its profiles. Empty while it sends nothing."
    />
  );
}
