import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { browse, closed, Lab, open, rows, saveUntouched, says, type, wellMade, type Schemas } from './kit';

let lab: Lab, browser: Browser;

beforeAll(async () => {
  [lab, browser] = await Promise.all([Lab.start('../docs/examples/fabric.yaml'), browse()]);
  const made = await lab.send('PUT', '/v1/jobs/train', { spec: { hosts: 'H[1-4]', layout: { dp: 4 } } });
  if (!made.ok) throw new Error(await made.text());
});
afterAll(async () => {
  await browser?.close();
  await lab?.stop();
});

test('a maintenance is made by keys: a dry run has what each job loses', async () => {
  const { page, wrong } = await open(browser, `${lab.url}/#/overview`);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('w');
  await says(page, 'There is no maintenance.');
  await wellMade(page, wrong, 'maintenances-empty');
  await page.getByRole('button', { name: 'New maintenance…' }).press('Enter');
  const form = page.getByRole('dialog', { name: 'New maintenance' });
  await page.keyboard.type('firmware');
  await page.keyboard.press('Tab');
  await page.keyboard.type('p1 t1');
  await form.getByRole('option', { name: 'P1-T1-2' }).waitFor();
  await wellMade(page, wrong, 'maintenance-pick');
  await page.keyboard.press('Enter'); // P1-T1-1
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter'); // P1-T1-2
  await page.keyboard.press('Enter'); // and not
  await page.keyboard.press('Escape');
  expect(await form.getByRole('listbox').count()).toBe(0);
  await form.waitFor(); // Escape has closed the list alone
  expect(await form.getByLabel('Switch', { exact: true }).count()).toBe(1);
  await form.getByRole('button', { name: 'Add something else' }).click();
  await form.getByLabel('What', { exact: true }).nth(1).selectOption('a port of a host');
  await form.getByLabel('Host', { exact: true }).selectOption('H3');
  await type(form.getByLabel('Port', { exact: true }), '2');
  for (const [label, time] of [
    ['From', '100000PM'],
    ['Until', '110000PM'],
  ] as const) {
    await form.getByLabel(label).focus();
    await page.keyboard.type('01012030');
    await page.keyboard.press('ArrowRight'); // a year may have more digits
    await page.keyboard.type(time);
  }
  await type(form.getByLabel('Lead'), '10m');
  await form.getByRole('button', { name: 'Try without doing it' }).click();
  const losses = form.getByRole('table', { name: 'What jobs lose' });
  await losses.getByRole('rowheader', { name: 'train' }).waitFor();
  await losses.scrollIntoViewIfNeeded();
  await wellMade(page, wrong, 'maintenance-try');
  expect(await lab.items('/v1/maintenances')).toEqual([]);
  await form.getByRole('button', { name: 'Create' }).click();
  await closed(form);
  await page.getByRole('heading', { name: 'Maintenance firmware' }).waitFor();
  await says(page, 'switch P1-T1-1');
  await says(page, 'port 2 of H3');
  await page.getByRole('table', { name: 'What jobs lose' }).getByText('not started').waitFor();
  const spec = (await lab.get<Schemas['Maintenance']>('/v1/maintenances/firmware')).spec;
  expect(spec.objects).toEqual([{ node: 'P1-T1-1' }, { host: 'H3', port: 2 }]);
  expect(Date.parse(spec.from)).toBe(new Date('2030-01-01T22:00:00').getTime());
  await wellMade(page, wrong, 'maintenance');
  await saveUntouched(page, lab, 'Change…', '/v1/maintenances/firmware');
  await page.context().close();
});

test('a maintenance that lasts now says what is drained, on a phone too, and ends when it is deleted', async () => {
  const now = Date.now();
  const spec = {
    objects: [{ node: 'P1-T1-2' }],
    from: new Date(now - 60_000).toISOString(),
    until: new Date(now + 3_600_000).toISOString(),
  };
  expect((await lab.send('PUT', '/v1/maintenances/now', { spec })).ok).toBe(true);
  const { page, wrong } = await open(browser, `${lab.url}/#/maintenances/now`, { width: 390, height: 800 });
  await page.getByRole('table', { name: 'Drains' }).getByText('drained').waitFor();
  await wellMade(page, wrong, 'maintenance-phone');
  await page.goto(`${lab.url}/#/maintenances`);
  await expect.poll(async () => (await rows(page, 'Maintenances')).map((r) => r[0])).toEqual(['firmware', 'now']);
  await wellMade(page, wrong, 'maintenances-phone');
  await page.goto(`${lab.url}/#/maintenances/now`);
  await page.getByRole('button', { name: 'Delete…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
  await expect.poll(async () => (await rows(page, 'Maintenances')).map((r) => r[0])).toEqual(['firmware']);
  const node = (await lab.items<Schemas['FabricNode']>('/v1/nodes')).find((n) => n.status.name === 'P1-T1-2')!;
  expect(node.spec.admin).toBe('up');
  await page.context().close();
});

test('a lease is made, renewed, changed and deleted by clicking, with what packets on its paths carry', async () => {
  const { page, wrong } = await open(browser, `${lab.url}/#/leases`);
  await says(page, 'There is no lease.');
  await page.getByRole('button', { name: 'New lease…' }).click();
  const form = page.getByRole('dialog', { name: 'New lease' });
  await page.keyboard.type('weights');
  await form.getByLabel('From', { exact: true }).selectOption('H1');
  await form.getByLabel('To', { exact: true }).selectOption('H4');
  await type(form.getByLabel('Paths of each pair'), '2');
  await form.getByLabel('They have not in common').selectOption('plane');
  await type(form.getByLabel('Bandwidth'), '1000000');
  await type(form.getByLabel('For job'), 'train');
  await type(form.getByLabel('Heartbeat'), '1h');
  await form.getByRole('button', { name: 'Try without doing it' }).click();
  await form.getByRole('table', { name: 'Paths' }).getByText('P2-T1').waitFor();
  await wellMade(page, wrong, 'lease-try');
  expect(await lab.items('/v1/leases')).toEqual([]);
  await form.getByRole('button', { name: 'Create' }).click();
  await closed(form);
  await page.getByRole('heading', { name: 'Lease weights' }).waitFor();
  await page
    .getByRole('table', { name: 'Paths' })
    .getByText(/^destination /)
    .first()
    .waitFor();
  await wellMade(page, wrong, 'lease');
  await saveUntouched(page, lab, 'Change…', '/v1/leases/weights');
  const lease = () => lab.get<Schemas['PathLease']>('/v1/leases/weights');
  const before = (await lease()).status.ends!;
  await page.getByRole('button', { name: 'Renew…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Renew', exact: true }).click();
  await expect.poll(async () => (await lease()).status.ends! > before).toBe(true);

  // A refusal says which link is full and who has it.
  await page.goto(`${lab.url}/#/leases`);
  await page.getByRole('button', { name: 'New lease…' }).click();
  await page.keyboard.type('all');
  await form.getByLabel('From', { exact: true }).selectOption('H1');
  await form.getByLabel('To', { exact: true }).selectOption('H4');
  await type(form.getByLabel('Bandwidth'), '100000000000000');
  await form.getByRole('button', { name: 'Create' }).click();
  await form.getByRole('alert').waitFor();
  await wellMade(page, wrong, 'lease-refused');
  await form.getByRole('button', { name: 'Cancel' }).click();

  await page.setViewportSize({ width: 390, height: 800 });
  await page.goto(`${lab.url}/#/leases/weights`);
  await page.getByRole('table', { name: 'Paths' }).waitFor();
  await wellMade(page, wrong, 'lease-phone');
  await page.getByRole('button', { name: 'Delete…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
  await says(page, 'There is no lease.');
  await page.context().close();
});

test('hosts that receive are chosen together, by a search', async () => {
  const { page, wrong } = await open(browser, `${lab.url}/#/groups`);
  await page.getByRole('button', { name: 'New group…' }).click();
  const form = page.getByRole('dialog', { name: 'New multicast group' });
  await page.keyboard.type('g1');
  await form.getByLabel('Host', { exact: true }).selectOption({ index: 1 });
  await form.getByRole('searchbox', { name: 'Hosts that receive' }).focus();
  await page.keyboard.type('p1-t0-2');
  await form.getByRole('button', { name: 'Add all 2' }).click();
  await form.getByRole('button', { name: 'Close the list' }).click();
  await expect.poll(() => form.getByRole('group', { name: /^Receiver \d/ }).count()).toBe(2);
  await type(form.getByRole('textbox', { name: 'Proxy address' }), '2001:db8:ffff::1');
  await type(form.getByLabel('Designated QPN'), '16777215');
  await wellMade(page, wrong, 'group-form');
  await form.getByRole('button', { name: 'Create' }).click();
  await closed(form);
  await says(page, '16777215'); // and not 16,777,215
  const group = await lab.get<Schemas['Group']>('/v1/multicast-groups/g1');
  expect(group.spec.receivers!.map((r) => r.address).sort()).toEqual(['2001:db8:1:3::1', '2001:db8:1:4::1']);
  await page.context().close();
});
