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
