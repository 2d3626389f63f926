import { kindOf, placeIn, type Collection } from '../domain/kinds';
import { body, client, type Schemas } from './client';
import { undoable } from './undo';

export type Admin = Schemas['AdminSpec']['admin'];

// Everything that the dashboard changes, each by the operation of the API that weft uses too.

/** Does something with a resource that is no change of its spec. */
export const operate = (kind: Collection, name: string, verb: 'reset' | 'renew' | 'moved') =>
  body(any.POST(`/v1/${kind}/{name}:${verb}`, { params: { path: { name } } }));
/** Sends a test message, and returns what its receiver has answered. */
export const testNotification = (name: string) =>
  body(client.POST('/v1/notifications/{name}:test', { params: { path: { name } } }));
/** Silences a cause until a time; its name is of this moment. */
export const silence = (spec: Schemas['SilenceSpec']) =>
  create('silences', `from-dashboard-${Date.now().toString(36)}`, spec, false);
export const unsilence = (name: string) => remove('silences', name, false);
export const deleteOrphan = (name: string, dryRun?: true) =>
  body(client.DELETE('/v1/orphans/{name}', { params: { path: { name }, query: { dryRun } } }));

/** What a write answers, and a dry run: the resource, and the updates of switches. */
export type Written =
  | {
      spec?: unknown;
      version?: number;
      status?: {
        conditions?: Schemas['GroupCondition'][];
        jobs?: Schemas['MaintenanceJob'][];
        paths?: Schemas['LeasedPath'][];
        follows?: Schemas['JobFollows'];
      };
      changes?: Schemas['SwitchChange'][] | null;
      takes?: Schemas['Taken'][] | null;
    }
  | undefined;
// The paths of kinds differ in their last segment only; openapi-fetch wants each by its own type.
type Method = (path: string, init: object) => Promise<{ data?: Written; error?: unknown; response: Response }>;
const any = client as unknown as Record<'GET' | 'POST' | 'PUT' | 'DELETE', Method>;

const said = (kind: Collection, name: string, what: string) => `${kindOf(kind)?.noun ?? kind} ${name} is ${what}`;

/** What is wanted of a resource now; undefined where that is not known: then nothing takes a change of it back. */
const before = async (kind: Collection, name: string): Promise<unknown> => {
  const { path, of } = placeIn(kind, name);
  return (await body(any.GET(path, { params: { path: of } })).catch(() => undefined))?.spec;
};

/** Makes a resource; the server refuses a name that is taken. */
export const create = (kind: Collection, name: string, spec: unknown, dryRun: boolean): Promise<Written> => {
  const act = () => body(any.POST(`/v1/${kind}`, { params: { query: dry(dryRun) }, body: { name, spec } }));
  return dryRun ? act() : undoable(said(kind, name, 'made'), act, () => () => remove(kind, name, false));
};

/** Replaces the spec of a resource, unless somebody else has changed it since it was read at version. */
export const replace = async (
  kind: Collection,
  name: string,
  spec: unknown,
  version: number,
  dryRun: boolean,
): Promise<Written> => {
  const { path, of } = placeIn(kind, name);
  const header = version ? { 'If-Match': `"${version}"` } : {};
  const act = () => body(any.PUT(path, { params: { path: of, query: dry(dryRun), header }, body: { spec } }));
  if (dryRun) return act();
  const was = await before(kind, name);
  return undoable(said(kind, name, 'changed'), act, (now) =>
    was === undefined ? undefined : () => replace(kind, name, was, now?.version ?? 0, false),
  );
};

export const remove = async (kind: Collection, name: string, dryRun: boolean): Promise<Written> => {
  const { path, of } = placeIn(kind, name),
    { at, overridden } = kindOf(kind) ?? {};
  const act = () => body(any.DELETE(path, { params: { path: of, query: dry(dryRun) } }));
  if (dryRun) return act();
  // Nobody reads the secret of a notification: it would come back without.
  const was = kind === 'notifications' ? undefined : await before(kind, name);
  return undoable(said(kind, name, 'deleted'), act, () =>
    was === undefined
      ? undefined
      : () => (at || overridden ? replace(kind, name, was, 0, false) : create(kind, name, was, false)),
  );
};

const dry = (dryRun: boolean) => (dryRun ? { dryRun } : {});

export const signIn = (who: { user: string; password: string } | { token: string }) =>
  body(client.POST('/v1/session', { body: who }));
export const signOut = () => body(client.DELETE('/v1/session'));

export const addUser = (user: Schemas['UserRequest']) => body(client.POST('/v1/users', { body: user }));
export const removeUser = (user: string) => body(client.DELETE('/v1/users/{user}', { params: { path: { user } } }));
/** Sets a password; a user who sets his own has to give the present one. */
export const setPassword = (user: string, password: string, current?: string) =>
  body(client.PUT('/v1/users/{user}/password', { params: { path: { user } }, body: { password, current } }));
/** Makes a token: the answer alone has its secret. */
export const makeToken = (token: Schemas['TokenRequest']) => body(client.POST('/v1/tokens', { body: token }));
export const endSession = (id: string) => body(client.DELETE('/v1/sessions/{id}', { params: { path: { id } } }));
export const revokeToken = (id: string) => body(client.DELETE('/v1/tokens/{id}', { params: { path: { id } } }));
