import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import * as act from '../api/actions';
import type { Schemas } from '../api/client';
import * as ask from '../api/queries';
import { useMay } from '../api/session';
import { documentSchema, type OpenApi, type Schema } from '../domain/completion';
import { yamlOf } from '../domain/document';
import { merge } from '../domain/eventlog';
import { countOf, formatAge } from '../domain/format';
import { fixed, kindOf, verb, type Collection } from '../domain/kinds';
import { useEditing } from '../store/draft';
import { useLive } from '../store/live';
import { useNow } from '../store/now';
import { useParam } from '../store/place';
import { Copy } from './copy';
import { Diff } from './diff';
import { Events as EventTable } from './events';
import { Time } from './facts';
import { Confirm, useMayTo, Writing } from './form';
import { Answer, Empty, Failure, Loading } from './states';
import { Tabs, type Tab } from './tabs';
import { Updates } from './tried';

interface About {
  collection: Collection;
  name: string;
  /** Absent: it is gone, and its history may still be there. */
  of?: ask.Intent;
  /** A heading that opens it is there already. */
  folded?: boolean;
}

/** Kinds that have entries on switches of their own. */
const withEntries: readonly Collection[] = ['multicast-groups', 'tenants', 'pfc-policies', 'srv6-policies'];

/** The document of an object, its history, its events, and its entries on switches. */
export function Document({ collection, name, of, folded }: About) {
  const kind = kindOf(collection)!;
  const [tab, setTab] = useParam('tab', of ? 'yaml' : 'history');
  const [editing, setEditing] = useEditing('document', collection, name);
  const administers = useMay('administer'),
    changes = useMayTo(kind.writes, name);
  const tabs: Tab[] = [];
  if (of) tabs.push({ id: 'yaml', title: 'YAML', show: () => <Yaml {...{ collection, of, editing, setEditing }} /> });
  // What is edited would be lost with its tab.
  if (administers && !editing)
    tabs.push({ id: 'history', title: 'History', show: () => <Past {...{ collection, name, of }} /> });
  if (kind.events.length > 0 && !editing)
    tabs.push({ id: 'events', title: 'Events', show: () => <Events {...{ collection, name }} /> });
  if (of && changes && !editing && withEntries.includes(collection))
    tabs.push({ id: 'entries', title: 'Entries on switches', show: () => <Entries {...{ collection, name }} /> });
  if (tabs.length === 0) return null;
  return (
    <>
      {!folded && <h2>{of ? 'Document' : 'What is known of it'}</h2>}
      <Tabs of={tabs} chosen={tab} choose={setTab} label={`Document of ${name}`} />
    </>
  );
}

function Yaml(props: { collection: Collection; of: ask.Intent; editing: boolean; setEditing: (on: boolean) => void }) {
  const { collection, of, editing, setEditing } = props;
  const kind = kindOf(collection)!;
  const text = useMemo(() => yamlOf(collection, of.name, of.spec), [collection, of.name, of.spec]);
  const changes = useMayTo(kind.writes, of.name);
  const [said, setSaid] = useState<string>(); // absent until an edition has ended
  const end = (text: string) => {
    setSaid(text);
    setEditing(false);
  };
  return editing ? (
    <Writing in="document" {...{ collection, of }} done={() => end('Applied.')} close={() => end('')} />
  ) : (
    <>
      <p className="buttons">
        {changes && (
          <button type="button" autoFocus={said !== undefined} onClick={() => setEditing(true)}>
            Edit
          </button>
        )}
        <Copy text={text} label="Copy" />
        <span role="status" className="quiet">
          {said}
        </span>
      </p>
      <pre className="trace" tabIndex={0} aria-label={`${of.name} as YAML`}>
        {text}
      </pre>
    </>
  );
}

/** A new object as a document. */
export function NewDocument(props: { collection: Collection; done: (name: string) => void; close: () => void }) {
  const { collection, done, close } = props;
  const kind = kindOf(collection)!;
  const api = useQuery(ask.openApi);
  return (
    <Answer of={api} what="the schema">
      {(a) => (
        <Writing
          in="document"
          collection={collection}
          text={skeleton(a, documentSchema(a, collection, kind.kind), kind.kind)}
          done={done}
          close={close}
        />
      )}
    </Answer>
  );
}

/** The fields that a document needs, without values. */
function skeleton(api: OpenApi, of: Schema | undefined, kind: string): string {
  const spec = of?.properties?.spec;
  const resolved = spec?.$ref ? api.components.schemas[spec.$ref.replace('#/components/schemas/', '')] : spec;
  const fields = (resolved?.required ?? []).map((f) => `  ${f}: \n`).join('');
  return `kind: ${kind}\nname: \nspec:\n${fields || '  '}`;
}

/** Who changed an object, when and how; each change can be taken back. */
function Past({ collection, name, of }: About) {
  const records = useQuery(ask.changesOf(collection, name, of?.version));
  return (
    <Answer of={records} what="its history">
      {(all) =>
        all.length === 0 ? (
          <Empty>The audit log has no change of it.</Empty>
        ) : (
          <ol className="changes" aria-label={`Changes of ${name}`}>
            {all.map((r, i) => (
              <PastChange key={`${r.chain} ${r.seq}`} {...{ collection, name, of }} record={r} latest={i === 0} />
            ))}
          </ol>
        )
      }
    </Answer>
  );
}

function PastChange(props: About & { record: Schemas['AuditRecord']; latest: boolean }) {
  const { collection, name, of, record: r, latest } = props;
  const now = useNow();
  const [open, setOpen] = useState(latest);
  const kind = kindOf(collection)!;
  const who = r.sessionInfo.user.identity || 'nobody';
  const yaml = (spec: unknown) => (spec === undefined ? '' : yamlOf(collection, name, spec));
  const why = fixed(r, latest, of?.spec);
  const before = r.before ?? kind.untouched;
  const gone = before === undefined;
  const send = (dry: boolean): Promise<act.Written> =>
    gone
      ? act.remove(collection, name, dry)
      : of
        ? act.replace(collection, name, before, of.version, dry)
        : act.create(collection, name, before, dry);
  return (
    <li>
      <p>
        <b>{who}</b> {verb(r) ?? 'did something with'} it {formatAge(r.timestamp, now)} ago, <Time of={r.timestamp} />{' '}
        <span className="quiet">
          ({r.serviceRequest.method}
          {r.sessionInfo.remoteAddress && ` from ${r.sessionInfo.remoteAddress}`})
        </span>{' '}
        {!why && (!gone || of) && (
          <Confirm
            scope="administer"
            label={latest ? 'Undo' : 'Undo this and all after it'}
            title={latest ? 'Undo the change?' : 'Undo the change and all after it?'}
            danger={gone}
            act={() => send(false)}
            dry={() => send(true)}
          >
            <p>
              {gone
                ? `The change created ${kind.noun} ${name}: it is deleted. ${kind.removed}`
                : `It becomes what it was before the change of ${who}, as a new change.`}
            </p>
            <Diff before={yaml(of?.spec)} after={yaml(before)} label="What the undo changes" />
          </Confirm>
        )}
        {why && latest && <span className="quiet">It cannot be taken back: {why}.</span>}
      </p>
      {verb(r) !== undefined && (
        <details open={open} onToggle={(e) => setOpen(e.currentTarget.open)}>
          <summary>What changed</summary>
          {open && <Diff before={yaml(r.before)} after={yaml(r.after)} label={`What ${who} changed`} />}
        </details>
      )}
    </li>
  );
}

/** What happened to an object: what the controller still has of it, and what came since. */
function Events({ collection, name }: { collection: Collection; name: string }) {
  const families = kindOf(collection)!.events;
  const earlier = useQuery(ask.eventsOf(families, name));
  const live = useLive();
  const rows = useMemo(
    () =>
      merge(
        earlier.data ?? [],
        live.events.filter((e) => e.objects?.some((o) => o.id === name) && families.includes(e.type.split('.')[0]!)),
      ).reverse(),
    [earlier.data, live.events, families, name],
  );
  return (
    <Answer of={earlier} what="its events">
      {() => <EventTable of={rows} label={`Events of ${name}`} empty="No event about it is kept." />}
    </Answer>
  );
}

/** What an object has on switches: what its deletion would take away, which the controller plans. */
function Entries({ collection, name }: { collection: Collection; name: string }) {
  const trial = useQuery({
    queryKey: ['entries of', collection, name],
    queryFn: () => act.remove(collection, name, true),
    retry: false,
  });
  if (trial.isPending) return <Loading what="its entries" />;
  if (trial.isError)
    return (
      <>
        <p>The controller plans a deletion to say what an object has on switches. It refuses this one:</p>
        <Failure error={trial.error} />
      </>
    );
  const changes = trial.data?.changes ?? [];
  const count = changes.reduce((n, c) => n + (c.updates?.length ?? 0), 0);
  if (count === 0) return <Empty>It has no entry on a switch.</Empty>;
  return (
    <>
      <p>
        {countOf(count, 'entry')} on {countOf(changes.length, 'switch')}, each with what a deletion of {name} would do
        to it.
      </p>
      <Updates of={changes} />
    </>
  );
}
