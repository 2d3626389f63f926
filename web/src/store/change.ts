import { useMutation, useQueryClient } from '@tanstack/react-query';

/** Something that changes what there is: when it has ended, well or not, all that is shown is asked for anew. */
export function useChange<D, A = void>(act: (of: A) => Promise<D>, done?: (answer: D) => void) {
  const queries = useQueryClient();
  return useMutation({ mutationFn: act, onSuccess: done, onSettled: () => queries.invalidateQueries() });
}
