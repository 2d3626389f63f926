import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { FormEvent } from 'react';

/** Something that changes what there is: when it has ended, well or not, all that is shown is asked for anew. */
export function useChange<D, A = void>(act: (of: A) => Promise<D>, done?: (answer: D) => void) {
  const queries = useQueryClient();
  return useMutation({ mutationFn: act, onSuccess: done, onSettled: () => queries.invalidateQueries() });
}

/** What a form does in place of the browser's sending it. */
export const submits = (act: () => void) => (e: FormEvent) => {
  e.preventDefault();
  act();
};
