import { useQuery, type UseQueryOptions } from '@tanstack/react-query';
import { useState, type ComponentType, type ReactNode } from 'react';
import type { Schemas } from '../api/client';
import type { Intent } from '../api/queries';
import { capital, countOf } from '../domain/format';
import { kindOf, type Collection } from '../domain/kinds';
import { pageOf } from '../domain/place';
import { useEditing } from '../store/draft';
import { go } from '../store/place';
import { Conditions, Messages } from './badge';
import { actions } from './columns';
import { Delete } from './delete';
import { Documented } from './documented';
import { Heading } from './facts';
import { Form, Open, type Described } from './form';
import { Answer } from './states';
import { Rows, Searched, type Column } from './table';

/** A kind of resources, and what its form has of one; of none: of a new one. */
interface Formed<T> {
  collection: Collection;
  useForm: (of?: T) => Described;
}

/** The page of one resource. */
interface OneOf<T> extends Formed<T> {
  one: (name: string) => UseQueryOptions<T, Error, T, string[]>;
  /** Its state; absent: its conditions, and what they say. */
  state?: (r: T) => ReactNode;
  /** What can be done besides a change and a deletion. */
  actions?: (r: T) => ReactNode;
  /** The button for a change; absent: "Change…". */
  change?: string;
  /** The button that takes it away; absent: that of a deletion. */
  remove?: (r: T) => ReactNode;
  Page: ComponentType<{ of: T }>;
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

/** The dialog that changes a resource, or makes one. */
function Edit<T extends Intent>(props: Formed<T> & { of?: T; close: () => void; done?: (name: string) => void }) {
  const { useForm, ...rest } = props;
  return <Form {...rest} {...useForm(rest.of)} />;
}

/** A part of a page with all resources of a kind, each of which is changed and deleted there. */
export function Part<T extends Intent>(
  props: Formed<T> & Omit<AllOf<T>, 'label' | 'useColumns'> & { columns: Column<T>[]; done?: (name: string) => void },
) {
  const { collection, useForm, title, all, columns, empty, done } = props;
  const { noun, writes } = kindOf(collection)!;
  const [editing, setEditing] = useState<T | 'new'>();
  const found = useQuery(all);
  const buttons = actions<T>(2.4, (r) => (
    <span className="buttons">
      <Open scope={writes} on={r.name} label="Change…" name={`Change ${r.name}`} open={() => setEditing(r)} />
      <Delete collection={collection} name={r.name} />
    </span>
  ));
  return (
    <section>
      <Heading part title={title}>
        {found.isPending || <Open scope={writes} label={`New ${noun}…`} open={() => setEditing('new')} />}
      </Heading>
      <Rows of={found} what={title} columns={[...columns, buttons]} id={(r) => r.name} label={title} empty={empty} />
      {editing && (
        <Edit
          {...{ collection, useForm, done }}
          of={editing === 'new' ? undefined : editing}
          close={() => setEditing(undefined)}
        />
      )}
    </section>
  );
}

/**
 * The pages of a kind: the list of all, which is its own or another page, and one of them with its state, what can
 * be done with it, what the kind has to say of it, its document, and the dialog that changes it.
 */
export function pagesOf<T extends Intent & { status: object }>(kind: OneOf<T> & (AllOf<T> | { List: ComponentType })) {
  const { collection, useForm, one, state, actions, change = 'Change…', remove, Page } = kind;
  const { noun, writes } = kindOf(collection)!;
  const form = { collection, useForm };

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
        {editing && (
          <Edit {...form} close={() => setEditing(false)} done={(name) => go(pageOf(`${collection}/${name}`).path)} />
        )}
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
                <Open scope={writes} on={name} label={change} open={() => setEditing(true)} />
                {remove ? remove(r) : <Delete {...its} />}
              </Heading>
              {!state && <Messages of={conditions} />}
              <Page of={r} />
              <Documented {...its} of={r} />
              {editing && <Edit {...form} of={r} close={() => setEditing(false)} />}
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
