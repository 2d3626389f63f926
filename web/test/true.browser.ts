import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { browse, open, rows, says, textOf, type, violations, type Schemas } from './kit';
import { MadeUp } from './madeup';

// What pages say at moments that labs seldom have, and what they keep of what somebody types.
let browser: Browser, fabric: MadeUp;
beforeAll(async () => {
  [browser, fabric] = await Promise.all([browse(), new MadeUp(1, 2).start()]);
});
beforeEach(() => {
  fabric.dead.clear();
  fabric.busy = {};
  fabric.hears = {};
  fabric.history = { from: 0, to: 0, metrics: {} };
  fabric.besides = {
    '/v1/hosts': { items: [host] },
    '/v1/multicast-groups': { items: [group] },
    '/v1/multicast-groups/g1': group,
    '/v1/multicast-groups/g1/state': state,
  };
});
afterEach(() => Promise.all(browser.contexts().map((c) => c.close())));
afterAll(async () => {
  await browser?.close();
  await fabric?.stop();
});

/** Opens a page of the fabric, in which nothing may go wrong until the test ends. */
const at = async (place: string, options?: Parameters<typeof open>[2]) => {
  const { page, wrong } = await open(browser, `${fabric.url}/#/${place}`, options);
  onTestFinished(() => expect(wrong).toEqual([]));
  return page;
};

const host = {
  name: 'H1',
  address: '2001:db8:1::1',
  connected: true,
  versions: { wanted: 1, applied: 1 },
  evProfiles: 0,
  evs: 0,
  ports: [
    {
      port: 1,
      version: 0,
      spec: { admin: 'up' },
      status: { leaf: '64512:10.1.0.0', leafName: 'P1-T0-1', leafPort: 1, usable: true },
    },
  ],
};
const branch = { epoch: 1, valid: true, answered: true, nakPending: false, ePsn: 8, msn: 1, cnpCount: 0, ackPsn: 7 };
const state = {
  group: 'g1',
  epoch: 1,
  complete: true,
  nodes: [
    { switch: 'P1-T1-1', answered: true, branches: [{ ...branch, index: 0, child: 'P1-T0-1' }] },
    {
      switch: 'P1-T0-1',
      answered: true,
      branches: [
        { ...branch, index: 0, receiver: '2001:db8:1::1' },
        { ...branch, index: 1, receiver: '2001:db8:1::2' },
      ],
    },
  ],
} as unknown as Schemas['StateReport'];
const group = {
  name: 'g1',
  version: 1,
  created: '2026-01-02T03:04:05Z',
  spec: {
    proxyAddress: '2001:db8:ffff::1',
    designatedQpn: 4096,
    receivers: [{ address: '2001:db8:1::1', qpn: 1, rkey: 0xdeadbeef }],
  },
  status: {
    tree: { sid: 'fd00::1', cost: 1, nodes: [{ switch: 'P1-T1-1' }, { switch: 'P1-T0-1' }] },
    stalledReceivers: [
      {
        address: '2001:db8:1::2',
        switch: 'P1-T0-1',
        branch: 1,
        since: new Date().toISOString(),
        ackPsn: 7,
        valid: true,
      },
    ],
  },
};

/** What the picture of the network says of the node of a name, by keys. */
async function said(page: Page, name: string): Promise<string> {
  const picture = page.getByRole('application', { name: /^Picture of the network/ });
  await picture.focus();
  const text = picture.locator('.said');
  for (let i = 0; i < 20 && !(await text.innerText()).startsWith(name); i++) await page.keyboard.press('ArrowRight');
  return text.innerText();
}

test('a switch without a connection is drawn as down, and what it said of its ports is what it said last', async () => {
  fabric.dead.add('P1-T1-2');
  const page = await at('fabric?view=picture');
  await expect.poll(() => said(page, 'P1-T1-2')).toMatch(/^P1-T1-2: down,/);
  expect(await said(page, 'P1-T1-1')).toMatch(/^P1-T1-1, /);
  await page.goto(`${fabric.url}/#/switches`);
  await expect
    .poll(async () => (await rows(page, 'Switches')).map((r) => [r[0], r[5]]))
    .toEqual([
      ['P1-T0-1', '2'],
      ['P1-T0-2', '2'],
      ['P1-T1-1', '2'],
      ['P1-T1-2', '–'],
    ]);
  await page.getByRole('link', { name: 'P1-T1-2' }).click();
  await says(page, 'not known, the connection was lost; the last report was: 2 up');
});

test('a host that sends is drawn so', async () => {
  fabric.hears = { 'P1-T0-1/1': 0.5 };
  const page = await at('fabric?view=picture');
  // Hosts are drawn in a network without tiers.
  const nodes = [0, 1].map((i) => ({
    id: `64512:10.1.0.${i}`,
    version: 0,
    spec: { admin: 'up' },
    status: { name: `P1-T0-${i + 1}`, planes: [], present: true, links: 0, deniedLinks: 0 },
  }));
  fabric.besides['/v1/nodes'] = { items: nodes };
  await page.reload();
  await expect.poll(() => said(page, 'H1')).toContain('port 1 to P1-T0-1 50 Gb/s (50 %)');
});

test('the wall shows lanes by what they carry, dots that move, and a dead switch without any', async () => {
  fabric.busy = { 'P1-T0-1/1001': 1, 'P1-T0-2/1002': 0.5 };
  const page = await at('wall');
  const picture = page.getByRole('application', { name: /^Picture of the network/ });
  await expect.poll(() => said(page, 'P1-T0-1')).toContain('port 1001 to P1-T1-1 100 Gb/s (100 %)');
  expect(await page.getByRole('navigation').count()).toBe(0);
  /** What is drawn above the picture: nothing, or dots whose places the text holds. */
  const dots = () => picture.locator('canvas.above').evaluate((c: HTMLCanvasElement) => c.toDataURL());
  const first = await dots();
  await expect.poll(async () => (await dots()) !== first).toBe(true);
  // Who does not want motion has none, and the same words.
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await expect.poll(() => picture.locator('canvas').count()).toBe(1);
  await page.emulateMedia({ reducedMotion: 'no-preference' });
  // Both ends of what is carried are dead: nothing moves any more, though counters go on.
  fabric.dead.add('P1-T1-1').add('P1-T1-2');
  fabric.say({ type: 'switch.changed', object: 'P1-T1-1', message: 'connection lost' });
  await expect.poll(() => said(page, 'P1-T1-1')).toMatch(/^P1-T1-1: down,/);
  const empty = () =>
    picture.locator('canvas.above').evaluate((c: HTMLCanvasElement) => {
      const { data } = c.getContext('2d')!.getImageData(0, 0, c.width, c.height);
      return data.every((v) => v === 0);
    });
  await expect.poll(empty).toBe(true);
  expect(await violations(page)).toEqual([]);
});

test('a selection that is dragged out of a dialog closes nothing, and a click beside it does', async () => {
  const page = await at('groups');
  await page.getByRole('button', { name: 'New group…' }).click();
  const form = page.getByRole('dialog');
  const field = form.getByLabel('Name', { exact: true });
  await type(field, 'typed');
  const box = (await field.boundingBox())!;
  await page.mouse.move(box.x + 20, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(5, box.y + box.height / 2, { steps: 3 });
  await page.mouse.up();
  expect(await form.count()).toBe(1);
  expect(await field.inputValue()).toBe('typed');
  await page.mouse.click(5, 5);
  await expect.poll(() => form.count()).toBe(0);
});

test('the editor of a document has the focus, and what is typed stays when another page was open', async () => {
  const page = await at('groups/g1');
  const doc = page.getByRole('region', { name: 'Document of g1' });
  await doc.getByRole('button', { name: 'Edit' }).click();
  await doc.getByRole('textbox').waitFor();
  await page.keyboard.press('Control+Home');
  await page.keyboard.type('# mine\n');
  await page.getByRole('link', { name: 'Switches', exact: true }).first().click();
  await page.getByRole('heading', { level: 1, name: 'Switches' }).waitFor();
  await page.goBack();
  await expect.poll(() => textOf(doc.getByRole('textbox'))).toMatch(/^# mine\nkind: multicast-group\n/);
  // What is left by intent is gone, and the keyboard goes on from the button.
  await doc.getByRole('button', { name: 'Cancel' }).click();
  await page.keyboard.press('Enter');
  await expect.poll(() => textOf(doc.getByRole('textbox'))).toMatch(/^kind: multicast-group\n/);
});

test('branches that lead to a stalled receiver say so', async () => {
  const page = await at('groups/g1');
  await expect
    .poll(async () => (await rows(page, 'Branches')).map((r) => [r[0], r[1], r[3]!.replace(/ for .*/, ' for N s')]))
    .toEqual([
      ['P1-T1-1', '0', '✕ stalled for N s'],
      ['P1-T0-1', '0', '● acknowledges'],
      ['P1-T0-1', '1', '✕ stalled for N s'],
    ]);
});

test('on a phone events are read, and not only their marks', async () => {
  const page = await at('events', { width: 390, height: 800 });
  await page.getByRole('heading', { level: 1 }).waitFor();
  const long = 'the switch said that its optics have failed, and that it has taken the port out of service at once';
  const link = page.getByRole('table').locator('.badge a').first();
  await expect
    .poll(async () => {
      fabric.say({ type: 'link.changed', object: fabric.linkId(1, 0, 1), message: `down: ${long}` });
      return link.count();
    })
    .toBe(1);
  // A link that is wider than its cell is left out as a whole.
  const [inner, outer] = await link.evaluate((a) => [
    a.getBoundingClientRect().right,
    a.closest('[role=cell]')!.getBoundingClientRect().right,
  ]);
  expect(inner).toBeLessThanOrEqual(outer);
});

test('a deleted object has a way back', async () => {
  const page = await at('groups/g1');
  await page.getByRole('button', { name: 'Delete…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
  await says(page, 'g1 is deleted.');
  await page.getByRole('link', { name: 'Its history, and the way back' }).click();
  await expect.poll(() => page.url()).toMatch(/#\/groups\/g1$/);
});

test('an object that is deleted in a list has a way back, too', async () => {
  const policy = { name: 's1', version: 1, spec: { headend: 'P1-T0-1', endpoint: 'P1-T0-2' }, status: {} };
  fabric.besides['/v1/srv6-policies'] = { items: [policy] };
  fabric.besides['/v1/srv6-policies/s1'] = policy;
  const page = await at('pfc');
  const table = page.getByRole('table', { name: 'SRv6 policies' });
  await table.getByRole('button', { name: 'Delete…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
  await says(page, 's1 is deleted.');
  await page.getByRole('link', { name: 'Its history, and the way back' }).click();
  await expect.poll(() => page.url()).toMatch(/#\/srv6-policies\/s1$/);
});

test('keys of memory are read back as they are written', async () => {
  const page = await at('groups/g1');
  await page.getByRole('button', { name: 'Change…' }).click();
  expect(await page.getByRole('dialog').getByLabel('R_Key').inputValue()).toBe('0xdeadbeef');
});

test('search finds groups by QPNs and links by ports, and a link leads to the charts of its ports', async () => {
  const page = await at('switches');
  await page.getByRole('heading', { level: 1, name: 'Switches' }).waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('0x1000');
  await page.getByRole('option', { name: 'g1 multicast group' }).waitFor();
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.type('P1-T0-1/1002');
  await page.getByRole('option', { name: 'P1-T0-1/1002 port' }).waitFor();
  await page.keyboard.press('ArrowDown');
  await page.getByRole('option', { name: 'P1-T0-1 → P1-T1-2 link', selected: false }).click();
  await page.getByRole('link', { name: 'P1-T0-1, port 1002' }).click();
  await expect.poll(() => page.url()).toMatch(/#\/switches\/P1-T0-1\?port=1002$/);
});

test('the drawer leads from a host to its group and back, and two hosts are compared', async () => {
  const now = Math.floor(Date.now() / 1000);
  fabric.history = { from: now - 1000, to: now + 60, metrics: { inBits: 4e9, outBits: 5e9 } };
  const at2 = { ...host.ports[0]!.status, leaf: '64512:10.1.0.1', leafName: 'P1-T0-2', linkDown: true, usable: false };
  const other = { ...host, name: 'H2', address: '2001:db8:1::2', evs: 3, ports: [{ ...host.ports[0]!, status: at2 }] };
  fabric.besides['/v1/hosts'] = { items: [host, other] };
  const page = await at('overview');
  await expect.poll(() => said(page, 'H2')).toMatch(/^H2: down/);
  await page.keyboard.press('Enter');
  const drawer = page.getByRole('complementary', { name: 'Inspector' });
  await drawer.getByRole('region', { name: 'Host H2' }).getByText('down, says the switch').waitFor();
  await drawer.getByRole('button', { name: 'Close Host H2' }).click();
  await said(page, 'H1');
  await page.keyboard.press('Enter');
  const shown = drawer.getByRole('region', { name: 'Host H1' });
  await shown.getByText('Port 1 at P1-T0-1').waitFor();
  await shown.getByRole('link', { name: 'g1' }).click();
  await drawer.getByRole('region', { name: 'Group g1' }).getByText('2001:db8:1::2 at P1-T0-1').waitFor();
  await drawer.getByRole('link', { name: 'H1' }).click();
  await shown.waitFor();
  expect(await violations(page)).toEqual([]);
  expect(page.url()).toContain('#/overview');
  // By the search, from anywhere.
  await page.keyboard.press('/');
  await page.keyboard.type('compare h1 h2');
  await page.getByRole('option', { name: 'compare H1 H2 host' }).waitFor();
  await page.keyboard.press('Enter');
  const table = drawer.getByRole('table', { name: 'H1 and H2 compared' });
  await expect
    .poll(() => table.locator('.differs th').allInnerTexts())
    .toEqual(['Address', 'Ports usable', 'Its switches', 'EVs']);
});

test('a host says how many counters of its ports it has left out, on its page and in the drawer', async () => {
  const errors = [{ source: 'mlx5_0', counter: 'symbol_error', count: 12 }];
  const lossy = { ...host.ports[0]!, status: { ...host.ports[0]!.status, errors } };
  fabric.besides['/v1/hosts'] = { items: [{ ...host, ports: [lossy], errorsLeftOut: 7 }] };
  const left = '7 more counters of errors of its ports are not listed: there were too many for its stream.';
  const page = await at('hosts/H1');
  await says(page, 'mlx5_0 symbol_error 12');
  expect(await page.getByRole('main').innerText()).toContain(left);
  await page.goto(`${fabric.url}/#/overview?host=H1`);
  const drawer = page.getByRole('complementary', { name: 'Inspector' });
  await drawer.getByText('Port 1 at P1-T0-1').waitFor();
  expect(await drawer.innerText()).toContain(left);
  expect(await violations(page)).toEqual([]);
  fabric.besides['/v1/hosts'] = { items: [{ ...host, ports: [lossy] }] };
  await page.goto(`${fabric.url}/#/hosts/H1`);
  await page.reload();
  await says(page, 'mlx5_0 symbol_error 12');
  expect(await page.getByRole('main').innerText()).not.toContain('not listed');
});

test('what is wrong from a time to come on says so', async () => {
  const cause = { id: 'maintenance/m', kind: 'maintenance', object: 'maintenances/m', severity: 'warning', total: 0 };
  const said = { what: 'Maintenance m takes paths', means: 'Made up.', todo: 'Nothing.', follows: [], counts: [] };
  const since = (time: number) => ({ items: [{ ...cause, ...said, since: new Date(time).toISOString() }] });
  fabric.besides['/v1/causes'] = since(Date.UTC(2036, 0, 1, 22));
  const page = await at('overview');
  await expect.poll(() => page.locator('.verdict').innerText()).toMatch(/From \w+ 2036-01-0\d [\d:]+ on\. /);
  expect(await page.locator('.causes').innerText()).toMatch(/takes paths from \w+ 2036-01-0\d [\d:]+ on/);
  fabric.besides['/v1/causes'] = since(Date.now() - 5_000);
  await expect.poll(() => page.locator('.verdict').innerText()).toMatch(/For \d+ s, since [\d:]+\. /);
  expect(await page.locator('.causes').innerText()).toMatch(/takes paths since [\d:]+, for \d+ s/);
});

test('an entry of a table opens in the drawer, with what wanted it', async () => {
  const entry = {
    table: 'ingress.tree',
    match: [{ name: 'group', value: 7 }],
    params: [{ name: 'port', value: 3 }],
    action: 'replicate',
    intent: { kind: 'multicast-group', name: 'g1' },
  };
  const table = { name: 'ingress.tree', size: 16, fields: ['group'], actions: ['replicate'] };
  fabric.besides['/v1/switches/P1-T0-1/tables'] = { items: [table] };
  fabric.besides['/v1/switches/P1-T0-1/tables/ingress.tree/entries'] = { items: [entry] };
  const page = await at('switches/P1-T0-1?table=ingress.tree');
  await page.getByRole('link', { name: 'replicate' }).click();
  const shown = page.getByRole('region', { name: 'Entry of ingress.tree, P1-T0-1' });
  expect(await shown.getByRole('row').allInnerTexts()).toEqual([
    'group\t7',
    'Action\treplicate',
    'port\t3',
    'Wanted by\tgroup g1',
  ]);
  expect(page.url()).toContain('#/switches/P1-T0-1');
  expect(await violations(page)).toEqual([]);
});

test('who signs in and may not see the page comes to the overview', async () => {
  const session = (name: string, scopes: string[]) => ({ name, way: 'user', role: 'viewer', scopes, ways: ['user'] });
  fabric.besides['/v1/session'] = session('', []);
  const page = await at('audit');
  const form = page.getByRole('dialog', { name: 'Sign in' });
  await type(form.getByLabel('User'), 'vic');
  await type(form.getByLabel('Password'), 'secret');
  fabric.besides['/v1/session'] = session('vic', ['self', 'read', 'tenant:read']);
  await form.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
});

test('the audit log has the latest record first', async () => {
  const record = (seq: number) => ({
    chain: 'c',
    seq,
    timestamp: '2026-01-02T03:04:05Z',
    outcome: 'success',
    sessionInfo: { user: { identity: 'ann' } },
    serviceRequest: { method: 'GET', path: '/v1/x' },
  });
  fabric.besides['/v1/audit'] = { items: [record(1), record(2)] };
  const page = await at('audit');
  await expect.poll(async () => (await rows(page, 'Audit log')).map((r) => r.at(-1))).toEqual(['2', '1']);
});

test('the receiver of notifications gets a secret that the browser makes', async () => {
  const page = await at('notifications');
  await page.getByRole('button', { name: 'New notification…' }).click();
  const form = page.getByRole('dialog');
  await form.getByRole('button', { name: 'Make one' }).click();
  expect(await form.getByLabel('Secret').inputValue()).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
});

test('what only a fabric has is not asked for where there is none', async () => {
  const page = await at('events');
  const refused: string[] = [];
  await page.route(/\/v1\/(fabric|planes|suspects|telemetry\/balance)$/, (route) => {
    refused.push(new URL(route.request().url()).pathname);
    const body = JSON.stringify({ status: 501, code: 'not_configured', detail: 'there is no fabric' });
    return route.fulfill({ status: 501, contentType: 'application/problem+json', body });
  });
  await page.reload();
  await page.getByRole('link', { name: 'Fabric', exact: true }).click();
  await page.getByRole('table', { name: 'Links' }).waitFor();
  await page.getByRole('link', { name: 'Overview', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  await page.getByRole('heading', { name: 'What happened last' }).waitFor();
  expect([...new Set(refused)]).toEqual(['/v1/fabric']);
});

test('users are below access, and who is told of causes below events', async () => {
  const page = await at('access');
  const related = page.getByRole('navigation', { name: 'Related pages' }).getByRole('link');
  await expect.poll(() => related.allInnerTexts()).toEqual(['Access', 'Audit']);
  await page.getByRole('link', { name: 'Events', exact: true }).click();
  await expect.poll(() => related.allInnerTexts()).toEqual(['Events', 'Notifications']);
});

/** The ports that a field offers. */
const offered = (page: Page, field: string) =>
  page
    .getByLabel(field, { exact: true })
    .evaluateAll((all) => [...((all[0] as HTMLInputElement | undefined)?.list?.options ?? [])].map((o) => o.value));

test('the ports of a switch are offered for a trace, and where a form wants one of them', async () => {
  const port = { name: 'P1-T0-1/7', version: 0, spec: {}, status: { port: 7, switch: 'P1-T0-1', config: {} } };
  fabric.besides['/v1/ports'] = { items: [port] };
  const page = await at('switches/P1-T0-1');
  await expect.poll(() => offered(page, 'Port')).toEqual(['7']);
  for (const [place, button, add] of [
    ['projects', 'New project…', 'Add a port'],
    ['pfc', 'New tenant…', 'Add a site'],
  ] as const) {
    await page.goto(`${fabric.url}/#/${place}`);
    await page.getByRole('button', { name: button }).click();
    await page.getByRole('button', { name: add }).click();
    await expect.poll(() => offered(page, 'Port')).toEqual(['7']);
    await page.keyboard.press('Escape');
  }
  await page.goto(`${fabric.url}/#/maintenances`);
  await page.getByRole('button', { name: 'New maintenance…' }).click();
  await page.getByRole('button', { name: 'Add something else' }).click();
  await page.getByLabel('What', { exact: true }).selectOption('a port of a host');
  await page.getByLabel('Host', { exact: true }).selectOption('H1');
  await expect.poll(() => offered(page, 'Port')).toEqual(['1']);
});

test('links, hosts and switches have the charts of their ports', async () => {
  const now = Math.floor(Date.now() / 1000);
  fabric.history = { from: now - 60, to: now + 60, metrics: { inBits: 4e9, outBits: 5e9 } };
  fabric.busy = { 'P1-T0-1/1001': 0.4, 'P1-T0-1/1002': 0.6, 'P1-T0-2/1001': 0.9 };
  const link = encodeURIComponent(fabric.linkId(1, 0, 1));
  const page = await at(`fabric?link=${link}`);
  const charts = (label: string) => page.getByRole('region', { name: label }).locator('figcaption').allInnerTexts();
  await expect
    .poll(() => charts('What its ports did'))
    .toEqual(['P1-T0-1, port 1002: traffic', 'P1-T1-2, port 1: traffic']);
  await page.goto(`${fabric.url}/#/hosts/H1`);
  await expect
    .poll(() => charts('What its switches received from it, and sent to it'))
    .toEqual(['Port 1, at P1-T0-1: traffic']);
  await page.goto(`${fabric.url}/#/switches/P1-T0-1`);
  await expect.poll(() => charts('Its busiest ports')).toEqual(['Port 1002: traffic', 'Port 1001: traffic']);
});

test('"drain" and a name in the search ask before they drain', async () => {
  const page = await at('events');
  await page.getByRole('heading', { level: 1, name: 'Events' }).waitFor();
  const drain = async () => {
    await page.keyboard.press('/');
    await page.getByRole('searchbox', { name: 'Search for' }).waitFor();
    await page.keyboard.type('drain P1-T1-2');
    await page.getByRole('option', { name: 'drain P1-T1-2 switch' }).waitFor();
    await page.keyboard.press('Enter');
  };
  await drain();
  const dialog = page.getByRole('dialog', { name: 'Drain P1-T1-2?' });
  await dialog.getByText('4 directions of links will carry no new packets.').waitFor();
  await page.keyboard.press('Escape');
  await expect.poll(() => page.url()).toMatch(/#\/switches\/P1-T1-2$/);
  // On the same page it asks again.
  await drain();
  await dialog.waitFor();
});

test('the capacity that a drain leaves is a share of all, as on the overview', async () => {
  fabric.fail(1, 0, 0);
  const link = encodeURIComponent(fabric.linkId(1, 1, 1));
  const page = await at(`fabric?link=${link}`);
  await page.getByRole('button', { name: 'Drain this link…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('7 of 8').waitFor();
  expect(await dialog.getByRole('row').last().innerText()).toMatch(/62\.5 %$/);
});
