import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { browse, closed, Lab, open, rows, says, type, wellMade, type Schemas } from './kit';

const token = 'a-token-of-an-administrator-for-this-test';
const password = 'correct horse battery';
const topology = `nodes:
- {name: n1, routerId: 10.0.0.1, loopback: "2001:db8::1", locator: "5f00:0:1::/48"}
links: []
`;

let lab: Lab, browser: Browser;

beforeAll(async () => {
  [lab, browser] = await Promise.all([
    Lab.controller(topology, 'switches:\n- {name: n1, address: "127.0.0.1:1", mac: "02:00:00:00:00:01"}\n', token),
    browse(),
  ]);
  for (const user of [
    { name: 'ann', role: 'admin' },
    { name: 'vic', role: 'viewer' },
  ]) {
    const answer = await lab.send('POST', '/v1/users', { ...user, password });
    if (!answer.ok) throw new Error(await answer.text());
  }
});
afterAll(async () => {
  await browser?.close();
  await lab?.stop();
});

async function visit(user: string, place: string, size?: { width: number; height: number }) {
  const got = await open(browser, `${lab.url}/#/${place}`, size);
  const dialog = got.page.getByRole('dialog', { name: 'Sign in' });
  await dialog.getByRole('textbox', { name: 'User' }).waitFor();
  await got.page.keyboard.type(user);
  await got.page.keyboard.press('Tab');
  await got.page.keyboard.type(password);
  await got.page.keyboard.press('Enter');
  await closed(dialog);
  return got;
}

const names = async (page: Page, table: string) => (await rows(page, table)).map((r) => r[0]);

test('a user is made by keys, gets another password, and is removed', async () => {
  const { page, wrong } = await visit('ann', 'audit');
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.getByRole('navigation', { name: 'Related pages' }).getByRole('link', { name: 'Access' }).click();
  await expect.poll(() => names(page, 'Users')).toEqual(['ann', 'vic']);
  await wellMade(page, wrong, 'accounts');
  await page.getByRole('button', { name: 'New user…' }).press('Enter');
  const form = page.getByRole('dialog', { name: 'New user' });
  await page.keyboard.type('tom');
  await form.getByLabel('Role').selectOption('tenant');
  await type(form.getByLabel('Project'), 'acme');
  await type(form.getByLabel('Password'), password);
  await wellMade(page, wrong, 'accounts-user');
  await page.keyboard.press('Enter');
  await closed(form);
  await expect
    .poll(async () => (await rows(page, 'Users')).map((r) => r.slice(0, 3)))
    .toContainEqual(['tom', 'tenant of acme', 'never']);
  await page.getByRole('button', { name: 'Set the password of tom' }).click();
  const set = page.getByRole('dialog', { name: 'Password of tom' });
  await page.keyboard.type('another horse battery');
  await page.keyboard.press('Enter');
  await closed(set);
  const signed = await lab.send('POST', '/v1/session', {
    user: 'tom',
    password: 'another horse battery',
    bearer: true,
  });
  expect(signed.ok).toBe(true);
  // The session of tom ends from here, and that of this page stays.
  const bearer = ((await signed.json()) as Schemas['Session']).token!;
  const sessions = page.getByRole('table', { name: 'Sessions' });
  await page.reload();
  await sessions.getByRole('row', { name: /^ann this one/ }).waitFor();
  const toms = sessions.getByRole('row', { name: /^tom/ });
  expect(await toms.count()).toBe(1);
  await toms.getByRole('button', { name: 'End…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'End', exact: true }).click();
  await expect.poll(() => toms.count()).toBe(0);
  const after = await fetch(`${lab.url}/v1/topology`, { headers: { Authorization: `Bearer ${bearer}` } });
  expect(after.status).toBe(401);
  await page
    .getByRole('table', { name: 'Users' })
    .getByRole('row', { name: /^tom/ })
    .getByRole('button', { name: 'Remove…' })
    .click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click();
  await expect.poll(() => names(page, 'Users')).toEqual(['ann', 'vic']);
  await page.context().close();
});

test('a token is shown once, works, and is worth nothing when it is revoked', async () => {
  const { page, wrong } = await visit('ann', 'access', { width: 390, height: 800 });
  await page.getByRole('button', { name: 'New token…' }).press('Enter');
  await page.keyboard.type('exporter');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.type('24h');
  await page.keyboard.press('Enter');
  const shown = page.getByRole('dialog', { name: 'Token exporter' });
  const secret = (await shown.getByLabel('The token').innerText()).trim();
  expect(secret).toMatch(/^weft_/);
  await wellMade(page, wrong, 'accounts-token-phone');
  const ask = () => fetch(`${lab.url}/v1/topology`, { headers: { Authorization: `Bearer ${secret}` } });
  expect((await ask()).status).toBe(200);
  await shown.getByRole('button', { name: 'I have it' }).click();
  await closed(shown);
  await expect.poll(() => names(page, 'Tokens')).toEqual(['exporter']);
  expect(await page.locator('body').innerText()).not.toContain(secret);
  await wellMade(page, wrong, 'accounts-phone');
  await page.getByRole('button', { name: 'Revoke…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke', exact: true }).click();
  await says(page, 'There is no token.');
  expect((await ask()).status).toBe(401);
  await page.context().close();
});

test('a kind without a page of its own is made as YAML by keys, and acknowledged causes have their notes', async () => {
  const { page, wrong } = await visit('ann', 'overview');
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('d');
  await page.getByRole('heading', { name: 'Documents' }).waitFor();
  await wellMade(page, wrong, 'documents');
  await page.getByRole('link', { name: 'Silences' }).click();
  await says(page, 'There is no silence.');
  await page.getByRole('button', { name: 'New silence as YAML' }).click();
  const editor = page.getByRole('textbox', { name: 'New silence as YAML' });
  await editor.waitFor();
  await editor.press('Control+a');
  await page.keyboard.type('kind: silence');
  await page.keyboard.press('Enter');
  await page.keyboard.type('name: cable');
  await page.keyboard.press('Enter');
  await page.keyboard.type('spec:');
  await page.keyboard.press('Enter'); // the indentation comes by itself
  const until = new Date(Date.now() + 3_600_000).toISOString();
  for (const line of ['cause: switch/n1', 'note: a spare cable is on its way', `until: ${until}`]) {
    await page.keyboard.type(line);
    await page.keyboard.press('Escape');
    if (line.startsWith('until')) break;
    await page.keyboard.press('Enter');
  }
  await wellMade(page, wrong, 'document-new');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('heading', { name: 'Silence cable' }).waitFor();
  await says(page, 'note: a spare cable is on its way');
  const spec = (await lab.get<Schemas['Silence']>('/v1/silences/cable')).spec;
  expect(spec).toMatchObject({ cause: 'switch/n1', note: 'a spare cable is on its way' });
  await page.getByRole('tab', { name: 'History' }).click();
  await says(page, /ann created it/);
  await wellMade(page, wrong, 'document-silence');
  await page.context().close();
});

test('who is no administrator sees neither users nor the history of objects', async () => {
  const { page, wrong } = await visit('vic', 'access');
  // Who signs in at a page that it may not see comes to the overview.
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  await page.goto(`${lab.url}/#/access`);
  await says(page, 'vic has the role viewer, which may not see the page Access');
  await page.goto(`${lab.url}/#/documents/silences/cable`);
  await page.getByRole('tab', { name: 'YAML' }).waitFor();
  expect(await page.getByRole('tab', { name: 'History' }).count()).toBe(0);
  expect(await page.getByRole('button', { name: 'Edit' }).count()).toBe(0);
  await wellMade(page, wrong, 'document-viewer');
  await page.context().close();
});

test('a notification is made and tried by keys, and its secret is never shown', async () => {
  const got: IncomingHttpHeaders[] = [];
  let status = 200;
  const receiver = createServer((request, answer) => {
    got.push(request.headers);
    request.resume();
    answer.writeHead(status).end('thanks');
  });
  await new Promise<void>((done) => receiver.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/weft`;
  const { page, wrong } = await visit('ann', 'overview');
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('n');
  await says(page, 'There is no notification.');
  await page.getByRole('button', { name: 'New notification…' }).press('Enter');
  const form = page.getByRole('dialog', { name: 'New notification' });
  const secret = `whsec_${Buffer.from('an example of a secret of 32 oct').toString('base64')}`;
  for (const text of ['pager', url, secret]) {
    await page.keyboard.type(text);
    await page.keyboard.press('Tab');
  }
  await form.getByRole('button', { name: 'Add a severity' }).click();
  await wellMade(page, wrong, 'notification-form');
  await form.getByRole('button', { name: 'Create' }).click();
  await closed(form);
  await page.getByRole('heading', { name: 'Notification pager' }).waitFor();
  await page.getByRole('button', { name: 'Send a test message' }).click();
  await says(page, 'The receiver took the message');
  expect(got.some((h) => String(h['webhook-signature']).startsWith('v1,'))).toBe(true);
  await wellMade(page, wrong, 'notification');
  status = 500;
  await page.getByRole('button', { name: 'Send a test message' }).click();
  await says(page, 'The receiver did not take the message');
  expect(await page.locator('body').innerText()).not.toContain(secret);
  // What is saved without a secret keeps the one that there is.
  await page.getByRole('button', { name: 'Change…' }).click();
  await type(page.getByRole('dialog').getByLabel('After'), '20s');
  await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click();
  await expect
    .poll(async () => (await lab.get<Schemas['Notification']>('/v1/notifications/pager')).spec.after)
    .toBe('20s');
  status = 200;
  await page.getByRole('button', { name: 'Send a test message' }).click();
  await says(page, 'The receiver took the message');
  await page.setViewportSize({ width: 390, height: 800 });
  await wellMade(page, wrong, 'notification-phone');
  await page.goto(`${lab.url}/#/notifications`);
  await expect.poll(() => names(page, 'Notifications')).toEqual(['pager']);
  await wellMade(page, wrong, 'notifications-phone');
  await page.context().close();
  await new Promise((done) => receiver.close(done));
});
