import { useMemo } from 'react';
import { useEventColumns } from '../components/eventcolumns';
import { Contains } from '../components/contains';
import { Empty } from '../components/states';
import { Table } from '../components/table';
import { useLive } from '../store/live';
import { useParam } from '../store/place';

export function Events() {
  const live = useLive(),
    columns = useEventColumns();
  const [family, setFamily] = useParam('family');
  const [search, setSearch] = useParam('q');
  const families = useMemo(() => [...new Set(live.events.map((e) => e.type.split('.')[0]!))].sort(), [live.events]);
  const rows = useMemo(
    () => live.events.filter((e) => !family || e.type.split('.')[0] === family).toReversed(),
    [live.events, family],
  );
  return (
    <>
      <h1>Events</h1>
      <p className="filters">
        <label>
          Family{' '}
          <select value={family} onChange={(e) => setFamily(e.target.value)}>
            <option value="">all</option>
            {[...new Set([...families, ...(family ? [family] : [])])].map((f) => (
              <option key={f}>{f}</option>
            ))}
          </select>
        </label>
        <Contains search={search} set={setSearch} what={`${live.events.length} events, newest first`} />
      </p>
      {live.state === 'connecting' && live.events.length === 0 ? (
        <Empty>Connecting to the stream of events…</Empty>
      ) : (
        <Table
          rows={rows}
          columns={columns}
          id={(e) => `${e.seq} ${e.time}`}
          label="Events"
          search={search}
          empty="No event so far."
        />
      )}
    </>
  );
}
