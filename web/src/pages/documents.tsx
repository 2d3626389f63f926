import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import * as ask from '../api/queries';
import { may, useSession } from '../api/session';
import { Summary, Messages } from '../components/badge';
import { ago, conditions, counted } from '../components/columns';
import { Delete } from '../components/delete';
import { Documented, NewlyDocumented } from '../components/documented';
import { Heading } from '../components/facts';
import { useMayTo } from '../components/form';
import { To } from '../components/link';
import { Answer, Empty } from '../components/states';
import { Searched, type Column } from '../components/table';
import { capital, countOf } from '../domain/format';
import { kindOf, listed, type Collection } from '../domain/kinds';
import { pages } from '../domain/pages';
import { pageOf } from '../domain/place';
import { useNow } from '../store/now';
import { go } from '../store/place';

/** The documents of every kind: what clients have written, wherever it has a page of its own. */
export function Documents({ path }: { path: string[] }) {
  const session = useSession();
  const [collection, name] = path;
  const kind = collection === undefined ? undefined : kindOf(collection);
  if (collection === undefined) return <Kinds />;
  if (!kind || !may(session, kind.reads))
    return (
      <Empty>
        There is no kind {collection}. <To path={['documents']}>Documents</To>
      </Empty>
    );
  return name === undefined ? (
    <List key={collection} collection={kind.collection} />
  ) : (
    <One key={`${collection}/${name}`} collection={kind.collection} name={name} />
  );
}

/** Where an object is shown: a page of its own kind, or its document. */
function placeOf(collection: Collection, name: string) {
  const place = pageOf(`${collection}/${name}`);
  return pages.some((p) => p.name === place.path[0]) ? place : { path: ['documents', collection, name] };
}

function Kinds() {
  const session = useSession();
  return (
    <>
      <h1>Documents</h1>
      <p>What clients write is a document of kind, name and spec. Each kind has its list:</p>
      <ul className="spaced">
        {listed
          .filter((k) => may(session, k.reads))
          .map((k) => (
            <li key={k.collection}>
              <To path={['documents', k.collection]}>{capital(k.nouns)}</To>
            </li>
          ))}
      </ul>
    </>
  );
}

function List({ collection }: { collection: Collection }) {
  const kind = kindOf(collection)!;
  const all = useQuery(ask.resources(collection));
  const [making, setMaking] = useState(false);
  const makes = useMayTo(kind.writes) && !kind.overridden;
  const now = useNow();
  const columns: Column<ask.Resource>[] = [
    { name: 'Name', key: (r) => r.name, cell: (r) => <To {...placeOf(collection, r.name)}>{r.name}</To>, width: 2 },
    conditions(1.5),
    counted('Version', (r) => r.version, 0.6),
    ago('Created', (r) => r.created, now, 0.8),
  ];
  return (
    <>
      <Heading title={capital(kind.nouns)}>
        {makes && !making && (
          <button type="button" className="main" onClick={() => setMaking(true)}>
            New {kind.noun} as YAML
          </button>
        )}
      </Heading>
      {making && (
        <NewlyDocumented
          collection={collection}
          done={(name) => {
            const place = placeOf(collection, name);
            go(place.path, place.query);
          }}
          close={() => setMaking(false)}
        />
      )}
      <Answer of={all} what={kind.nouns}>
        {(rows) => (
          <Searched
            rows={rows}
            what={countOf(rows.length, kind.noun)}
            columns={columns}
            id={(r) => r.name}
            label={kind.nouns}
            empty={`There is no ${kind.noun}.`}
          />
        )}
      </Answer>
    </>
  );
}

function One({ collection, name }: { collection: Collection; name: string }) {
  const kind = kindOf(collection)!;
  const one = useQuery(ask.resource(collection, name));
  const title = `${capital(kind.noun)} ${name}`;
  return (
    <Answer of={one} what={`${kind.noun} ${name}`} gone={<Documented collection={collection} name={name} />}>
      {(r) => (
        <>
          <Heading title={title} state={<Summary of={r.status?.conditions} />}>
            <Delete collection={collection} name={name} />
          </Heading>
          <Messages of={r.status?.conditions} />
          <Documented collection={collection} name={name} of={r} />
        </>
      )}
    </Answer>
  );
}
