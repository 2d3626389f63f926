import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { browse, closed, Lab, open, rows, says, type, wellMade, type Schemas } from './kit';

const token = 'a-token-of-an-administrator-for-this-test';
const password = 'correct horse battery';
const topology = `nodes:
- {name: n1, routerId: 10.0.0.1, loopback: "2001:db8::1", locator: "5f00:0:1::/48"}
- {name: n2, routerId: 10.0.0.2, loopback: "2001:db8::2", locator: "5f00:0:2::/48"}
links:
- {a: n1, portA: 1, b: n2, portB: 1}
`;
// Nothing listens at the addresses of the switches: what users see of them is enough here.
const inventory = `switches:
- {name: n1, address: "127.0.0.1:1", mac: "02:00:00:00:00:01"}
- {name: n2, address: "127.0.0.1:2", mac: "02:00:00:00:00:02"}
hosts:
- {name: a, address: "2001:db8:1::1", mac: "02:01:00:00:00:01", switch: n1, port: 11}
- {name: b, address: "2001:db8:1::2", mac: "02:01:00:00:00:02", switch: n2, port: 11}
`;

let lab: Lab, browser: Browser;

beforeAll(async () => {
  [lab, browser] = await Promise.all([Lab.controller(topology, inventory, token), browse()]);
  for (const user of [
    { name: 'ann', role: 'admin' },
    { name: 'vic', role: 'viewer' },
    { name: 'olga', role: 'operator' },
    { name: 'tom', role: 'tenant', tenant: 'acme' },
  ]) {
    const answer = await lab.send('POST', '/v1/users', { ...user, password });
    if (!answer.ok) throw new Error(await answer.text());
  }
});
afterAll(async () => {
  await browser?.close();
  await lab?.stop();
});

async function signIn(page: Page, user: string, secret = password): Promise<void> {
  const dialog = page.getByRole('dialog', { name: 'Sign in' });
  await type(dialog.getByRole('textbox', { name: 'User' }), user);
  await type(dialog.getByRole('textbox', { name: 'Password' }), secret);
  await dialog.getByRole('button', { name: 'Sign in' }).click();
}

test('nothing is shown before somebody has signed in, and a wrong password is named', async () => {
  const { page, wrong } = await open(browser, lab.url);
  const dialog = page.getByRole('dialog', { name: 'Sign in' });
  await dialog.waitFor();
  expect(await page.locator('main').innerText()).toBe('');
  await wellMade(page, wrong, 'sign-in');
  await page.keyboard.press('Escape'); // it stays
  await signIn(page, 'ann', 'wrong horse battery');
  await dialog.getByRole('alert').waitFor();
  expect(await dialog.getByRole('textbox', { name: 'Password' }).inputValue()).toBe('');
  await signIn(page, 'ann');
  await closed(dialog);
  await says(page, 'ann (admin)');
  expect(await page.evaluate(() => document.cookie), 'scripts see the session').toBe('');
  await page.context().close();
});

test('a session changes something, and ends', async () => {
  const { page, wrong } = await open(browser, `${lab.url}/#/groups`);
  await signIn(page, 'ann');
  await page.getByRole('button', { name: 'New group…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  // Without the CSRF header the cookie is worth nothing.
  expect(await page.evaluate(() => fetch('v1/session', { method: 'DELETE' }).then((a) => a.status))).toBe(403);
  await page.getByRole('link', { name: 'Access', exact: true }).click();
  await page.getByRole('link', { name: 'Audit', exact: true }).click();
  await says(page, 'POST /v1/users');
  const records = (await lab.get<{ items: Schemas['AuditRecord'][] }>('/v1/audit?limit=1000')).items;
  expect((await rows(page, 'Audit log')).length).toBe(records.length);
  await page
    .getByRole('button', { name: /^Show record/ })
    .first()
    .click();
  await says(page, '"serviceRequest"');
  await wellMade(
    page,
    wrong.filter((w) => !/403/.test(w)),
    'audit',
  );
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('dialog', { name: 'Sign in' }).waitFor();
  expect(await page.locator('main').innerText()).toBe('');
  await page.context().close();
});

test('a session that the server has ended asks to sign in again, and the page comes back', async () => {
  const { page } = await open(browser, `${lab.url}/#/peers`);
  await signIn(page, 'olga');
  await says(page, 'olga (operator)');
  expect((await lab.send('PUT', '/v1/users/olga/password', { password: password + '!' })).status).toBe(204);
  await page.getByRole('link', { name: 'Switches' }).click();
  await page.getByRole('dialog', { name: 'Sign in' }).waitFor();
  await signIn(page, 'olga', password + '!');
  await says(page, 'olga (operator)');
  await page.getByRole('heading', { name: 'Switches' }).waitFor();
  await page.context().close();
});

test('a viewer sees everything but what changes something, and no audit log', async () => {
  const { page, wrong } = await open(browser, `${lab.url}/#/groups`);
  await signIn(page, 'vic');
  await says(page, 'vic (viewer)');
  await page.getByRole('heading', { name: 'Multicast groups' }).waitFor();
  expect(await page.getByRole('button', { name: 'New group…' }).count()).toBe(0);
  expect(await page.getByRole('link', { name: 'Access', exact: true }).count()).toBe(0);
  await page.goto(`${lab.url}/#/audit`);
  await says(page, 'vic has the role viewer, which may not see the page Audit');
  await wellMade(page, wrong, 'denied');
  await page.context().close();
});

test('a tenant sees what is its own', async () => {
  const spec = (qpn: number) => ({
    spec: {
      proxyAddress: `2001:db8:ffff::${qpn}`,
      designatedQpn: qpn,
      source: { address: '2001:db8:1::1', qpn },
      receivers: [{ address: '2001:db8:1::2', qpn }],
    },
  });
  for (const [name, qpn] of [
    ['acme-1', 4096],
    ['other', 4097],
  ] as const) {
    const made = await lab.send('PUT', `/v1/multicast-groups/${name}`, spec(qpn));
    expect(made.status, await made.text()).toBe(201);
  }
  const { page } = await open(browser, lab.url);
  await signIn(page, 'tom');
  await says(page, 'tom (tenant acme)');
  expect(await page.getByRole('navigation', { name: 'Pages' }).innerText()).not.toMatch(
    /Fabric|Switches|Hosts|EVs|BGP peers|Audit/,
  );
  await page.getByRole('link', { name: 'Groups' }).click();
  await page.getByRole('button', { name: 'New group…' }).waitFor();
  await says(page, 'acme-1');
  expect(await page.getByText('other', { exact: true }).count()).toBe(0);
  await page.context().close();
});

test('a token signs in too', async () => {
  const { page } = await open(browser, lab.url);
  const dialog = page.getByRole('dialog', { name: 'Sign in' });
  await dialog.getByRole('radio', { name: 'token' }).check();
  await type(dialog.getByRole('textbox', { name: 'Token' }), token);
  await dialog.getByRole('button', { name: 'Sign in' }).click();
  await closed(dialog);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.context().close();
});
