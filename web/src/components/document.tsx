import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { lazy, Suspense, useMemo, useState, type ReactNode } from 'react';
import * as act from '../api/actions';
import { ApiError, type Schemas } from '../api/client';
import * as ask from '../api/queries';
import { useMay } from '../api/session';
import { documentSchema, type OpenApi, type Schema } from '../domain/completion';
import { readDocument, toYaml, type Fault } from '../domain/document';
import { merge } from '../domain/eventlog';
import { formatAge, formatTime } from '../domain/format';
import { fixed, kindOf, verb, type Collection } from '../domain/kinds';
import { useLive } from '../store/live';
import { useNow } from '../store/now';
import { useParam } from '../store/place';
import { Copy } from './copy';
import { Diff } from './diff';
import { useEventColumns } from './eventcolumns';
import { Confirm, useMayTo } from './form';
import { Answer, Empty, Failure, Loading } from './states';
import { Table } from './table';
import { Tabs, type Tab } from './tabs';
import { Tried, Updates } from './tried';

const Editor = lazy(() => import('./editor'));

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

/** A document that is typed and not applied yet: it outlives its page, until somebody else signs in. */
interface Draft {
  /** What it is an edition of; absent: it is new. */
  from?: ask.Intent;
  text: string;
}
const draftOf = (collection: Collection, name: string) => ['draft', collection, name];

/** The document of an object, its history, its events, and its entries on switches. */
export function Document({ collection, name, of, folded }: About) {
  const kind = kindOf(collection)!;
  const [tab, setTab] = useParam('tab', of ? 'yaml' : 'history');
  const queries = useQueryClient();
  const [editing, setEditing] = useState(() => queries.getQueryData(draftOf(collection, name)) !== undefined);
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

const yamlOf = (collection: Collection, name: string, spec: unknown) =>
  toYaml({ kind: kindOf(collection)!.kind, name, spec });

function Yaml({
  collection,
  of,
  editing,
  setEditing,
}: {
  collection: Collection;
  of: ask.Intent;
  editing: boolean;
  setEditing: (on: boolean) => void;
}) {
  const kind = kindOf(collection)!;
  const text = useMemo(() => yamlOf(collection, of.name, of.spec), [collection, of.name, of.spec]);
  const changes = useMayTo(kind.writes, of.name);
  const [said, setSaid] = useState<string>(); // absent until an edition has ended
  return editing ? (
    <Edit
      {...{ collection, of }}
      close={(done) => {
        setSaid(done ? 'Applied.' : '');
        setEditing(false);
      }}
    />
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

/** Edits a document: what is not as the controller wants it is named with its line. */
function Edit({ collection, of, close }: { collection: Collection; of: ask.Intent; close: (done: boolean) => void }) {
  // What is edited, and what it is compared with, is what there was when the editing began.
  const queries = useQueryClient(),
    draft = draftOf(collection, of.name);
  const [from, setFrom] = useState(() => queries.getQueryData<Draft>(draft)?.from ?? of);
  const before = yamlOf(collection, from.name, from.spec);
  return (
    <Work
      key={from.version}
      collection={collection}
      name={from.name}
      from={from}
      first={before}
      before={before}
      label={`${of.name} as YAML`}
      doing="Apply"
      send={(doc, dry) => act.replace(collection, from.name, doc.spec, from.version, dry)}
      done={() => close(true)}
      close={() => close(false)}
    >
      {from.version !== of.version && (
        <p className="failure" role="alert">
          Somebody has changed it meanwhile: it is version {of.version} now, and this is an edition of version{' '}
          {from.version}.{' '}
          <button
            type="button"
            onClick={() => {
              queries.removeQueries({ queryKey: draft });
              setFrom(of);
            }}
          >
            Begin again from version {of.version}
          </button>
        </p>
      )}
    </Work>
  );
}

/** A new object as a document. */
export function NewDocument({
  collection,
  done,
  close,
}: {
  collection: Collection;
  done: (name: string) => void;
  close: () => void;
}) {
  const kind = kindOf(collection)!;
  const api = useQuery(ask.openApi);
  return (
    <Answer of={api} what="the schema">
      {(a) => (
        <Work
          collection={collection}
          name=""
          first={skeleton(a, documentSchema(a, collection, kind.kind), kind.kind)}
          label={`New ${kind.noun} as YAML`}
          doing="Create"
          send={(doc, dry) => act.create(collection, doc.name, doc.spec, dry)}
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

function Work({
  collection,
  name,
  from,
  first,
  before,
  label,
  doing,
  send,
  done,
  close,
  children,
}: {
  collection: Collection;
  /** '': the document says. */
  name: string;
  from?: ask.Intent;
  first: string;
  before?: string;
  label: string;
  doing: string;
  send: (doc: { name: string; spec: unknown }, dryRun: boolean) => Promise<act.Written>;
  done: (name: string) => void;
  close: () => void;
  children?: ReactNode;
}) {
  const kind = kindOf(collection)!;
  const queries = useQueryClient();
  const api = useQuery(ask.openApi);
  const schema = useMemo(
    () => (api.data ? documentSchema(api.data, collection, kind.kind) : undefined),
    [api.data, collection, kind.kind],
  );
  const draft = draftOf(collection, name);
  const forget = () => queries.removeQueries({ queryKey: draft });
  const [text, setText] = useState(() => queries.getQueryData<Draft>(draft)?.text ?? first);
  const [line, setLine] = useState<{ number: number }>();
  const read = useMemo(() => readDocument(text, kind.kind, name), [text, kind.kind, name]);
  const [tries, setTries] = useState(false);
  const trial = useMutation({ mutationFn: () => send(read.doc!, true) });
  const write = useMutation({
    mutationFn: () => send(read.doc!, false),
    onSuccess: () => {
      forget();
      done(read.doc!.name);
    },
    onSettled: () => queries.invalidateQueries(),
  });
  const failed = write.error ?? trial.error;
  const faults: Fault[] = [
    ...(tries ? read.faults : []),
    ...(failed instanceof ApiError
      ? (failed.problem.errors ?? []).map((e) => ({
          line: read.lineOf(e.field),
          text: `${e.field} is ${e.value}: want ${e.want}`,
        }))
      : []),
  ];
  const attempt = (how: typeof trial | typeof write) => {
    setTries(true);
    trial.reset();
    write.reset();
    if (read.doc) how.mutate();
    else if (read.faults[0]?.line) setLine({ number: read.faults[0].line });
  };
  return (
    <form
      onSubmit={(e) => {
        e.preventDefault();
        attempt(write);
      }}
    >
      {children}
      <Suspense fallback={<Loading what="the editor" />}>
        <Editor
          text={text}
          change={(t) => {
            setText(t);
            queries.setQueryData(draft, { from, text: t });
            trial.reset();
            write.reset();
          }}
          label={label}
          api={api.data}
          schema={schema}
          wrong={faults.length > 0}
          line={line}
        />
      </Suspense>
      {faults.length > 0 && (
        <div role="alert">
          <ul className="faults">
            {faults.map((f, i) => (
              <li key={i}>
                {f.line && (
                  <button type="button" onClick={() => setLine({ number: f.line! })}>
                    Line {f.line}
                  </button>
                )}{' '}
                <span className="wrong">✕ {f.text}</span>
              </li>
            ))}
          </ul>
        </div>
      )}
      {failed && <Failure error={failed} />}
      {before !== undefined && (
        <>
          <h3>What you change</h3>
          <Diff before={before} after={text} label="What you change" />
        </>
      )}
      {trial.isSuccess && <Tried of={trial.data} />}
      <p className="buttons">
        <button type="submit" className="main" disabled={write.isPending || text === before}>
          {doing}
        </button>
        <button type="button" disabled={trial.isPending} onClick={() => attempt(trial)}>
          Try without doing it
        </button>
        <button
          type="button"
          onClick={() => {
            forget();
            close();
          }}
        >
          Cancel
        </button>
      </p>
    </form>
  );
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

function PastChange({
  collection,
  name,
  of,
  record: r,
  latest,
}: About & { record: Schemas['AuditRecord']; latest: boolean }) {
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
        <b>{who}</b> {verb(r) ?? 'did something with'} it{' '}
        <time dateTime={r.timestamp} title={r.timestamp}>
          {formatAge(r.timestamp, now)} ago, {formatTime(r.timestamp, now)}
        </time>{' '}
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
  const live = useLive(),
    columns = useEventColumns();
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
      {() => (
        <Table
          rows={rows}
          columns={columns}
          id={(e) => `${e.seq} ${e.time}`}
          label={`Events of ${name}`}
          empty="No event about it is kept."
        />
      )}
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
        {count} {count === 1 ? 'entry' : 'entries'} on {changes.length} {changes.length === 1 ? 'switch' : 'switches'},
        each with what a deletion of {name} would do to it.
      </p>
      <Updates of={changes} />
    </>
  );
}
