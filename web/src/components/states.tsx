import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ApiError } from '../api/client';

export function Loading({ what }: { what: string }) {
  return (
    <p className="state" role="status">
      Loading {what}…
    </p>
  );
}

export function Empty({ children }: { children: ReactNode }) {
  return <p className="state">{children}</p>;
}

/** Says that the controller configures no hosts of MRC. */
export function NoFabric() {
  return (
    <Empty>
      This controller has no MRC fabric: its configuration has no section <code>mrc</code>.
    </Empty>
  );
}

/** Says what went wrong, and of a refused request which field and what would be right. */
export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
  const problem = error instanceof ApiError ? error.problem : {};
  const text = error instanceof Error ? error.message : String(error);
  return (
    <div className="failure" role="alert">
      <p>
        <span aria-hidden="true">✕ </span>
        {text}
      </p>
      {problem.errors && problem.errors.length > 1 && (
        <ul>
          {problem.errors.map((e, i) => (
            <li key={i}>
              <code>{e.field}</code> is {e.value}: want {e.want}
            </li>
          ))}
        </ul>
      )}
      {problem.instance && (
        <p className="quiet">
          Request {problem.instance.replace('urn:weft:request:', '')}
          {problem.code ? `, ${problem.code}` : ''}
        </p>
      )}
      {retry && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** The first failure of several queries; all that failed are asked for again. */
export function Failures({ of }: { of: readonly Pick<UseQueryResult, 'isError' | 'error' | 'refetch'>[] }) {
  const failed = of.filter((q) => q.isError);
  return failed[0] && <Failure error={failed[0].error} retry={() => failed.forEach((q) => void q.refetch())} />;
}

/** Shows what a query answers: its loading, their failure, or the children with all data. */
export function Answer<T>(props: {
  of: UseQueryResult<T>;
  what: string;
  /** What is shown besides when there is none. */
  gone?: ReactNode;
  children: (data: T) => ReactNode;
}) {
  const { of, what, gone, children } = props;
  // What is deleted is gone: what was known of it before says nothing about what there is.
  if (of.error instanceof ApiError && of.error.status === 404)
    return (
      <>
        <Empty>
          There is no {what} (any more): {of.error.message}.
        </Empty>
        {gone}
      </>
    );
  if (of.data !== undefined) {
    return (
      <>
        <Failures of={[of]} />
        {children(of.data)}
      </>
    );
  }
  return of.isError ? <Failures of={[of]} /> : <Loading what={what} />;
}
