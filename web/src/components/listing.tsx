import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { countOf } from '../domain/format';
import { kindOf, type Collection } from '../domain/kinds';
import { useEditing } from '../store/draft';
import { Heading } from './facts';
import { Open } from './form';
import { Answer } from './states';
import { Searched, type Column } from './table';

/** The page of all resources of a kind: a search, a table, and the dialog that makes another one. */
export function Listing<T extends { name: string }>(props: {
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
  const { collection, title, label = title, of, columns, empty, make } = props;
  const { noun, writes } = kindOf(collection)!;
  const [editing, setEditing] = useEditing('form', collection);
  return (
    <>
      <Heading title={title}>
        <Open scope={writes} main label={`New ${noun}…`} open={() => setEditing(true)} />
      </Heading>
      <Answer of={of} what={`${noun}s`}>
        {(all) => (
          <Searched rows={all} what={countOf(all.length, noun)} id={(x) => x.name} {...{ columns, label, empty }} />
        )}
      </Answer>
      {editing && make(() => setEditing(false))}
    </>
  );
}
