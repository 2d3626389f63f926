import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useId, useState } from 'react';
import * as act from '../api/actions';
import type { Schemas } from '../api/client';
import * as ask from '../api/queries';
import { useSession } from '../api/session';
import { Badge } from '../components/badge';
import { Copy } from '../components/copy';
import { Dialog } from '../components/dialog';
import { Facts } from '../components/facts';
import { Confirm } from '../components/form';
import { Answer, Failure } from '../components/states';
import { Table, type Column } from '../components/table';
import { formatAge, formatTime } from '../domain/format';
import { useNow } from '../store/now';

type User = Schemas['User'];
type Token = Schemas['Token'];
type Session = Schemas['OpenSession'];

const roles: Record<User['role'], string> = {
  viewer: 'viewer: sees the network and what is in it',
  operator: 'operator: drains, silences, traces',
  tenant: 'tenant: changes what is one project\u2019s',
  member: 'member: what its projects give it',
  admin: 'admin: everything',
};

const begunBy: Record<Session['way'], string> = {
  user: 'password',
  token: 'token',
  'token-file': 'file of tokens',
  oidc: 'OpenID Connect',
};

/** Who may come in, and how: users, tokens and sessions. */
export function Access() {
  const users = useQuery(ask.users),
    tokens = useQuery(ask.tokens),
    sessions = useQuery(ask.sessions);
  const session = useSession(),
    now = useNow();
  const [making, setMaking] = useState<'user' | 'token'>();
  const [password, setPassword] = useState<string>();
  const used = (time: string | undefined) => (time ? `${formatAge(time, now)} ago` : 'never');
  const role = (of: { role: string; tenant?: string }) => (of.tenant ? `${of.role} of ${of.tenant}` : of.role);
  const userColumns: Column<User>[] = [
    { name: 'User', key: (u) => u.name, width: 1.2 },
    { name: 'Role', key: role },
    { name: 'Signed in', key: (u) => u.lastUsed ?? '', cell: (u) => used(u.lastUsed) },
    { name: 'Password set', key: (u) => u.changed, cell: (u) => used(u.changed) },
    {
      name: 'Actions',
      width: 2,
      cell: (u) => (
        <span className="buttons">
          <button type="button" aria-label={`Set the password of ${u.name}`} onClick={() => setPassword(u.name)}>
            Password…
          </button>
          <Confirm
            scope="administer"
            label="Remove"
            danger
            title={`Remove user ${u.name}?`}
            act={() => act.removeUser(u.name)}
          >
            <p>The sessions of {u.name} end at once.</p>
          </Confirm>
        </span>
      ),
    },
  ];
  const tokenColumns: Column<Token>[] = [
    { name: 'Token', key: (t) => t.name, width: 1.2 },
    { name: 'Id', key: (t) => t.id, cell: (t) => <code>{t.id}</code> },
    { name: 'Role', key: role },
    { name: 'Made by', key: (t) => t.createdBy, width: 0.8 },
    { name: 'Used', key: (t) => t.lastUsed ?? '', cell: (t) => used(t.lastUsed), width: 0.8 },
    {
      name: 'Ends',
      key: (t) => t.expires ?? '',
      cell: (t) =>
        t.expires === undefined ? (
          'never'
        ) : Date.parse(t.expires) < now ? (
          <Badge tone="quiet">has ended</Badge>
        ) : (
          formatTime(t.expires, now)
        ),
      width: 1.2,
    },
    {
      name: 'Actions',
      cell: (t) => (
        <Confirm
          scope="administer"
          label="Revoke"
          danger
          title={`Revoke token ${t.name}?`}
          act={() => act.revokeToken(t.id)}
        >
          <p>It ends at once, and the sessions that it has begun with it.</p>
        </Confirm>
      ),
    },
  ];
  const sessionColumns: Column<Session>[] = [
    {
      name: 'Session of',
      key: (s) => s.name,
      cell: (s) => (
        <>
          {s.name} {s.current && <Badge tone="quiet">this one</Badge>}
        </>
      ),
      width: 1.2,
    },
    { name: 'Role', key: role },
    { name: 'Begun by', key: (s) => begunBy[s.way], width: 0.8 },
    { name: 'Began', key: (s) => s.created, cell: (s) => used(s.created), width: 0.8 },
    { name: 'Used', key: (s) => s.lastUsed, cell: (s) => used(s.lastUsed), width: 0.8 },
    { name: 'Ends', key: (s) => s.expires, cell: (s) => formatTime(s.expires, now), width: 1.2 },
    {
      name: 'Actions',
      cell: (s) => (
        <Confirm
          scope="administer"
          label="End"
          danger
          title={`End the session of ${s.name}?`}
          act={() => act.endSession(s.id)}
        >
          <p>{s.current ? 'It is this one: you are asked to sign in again.' : 'It counts no more at once.'}</p>
        </Confirm>
      ),
    },
  ];
  return (
    <>
      <h1>Users and tokens</h1>
      {session && (
        <>
          <h2>This session</h2>
          <Facts
            label="This session"
            of={[
              ['Who', session.name],
              ['Role', role(session)],
              ['Known by', session.way === 'none' ? 'nothing: the API asks for no credentials' : session.way],
              ['Ends', session.expires && formatTime(session.expires, now)],
              ['Projects', session.projects?.map((p) => `${p.name} (${p.role})`).join(', ')],
            ]}
          />
        </>
      )}
      {session?.way === 'none' && (
        <p>
          <Badge tone="warning">Whoever reaches the API may do everything.</Badge> The first user or token ends that: it
          has to be an administrator.
        </p>
      )}
      <Heading2 title="Users" label="New user…" open={() => setMaking('user')} />
      <Answer of={users} what="users">
        {(all) => (
          <Table
            rows={all}
            columns={userColumns}
            id={(u) => u.name}
            label="Users"
            empty="There is no local user. People sign in by a name and password, or by the OpenID Connect provider."
          />
        )}
      </Answer>
      <Heading2 title="Tokens" label="New token…" open={() => setMaking('token')} />
      <Answer of={tokens} what="tokens">
        {(all) => (
          <Table
            rows={all}
            columns={tokenColumns}
            id={(t) => t.id}
            label="Tokens"
            empty="There is no token. Programs show a token with each request."
          />
        )}
      </Answer>
      <h2>Sessions</h2>
      <Answer of={sessions} what="sessions">
        {(all) => (
          <Table
            rows={all}
            columns={sessionColumns}
            id={(s) => s.id}
            label="Sessions"
            empty="Nobody has signed in. A request with a token or a client certificate needs no session."
          />
        )}
      </Answer>
      {making === 'user' && <NewUser close={() => setMaking(undefined)} />}
      {making === 'token' && <NewToken close={() => setMaking(undefined)} />}
      {password !== undefined && <Password user={password} close={() => setPassword(undefined)} />}
    </>
  );
}

function Heading2({ title, label, open }: { title: string; label: string; open: () => void }) {
  return (
    <div className="heading">
      <h2>{title}</h2>
      <button type="button" className="main" onClick={open}>
        {label}
      </button>
    </div>
  );
}

function Text({
  label,
  hint,
  ...rest
}: { label: string; hint?: string } & React.InputHTMLAttributes<HTMLInputElement>) {
  const id = useId();
  return (
    <p className="field">
      <label htmlFor={id}>{label}</label>
      <input id={id} aria-describedby={hint ? `${id}-about` : undefined} {...rest} />
      {hint && (
        <span id={`${id}-about`} className="quiet">
          {hint}
        </span>
      )}
    </p>
  );
}

type Role = User['role'];

/** What a user or token may do, and of which project the role tenant is. */
function RoleChoice({
  role,
  tenant,
  change,
}: {
  role: Role;
  tenant: string;
  change: (role: Role, tenant: string) => void;
}) {
  const id = useId();
  const projects = useQuery(ask.projects);
  return (
    <>
      <p className="field">
        <label htmlFor={id}>Role</label>
        <select id={id} value={role} onChange={(e) => change(e.target.value as Role, tenant)}>
          {Object.entries(roles).map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      </p>
      {role === 'tenant' && (
        <>
          <Text
            label="Project"
            required
            list={`${id}-projects`}
            value={tenant}
            onChange={(e) => change(role, e.target.value)}
          />
          <datalist id={`${id}-projects`}>
            {(projects.data ?? []).map((p) => (
              <option key={p.name} value={p.name} />
            ))}
          </datalist>
        </>
      )}
    </>
  );
}

const ofRole = (role: Role, tenant: string) => ({ role, ...(role === 'tenant' ? { tenant } : {}) });

function NewUser({ close }: { close: () => void }) {
  const queries = useQueryClient();
  const [name, setName] = useState(''),
    [secret, setSecret] = useState('');
  const [[role, tenant], setRole] = useState<[Role, string]>(['viewer', '']);
  const add = useMutation({
    mutationFn: () => act.addUser({ name, password: secret, ...ofRole(role, tenant) }),
    onSuccess: close,
    onSettled: () => queries.invalidateQueries(),
  });
  return (
    <Dialog title="New user" close={close}>
      <form
        onSubmit={(e) => {
          e.preventDefault();
          add.mutate();
        }}
      >
        <Text
          label="Name"
          required
          autoFocus
          autoComplete="off"
          value={name}
          onChange={(e) => setName(e.target.value)}
        />
        <RoleChoice role={role} tenant={tenant} change={(r, t) => setRole([r, t])} />
        <Text
          label="Password"
          type="password"
          required
          minLength={12}
          autoComplete="new-password"
          hint="12 characters at least. The user can set another one."
          value={secret}
          onChange={(e) => setSecret(e.target.value)}
        />
        {add.isError && <Failure error={add.error} />}
        <p className="buttons">
          <button type="submit" className="main" disabled={add.isPending}>
            Create
          </button>
          <button type="button" onClick={close}>
            Cancel
          </button>
        </p>
      </form>
    </Dialog>
  );
}

function NewToken({ close }: { close: () => void }) {
  const queries = useQueryClient();
  const [name, setName] = useState(''),
    [lifetime, setLifetime] = useState('');
  const [[role, tenant], setRole] = useState<[Role, string]>(['viewer', '']);
  const make = useMutation({
    mutationFn: () => act.makeToken({ name, ...ofRole(role, tenant), ...(lifetime && { lifetime }) }),
    onSettled: () => queries.invalidateQueries({ queryKey: ask.tokens.queryKey }),
  });
  if (make.data)
    return (
      <Dialog title={`Token ${make.data.name}`} close={close}>
        <p>This is the token. It is shown now and never again: the controller keeps only its hash.</p>
        <pre className="trace wraps" tabIndex={0} aria-label="The token">
          {make.data.secret}
        </pre>
        <p className="buttons">
          <Copy text={make.data.secret ?? ''} />
          <button type="button" onClick={close}>
            I have it
          </button>
        </p>
      </Dialog>
    );
  return (
    <Dialog title="New token" close={close}>
      <form
        onSubmit={(e) => {
          e.preventDefault();
          make.mutate();
        }}
      >
        <Text
          label="Name"
          required
          autoFocus
          autoComplete="off"
          hint="Who uses it, such as the name of a program."
          value={name}
          onChange={(e) => setName(e.target.value)}
        />
        <RoleChoice role={role} tenant={tenant} change={(r, t) => setRole([r, t])} />
        <Text
          label="Lifetime"
          hint="Such as 720h. Empty: until it is revoked."
          value={lifetime}
          onChange={(e) => setLifetime(e.target.value)}
        />
        {make.isError && <Failure error={make.error} />}
        <p className="buttons">
          <button type="submit" className="main" disabled={make.isPending}>
            Create
          </button>
          <button type="button" onClick={close}>
            Cancel
          </button>
        </p>
      </form>
    </Dialog>
  );
}

function Password({ user, close }: { user: string; close: () => void }) {
  const own = useSession()?.name === user;
  const [secret, setSecret] = useState(''),
    [current, setCurrent] = useState('');
  const set = useMutation({
    mutationFn: () => act.setPassword(user, secret, current || undefined),
    onSuccess: close,
  });
  return (
    <Dialog title={`Password of ${user}`} close={close}>
      <form
        onSubmit={(e) => {
          e.preventDefault();
          set.mutate();
        }}
      >
        <p>The sessions of {user} end at once.</p>
        {own && (
          <Text
            label="Present password"
            type="password"
            autoComplete="current-password"
            value={current}
            onChange={(e) => setCurrent(e.target.value)}
          />
        )}
        <Text
          label="New password"
          type="password"
          required
          minLength={12}
          autoComplete="new-password"
          hint="12 characters at least."
          value={secret}
          onChange={(e) => setSecret(e.target.value)}
        />
        {set.isError && <Failure error={set.error} />}
        <p className="buttons">
          <button type="submit" className="main" disabled={set.isPending}>
            Set
          </button>
          <button type="button" onClick={close}>
            Cancel
          </button>
        </p>
      </form>
    </Dialog>
  );
}
