import { useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import * as act from '../api/actions';
import type { Schemas } from '../api/client';
import * as ask from '../api/queries';
import { useSession } from '../api/session';
import { Badge } from '../components/badge';
import { actions, ago } from '../components/columns';
import { Copy } from '../components/copy';
import { Dialog } from '../components/dialog';
import { Facts, Heading } from '../components/facts';
import { Ask, Confirm, Open } from '../components/form';
import { Rows, type Column } from '../components/table';
import * as field from '../domain/fields';
import { formatTime } from '../domain/format';
import type { Spec } from '../domain/spec';
import { useNow } from '../store/now';

type User = Schemas['User'];
type Token = Schemas['Token'];
type Session = Schemas['OpenSession'];

const roles: readonly { value: User['role']; label: string }[] = [
  { value: 'viewer', label: 'viewer: sees the network and what is in it' },
  { value: 'operator', label: 'operator: drains, silences, traces' },
  { value: 'tenant', label: 'tenant: changes what is one project\u2019s' },
  { value: 'member', label: 'member: what its projects give it' },
  { value: 'admin', label: 'admin: everything' },
];

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
  const role = (of: { role: string; tenant?: string }) => (of.tenant ? `${of.role} of ${of.tenant}` : of.role);
  const userColumns: Column<User>[] = [
    { name: 'User', key: (u) => u.name, width: 1.2 },
    { name: 'Role', key: role },
    ago('Signed in', (u) => u.lastUsed, now, undefined, 'never'),
    ago('Password set', (u) => u.changed, now),
    actions(2, (u) => (
      <span className="buttons">
        <button type="button" aria-label={`Set the password of ${u.name}`} onClick={() => setPassword(u.name)}>
          Password…
        </button>
        <End label="Remove" what={`user ${u.name}`} act={() => act.removeUser(u.name)}>
          The sessions of {u.name} end at once.
        </End>
      </span>
    )),
  ];
  const tokenColumns: Column<Token>[] = [
    { name: 'Token', key: (t) => t.name, width: 1.2 },
    { name: 'Id', key: (t) => t.id, cell: (t) => <code>{t.id}</code> },
    { name: 'Role', key: role },
    { name: 'Made by', key: (t) => t.createdBy, width: 0.8 },
    ago('Used', (t) => t.lastUsed, now, 0.8, 'never'),
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
      width: 1.7,
    },
    actions(1, (t) => (
      <End label="Revoke" what={`token ${t.name}`} act={() => act.revokeToken(t.id)}>
        It ends at once, and the sessions that it has begun with it.
      </End>
    )),
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
    ago('Began', (s) => s.created, now, 0.8),
    ago('Used', (s) => s.lastUsed, now, 0.8),
    { name: 'Ends', key: (s) => s.expires, cell: (s) => formatTime(s.expires, now), width: 1.7 },
    actions(1, (s) => (
      <End label="End" what={`the session of ${s.name}`} act={() => act.endSession(s.id)}>
        {s.current ? 'It is this one: you are asked to sign in again.' : 'It counts no more at once.'}
      </End>
    )),
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
      <Heading part title="Users">
        <Open scope="administer" main label="New user…" open={() => setMaking('user')} />
      </Heading>
      <Rows
        of={users}
        what="users"
        columns={userColumns}
        id={(u) => u.name}
        label="Users"
        empty="There is no local user. People sign in by a name and password, or by the OpenID Connect provider."
      />
      <Heading part title="Tokens">
        <Open scope="administer" main label="New token…" open={() => setMaking('token')} />
      </Heading>
      <Rows
        of={tokens}
        what="tokens"
        columns={tokenColumns}
        id={(t) => t.id}
        label="Tokens"
        empty="There is no token. Programs show a token with each request."
      />
      <h2>Sessions</h2>
      <Rows
        of={sessions}
        what="sessions"
        columns={sessionColumns}
        id={(s) => s.id}
        label="Sessions"
        empty="Nobody has signed in. A request with a token or a client certificate needs no session."
      />
      {making === 'user' && <NewUser close={() => setMaking(undefined)} />}
      {making === 'token' && <NewToken close={() => setMaking(undefined)} />}
      {password !== undefined && <Password user={password} close={() => setPassword(undefined)} />}
    </>
  );
}

/** A button that ends what somebody may do, after a question that says what follows. */
function End(props: { label: string; what: string; act: () => Promise<unknown>; children: ReactNode }) {
  const { label, what, act, children } = props;
  return (
    <Confirm scope="administer" danger title={`${label} ${what}?`} {...{ label, act }}>
      <p>{children}</p>
    </Confirm>
  );
}

const password = (label: string, hint = '') =>
  field.secret('password', label, { required: true, least: 12, hint: `12 characters at least.${hint}` });

/** What a user or token may do, and of which project the role tenant is. */
const roleFields = (spec: Spec, projects: readonly { name: string }[]) => [
  field.choice('role', 'Role', roles),
  ...(spec.role === 'tenant' ? [field.suggest('tenant', 'Project', field.names(projects), { required: true })] : []),
];

/** What is sent of a form: the project goes with the role tenant alone. */
const sent = ({ tenant, ...spec }: Spec) => (spec.role === 'tenant' ? { ...spec, tenant } : spec);

function NewUser({ close }: { close: () => void }) {
  const projects = useQuery(ask.projects).data ?? [];
  return (
    <Ask
      title="New user"
      label="Create"
      first={{ role: 'viewer' }}
      fields={(spec) => [
        field.text('name', 'Name', { required: true }),
        ...roleFields(spec, projects),
        password('Password', ' The user can set another one.'),
      ]}
      act={(spec) => act.addUser(sent(spec) as unknown as Schemas['UserRequest'])}
      close={close}
    />
  );
}

function NewToken({ close }: { close: () => void }) {
  const projects = useQuery(ask.projects).data ?? [];
  const [made, setMade] = useState<Token & { secret?: string }>();
  if (made)
    return (
      <Dialog title={`Token ${made.name}`} close={close}>
        <p>This is the token. It is shown now and never again: the controller keeps only its hash.</p>
        <pre className="trace wraps" tabIndex={0} aria-label="The token">
          {made.secret}
        </pre>
        <p className="buttons">
          <Copy text={made.secret ?? ''} />
          <button type="button" onClick={close}>
            I have it
          </button>
        </p>
      </Dialog>
    );
  return (
    <Ask
      title="New token"
      label="Create"
      first={{ role: 'viewer' }}
      fields={(spec) => [
        field.text('name', 'Name', { required: true, hint: 'Who uses it, such as the name of a program.' }),
        ...roleFields(spec, projects),
        field.text('lifetime', 'Lifetime', { hint: 'Such as 720h. Empty: until it is revoked.' }),
      ]}
      act={async (spec) => setMade(await act.makeToken(sent(spec) as unknown as Schemas['TokenRequest']))}
      close={close}
      done={() => undefined}
    />
  );
}

function Password({ user, close }: { user: string; close: () => void }) {
  const own = useSession()?.name === user;
  return (
    <Ask
      title={`Password of ${user}`}
      label="Set"
      fields={() => [
        ...(own ? [field.secret('current', 'Present password', { auto: 'current-password' })] : []),
        password('New password'),
      ]}
      act={({ password, current }) => act.setPassword(user, password as string, current as string | undefined)}
      close={close}
    >
      <p>The sessions of {user} end at once.</p>
    </Ask>
  );
}
