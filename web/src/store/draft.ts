import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Intent } from '../api/queries';
import type { Collection } from '../domain/kinds';
import type { Spec } from '../domain/spec';

/**
 * A resource that somebody writes, in a form or as YAML, and has not sent yet. It outlives its page, until
 * somebody else signs in.
 */
export interface Draft {
  /** Who writes it, and where it is opened again: the dialog of a page, or the document. */
  in: 'form' | 'document';
  /** What it is an edition of; absent: it is new. */
  from?: Intent;
  name: string;
  /** As the form and the YAML had it last when it could be read. */
  spec: Spec;
  /** The YAML as it was typed; absent: a form has written since. */
  text?: string;
  /** The text cannot be read: spec is what it said before. */
  broken?: boolean;
}

const keyOf = (collection: Collection, name: string) => ['draft', collection, name];

/** The draft of a resource that is kept, of a new one by the name '', and what keeps one or forgets it. */
export function useDraft(collection: Collection, name: string) {
  const queries = useQueryClient(),
    queryKey = keyOf(collection, name);
  return {
    kept: () => queries.getQueryData<Draft>(queryKey),
    keep: (d: Draft) => void queries.setQueryData<Draft>(queryKey, d),
    forget: () => queries.removeQueries({ queryKey }),
  };
}

/** Whether an editor is open: it is from the start where somebody has left a draft in it. */
export function useEditing(where: Draft['in'], collection: Collection, name = '') {
  const queries = useQueryClient();
  return useState(() => queries.getQueryData<Draft>(keyOf(collection, name))?.in === where);
}
