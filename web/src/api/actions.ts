import { placeIn, type Collection } from '../domain/kinds';
import { body, client, type Schemas } from './client';

export type Admin = Schemas['AdminSpec']['admin'];
type Dry = { dryRun?: boolean };

// Everything that the dashboard changes, each by the operation of the API that weft uses too.

export const setLink = (id: string, admin: Admin, { dryRun }: Dry = {}) =>
  body(client.PUT('/v1/links/{id}', { params: { path: { id }, query: { dryRun } }, body: { spec: { admin } } }));
export const setNode = (id: string, admin: Admin, { dryRun }: Dry = {}) =>
  body(client.PUT('/v1/nodes/{id}', { params: { path: { id }, query: { dryRun } }, body: { spec: { admin } } }));
export const setPlane = (plane: number, admin: Admin, { dryRun }: Dry = {}) =>
  body(client.PUT('/v1/planes/{plane}', { params: { path: { plane }, query: { dryRun } }, body: { spec: { admin } } }));
export const setHostPort = (name: string, port: number, admin: Admin, { dryRun }: Dry = {}) =>
  body(
    client.PUT('/v1/hosts/{name}/ports/{port}', {
      params: { path: { name, port }, query: { dryRun } },
      body: { spec: { admin } },
    }),
  );

/** Changes settings of a port of a switch: those that are absent stay, and null leaves one as it is on the switch. */
export const patchPort = (id: string, port: number, spec: { enabled?: boolean }, { dryRun }: Dry = {}) =>
  body(
    client.PATCH('/v1/switches/{id}/ports/{port}', {
      params: { path: { id, port }, query: { dryRun } },
      body: { spec } as never,
      headers: { 'Content-Type': 'application/merge-patch+json' },
    }),
  );
export const putPort = (id: string, port: number, spec: Schemas['PortSpec'], version: number, { dryRun }: Dry = {}) =>
  body(
    client.PUT('/v1/switches/{id}/ports/{port}', {
      params: { path: { id, port }, query: { dryRun }, header: version ? { 'If-Match': `"${version}"` } : {} },
      body: { spec },
    }),
  );
export const deletePort = (id: string, port: number) =>
  body(client.DELETE('/v1/switches/{id}/ports/{port}', { params: { path: { id, port } } }));

export const resetGroup = (name: string) =>
  body(client.POST('/v1/multicast-groups/{name}:reset', { params: { path: { name } } }));
export const renewJob = (name: string) => body(client.POST('/v1/jobs/{name}:renew', { params: { path: { name } } }));
export const renewLease = (name: string) =>
  body(client.POST('/v1/leases/{name}:renew', { params: { path: { name } } }));
export const movedLease = (name: string) =>
  body(client.POST('/v1/leases/{name}:moved', { params: { path: { name } } }));
/** Sends a test message, and returns what its receiver has answered. */
export const testNotification = (name: string) =>
  body(client.POST('/v1/notifications/{name}:test', { params: { path: { name } } }));
/** Silences a cause until a time; its name is of this moment. */
export const silence = (spec: Schemas['SilenceSpec']) =>
  body(client.POST('/v1/silences', { body: { name: `from-dashboard-${Date.now().toString(36)}`, spec } }));
export const unsilence = (name: string) => body(client.DELETE('/v1/silences/{name}', { params: { path: { name } } }));
export const deleteOrphan = (name: string, { dryRun }: Dry = {}) =>
  body(client.DELETE('/v1/orphans/{name}', { params: { path: { name }, query: { dryRun } } }));

/** What a write answers, and a dry run: the resource, and the updates of switches. */
export type Written =
  | {
      spec?: unknown;
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
const any = client as unknown as {
  POST(path: string, init: object): Promise<{ data?: Written; error?: unknown; response: Response }>;
  PUT(path: string, init: object): Promise<{ data?: Written; error?: unknown; response: Response }>;
  DELETE(path: string, init: object): Promise<{ data?: Written; error?: unknown; response: Response }>;
};

/** Makes a resource; the server refuses a name that is taken. */
export const create = (kind: Collection, name: string, spec: unknown, dryRun: boolean) =>
  body(any.POST(`/v1/${kind}`, { params: { query: dry(dryRun) }, body: { name, spec } }));

/** Replaces the spec of a resource, unless somebody else has changed it since it was read at version. */
export const replace = (kind: Collection, name: string, spec: unknown, version: number, dryRun: boolean) => {
  const { path, of } = placeIn(kind, name);
  const header = version ? { 'If-Match': `"${version}"` } : {};
  return body(any.PUT(path, { params: { path: of, query: dry(dryRun), header }, body: { spec } }));
};

export const remove = (kind: Collection, name: string, dryRun: boolean) => {
  const { path, of } = placeIn(kind, name);
  return body(any.DELETE(path, { params: { path: of, query: dry(dryRun) } }));
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
