import { useQuery } from '@tanstack/react-query';
import type { Schemas } from '../api/client';
import * as ask from '../api/queries';
import { Choose } from '../components/choose';
import { long, shown, timed, toned } from '../components/columns';
import { Chosen } from '../components/facts';
import { Answer } from '../components/states';
import { Table, type Column } from '../components/table';
import { formatExact } from '../domain/json';
import { setParams, useParam } from '../store/place';

type Record = Schemas['AuditRecord'];

const id = (r: Record) => `${r.chain} ${r.seq}`;
const columns: Column<Record>[] = [
  timed('Time', (r) => r.timestamp, 1.7),
  shown('Who', (r) => r.sessionInfo.user.identity, String, { none: 'nobody', width: 0.8 }),
  { name: 'Role', key: (r) => r.sessionInfo.user.role ?? '', width: 0.6 },
  { name: 'From', key: (r) => r.sessionInfo.remoteAddress ?? '', width: 0.8 },
  {
    name: 'Request',
    key: (r) => `${r.serviceRequest.method} ${r.serviceRequest.path}`,
    cell: (r) => (
      <code title={r.serviceRequest.path}>
        {r.serviceRequest.method} {r.serviceRequest.path}
      </code>
    ),
    width: 2.4,
  },
  toned(
    'Outcome',
    (r) => [r.outcome === 'success' ? 'ok' : 'fault', `${r.outcome}${r.status ? ` ${r.status}` : ''}`],
    0.8,
  ),
  long('Detail', (r) => r.detail, 1.3),
  {
    name: 'Record',
    key: id,
    cell: (r) => (
      <button type="button" onClick={() => setParams({ record: id(r) })} aria-label={`Show record ${id(r)}`}>
        {r.seq}
      </button>
    ),
    width: 0.5,
  },
];

export function Audit() {
  const [identity, setIdentity] = useParam('who');
  const [path, setPath] = useParam('path');
  const [outcome, setOutcome] = useParam('outcome');
  const [chosen] = useParam('record');
  const records = useQuery(ask.audit(identity, path, outcome));
  const record = records.data?.find((r) => id(r) === chosen);
  return (
    <>
      <h1>Audit log</h1>
      <p className="filters">
        <label>
          Who <input type="search" value={identity} onChange={(e) => setIdentity(e.target.value)} />
        </label>
        <label>
          Path <input type="search" value={path} onChange={(e) => setPath(e.target.value)} />
        </label>
        <Choose label="Outcome" value={outcome} set={setOutcome} of={['success', 'failure']} none="any" />
        <span className="quiet">
          the latest 500; <code>weft audit verify</code> checks the chain of hashes
        </span>
      </p>
      {record && (
        <Chosen title={`Record ${id(record)}`} close={() => setParams({ record: undefined })}>
          <pre className="trace" tabIndex={0} aria-label="The whole record">
            {formatExact(record, 2)}
          </pre>
        </Chosen>
      )}
      <Answer of={records} what="the audit log">
        {(all) => (
          <Table
            rows={all.toReversed()}
            columns={columns}
            id={id}
            label="Audit log"
            selected={chosen}
            empty="No record matches the filters."
          />
        )}
      </Answer>
    </>
  );
}
