import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { browse, closed, Lab, open, rows, saveUntouched, says, type, wellMade, type Schemas } from './kit';

const token = 'a-token-of-an-administrator-for-this-test';
const password = 'correct horse battery';
// Nothing listens at their addresses: what users may do is decided here.
const node = (n: number) =>
  `- {name: n${n}, routerId: 10.0.0.${n}, loopback: "2001:db8::${n}", locator: "5f00:0:${n}::/48"}\n`;
const topology = `nodes:\n${node(1)}${node(2)}links:\n- {a: n1, portA: 1, b: n2, portB: 1}\n`;
const host = (name: string, sw: number, port: number, at: number) =>
  `- {name: ${name}, address: "2001:db8:1::${at}", mac: "02:01:00:00:00:0${at}", switch: n${sw}, port: ${port}}\n`;
const inventory = `switches:
- {name: n1, address: "127.0.0.1:1", mac: "02:00:00:00:00:01"}
- {name: n2, address: "127.0.0.1:2", mac: "02:00:00:00:00:02"}
hosts:
${host('a1', 1, 11, 1)}${host('a2', 2, 11, 2)}${host('b1', 1, 12, 3)}${host('b2', 2, 12, 4)}`;

let lab: Lab, browser: Browser;

async function must(method: string, path: string, body: unknown): Promise<void> {
  const answer = await lab.send(method, path, body);
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
}

const project = (x: string, n: number, members: Schemas['ProjectMember'][]) => ({
  spec: {
    members,
    hosts: [{ name: `${x}1` }, { name: `${x}2` }],
    ports: [
      { switch: 'n1', port: 10 + n },
      { switch: 'n2', port: 10 + n },
    ],
    proxies: [{ prefix: `2001:db8:${x}::/64` }],
    qpns: [{ first: 4096 * n, last: 4096 * n + 9 }],
    slices: [{ slice: n }],
    priorities: [{ priority: n }],
    bandwidth: 10_000_000_000,
    quotas: { groups: 2, receivers: 4, tenants: 1 },
  },
});

beforeAll(async () => {
  [lab, browser] = await Promise.all([Lab.controller(topology, inventory, token), browse()]);
  for (const user of [
    { name: 'ann', role: 'admin' },
    { name: 'vic', role: 'viewer' },
    { name: 'olga', role: 'operator' },
    { name: 'tom', role: 'tenant', tenant: 'acme' },
    { name: 'mia', role: 'member' },
    { name: 'max', role: 'member' },
    { name: 'eve', role: 'viewer' },
    { name: 'sue', role: 'member' },
  ])
    await must('POST', '/v1/users', { ...user, password });
  const user = (name: string, role: 'editor' | 'viewer') => ({ way: 'user' as const, name, role });
  await must(
    'PUT',
    '/v1/projects/acme',
    project('a', 1, [user('mia', 'editor'), user('max', 'viewer'), user('eve', 'editor')]),
  );
  await must('PUT', '/v1/projects/blue', project('b', 2, [user('mia', 'viewer')]));
  await must('PUT', '/v1/srv6-policies/wan', { spec: { headend: 'n1', endpoint: 'n2' } });
  await must('PUT', '/v1/multicast-groups/blue-secret', {
    spec: {
      proxyAddress: '2001:db8:b::1',
      designatedQpn: 8192,
      source: { address: '2001:db8:1::3', qpn: 256 },
      receivers: [{ address: '2001:db8:1::4', qpn: 512 }],
    },
  });
}, 120_000);
afterAll(async () => {
  await browser?.close();
  await lab?.stop();
});

/** What a page asks for in vain, beside what its user should see. */
interface Visit {
  page: Page;
  wrong: string[];
  refused: string[];
}

async function visit(user: string, place = ''): Promise<Visit> {
  const { page, wrong } = await open(browser, lab.url + place);
  const refused: string[] = [];
  page.on('response', (r) => {
    if (r.status() >= 400 && r.status() !== 401)
      refused.push(`${r.status()} ${r.request().method()} ${new URL(r.url()).pathname}`);
  });
  const dialog = page.getByRole('dialog', { name: 'Sign in' });
  await type(dialog.getByRole('textbox', { name: 'User' }), user);
  await type(dialog.getByRole('textbox', { name: 'Password' }), password);
  await dialog.getByRole('button', { name: 'Sign in' }).click();
  await closed(dialog);
  return { page, wrong, refused };
}

const options = (select: Locator) =>
  select.locator('option').evaluateAll((all) => all.map((o) => (o as HTMLOptionElement).value).filter(Boolean));
const titles = (page: Page) =>
  page.getByRole('navigation', { name: 'Pages' }).getByRole('group').getByRole('link').allInnerTexts();

test('the overview of a tenant is that of its project: what it has, uses and has left, and no error', async () => {
  const { page, wrong, refused } = await visit('tom', '/#/');
  await page.getByRole('heading', { name: 'Project acme' }).waitFor();
  await says(page, 'All is well');
  const groups = page.getByRole('region', { name: 'Quotas of acme' }).locator('.card', { hasText: 'Multicast groups' });
  expect(await groups.innerText()).toMatch(/0 \/ 2[\s\S]*2 left/);
  const has = await rows(page, 'What acme has');
  expect(has.map((r) => r.slice(0, 2).join(' '))).toEqual([
    'host a1',
    'host a2',
    'port n1/11',
    'port n2/11',
    'proxy addresses 2001:db8:a::/64',
    'designated QPNs 4096-4105',
    'slice 1',
    'priority 1',
  ]);
  expect(await page.locator('main').innerText()).not.toMatch(/blue|b1/);
  await wellMade(page, wrong, 'overview-tenant');
  expect(refused).toEqual([]);
  await page.context().close();
});

test('every page of every role shows no error, and asks for nothing that is refused', async () => {
  for (const user of ['ann', 'vic', 'olga', 'tom', 'mia', 'max', 'eve', 'sue']) {
    const { page, wrong, refused } = await visit(user);
    await page.getByRole('heading', { level: 1 }).waitFor();
    const all = await titles(page);
    const network = ['ann', 'vic', 'olga', 'eve'].includes(user);
    expect(all.includes('Fabric'), user).toBe(network);
    expect(all.includes('Access'), user).toBe(user === 'ann');
    const seen = new Set<string>();
    const look = async (navigation: string, title: string) => {
      await page.getByRole('navigation', { name: navigation }).getByRole('link', { name: title, exact: true }).click();
      seen.add(title);
      // The page before has a heading too: the title of the window follows what is shown.
      await expect.poll(() => page.title(), { message: `${user}: ${title}` }).toBe(`${title} · Weft`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await expect.poll(() => page.getByText(/^Loading /).count(), { message: `${user}: ${title}` }).toBe(0);
      expect(await page.getByRole('alert').allInnerTexts(), `${user}: ${title}`).toEqual([]);
      // Where it is offered to make, change or take out something, the API allows that.
      const makes = await page
        .getByRole('main')
        .getByRole('button', { name: /^(New|Change|Delete|Drain|Reset|Disable|Override)/ })
        .allInnerTexts();
      if (['vic', 'max', 'sue'].includes(user)) expect(makes, `${user}: ${title}`).toEqual([]);
      if (title === 'Projects') expect(makes.length > 0, user).toBe(user === 'ann');
    };
    for (const title of all) {
      await look('Pages', title);
      const related = page.getByRole('navigation', { name: 'Related pages' }).getByRole('link');
      for (const other of await related.allInnerTexts()) if (!seen.has(other)) await look('Related pages', other);
    }
    expect(seen.has('Maintenances'), user).toBe(network);
    await page.keyboard.press('/'); // the search asks for what it may see
    await page
      .getByRole('dialog', { name: 'Search' })
      .getByText(/\d+ objects/)
      .waitFor();
    expect(
      refused.filter((r) => !/(50[13]|404) GET/.test(r)),
      user,
    ).toEqual([]);
    expect(wrong, user).toEqual([]);
    await page.context().close();
  }
}, 240_000);

test('who is a member of no project is told so', async () => {
  const { page, wrong, refused } = await visit('sue');
  await says(page, 'sue is a member of no project');
  expect(await titles(page)).toEqual(['Overview']);
  expect([...refused, ...wrong]).toEqual([]);
  await page.context().close();
});

test('a member makes a group and a tenant by clicking, of what its project has', async () => {
  const { page, wrong, refused } = await visit('mia', '/#/groups');
  await page.getByRole('button', { name: 'New group…' }).click();
  let form = page.getByRole('dialog', { name: 'New multicast group' });
  expect(await form.getByLabel('Name').inputValue()).toBe('acme-');
  await type(form.getByLabel('Name'), 'acme-g');
  await form.getByText('From 2001:db8:a::/64.').waitFor();
  await form.getByText('From 4096-4105.').waitFor();
  const source = form.getByRole('group', { name: 'Source' });
  expect(await options(source.getByLabel('Host'))).toEqual(['2001:db8:1::1', '2001:db8:1::2']);
  await source.getByLabel('Host').selectOption('2001:db8:1::1');
  await type(form.getByLabel('Proxy address', { exact: true }), '2001:db8:a::1');
  await type(form.getByLabel('Designated QPN'), '4096');
  await form.getByRole('button', { name: 'Add a receiver' }).click();
  const receiver = form.getByRole('group', { name: 'Receiver 1' });
  expect(await options(receiver.getByLabel('Host'))).toEqual(['2001:db8:1::1', '2001:db8:1::2']);
  await receiver.getByLabel('Host').selectOption('2001:db8:1::2');
  await wellMade(page, wrong, 'group-form-member');
  await form.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('heading', { name: 'Group acme-g' }).waitFor();
  await says(page, '● accepted');
  expect(await page.getByRole('link', { name: 'n1', exact: true }).count(), 'switches have no page for a member').toBe(
    0,
  );

  await page.getByRole('link', { name: 'Tenants', exact: true }).click();
  await page.getByRole('button', { name: 'New tenant…' }).click();
  form = page.getByRole('dialog', { name: 'New tenant' });
  await type(form.getByLabel('Name'), 'acme-t');
  expect(await options(form.getByLabel('Slice'))).toEqual(['1']);
  await form.getByLabel('Slice').selectOption('1');
  await form.getByLabel('Priority').selectOption('1');
  await type(form.getByLabel('Rate'), '1000000000');
  await form.getByRole('button', { name: 'Add a site' }).click();
  const site = form.getByRole('group', { name: 'Site 1' });
  expect(await options(site.getByLabel('Port'))).toEqual(['n1/11', 'n2/11']);
  await site.getByLabel('Port').selectOption('n1/11');
  await form.getByRole('button', { name: 'Add a site' }).click();
  await form.getByRole('group', { name: 'Site 2' }).getByLabel('Port').selectOption('n2/11');
  await form.getByRole('button', { name: 'Add an SRv6 policy' }).click();
  expect(await options(form.getByRole('combobox', { name: 'SRv6 policy 1' }))).toEqual(['wan']);
  await wellMade(page, wrong, 'tenant-form-member');
  await form.getByRole('button', { name: 'Create' }).click();
  await closed(form);
  expect((await lab.get<Schemas['Tenant']>('/v1/tenants/acme-t')).spec).toMatchObject({
    slice: 1,
    priority: 1,
    rate: 1e9,
    sites: [
      { switch: 'n1', port: 11 },
      { switch: 'n2', port: 11 },
    ],
    policies: ['wan'],
  });
  // The quota of tenants is used up: the API says so in the form.
  await page.getByRole('button', { name: 'New tenant…' }).click();
  form = page.getByRole('dialog', { name: 'New tenant' });
  await type(form.getByLabel('Name'), 'acme-u');
  await form.getByLabel('Slice').selectOption('1');
  await form.getByLabel('Priority').selectOption('1');
  await form.getByRole('button', { name: 'Create' }).click();
  await form
    .getByText(/at most 1 tenants of project acme/)
    .first()
    .waitFor();
  await form.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('link', { name: 'Overview', exact: true }).click();
  await expect
    .poll(async () =>
      (
        await page.getByRole('region', { name: 'Quotas of acme' }).locator('.card', { hasText: 'Tenants' }).innerText()
      ).replaceAll('\n', ' '),
    )
    .toMatch(/1 \/ 1.*none left/);
  await expect.poll(async () => (await rows(page, 'What acme has')).find((r) => r[1] === 'a1')?.at(-1)).toBe('acme-g');
  await wellMade(page, wrong, 'overview-member');
  expect(refused).toEqual(['422 POST /v1/tenants']);
  await page.context().close();
}, 120_000);

test('the switch narrows everything to one project, in the browser and after a reload', async () => {
  const { page, wrong, refused } = await visit('ann', '/#/groups');
  await expect
    .poll(async () => (await rows(page, 'Multicast groups')).map((r) => r[0]))
    .toEqual(['acme-g', 'blue-secret']);
  const choice = page.getByRole('combobox', { name: 'Project' });
  await expect.poll(() => options(choice)).toEqual(['acme', 'blue']);
  await choice.selectOption('acme');
  await expect.poll(async () => (await rows(page, 'Multicast groups')).map((r) => r[0])).toEqual(['acme-g']);
  expect(await titles(page)).toEqual(['Overview', 'Groups', 'Jobs', 'Events', 'Tenants', 'Projects', 'Documents']);
  await page.reload();
  await expect.poll(async () => (await rows(page, 'Multicast groups')).map((r) => r[0])).toEqual(['acme-g']);
  expect(await choice.inputValue()).toBe('acme');
  await page.getByRole('link', { name: 'Overview', exact: true }).click();
  await page.getByRole('heading', { name: 'Project acme' }).waitFor();
  await wellMade(page, wrong, 'overview-narrowed');
  await choice.selectOption('blue');
  await page.getByRole('heading', { name: 'Project blue' }).waitFor();
  expect(await page.getByRole('heading', { name: 'Project acme' }).count()).toBe(0);
  await choice.selectOption('');
  await page.getByRole('link', { name: 'Fabric', exact: true }).waitFor();
  // Nothing may have reported what ports carry yet.
  expect(refused.filter((r) => !/50[13] GET|404 GET .v1.telemetry.history/.test(r))).toEqual([]);
  await page.context().close();
});

test('a project that is gone is left, and what was shown of it too', async () => {
  await must('PUT', '/v1/projects/brief', { spec: {} });
  const { page } = await visit('ann');
  await page.getByRole('combobox', { name: 'Project' }).selectOption('brief');
  await page.getByRole('heading', { name: 'Project brief' }).waitFor();
  expect((await lab.send('DELETE', '/v1/projects/brief')).status).toBe(204);
  await page.getByRole('link', { name: 'Fabric', exact: true }).waitFor();
  expect(await page.getByRole('heading', { name: 'Project brief' }).count()).toBe(0);
  await page.context().close();
});

test("a viewer of the network who edits a project may change what is the project's alone", async () => {
  const { page, refused } = await visit('eve', '/#/groups/acme-g');
  await page.getByRole('button', { name: 'Change…' }).waitFor();
  await page.goto(`${lab.url}/#/groups/blue-secret`);
  await page.getByRole('heading', { name: 'Group blue-secret' }).waitFor();
  expect(await page.getByRole('button', { name: 'Change…' }).count()).toBe(0);
  expect(await page.getByRole('button', { name: 'Delete…' }).count()).toBe(0);
  // What the network has not (501), and what carried nothing yet (404), is asked for all the same.
  expect(refused.filter((r) => !/50[134] GET|404 GET \/v1\/telemetry\/history/.test(r))).toEqual([]);
  await page.context().close();
});

test('an administrator makes, changes and deletes a project by clicking', async () => {
  const { page, wrong } = await visit('ann', '/#/projects');
  await expect
    .poll(async () => (await rows(page, 'Projects')).map((r) => [r[0], r[4]]))
    .toEqual([
      ['acme', '1 of 2'],
      ['blue', '1 of 2'],
    ]);
  await wellMade(page, wrong, 'projects');
  await page.getByRole('button', { name: 'New project…' }).click();
  let form = page.getByRole('dialog', { name: 'New project' });
  await type(form.getByLabel('Name', { exact: true }), 'green');
  await form.getByRole('button', { name: 'Add a member' }).click();
  const member = form.getByRole('group', { name: 'Member 1' });
  await member.getByLabel('Known by').selectOption('oidc');
  await type(member.getByLabel('Claim'), 'groups');
  await type(member.getByLabel('Value'), 'green-team');
  await form.getByRole('button', { name: 'Add a port' }).click();
  const port = form.getByRole('group', { name: 'Port 1' });
  await port.getByLabel('Switch').selectOption('n1');
  await type(port.getByLabel('Port', { exact: true }), '11'); // acme's
  await type(form.getByLabel('Multicast groups'), '3');
  await form.getByRole('button', { name: 'Create' }).click();
  await form
    .getByText(/project acme has it/)
    .first()
    .waitFor();
  await type(port.getByLabel('Port', { exact: true }), '13');
  await wellMade(page, wrong, 'project-form');
  await form.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('heading', { name: 'Project green' }).waitFor();
  expect((await lab.get<Schemas['Project']>('/v1/projects/green')).spec).toMatchObject({
    members: [{ way: 'oidc', claim: 'groups', value: 'green-team', role: 'editor' }],
    ports: [{ switch: 'n1', port: 13 }],
    quotas: { groups: 3 },
  });
  await page.getByRole('button', { name: 'Change…' }).click();
  form = page.getByRole('dialog', { name: 'Change project green' });
  await type(form.getByLabel('Receivers'), '9');
  await form.getByRole('button', { name: 'Save' }).click();
  await closed(form);
  await expect
    .poll(async () =>
      (
        await page
          .getByRole('region', { name: 'Quotas of green' })
          .locator('.card', { hasText: 'Receivers' })
          .innerText()
      ).replaceAll('\n', ' '),
    )
    .toMatch(/0 \/ 9/);
  await wellMade(page, wrong, 'project');
  await must('PUT', '/v1/projects/green', { spec: { bandwidth: 18446744073709551615n, quotas: { groups: 3 } } });
  await says(page, 'Bandwidth');
  await expect.poll(() => page.getByRole('region', { name: 'Quotas of green' }).innerText()).not.toMatch(/0 \/ 9/);
  await saveUntouched(page, lab, 'Change…', '/v1/projects/green');
  await page.getByRole('button', { name: 'Delete…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('heading', { name: 'Projects', exact: true }).waitFor();
  expect((await lab.send('GET', '/v1/projects/green')).status).toBe(404);
  await page.context().close();
});
