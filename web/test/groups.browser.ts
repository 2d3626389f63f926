import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { formatExact, parseExact } from '../src/domain/json';
import { browse, closed, Lab, open, rows, saveUntouched, says, type, wellMade, type Schemas } from './kit';

let lab: Lab, browser: Browser;

beforeAll(async () => {
  [lab, browser] = await Promise.all([Lab.start('figure1', '--traffic'), browse()]);
});
afterAll(async () => {
  await browser?.close();
  await lab?.stop();
});

test('a group is shown with its tree and what its branches acknowledge', async () => {
  const { page, wrong } = await open(browser, `${lab.url}/#/groups`);
  await page.getByRole('link', { name: 'demo', exact: true }).click();
  await page.getByRole('heading', { name: 'Group demo' }).waitFor();
  await says(page, '● programmed');
  await page.getByRole('application', { name: 'Tree of group demo' }).waitFor();
  const group = await lab.get<Schemas['Group']>('/v1/multicast-groups/demo');
  const hosts = new Map((await lab.get<Schemas['TopologyView']>('/v1/topology')).hosts.map((h) => [h.address, h.name]));
  const branches = group.status.tree!.nodes!.flatMap((n) =>
    n.branches!.map((b) => [n.switch, String(b.index), b.child || hosts.get(b.receiver!)!]),
  );
  await expect.poll(async () => (await rows(page, 'Branches')).map((r) => r.slice(0, 3))).toEqual(branches);
  // Traffic runs: what is acknowledged grows while one looks.
  const acked = async () => (await rows(page, 'Branches')).map((r) => `${r[4]} ${r[6]}`).join();
  await expect.poll(async () => /[0-9]{3}/.test(await acked()), { timeout: 30_000 }).toBe(true);
  const before = await acked();
  await expect.poll(acked, { timeout: 30_000 }).not.toBe(before);
  await wellMade(page, wrong, 'group');
  await page.context().close();
});

test('a group is made, changed, reset and deleted by clicking', async () => {
  const { page, wrong } = await open(browser, `${lab.url}/#/groups`);
  await page.getByRole('button', { name: 'New group…' }).click();
  const form = page.getByRole('dialog', { name: 'New multicast group' });
  await type(form.getByLabel('Name'), 'g1');
  await type(form.getByLabel('Proxy address', { exact: true }), '2001:db8:1:1::1');
  await type(form.getByLabel('Designated QPN'), '0x1000');
  const source = form.getByRole('group', { name: 'Source' });
  await source.getByLabel('Host').selectOption({ value: '2001:db8:1:1::1' });
  await type(source.getByLabel('QPN'), '300');
  await form.getByRole('button', { name: 'Add a receiver' }).click();
  const first = form.getByRole('group', { name: 'Receiver 1' });
  await first.getByLabel('Host').selectOption({ value: '2001:db8:1:2::1' });
  await type(first.getByLabel('QPN'), '600');
  // The proxy address is a host's: the API says what is wrong, at the field.
  await form.getByRole('button', { name: 'Create' }).click();
  await form.getByRole('alert').waitFor();
  expect(await form.getByLabel('Proxy address', { exact: true }).getAttribute('aria-invalid')).toBe('true');
  await wellMade(page, wrong, 'group-refused');
  await type(form.getByLabel('Proxy address', { exact: true }), '2001:db8:ffff::9');
  await form.getByRole('button', { name: 'Try without doing it' }).click();
  await form.getByText(/The controller accepts it: \d+ updates on \d+ switches/).waitFor();
  expect((await lab.send('GET', '/v1/multicast-groups/g1')).status, 'a trial makes nothing').toBe(404);
  await wellMade(page, wrong, 'group-form');
  await form.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('heading', { name: 'Group g1' }).waitFor();
  await says(page, '● programmed');
  const made = await lab.get<Schemas['Group']>('/v1/multicast-groups/g1');
  expect(made.spec.designatedQpn).toBe(0x1000);
  expect(made.spec.receivers).toEqual([{ address: '2001:db8:1:2::1', qpn: 600 }]);

  await page.getByRole('button', { name: 'Change…' }).click();
  const change = page.getByRole('dialog', { name: 'Change group g1' });
  await change.getByRole('button', { name: 'Add a receiver' }).click();
  await change.getByRole('group', { name: 'Receiver 2' }).getByLabel('Host').selectOption({ value: '2001:db8:1:4::1' });
  await type(change.getByRole('group', { name: 'Receiver 2' }).getByLabel('QPN'), '601');
  await change.getByRole('button', { name: 'Save' }).click();
  await closed(change);
  expect((await lab.get<Schemas['Group']>('/v1/multicast-groups/g1')).spec.receivers!.map((r) => r.qpn)).toEqual([
    600, 601,
  ]);
  await expect.poll(async () => (await rows(page, 'Branches')).length).toBe(6);

  await page.getByRole('button', { name: 'Reset…' }).click();
  await page
    .getByRole('dialog', { name: 'Reset group g1?' })
    .getByRole('button', { name: 'Reset', exact: true })
    .click();
  await expect
    .poll(async () => (await lab.get<Schemas['Group']>('/v1/multicast-groups/g1')).status.epoch)
    .not.toBe(made.status.epoch);

  await page.getByRole('button', { name: 'Delete…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Delete group g1?' });
  await dialog.getByRole('button', { name: 'Try without doing it' }).click();
  await dialog.getByText(/The controller accepts it: \d+ updates/).waitFor();
  await dialog.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('heading', { name: 'Multicast groups' }).waitFor();
  expect((await lab.send('GET', '/v1/multicast-groups/g1')).status).toBe(404);
  await expect.poll(async () => (await rows(page, 'Multicast groups')).length).toBe(1);
  await wellMade(page, wrong, 'groups');
  await page.context().close();
});

test('a group by form begins with queue pairs that no other group has', async () => {
  const { page, wrong } = await open(browser, `${lab.url}/#/groups`);
  await page.getByRole('link', { name: 'demo', exact: true }).waitFor();
  await page.getByRole('button', { name: 'New group…' }).click();
  const form = page.getByRole('dialog', { name: 'New multicast group' });
  await type(form.getByLabel('Name'), 'first');
  await type(form.getByLabel('Proxy address', { exact: true }), '2001:db8:ffff::f');
  await type(form.getByLabel('Designated QPN'), '0x6000');
  // Those of demo, whose source and receivers these are.
  const { spec } = await lab.get<Schemas['Group']>('/v1/multicast-groups/demo');
  const source = form.getByRole('group', { name: 'Source' });
  await source.getByLabel('Host').selectOption({ value: spec.source!.address });
  for (const [i, { address }] of spec.receivers!.entries()) {
    await form.getByRole('button', { name: 'Add a receiver' }).click();
    const host = form.getByRole('group', { name: `Receiver ${i + 1}` }).getByLabel('Host');
    await host.selectOption({ value: address });
  }
  await form.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('heading', { name: 'Group first' }).waitFor();
  await says(page, '● programmed');
  for (const name of ['first', 'demo']) {
    const made = await lab.get<Schemas['Group']>(`/v1/multicast-groups/${name}`);
    expect(made.status.conditions!.filter((c) => c.type === 'Degraded' && c.status)).toEqual([]);
  }
  await lab.send('DELETE', '/v1/multicast-groups/first');
  expect(wrong).toEqual([]);
  await page.context().close();
});

test('a group by RDMA CM is made by clicking, without queue pairs and keys', async () => {
  const { page, wrong } = await open(browser, `${lab.url}/#/groups`);
  await page.getByRole('button', { name: 'New group…' }).click();
  const form = page.getByRole('dialog', { name: 'New multicast group' });
  await type(form.getByLabel('Name'), 'cm');
  await type(form.getByLabel('Proxy address', { exact: true }), '2001:db8:ffff::c');
  await type(form.getByLabel('Designated QPN'), '0x5000');
  await form.getByRole('button', { name: 'Add a receiver' }).click();
  // What has been filled in stays, but for what applications bring.
  await form.getByLabel('Queue pairs').selectOption('by RDMA CM');
  expect(await form.getByLabel('QPN', { exact: true }).count()).toBe(0);
  expect(await form.getByText('R_Key').count()).toBe(0);
  expect(await form.getByLabel('Proxy address', { exact: true }).inputValue()).toBe('2001:db8:ffff::c');
  await form.getByRole('group', { name: 'Receiver 1' }).getByLabel('Host').selectOption({ value: '2001:db8:1:2::1' });
  await form.getByLabel('Who may be the source').selectOption('any host: the first that connects');
  expect(await form.getByRole('group', { name: 'Source' }).count()).toBe(0);
  const cm = form.getByRole('group', { name: 'RDMA CM' });
  await type(cm.getByLabel('Port'), '4800');
  await cm.getByRole('button', { name: 'Add a prefix' }).click();
  await type(cm.getByLabel('Prefix 1', { exact: true }), '2001:db8:1:4::1/48');
  await type(cm.getByLabel('At least'), '2');
  await cm.getByLabel('Path MTU').selectOption('1024');
  await type(cm.getByLabel('Token'), 'secret');
  await form.getByRole('button', { name: 'Create' }).click();
  await cm.getByText(/want a prefix of the family .* without bits after its length/).waitFor();
  expect(await cm.getByLabel('Prefix 1', { exact: true }).getAttribute('aria-invalid')).toBe('true');
  await type(cm.getByLabel('Prefix 1', { exact: true }), '2001:db8:1::/48');
  await wellMade(page, wrong, 'group-connect-form');
  await form.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('heading', { name: 'Group cm' }).waitFor();
  const path = '/v1/multicast-groups/cm';
  const made = await lab.get<Schemas['Group']>(path);
  expect(made.spec.connect).toEqual({
    port: 4800,
    source: 'any',
    receivers: ['2001:db8:1::/48'],
    atLeast: 2,
    mtu: 1024,
  });
  expect(made.spec.receivers).toEqual([{ address: '2001:db8:1:2::1' }]);
  expect(made.spec.source).toBeUndefined();
  await saveUntouched(page, lab, 'Change…', path);
  // And back to one host, which is chosen.
  await page.getByRole('button', { name: 'Change…' }).click();
  const change = page.getByRole('dialog', { name: 'Change group cm' });
  await change.getByLabel('Who may be the source').selectOption('the host below');
  await change.getByRole('group', { name: 'Source' }).getByLabel('Host').selectOption({ value: '2001:db8:1:1::1' });
  await change.getByRole('button', { name: 'Save' }).click();
  await closed(change);
  const changed = await lab.get<Schemas['Group']>(path);
  expect([changed.spec.source, changed.spec.connect!.source, changed.spec.connect!.port]).toEqual([
    { address: '2001:db8:1:1::1' },
    'spec',
    4800,
  ]);
  await saveUntouched(page, lab, 'Change…', path);
  expect((await lab.send('DELETE', path)).ok).toBe(true);
  expect(wrong).toEqual([]);
  await page.context().close();
});

test('a group shows the applications that are connected by RDMA CM', async () => {
  const path = '/v1/multicast-groups/joined';
  const spec = {
    proxyAddress: '2001:db8:ffff::d',
    designatedQpn: 0x5001,
    connect: { port: 4900 },
    source: { address: '2001:db8:1:1::1' },
    receivers: ['2', '3', '5'].map((n) => ({ address: `2001:db8:1:${n}::1` })),
  };
  expect((await lab.send('PUT', path, { spec })).ok).toBe(true);
  const { page, wrong } = await open(browser, `${lab.url}/#/groups/joined`);
  await page.getByRole('heading', { name: 'Connections' }).waitFor();
  await says(page, 'No application has connected.');
  // Programs would have to run on hosts of the lab: the answer gets what they would bring.
  const connections: Schemas['Group']['status']['connections'] = [
    { address: '2001:db8:1:1::1', role: 'source', state: 'replied', qpn: 281 },
    {
      address: '2001:db8:1:2::1',
      role: 'receiver',
      state: 'established',
      qpn: 4711,
      psnOffset: 0xabcdef,
      listens: true,
    },
    { address: '2001:db8:1:3::1', role: 'receiver', state: 'established', qpn: 42 },
    { address: '2001:db8:99::1', role: 'receiver', state: 'asked', qpn: 17, psnOffset: 5 },
  ];
  await page.route(`**${path}`, async (route) => {
    const response = await route.fetch();
    const group = parseExact(await response.text()) as Schemas['Group'];
    await route.fulfill({ response, body: formatExact({ ...group, status: { ...group.status, connections } }) });
  });
  await page.reload();
  const all = [
    ['S1', '2001:db8:1:1::1', 'source', 'the application', '◆ answered', '281', '–'],
    ['R1', '2001:db8:1:2::1', 'receiver', 'the controller', '● connected', '4711', '11259375'],
    ['R2', '2001:db8:1:3::1', 'receiver', 'the application', '● connected', '42', '0'],
    ['2001:db8:99::1', '2001:db8:99::1', 'receiver', 'the application', '◆ waits for the tree', '17', '5'],
  ];
  await expect.poll(() => rows(page, 'Connections')).toEqual(all);
  await page.getByRole('heading', { name: 'Connections' }).scrollIntoViewIfNeeded();
  await wellMade(page, wrong, 'group-connections');
  // The source leaves, and comes again.
  connections[0] = { ...connections[0]!, state: 'leaving', qpn: 282 };
  expect((await lab.send('PUT', path, { spec: { ...spec, evictAfter: '9s' } })).ok).toBe(true);
  all[0]![4] = '○ leaves';
  all[0]![5] = '282';
  await expect.poll(() => rows(page, 'Connections')).toEqual(all);
  await page.getByRole('table', { name: 'Connections' }).getByRole('link', { name: 'R1' }).click();
  await page.getByRole('heading', { name: 'Host R1' }).waitFor();
  await page.unrouteAll();
  // Of a group with typed queue pairs there are none.
  await page.goto(`${lab.url}/#/groups/demo`);
  await page.getByRole('heading', { name: 'Acknowledgements' }).waitFor();
  expect(await page.getByRole('heading', { name: 'Connections' }).count()).toBe(0);
  expect((await lab.send('DELETE', path)).ok).toBe(true);
  expect(wrong).toEqual([]);
  await page.context().close();
});

test('two browsers agree, and a change that somebody else has made is not overwritten', async () => {
  const one = await open(browser, `${lab.url}/#/groups/demo`),
    two = await open(browser, `${lab.url}/#/groups/demo`);
  for (const { page } of [one, two]) await page.getByRole('button', { name: 'Change…' }).click();
  const forms = [one, two].map(({ page }) => page.getByRole('dialog', { name: 'Change group demo' }));
  await type(forms[0]!.getByLabel('Evict after'), '30m');
  await forms[0]!.getByRole('button', { name: 'Save' }).click();
  await closed(forms[0]!);
  // The page behind the other form shows the change: the form is still of what was before.
  await two.page.locator('tr', { hasText: 'Evicts after' }).filter({ hasText: '30 min' }).waitFor();
  await type(forms[1]!.getByLabel('Evict after'), '40m');
  await forms[1]!.getByRole('button', { name: 'Save' }).click();
  await forms[1]!.getByText('Somebody has changed it meanwhile').waitFor();
  expect((await lab.get<Schemas['Group']>('/v1/multicast-groups/demo')).spec.evictAfter).toBe('30m0s');
  await forms[1]!.getByRole('button', { name: 'Cancel' }).click();
  for (const { page } of [one, two]) await says(page, '30 min');
  for (const { page, wrong } of [one, two]) {
    expect(wrong).toEqual([]);
    await page.context().close();
  }
});

test('a switch shows what it holds, as the API reads it', async () => {
  const { page, wrong } = await open(browser, `${lab.url}/#/switches`);
  await expect
    .poll(async () => (await rows(page, 'Switches')).map((r) => r[0]))
    .toEqual((await lab.items<Schemas['SwitchStatus']>('/v1/switches')).map((s) => s.name));
  await wellMade(page, wrong, 'switches');
  await page.getByRole('link', { name: 'N1', exact: true }).first().click();
  await page.getByRole('heading', { name: 'Switch N1' }).waitFor();
  await page.getByRole('combobox', { name: /^Table/ }).selectOption('mt_replica');
  const entries = await lab.items<Schemas['EntryView']>('/v1/switches/N1/tables/mt_replica/entries');
  await expect
    .poll(async () => (await rows(page, 'Entries of mt_replica')).map((r) => r.slice(0, 3)))
    .toEqual(entries.map((e) => [...e.match!.map((m) => String(m.value)), e.action!]));
  await says(page, 'receiver=2001:db8:1:2::1');
  await wellMade(page, wrong, 'switch');
  // The next packet from N4: the copies that the switch makes of it reach R1 and R2.
  await type(page.getByLabel('Port', { exact: true }), '1');
  await page.getByRole('button', { name: 'Catch the next' }).click();
  const trace = page.getByLabel(/^Steps of packet/);
  await trace.waitFor();
  expect(await trace.innerText()).toMatch(/packet \d+ received on port 1/);
  expect(await trace.innerText()).toContain('table local_sid');
  await wellMade(page, wrong, 'trace');
  await page.context().close();
});

test('a port is taken out of service and back by clicking, and the group says what it lost', async () => {
  const { page, wrong } = await open(browser, `${lab.url}/#/switches/N4`);
  const ports = async () => lab.items<Schemas['Port']>('/v1/ports?switch=N4');
  const nodes = await lab.items<Schemas['FabricNode']>('/v1/nodes');
  const behind = (link: string) => {
    const [node, port] = link.split('~')[1]!.split(',');
    return `${nodes.find((n) => n.id === node)!.status.name} port ${port}`;
  };
  await expect
    .poll(async () => (await rows(page, 'Ports')).map((r) => [r[0], r[5]]), { timeout: 20_000 })
    .toEqual((await ports()).map((p) => [String(p.status.port), p.status.link ? behind(p.status.link) : '']));
  // N1 has no other way to the source.
  const reached = async () =>
    (await lab.get<Schemas['Group']>('/v1/multicast-groups/demo')).status.conditions!.every(
      (c) => c.type !== 'Degraded' || !c.status,
    );
  expect(await reached()).toBe(true);
  const name = (id: string) =>
    lab.get<Schemas['FabricLink']>(`/v1/links/${encodeURIComponent(id)}`).then((l) => l.status.toName);
  const all = await ports();
  const toN1 = all[(await Promise.all(all.map((p) => (p.status.link ? name(p.status.link) : '')))).indexOf('N1')]!;
  const row = page
    .getByRole('table', { name: 'Ports', exact: true })
    .getByRole('row')
    .filter({ hasText: toN1.status.interface! });
  await row.getByRole('button', { name: 'Disable…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Disable', exact: true }).click();
  await closed(dialog);
  await row.getByText('out of service').waitFor();
  const after = (await ports()).find((p) => p.name === toN1.name)!;
  expect(after.spec.enabled).toBe(false);
  expect(after.status.config.enabled).toBe(false);
  await expect.poll(reached, { timeout: 30_000 }).toBe(false);
  await wellMade(page, wrong, 'ports');
  await row.getByRole('button', { name: 'Enable…' }).click();
  await dialog.getByRole('button', { name: 'Enable', exact: true }).click();
  await closed(dialog);
  await row.getByText(/^● up$/).waitFor();
  await expect.poll(reached, { timeout: 60_000 }).toBe(true);
  await row.getByRole('button', { name: 'Forget…' }).click();
  await dialog.getByRole('button', { name: 'Forget', exact: true }).click();
  await closed(dialog);
  await row.getByText('as it is').waitFor();
  expect((await ports()).find((p) => p.name === toN1.name)!.version).toBe(0);
  await page.context().close();
});

test('a busy port is found from the overview, and its history is that of the API', async () => {
  const { page, wrong } = await open(browser, lab.url);
  await expect.poll(async () => (await rows(page, 'Busiest ports')).length, { timeout: 30_000 }).toBe(5);
  const name = (await rows(page, 'Busiest ports'))[0]![0]!;
  await page.getByRole('table', { name: 'Busiest ports' }).getByRole('link', { name, exact: true }).click();
  await page.getByRole('heading', { name: `What port ${name} did` }).waitFor();
  const table = page
    .getByRole('region', { name: `History of port ${name}` })
    .getByRole('table', { name: `traffic of ${name}` });
  await expect
    .poll(async () => (await table.innerText()).match(/(received|sent)/g)?.sort())
    .toEqual(['received', 'sent']);
  // Within what one second more or less makes, the page has the mean that the API has.
  const of = await lab.get<Schemas['History']>(`/v1/telemetry/history?name=${encodeURIComponent(name)}&since=2m`);
  const most = Math.max(...of.series.find((s) => s.metric === 'outBits')!.values.map((v) => v ?? 0));
  expect(most).toBeGreaterThan(0);
  expect(await table.innerText()).toMatch(/[1-9]\S* [kMG]b\/s/);
  await wellMade(page, wrong, 'history');
  // Hours ago nothing ran, and nothing is drawn.
  await page.getByLabel('Time shown').selectOption('3h');
  await page.getByRole('button', { name: 'Earlier' }).click();
  await page.getByRole('button', { name: 'Earlier' }).click();
  await page.getByText('Nothing was measured in this time.').first().waitFor();
  expect(page.url()).toMatch(/until=\d+/);
  await page.getByRole('button', { name: 'Back to now' }).click();
  expect(page.url()).not.toMatch(/from=/);
  await page.context().close();
});

test('charts of a group share a crosshair, and a time that is dragged over is in the address', async () => {
  const { page, wrong } = await open(browser, `${lab.url}/#/groups/demo`);
  const goodput = page.getByRole('group', { name: 'goodput of demo' }),
    branches = page.getByRole('group', { name: 'Branches of demo' });
  const plot = goodput.locator('.u-over');
  await plot.waitFor();
  await branches.locator('.u-over').waitFor();
  await expect.poll(() => goodput.locator('td').first().innerText(), { timeout: 20_000 }).toMatch(/[1-9].*packets\/s/);
  // The crosshair of one is that of all, and their legends are of that moment.
  await plot.scrollIntoViewIfNeeded();
  const box = (await plot.boundingBox())!;
  await page.mouse.move(box.x + box.width * 0.95, box.y + 20);
  const head = (of: typeof goodput) => of.locator('thead th').nth(1).innerText();
  await expect.poll(() => head(goodput)).toMatch(/^\d\d:\d\d:\d\d$/);
  const lines = () =>
    page.evaluate(() =>
      [...document.querySelectorAll<HTMLElement>('.u-cursor-x')].map((c) => new DOMMatrix(c.style.transform).e),
    );
  await expect.poll(async () => (await lines()).map((x) => x > 0)).not.toContain(false);
  await page.mouse.move(5, 5);
  await expect.poll(() => head(goodput)).toBe('Now');
  // Keys move it, too.
  await goodput.focus();
  await page.keyboard.press('ArrowLeft');
  await expect.poll(() => head(goodput)).toMatch(/^\d\d:\d\d:\d\d$/);
  // What they chose stays while new values come, and its line goes with it, in every chart.
  const chosen = await head(goodput);
  await expect.poll(async () => Math.min(...(await lines()))).toBeGreaterThan(0);
  const before = await lines();
  await expect
    .poll(async () => (await lines()).every((x, i) => x < before[i]! - 5 && x > 0), { timeout: 10_000 })
    .toBe(true);
  expect(await head(goodput)).toBe(chosen);
  expect(await head(branches)).toMatch(/^\d\d:\d\d:\d\d$/);
  await page.keyboard.press('Escape');
  await expect.poll(() => head(goodput)).toBe('Now');
  // What is dragged over is shown, by all charts, and after a reload.
  await page.mouse.move(box.x + box.width * 0.5, box.y + 30);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.75, box.y + 30, { steps: 5 });
  await page.mouse.up();
  await expect.poll(() => page.url()).toMatch(/until=\d+/);
  const query = new URLSearchParams(page.url().split('?')[1]);
  const size = Number(query.get('until')) - Number(query.get('since'));
  expect(size).toBeGreaterThan(20);
  expect(size).toBeLessThan(45);
  const bar = page.getByRole('group', { name: 'Time', exact: true });
  const text = await bar.locator('.quiet').innerText();
  await page.reload();
  await bar.waitFor();
  expect(await bar.locator('.quiet').innerText()).toBe(text);
  await wellMade(page, wrong, 'group-charts');
  await page.context().close();
});

test('64-bit addresses and keys stay as they are, from the API to the screen and back', async () => {
  const made = await lab.send('PUT', '/v1/multicast-groups/wide', {
    spec: {
      proxyAddress: '2001:db8:ffff::40',
      designatedQpn: 0x4000,
      baseVa: 18446612682070000637n,
      source: { address: '2001:db8:1:1::1', qpn: 300 },
      receivers: [
        { address: '2001:db8:1:2::1', qpn: 600, va: 18446612682070000641n, rkey: 4294967295 },
        { address: '2001:db8:1:4::1', qpn: 601, va: 9007199254740993n, rkey: 1 },
      ],
    },
  });
  expect(made.ok, await made.text()).toBe(true);
  const { page, wrong } = await open(browser, `${lab.url}/#/groups/wide`);
  await saveUntouched(page, lab, 'Change…', '/v1/multicast-groups/wide');
  await page.getByRole('button', { name: 'Change…' }).click();
  const form = page.getByRole('dialog', { name: 'Change group wide' });
  const va = form.getByRole('group', { name: 'Receiver 1' }).getByLabel('VA');
  expect(await va.inputValue()).toBe('0xffff887fffff8401');
  // As a user writes it: hexadecimal, key by key.
  await va.click();
  await page.keyboard.press('Control+a');
  await page.keyboard.type('0xffff_8800_dead_beef');
  expect(await va.inputValue()).toBe('0xffff_8800_dead_beef');
  await form.getByRole('button', { name: 'Save' }).click();
  await closed(form);
  const group = await lab.get<Schemas['Group']>('/v1/multicast-groups/wide');
  expect(group.spec.receivers!.map((r) => r.va)).toEqual([0xffff8800deadbeefn, 9007199254740993n]);
  expect(group.spec.baseVa).toBe(18446612682070000637n);
  expect((await lab.send('DELETE', '/v1/multicast-groups/wide')).ok).toBe(true);
  expect(wrong).toEqual([]);
  await page.context().close();
});

test('a group that somebody else has deleted is gone, and so is what could be done with it', async () => {
  await lab.send('PUT', '/v1/multicast-groups/brief', {
    spec: {
      proxyAddress: '2001:db8:ffff::50',
      designatedQpn: 0x5000,
      source: { address: '2001:db8:1:1::1', qpn: 310 },
      receivers: [{ address: '2001:db8:1:2::1', qpn: 610 }],
    },
  });
  const { page, wrong } = await open(browser, `${lab.url}/#/groups/brief`);
  await says(page, '● programmed');
  expect((await lab.send('DELETE', '/v1/multicast-groups/brief')).ok).toBe(true);
  await says(page, 'There is no group brief (any more)');
  expect(await page.getByText('● programmed').count()).toBe(0);
  expect(await page.getByRole('button', { name: /Change|Reset|Delete/ }).count()).toBe(0);
  expect(wrong).toEqual([]);
  await page.context().close();
});

test('a receiver that stands still stalls its group, which is not well', async () => {
  await expect
    .poll(async () => (await lab.send('GET', '/v1/multicast-groups/demo')).status, { timeout: 30_000 })
    .toBe(200);
  const group = await lab.get<Schemas['Group']>('/v1/multicast-groups/demo');
  const last = group.spec.receivers!.at(-1)!;
  const host = (await lab.get<Schemas['TopologyView']>('/v1/topology')).hosts.find((h) => h.address === last.address)!;
  const path = `/v1/switches/${host.switch}/ports/${host.ports![0]}`;
  const { page, wrong } = await open(browser, lab.url);
  await says(page, 'All is well');
  expect((await lab.send('PUT', path, { spec: { enabled: false } })).status).toBe(200);
  // The port is the cause, and what it holds up follows from it.
  await page.locator('.verdict', { hasText: `of host ${host.name} is down` }).waitFor();
  await says(page, `Receiver ${host.name} stalls group demo`);
  expect(await page.locator('.causes > li').count()).toBe(1);
  await page
    .locator('.card', { hasText: 'Multicast groups' })
    .locator('.figure', { hasText: /^0 \/ 1$/ })
    .waitFor();
  await says(page, 'It touches 1 multicast group.');
  await wellMade(page, wrong, 'stalled');
  expect((await lab.send('PUT', path, { spec: { enabled: true } })).status).toBe(200);
  await says(page, 'All is well');
  await page.context().close();
});

test('who takes a port out of service sees before whom that cuts off', async () => {
  const view = await lab.get<Schemas['TopologyView']>('/v1/topology');
  const source = view.hosts.find((h) => h.name === 'S1')!;
  const { page, wrong } = await open(browser, `${lab.url}/#/switches/${source.switch}`);
  // The port of a host: nothing else leads to it.
  const row = (port: number) =>
    page
      .getByRole('table', { name: 'Ports', exact: true })
      .getByRole('row')
      .filter({
        has: page.getByRole('link', { name: String(port), exact: true }),
      });
  await row(source.ports![0]!).getByRole('button', { name: 'Disable…' }).click();
  let dialog = page.getByRole('dialog');
  await dialog.getByText('It cuts off host S1').waitFor();
  await dialog.getByText(/Group demo no longer reaches R1, R2, R3 and 2 more/).waitFor();
  await wellMade(page, wrong, 'port-cut-off');
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  // Of a link with others around it, nobody is cut off.
  const link = view.links.find((l) => view.nodes.find((n) => n.id === l.local)?.name === source.switch)!;
  await row(link.localPort!).getByRole('button', { name: 'Disable…' }).click();
  dialog = page.getByRole('dialog');
  await dialog.getByText(/It cuts off/).waitFor();
  await page.context().close();
});
