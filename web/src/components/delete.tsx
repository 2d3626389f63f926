import * as act from '../api/actions';
import { kindOf, type Collection } from '../domain/kinds';
import { pages } from '../domain/pages';
import { pageOf } from '../domain/place';
import { go, usePlace } from '../store/place';
import { Confirm } from './form';

/** Deletes an object, goes from its own page to the list, and leaves a link to the history of the object there. */
export function Delete({ collection, name }: { collection: Collection; name: string }) {
  const kind = kindOf(collection)!,
    { path: here } = usePlace();
  const own = here.length > 1 && here.at(-1) === name,
    path = own ? here : pageOf(`${collection}/${name}`).path;
  const page = pages.find((p) => p.name === here[0]);
  const list = !own ? here : page?.hidden && page.under ? [page.under] : here.slice(0, -1);
  return (
    <Confirm
      scope={kind.writes}
      on={name}
      label="Delete"
      danger
      title={`Delete ${kind.noun} ${name}?`}
      act={() => act.remove(collection, name, false)}
      dry={() => act.remove(collection, name, true)}
      done={() => go(list, { deleted: path.join('/') })}
    >
      <p>{kind.removed}</p>
    </Confirm>
  );
}
