import { useQuery, type UseQueryOptions } from '@tanstack/react-query';
import type { ComponentType, ReactNode } from 'react';
import type { Schemas } from '../api/client';
import type { Intent } from '../api/queries';
import { capital, countOf } from '../domain/format';
import { kindOf, type Collection } from '../domain/kinds';
import { pageOf } from '../domain/place';
import { useEditing } from '../store/draft';
import { go } from '../store/place';
import { Conditions, Messages } from './badge';
import { Delete } from './delete';
import { Documented } from './documented';
import { Heading } from './facts';
import { Form, Open, type Described } from './form';
import { Answer } from './states';
import { Searched, type Column } from './table';

/** The page of one resource, and the dialog that changes it or makes another one. */
interface OneOf<T> {
  collection: Collection;
  one: (name: string) => UseQueryOptions<T, Error, T, string[]>;
  /** Its state; absent: its conditions, and what they say. */
  state?: (r: T) => ReactNode;
  /** What can be done besides a change and a deletion. */
  actions?: (r: T) => ReactNode;
  Page: ComponentType<{ of: T }>;
  /** What the form has of a resource; of none: of a new one. */
  useForm: (of?: T) => Described;
}

/** The page of all resources of a kind. */
interface AllOf<T> {
  title: string;
  /** What the table is called; absent: as the page. */
  label?: string;
  all: UseQueryOptions<T[], Error, T[], unknown[]>;
  useColumns: () => Column<T>[];
  empty: string;
}

/**
 * The pages of a kind: the list of all, which is its own or another page, and one of them with its state, what can
 * be done with it, what the kind has to say of it, its document, and the dialog that changes it.
 */
export function pagesOf<T extends Intent & { status: object }>(kind: OneOf<T> & (AllOf<T> | { List: ComponentType })) {
  const { collection, one, state, actions, Page, useForm } = kind;
  const { noun, writes } = kindOf(collection)!;

  function Edit({ of, close }: { of?: T; close: () => void }) {
    const done = (name: string) => go(pageOf(`${collection}/${name}`).path);
    return <Form {...{ collection, of, close, done }} {...useForm(of)} />;
  }

  function All({ title, label = title, all, useColumns, empty }: AllOf<T>) {
    const columns = useColumns();
    const [editing, setEditing] = useEditing('form', collection);
    return (
      <>
        <Heading title={title}>
          <Open scope={writes} main label={`New ${noun}…`} open={() => setEditing(true)} />
        </Heading>
        <Answer of={useQuery(all)} what={`${noun}s`}>
          {(rows) => (
            <Searched what={countOf(rows.length, noun)} id={(x) => x.name} {...{ rows, columns, label, empty }} />
          )}
        </Answer>
        {editing && <Edit close={() => setEditing(false)} />}
      </>
    );
  }

  function One({ name }: { name: string }) {
    const its = { collection, name };
    const [editing, setEditing] = useEditing('form', collection, name);
    return (
      <Answer of={useQuery(one(name))} what={`${noun} ${name}`} gone={<Documented {...its} />}>
        {(r) => {
          const { conditions } = r.status as { conditions?: Schemas['GroupCondition'][] | null };
          return (
            <>
              <Heading title={`${capital(noun)} ${name}`} state={state ? state(r) : <Conditions of={conditions} />}>
                {actions?.(r)}
                <Open scope={writes} on={name} label="Change…" open={() => setEditing(true)} />
                <Delete {...its} />
              </Heading>
              {!state && <Messages of={conditions} />}
              <Page of={r} />
              <Documented {...its} of={r} />
              {editing && <Edit of={r} close={() => setEditing(false)} />}
            </>
          );
        }}
      </Answer>
    );
  }

  return function Pages({ path: [name] }: { path: string[] }) {
    return name !== undefined ? <One name={name} /> : 'List' in kind ? <kind.List /> : <All {...kind} />;
  };
}
