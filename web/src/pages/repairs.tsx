import { useQuery } from '@tanstack/react-query';
import type { Schemas } from '../api/client';
import * as ask from '../api/queries';
import { aged, counted, leading, long } from '../components/columns';
import { Heading } from '../components/facts';
import { To } from '../components/link';
import { Answer } from '../components/states';
import { Table, type Column } from '../components/table';
import { pageOf } from '../domain/place';
import { useNow } from '../store/now';

type Cause = Schemas['Cause'];

/** What somebody has to repair or replace, what says so, and whom it concerns. */
export function Repairs() {
  const causes = useQuery(ask.causes);
  const now = useNow();
  const columns: Column<Cause>[] = [
    { name: 'Part', key: (c) => c.repair!.part, width: 0.5 },
    leading(
      'Name',
      (c) => c.repair!.name,
      (c) => pageOf(c.object),
      1.5,
    ),
    aged('For', (c) => c.since, now, 0.5),
    { name: 'In use', key: (c) => (c.repair!.denied ? 'no' : 'yes'), width: 0.5 },
    counted('Hosts', (c) => c.repair!.hosts?.length ?? 0, 0.5),
    {
      name: 'Jobs',
      key: (c) => c.jobs?.names?.join(', ') ?? '',
      cell: (c) => (c.jobs?.names ?? []).map((j) => <To key={j} path={['jobs', j]}>{`${j} `}</To>),
    },
    long('Evidence', (c) => c.repair!.evidence?.join(' '), 4),
  ];
  return (
    <>
      <Heading title="Repairs" />
      <Answer of={causes} what="repairs">
        {(all) => (
          <Table
            rows={all.filter((c) => c.repair)}
            columns={columns}
            id={(c) => c.id}
            label="Repairs"
            empty="Nothing has to be repaired. Cables, optics and switches are here when the control plane, counters or probes speak against them."
          />
        )}
      </Answer>
    </>
  );
}
