import { useMemo } from 'react';
import { Choose } from '../components/choose';
import { Events as All } from '../components/events';
import { Contains } from '../components/contains';
import { Empty } from '../components/states';
import { countOf } from '../domain/format';
import { useLive } from '../store/live';
import { useParam } from '../store/place';

export function Events() {
  const live = useLive();
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
        <Choose label="Family" value={family} set={setFamily} of={families} none="all" />
        <Contains search={search} set={setSearch} what={`${countOf(rows.length, 'event')}, newest first`} />
      </p>
      {live.state === 'connecting' && live.events.length === 0 ? (
        <Empty>Connecting to the stream of events…</Empty>
      ) : (
        <All of={rows} label="Events" search={search} empty="No event so far." />
      )}
    </>
  );
}
