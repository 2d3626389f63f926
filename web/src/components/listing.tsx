import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { kindOf, type Collection } from '../domain/kinds';
import { useEditing } from '../store/draft';
import { useParam } from '../store/place';
import { Contains } from './contains';
import { Heading } from './facts';
import { Open } from './form';
import { Answer } from './states';
import { Table, type Column } from './table';

/** The page of all resources of a kind: a search, a table, and the dialog that makes another one. */
export function Listing<T extends { name: string }>({
  collection,
  title,
  label = title,
  of,
  columns,
  empty,
  make,
}: {
  collection: Collection;
  title: string;
  /** What the table is called. */
  label?: string;
  of: UseQueryResult<T[]>;
  columns: Column<T>[];
  empty: string;
  /** The dialog, with what closes it. */
  make: (close: () => void) => ReactNode;
}) {
  const { noun, writes } = kindOf(collection)!;
  const [search, setSearch] = useParam('q'),
    [editing, setEditing] = useEditing('form', collection);
  return (
    <>
      <Heading title={title}>
        <Open scope={writes} main label={`New ${noun}…`} open={() => setEditing(true)} />
      </Heading>
      <Answer of={of} what={`${noun}s`}>
        {(all) => (
          <>
            {all.length > 0 && (
              <p className="filters">
                <Contains
                  search={search}
                  set={setSearch}
                  what={`${all.length} ${all.length === 1 ? noun : `${noun}s`}`}
                />
              </p>
            )}
            <Table rows={all} columns={columns} id={(x) => x.name} label={label} search={search} empty={empty} />
          </>
        )}
      </Answer>
      {editing && make(() => setEditing(false))}
    </>
  );
}
