import type { UseQueryResult } from '@tanstack/react-query';
import type { ComponentType, ReactNode } from 'react';
import type { Schemas } from '../api/client';
import type { Intent } from '../api/queries';
import { kindOf, type Collection } from '../domain/kinds';
import { useEditing } from '../store/draft';
import { Conditions, Messages } from './badge';
import { Delete } from './delete';
import { Documented } from './documented';
import { Heading } from './facts';
import { Open } from './form';
import { Answer } from './states';

/**
 * The page of one resource: its state, what can be done with it, what its kind has to say of it, its document, and
 * the dialog that changes it.
 */
export function Resource<T extends Intent & { status: object }>(props: {
  collection: Collection;
  name: string;
  of: UseQueryResult<T>;
  /** Its state; absent: its conditions, and what they say. */
  state?: (r: T) => ReactNode;
  /** What can be done besides a change and a deletion. */
  actions?: (r: T) => ReactNode;
  /** The dialog that changes it, with what closes it. */
  form: (r: T, close: () => void) => ReactNode;
  children: (r: T) => ReactNode;
}) {
  const { collection, name, of, state, actions, form, children } = props;
  const { noun, writes } = kindOf(collection)!,
    its = { collection, name };
  const [editing, setEditing] = useEditing('form', collection, name);
  return (
    <Answer of={of} what={`${noun} ${name}`} gone={<Documented {...its} />}>
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
            {children(r)}
            <Documented {...its} of={r} />
            {editing && form(r, () => setEditing(false))}
          </>
        );
      }}
    </Answer>
  );
}

/** A noun as a title begins with it. */
const capital = (noun: string) => noun.slice(0, 1).toUpperCase() + noun.slice(1);

/** A page that is a list, or one of its objects by its name. */
export const listOr = (List: ComponentType, One: ComponentType<{ name: string }>) =>
  function Page({ path: [name] }: { path: string[] }) {
    return name === undefined ? <List /> : <One name={name} />;
  };
