import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  behind,
  browse,
  closed,
  cutOff,
  Lab,
  open,
  rows,
  saveUntouched,
  says,
  type,
  wellMade,
  type Schemas,
} from './kit';

let lab: Lab, browser: Browser;

beforeAll(async () => {
  [lab, browser] = await Promise.all([Lab.start('clos'), browse()]);
});
afterAll(async () => {
  await browser?.close();
  await lab?.stop();
});

type Path = Schemas['EvPathView'];

test('a pair of hosts shows its EVs both ways, and one EV hop by hop', async () => {
  const { page, wrong } = await open(browser, `${lab.url}/#/evs`);
  await page.getByRole('combobox', { name: /^From/ }).selectOption('H1');
  await page.getByRole('combobox', { name: /^to/ }).selectOption('H13');
  for (const [from, to, name] of [
    ['H1', 'H13', 'P1-T0-1:P1-T0-4'],
    ['H13', 'H1', 'P1-T0-4:P1-T0-1'],
  ] as const) {
    const evs = (await lab.get<Schemas['EvProfile']>(`/v1/ev-profiles/${name}`)).status.evs!;
    await expect
      .poll(async () => (await rows(page, `EVs from ${from} to ${to}`)).map((r) => r.slice(0, 2)))
      .toEqual(evs.map((e) => [e.ev.split('@')[0], String(e.port)]));
  }
  await wellMade(page, wrong, 'evs');
  const ev = (await lab.get<Schemas['EvProfile']>('/v1/ev-profiles/P1-T0-1:P1-T0-4')).status.evs![0]!;
  await page.getByRole('table', { name: 'EVs from H1 to H13' }).getByRole('link').first().click();
  await page.getByRole('region', { name: `Path of ${ev.ev}` }).waitFor();
  const path = await lab.get<Path>(`/v1/ev-profiles/P1-T0-1:P1-T0-4/evs/${ev.ev}/path`);
  const cells = page.getByRole('table', { name: `Hops of ${ev.ev}` }).locator('tbody tr');
  await expect.poll(() => cells.count()).toBe(path.hops.length);
  for (const [i, h] of path.hops.entries()) {
    const text = await cells.nth(i).innerText();
    expect(text).toContain(h.links[0]!.fromName);
    expect(text).toContain(h.links[0]!.toName);
    expect(text).toContain(`port ${h.links[0]!.toPort}`);
    if (h.by === 'field') {
      // The bits that the page marks are the value that the switch goes by.
      expect(parseInt((await cells.nth(i).locator('.now').textContent())!, 2)).toBe(h.value);
    }
  }
  await wellMade(page, wrong, 'ev-path');
  await page.context().close();
});

test('an EV profile is overridden, and the override removed', async () => {
  const name = 'P1-T0-1:P1-T0-2';
  const { page, wrong } = await open(browser, `${lab.url}/#/evs/${encodeURIComponent(name)}`);
  await page.getByRole('button', { name: 'Override…' }).click();
  const form = page.getByRole('dialog', { name: `Override EV profile ${name}` });
  await type(form.getByLabel('Least active'), '3');
  await form.getByRole('button', { name: 'Save' }).click();
  await closed(form);
  expect((await lab.get<Schemas['EvProfile']>(`/v1/ev-profiles/${name}`)).spec.minActive).toBe(3);
  await says(page, '{"minActive":3}');
  await page
    .getByRole('region', { name: `Document of ${name}` })
    .getByText('minActive: 3')
    .waitFor();
  await page.getByRole('button', { name: 'Remove the override…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove the override', exact: true }).click();
  await expect
    .poll(async () => (await lab.get<Schemas['EvProfile']>(`/v1/ev-profiles/${name}`)).spec.minActive)
    .toBeUndefined();
  expect(wrong).toEqual([]);
  await page.context().close();
});

test('what is drained has a document, a history and an undo', async () => {
  const link = (await lab.get<{ items: Schemas['FabricLink'][] }>('/v1/links?limit=1')).items[0]!;
  const admin = async () =>
    (await lab.get<Schemas['FabricLink']>(`/v1/links/${encodeURIComponent(link.id)}`)).spec.admin;
  const { page, wrong } = await open(browser, `${lab.url}/#/fabric?link=${encodeURIComponent(link.id)}`);
  const chosen = page.getByRole('region', { name: /^Link / });
  await chosen.getByText('Document and history').click();
  const doc = page.getByRole('region', { name: `Document of ${link.id}` });
  await doc.getByText('admin: up').waitFor();
  await doc.getByRole('button', { name: 'Edit' }).click();
  const area = doc.getByRole('textbox');
  await behind(area, 'admin: up');
  for (let i = 0; i < 'up'.length; i++) await page.keyboard.press('Backspace');
  await page.keyboard.type('drained');
  await doc.getByRole('button', { name: 'Try without doing it' }).click();
  await doc.getByText('The controller accepts it').waitFor();
  expect(await admin()).toBe('up');
  await doc.getByRole('button', { name: 'Apply' }).click();
  await expect.poll(admin).toBe('drained');
  await doc.getByText('Applied.').waitFor(); // until then the editor has the text too
  await doc.getByText('admin: drained').waitFor();
  await wellMade(page, wrong, 'link-document');
  await doc.getByRole('tab', { name: 'Events' }).click();
  await doc
    .getByText(/drained|draining/)
    .first()
    .waitFor();
  await doc.getByRole('tab', { name: 'History' }).click();
  await doc.getByRole('button', { name: 'Undo…' }).first().click();
  await page.getByRole('dialog').getByRole('button', { name: 'Undo', exact: true }).click();
  await expect.poll(admin).toBe('up');
  expect(wrong).toEqual([]);
  await page.context().close();
});

test('a CC profile is made, changed and deleted', async () => {
  const { page, wrong } = await open(browser, `${lab.url}/#/evs`);
  await page.getByRole('button', { name: 'New CC profile…' }).click();
  let form = page.getByRole('dialog', { name: 'New CC profile' });
  await type(form.getByLabel('Name'), 'slow');
  await type(form.getByLabel('gamma'), '7');
  await form.getByRole('button', { name: 'Create' }).click();
  await form.getByText(/gamma/).last().waitFor();
  await form.getByRole('alert').waitFor();
  await type(form.getByLabel('gamma'), '0.9');
  await form.getByRole('button', { name: 'Create' }).click();
  await closed(form);
  expect((await lab.get<Schemas['CcProfile']>('/v1/cc-profiles/slow')).spec.nscc.gamma).toBeCloseTo(0.9);
  await page.getByRole('button', { name: 'Change slow' }).click();
  form = page.getByRole('dialog', { name: 'Change CC profile slow' });
  await type(form.getByLabel('gamma'), '0.7');
  await form.getByRole('button', { name: 'Save' }).click();
  await closed(form);
  expect((await lab.get<Schemas['CcProfile']>('/v1/cc-profiles/slow')).spec.nscc.gamma).toBeCloseTo(0.7);
  await page.getByRole('row', { name: /slow/ }).getByRole('button', { name: 'Delete…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
  await expect.poll(async () => (await lab.send('GET', '/v1/cc-profiles/slow')).status).toBe(404);
  expect(wrong).toEqual([]);
  await page.context().close();
});

test('a port of a host is drained and undrained', async () => {
  const { page, wrong } = await open(browser, `${lab.url}/#/hosts`);
  await expect.poll(async () => (await rows(page, 'Hosts')).map((r) => r[0])).toContain('H1');
  await wellMade(page, wrong, 'hosts');
  await page.getByRole('link', { name: 'H1', exact: true }).click();
  await page.getByRole('heading', { name: 'Host H1' }).waitFor();
  await page.getByRole('button', { name: 'Drain port 1 of H1…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Drain port 1 of H1?' });
  await dialog.getByText('H1 keeps 1 of 2 usable ports').waitFor();
  await dialog.getByText('The controller accepts it').waitFor();
  await dialog.getByRole('button', { name: 'Drain', exact: true }).click();
  await page.getByRole('button', { name: 'Undrain port 1 of H1' }).waitFor();
  expect((await lab.get<Schemas['HostPort']>('/v1/hosts/H1/ports/1')).spec.admin).toBe('drained');
  await wellMade(page, wrong, 'host');
  await page.getByRole('button', { name: 'Undrain port 1 of H1' }).click();
  await page.getByRole('button', { name: 'Drain port 1 of H1…' }).waitFor();
  expect((await lab.get<Schemas['HostPort']>('/v1/hosts/H1/ports/1')).spec.admin).toBe('up');
  await page.context().close();
});

test('the forms of EV and CC profiles save what they have got', async () => {
  const { page, wrong } = await open(browser, `${lab.url}/#/evs`);
  const [cc] = await lab.items<{ name: string }>('/v1/cc-profiles');
  if (cc) await saveUntouched(page, lab, `Change ${cc.name}`, `/v1/cc-profiles/${cc.name}`);
  const name = 'P1-T0-1:P1-T0-4';
  await page.goto(`${lab.url}/#/evs/${encodeURIComponent(name)}`);
  await saveUntouched(page, lab, 'Override…', `/v1/ev-profiles/${name}`);
  await lab.send('DELETE', `/v1/ev-profiles/${name}`);
  expect(wrong).toEqual([]);
  await page.context().close();
});

test('controllers and checks are those of the API', async () => {
  const { page, wrong } = await open(browser, `${lab.url}/#/controllers`);
  const all = (await lab.get<{ items: Schemas['Controller'][] }>('/v1/controllers')).items;
  await expect
    .poll(async () => (await rows(page, 'Controllers')).map((r) => [r[0], r[3]]))
    .toEqual(all.map((c) => [`${c.name} (answers this page)`, String(c.switches)]));
  expect(await cutOff(page)).toEqual([]);
  await wellMade(page, wrong, 'controllers');
  await page.context().close();
});

test('uSIDs are shifted out hop by hop', async () => {
  const usid = await Lab.start('clos', '--mode', 'usid-f3216');
  try {
    const name = 'P1-T0-1:P1-T0-4';
    const ev = (await usid.get<Schemas['EvProfile']>(`/v1/ev-profiles/${name}`)).status.evs![0]!.ev;
    const { page, wrong } = await open(
      browser,
      `${usid.url}/#/evs/${encodeURIComponent(name)}?ev=${encodeURIComponent(ev)}`,
    );
    await page.getByRole('region', { name: `Path of ${ev}` }).waitFor();
    const path = await usid.get<Path>(`/v1/ev-profiles/${name}/evs/${ev}/path`);
    const cells = page.getByRole('table', { name: `Hops of ${ev}` }).locator('tbody tr');
    await expect.poll(() => cells.count()).toBe(path.hops.length + 1);
    for (const [i, h] of path.hops.entries())
      expect(parseInt((await cells.nth(i).locator('.now').textContent())!, 16)).toBe(h.value);
    expect(`0x${await cells.nth(path.hops.length).locator('.now').textContent()}`).toBe(path.packet.lastUsid);
    await wellMade(page, wrong, 'ev-path-usid');
    await page.context().close();
  } finally {
    await usid.stop();
  }
});
