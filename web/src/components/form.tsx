import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { lazy, Suspense, useId, useRef, useState, type ComponentProps, type ReactNode } from 'react';
import * as act from '../api/actions';
import type { Written } from '../api/actions';
import { ApiError } from '../api/client';
import * as ask from '../api/queries';
import { useMay, useSession, type Scope } from '../api/session';
import { changes, nameHint } from '../domain/project';
import { localTime } from '../domain/format';
import { adds, choices, type Choice, type Field } from '../domain/fields';
import { kindOf, type Collection } from '../domain/kinds';
import { fieldName, get, readNumber, set, type Spec, type SpecPath } from '../domain/spec';
import { submits, useChange } from '../store/change';
import { useDraft, type Draft } from '../store/draft';
import { Select } from './choose';
import { Copy } from './copy';
import { Answers, Dialog } from './dialog';
import { Pick } from './pick';
import { Failure, Loading } from './states';
import { Tabs } from './tabs';
import { Takes, Tried } from './tried';

// What reads and writes YAML is as large as all pages: it comes when somebody opens its tab.
const Yaml = lazy(() => import('./yaml'));

/** What the form of a kind has. */
export interface Described {
  title?: string;
  /** What a new one begins with. */
  first?: Spec;
  /** The fields, which may depend on the name: what a project has is known by that. Absent: it is YAML alone. */
  fields?: readonly Field[] | ((name: string) => readonly Field[]);
  /** The projects of which the new resource may be; none: of any, or none. */
  within?: readonly string[];
  /** Makes what is sent of the spec of a form. */
  sent?: (spec: Spec) => Spec;
  children?: ReactNode;
}

/** What a change of a resource needs. */
interface Editing extends Omit<Described, 'title'> {
  collection: Collection;
  /** What is changed; absent: the resource is to be made, and the user names it. */
  of?: ask.Intent;
  /** The text that a new one begins with, in place of a spec. */
  text?: string;
  close: () => void;
}

/** A dialog that writes a resource by a form or as YAML. Who goes to another page meanwhile finds it again. */
export function Form({ title, done, close, ...rest }: Editing & Described & { done?: (name: string) => void }) {
  const { collection, of } = rest,
    { noun } = kindOf(collection)!;
  const { forget } = useDraft(collection, of?.name ?? '');
  const leave = () => {
    forget();
    close();
  };
  return (
    <Dialog title={title ?? (of ? `Change ${noun} ${of.name}` : `New ${noun}`)} close={leave}>
      <Writing
        in="form"
        {...rest}
        done={(name) => {
          close();
          done?.(name);
        }}
        close={leave}
      />
    </Dialog>
  );
}

/** A draft of a resource with form and YAML as its two tabs, which the controller can try before it is sent. */
export function Writing(props: Editing & { in: Draft['in']; done: (name: string) => void }) {
  const { in: where, collection, of, first = {}, text, fields, within = [], sent, done, close, children } = props;
  const queries = useQueryClient();
  const { kept, keep, forget } = useDraft(collection, of?.name ?? '');
  // The spec goes with the version that it is of, although the page may have a later one by now.
  const [draft, setDraft] = useState<Draft>(
    () =>
      kept() ?? {
        in: where,
        from: of,
        name: of?.name ?? (within.length === 1 ? `${within[0]}-` : ''),
        spec: (of?.spec as Spec | undefined) ?? first,
        text,
      },
  );
  const { from, name, spec } = draft,
    latest = useRef(draft);
  const [tab, setTab] = useState(!fields || draft.text !== undefined ? 'yaml' : 'form');
  const check = useRef<() => boolean>(undefined);
  const send = (dry: boolean) => {
    const what = sent && draft.text === undefined ? sent(spec) : spec;
    return from ? act.replace(collection, from.name, what, from.version, dry) : act.create(collection, name, what, dry);
  };
  const trial = useMutation({ mutationFn: () => send(true) });
  const write = useMutation({
    mutationFn: () => send(false),
    // What the page shows and changes next is what was written.
    onSuccess: async () => {
      await queries.invalidateQueries();
      forget();
      done(name);
    },
    onError: () => queries.invalidateQueries(),
  });
  const failed = write.error ?? trial.error,
    refused = failed instanceof ApiError ? failed : undefined;
  // A field may change twice before what it shows does, and each key shows at once.
  const become = (d: Draft) => setDraft((latest.current = d));
  /** Forgets what the controller has said of the draft as it was. */
  const anew = () => {
    trial.reset();
    write.reset();
  };
  const change = (next: Partial<Draft> | ((before: Draft) => Partial<Draft>)) => {
    become({ ...latest.current, ...(typeof next === 'function' ? next(latest.current) : next), in: where });
    keep(latest.current);
    anew();
  };
  const attempt = (how: typeof trial | typeof write) => {
    anew();
    // Until the editor is there, the draft alone knows whether the text can be read.
    if (check.current ? check.current() : !draft.broken) how.mutate();
  };
  const nameId = useId();
  const list = typeof fields === 'function' ? fields(name) : (fields ?? []);
  const form = () => (
    <>
      {draft.broken && (
        <p className="failure" role="alert">
          The YAML cannot be read: the form has what it said before, and what you change here replaces the text.
        </p>
      )}
      {from === undefined && (
        <p className="field">
          <label htmlFor={nameId}>Name</label>
          <input
            id={nameId}
            required
            autoFocus
            value={name}
            aria-describedby={within.length > 0 ? `${nameId}-about` : undefined}
            onChange={(e) => change({ name: e.target.value, text: undefined, broken: false })}
          />
          {within.length > 0 && (
            <span id={`${nameId}-about`} className="quiet">
              {nameHint(within)}
            </span>
          )}
        </p>
      )}
      <Fields
        of={list}
        path={[]}
        spec={spec}
        change={(path, value) =>
          change((d) => ({ spec: set(d.spec, path, value) as Spec, text: undefined, broken: false }))
        }
        problems={refused ? wrong(refused) : []}
      />
    </>
  );
  const yaml = () => (
    <Suspense fallback={<Loading what="the editor" />}>
      <Yaml key={from?.version} {...{ collection, draft, change, refused, check }} />
    </Suspense>
  );
  return (
    <form onSubmit={submits(() => attempt(write))}>
      {from && of && from.version !== of.version && (
        <p className="failure" role="alert">
          Somebody has changed it meanwhile: it is version {of.version} now, and this is an edition of version{' '}
          {from.version}.{' '}
          <button
            type="button"
            onClick={() => {
              forget();
              become({ in: where, from: of, name, spec: of.spec as Spec });
              anew();
            }}
          >
            Begin again from version {of.version}
          </button>
        </p>
      )}
      {children}
      {!fields ? (
        yaml()
      ) : list.some((f) => f.kind === 'secret') ? (
        form()
      ) : (
        <Tabs
          of={[
            { id: 'form', title: 'Form', show: form },
            { id: 'yaml', title: 'YAML', show: yaml },
          ]}
          chosen={tab}
          choose={setTab}
          label="Ways to write it"
        />
      )}
      {failed && <Failure error={failed} />}
      {trial.isSuccess && <Tried of={trial.data} />}
      <Answers
        label={from === undefined ? 'Create' : fields ? 'Save' : 'Apply'}
        disabled={
          write.isPending ||
          (tab === 'form' && draft.broken === true) ||
          (!fields && spec === from?.spec && draft.text === undefined)
        }
        trial={{
          disabled: trial.isPending || (tab === 'form' && draft.broken === true),
          act: (form) => form!.reportValidity() && attempt(trial),
        }}
        close={() => {
          forget();
          close();
        }}
      />
    </form>
  );
}

interface Wrong {
  field: string;
  text: string;
}

function wrong(e: ApiError): Wrong[] {
  const list = e.problem.errors?.map((x) => ({ field: x.field, text: `is ${x.value}: want ${x.want}` })) ?? [];
  return list.length > 0 ? list : e.problem.field ? [{ field: e.problem.field, text: e.message }] : [];
}

/** A spec that is written field by field, and what the controller refused of it. */
interface Writer {
  spec: Spec;
  change: (path: SpecPath, value: unknown) => void;
  problems: Wrong[];
}

function Fields({ of, path, ...writer }: { of: readonly Field[]; path: SpecPath } & Writer) {
  return of.map((f) => <FieldInput key={`${f.kind} ${f.name}`} of={f} path={[...path, f.name]} {...writer} />);
}

function FieldInput({ of: f, path, ...writer }: { of: Field; path: SpecPath } & Writer) {
  const { spec, change, problems } = writer;
  const id = useId();
  const value = get(spec, path),
    text = value === undefined ? '' : String(value),
    above = path.slice(0, -1);
  const of = (path: SpecPath) => problems.find((p) => p.field === fieldName(path));
  const own = of(path);
  const common = {
    id,
    required: f.required,
    'aria-invalid': own !== undefined,
    'aria-describedby': own || f.hint ? `${id}-about` : undefined,
  };
  const about = (own || f.hint) && (
    <span id={`${id}-about`} className={own ? 'wrong' : 'quiet'}>
      {own ? `✕ ${own.text}` : f.hint}
    </span>
  );
  const labelled = (input: ReactNode, below: ReactNode = about) => (
    <p className="field">
      <label htmlFor={id}>{f.label}</label>
      {input}
      {below}
    </p>
  );
  /** Items under one title, each of which can be removed, and a button for another one. */
  const several = (of: { plural: string; add?: string }, items: ReactNode[], another: unknown, first?: ReactNode) => (
    <fieldset>
      <legend>{of.plural}</legend>
      {about}
      {first}
      {items.map((item, i) => (
        <div
          key={i}
          className="item"
          {...(f.kind === 'list' && { role: 'group', 'aria-label': `${f.label} ${i + 1}` })}
        >
          {item}
          <button
            type="button"
            aria-label={`Remove ${f.label} ${i + 1}`}
            onClick={() => change([...path, i], undefined)}
          >
            Remove
          </button>
        </div>
      ))}
      <button type="button" onClick={() => change([...path, items.length], another)}>
        {adds({ ...f, ...of })}
      </button>
    </fieldset>
  );
  switch (f.kind) {
    case 'group':
      return (
        <fieldset>
          <legend>{f.label}</legend>
          {about}
          <Fields of={f.fields} path={path} {...writer} />
        </fieldset>
      );
    case 'list': {
      const items = Array.isArray(value) ? (value as Spec[]) : [],
        { pick } = f;
      return several(
        f,
        items.map((_, i) => <Fields key={i} of={f.item} path={[...path, i]} {...writer} />),
        f.first?.() ?? {},
        pick && (
          <Pick
            label={pick.label}
            from={pick.from}
            chosen={items.map((item) => String(item[pick.field] ?? ''))}
            add={(values) => change(path, [...items, ...values.map((v) => ({ ...f.first?.(), [pick.field]: v }))])}
            remove={(v) => {
              const rest = items.filter((item) => item[pick.field] !== v);
              change(path, rest);
            }}
          />
        ),
      );
    }
    case 'texts':
      return several(
        f,
        (Array.isArray(value) ? (value as string[]) : []).map((text, i) => {
          const put = (t: string) => change([...path, i], t),
            not = of([...path, i]),
            its = { 'aria-label': `${f.label} ${i + 1}`, 'aria-invalid': not !== undefined, value: text };
          return (
            <>
              {f.from ? (
                <Select {...its} of={f.from} set={put} />
              ) : (
                <input {...its} onChange={(e) => put(e.target.value)} />
              )}
              {not && <span className="wrong">✕ {not.text}</span>}
            </>
          );
        }),
        f.from?.[0]?.value ?? '',
      );
    case 'more':
      return (
        <More open={f.fields.some((x) => get(spec, [...above, x.name]) !== undefined)} label={f.label}>
          <Fields of={f.fields} path={above} {...writer} />
        </More>
      );
    case 'way': {
      const now = (get(spec, above) ?? {}) as Spec,
        at = f.of.find((w) => w.is(now)) ?? f.of[0]!;
      return (
        <>
          {labelled(
            <Select
              {...common}
              value={at.label}
              of={choices(f.of.map((w) => w.label))}
              set={(label) => change(above, f.of.find((w) => w.label === label)!.make(now))}
            />,
          )}
          <Fields of={at.fields} path={above} {...writer} />
        </>
      );
    }
    case 'time': {
      const put = (t: string) => change(path, t ? new Date(t).toISOString().replace('.000', '') : undefined);
      return labelled(
        <input
          {...common}
          type="datetime-local"
          step={1}
          value={localTime(value)}
          onChange={(e) => put(e.target.value)}
        />,
      );
    }
    case 'flag':
      return (
        <p className="field">
          <label>
            <input
              {...common}
              type="checkbox"
              checked={(value as boolean | undefined) ?? f.fallback ?? false}
              onChange={(e) => change(path, e.target.checked)}
            />{' '}
            {f.label}
          </label>
          {about}
        </p>
      );
    case 'port': {
      const sw = get(spec, [...above, 'switch']),
        port = get(spec, [...above, 'port']),
        not = own ?? of([...above, 'port']);
      const put = (text: string) => {
        const slash = text.lastIndexOf('/');
        change([...above, 'switch'], slash < 0 ? undefined : text.slice(0, slash));
        change([...above, 'port'], slash < 0 ? undefined : Number(text.slice(slash + 1)));
      };
      return labelled(
        <Select
          {...common}
          aria-invalid={not !== undefined}
          value={sw === undefined || port === undefined ? '' : `${String(sw)}/${String(port)}`}
          of={f.from}
          set={put}
        />,
        not && <span className="wrong">✕ {not.text}</span>,
      );
    }
    case 'choice':
      return labelled(
        <Select
          {...common}
          value={text}
          of={f.from}
          none={f.empty}
          set={(t) => change(path, t === '' ? undefined : f.number ? Number(t) : t)}
        />,
      );
    default: {
      const put = (t: string) => change(path, f.kind === 'number' ? readNumber(t) : t === '' ? undefined : t),
        list = `${id}-list`;
      return labelled(
        <>
          {f.kind === 'number' ? (
            <NumberInput {...common} value={value} hex={f.hex} put={put} list={f.at && list} />
          ) : (
            <input
              {...common}
              {...(f.kind === 'secret'
                ? { type: 'password', autoComplete: f.auto ?? 'new-password', minLength: f.least }
                : { autoComplete: 'off' })}
              value={text}
              list={f.kind === 'suggest' ? list : undefined}
              onChange={(e) => put(e.target.value)}
            />
          )}
          {f.kind === 'secret' && f.make && (
            <span className="quiet buttons">
              <button type="button" onClick={() => put(f.make!())}>
                Make one
              </button>
              {text && <Copy text={text} label="Copy it" />}
            </span>
          )}
          {f.kind === 'number' && f.at && (
            <PortList id={list} at={f.at} name={String(get(spec, [...above, f.at]) ?? '')} />
          )}
          {f.kind === 'suggest' && <Options id={list} of={f.from} />}
        </>,
      );
    }
  }
}

/** What a field suggests. */
function Options({ id, of }: { id: string; of: readonly Choice[] }) {
  return (
    <datalist id={id}>
      {of.map((c) => (
        <option key={c.value} value={c.value}>
          {c.label}
        </option>
      ))}
    </datalist>
  );
}

/** A dialog that asks for some fields, which may depend on what is typed, and does something with them. */
export function Ask(props: {
  title: string;
  fields: (spec: Spec) => readonly Field[];
  first?: Spec;
  /** The button that does it. */
  label: string;
  act: (spec: Spec) => Promise<unknown>;
  close: () => void;
  /** Called when it is done. */
  done?: () => void;
  children?: ReactNode;
}) {
  const { title, fields, first = {}, label, act, close, done = close, children } = props;
  const [spec, setSpec] = useState(first);
  const doing = useChange(() => act(spec), done);
  return (
    <Dialog title={title} close={close}>
      <form onSubmit={submits(() => doing.mutate())}>
        {children}
        <Fields
          of={fields(spec)}
          path={[]}
          spec={spec}
          change={(path, value) => setSpec((s) => set(s, path, value) as Spec)}
          problems={
            doing.error instanceof ApiError ? wrong(doing.error).map((w) => ({ ...w, field: `spec.${w.field}` })) : []
          }
        />
        {doing.isError && <Failure error={doing.error} />}
        <Answers label={label} disabled={doing.isPending} close={close} />
      </form>
    </Dialog>
  );
}

/** Folds away what few need; it stays as its user has it. */
function More({ open: first, label, children }: { open: boolean; label: string; children: ReactNode }) {
  const [open, setOpen] = useState(first);
  return (
    <details open={open} onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>{label}</summary>
      {children}
    </details>
  );
}

/** The ports of a switch or of a host, for a field that names one of them by its id. */
export function PortList({ id, at, name }: { id: string; at: 'switch' | 'host'; name: string }) {
  const reads = useMay('read') && name !== '';
  const ports = useQuery({ ...ask.ports(name), enabled: reads && at === 'switch' }),
    hosts = useQuery({ ...ask.hosts, enabled: reads && at === 'host' });
  const all =
    at === 'switch'
      ? (ports.data ?? []).map((p) => ({ value: String(p.status.port), label: p.status.interface }))
      : (hosts.data?.find((h) => h.name === name)?.ports ?? []).map((p) => ({
          value: String(p.port),
          label: p.status.leafName && `at ${p.status.leafName}`,
        }));
  return <Options id={id} of={all} />;
}

/** Keeps what is typed: 0x10 stays so while its value is 16. */
function NumberInput(
  props: Omit<ComponentProps<'input'>, 'value'> & { value: unknown; hex?: boolean; put: (text: string) => void },
) {
  const { value, hex, put, ...rest } = props;
  const [typed, setTyped] = useState<string>();
  const written = hex && (typeof value === 'number' || typeof value === 'bigint') ? `0x${value.toString(16)}` : value;
  const shown = typed !== undefined && readNumber(typed) === value ? typed : String(written ?? '');
  return (
    <input
      {...rest}
      inputMode="numeric"
      value={shown}
      onChange={(e) => {
        setTyped(e.target.value);
        put(e.target.value);
      }}
    />
  );
}

/** Reports whether the user may do what a scope covers to the resource of a name; without one, to some. */
export function useMayTo(scope: Scope, on?: string): boolean {
  const allowed = useMay(scope),
    session = useSession();
  return allowed && (on === undefined || scope !== 'tenant:write' || changes(session, on));
}

/** A button that opens a form, where the user may use it: on the resource that it changes, if there is one. */
export function Open(props: {
  scope: Scope;
  on?: string;
  label: string;
  name?: string;
  main?: boolean;
  open: () => void;
}) {
  const { scope, on, label, name, main, open } = props;
  if (!useMayTo(scope, on)) return null;
  return (
    <button type="button" className={main ? 'main' : undefined} aria-label={name} onClick={open}>
      {label}
    </button>
  );
}

/** A button that asks once more, and says what the controller would change. */
export function Confirm(props: {
  /** What its user has to be allowed, and the resource that it does it to: without it there is no button. */
  scope: Scope;
  on?: string;
  label: string;
  title: string;
  danger?: boolean;
  act: () => Promise<unknown>;
  dry?: () => Promise<Written>;
  done?: () => void;
  children?: ReactNode;
}) {
  const { scope, on, label, title, danger, act, dry, done, children } = props;
  const [open, setOpen] = useState(false);
  if (!useMayTo(scope, on)) return null;
  return (
    <>
      <button type="button" className={danger ? 'danger' : undefined} onClick={() => setOpen(true)}>
        {label}…
      </button>
      {open && <ConfirmDialog {...{ label, title, danger, act, dry, done, children }} close={() => setOpen(false)} />}
    </>
  );
}

function ConfirmDialog(props: Omit<Parameters<typeof Confirm>[0], 'scope' | 'on'> & { close: () => void }) {
  const { label, title, danger, act, dry, done, children, close } = props;
  const trial = useMutation({ mutationFn: () => dry!() });
  // What it takes from others is said before anybody asks.
  const before = useQuery({
    queryKey: ['confirm trial', title],
    queryFn: () => dry!(),
    enabled: dry !== undefined,
    retry: false,
    gcTime: 0,
    staleTime: 0,
  });
  const write = useChange(act, () => {
    close();
    done?.();
  });
  return (
    <Dialog title={title} close={close}>
      {children}
      {!trial.isSuccess && <Takes of={before.data?.takes} />}
      {trial.isSuccess && <Tried of={trial.data} />}
      {(trial.error ?? write.error) && <Failure error={write.error ?? trial.error} />}
      <Answers
        {...{ label, danger, close }}
        act={() => write.mutate()}
        disabled={write.isPending}
        trial={dry && { disabled: trial.isPending, act: () => trial.mutate() }}
      />
    </Dialog>
  );
}
