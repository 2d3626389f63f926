import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { browse, card, cutOff, Lab, open, rows, says, texts, wellMade, type Schemas } from './kit';

let lab: Lab, browser: Browser;

beforeAll(async () => {
  [lab, browser] = await Promise.all([Lab.start('clos'), browse()]);
});
afterAll(async () => {
  await browser?.close();
  await lab?.stop();
});

test('the overview says what the API says', async () => {
  const { page, wrong } = await open(browser, lab.url);
  await says(page, 'All is well');
  const fabric = await lab.get<Schemas['FabricView']>('/v1/fabric');
  expect(await card(page, 'Switches')).toBe(String((await lab.items('/v1/switches')).length));
  expect(await card(page, 'Link directions')).toBe(String((await lab.items('/v1/links')).length));
  expect(await card(page, 'Hosts')).toBe(String(fabric.hosts.all));
  expect(await card(page, 'EV profiles')).toBe(String(fabric.evProfiles.all));
  const planes = (await lab.get<{ items: Schemas['FabricPlane'][] }>('/v1/planes')).items;
  expect(await rows(page, 'Planes')).toEqual(
    planes.map((p) => [
      `Plane ${p.plane}`,
      '● up',
      String(p.status.links),
      '0',
      expect.stringMatching(/no traffic|\d/),
      '100 %',
    ]),
  );
  await wellMade(page, wrong, 'overview');
  await page.context().close();
});

test('a wall of 4K has larger text, and all of it', async () => {
  const size = async (width: number, height: number) => {
    const { page, wrong } = await open(browser, lab.url, { width, height });
    await says(page, 'All is well');
    if (width > 3000) await wellMade(page, wrong, 'overview-4k');
    const size = await page.evaluate(() => parseFloat(getComputedStyle(document.body).fontSize));
    await page.context().close();
    return size;
  };
  const laptop = await size(1280, 800),
    wall = await size(3840, 2160);
  expect(laptop).toBeGreaterThanOrEqual(14);
  expect(wall).toBeGreaterThan(1.5 * laptop);
});

test('on a phone the header takes one line, and tables scroll sideways with their first column', async () => {
  const { page, wrong } = await open(browser, lab.url, { width: 390, height: 844 });
  await says(page, 'All is well');
  for (const place of ['', 'fabric', 'switches', 'switches/P1-T0-1', 'hosts', 'groups', 'evs', 'peers', 'events']) {
    await page.goto(`${lab.url}/#/${place}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await expect.poll(() => page.getByText(/^Loading /).count(), { timeout: 20_000 }).toBe(0);
    expect((await page.locator('header.top').boundingBox())!.height, place).toBeLessThan(60);
    expect(await page.evaluate(() => document.documentElement.scrollWidth), place).toBeLessThanOrEqual(390);
    // What is pressed is whole within its cell.
    const clipped = await page
      .locator('.table [role=cell]')
      .evaluateAll((cells) =>
        cells
          .filter((c) =>
            [...c.querySelectorAll('button')].some(
              (b) => b.getBoundingClientRect().right > c.getBoundingClientRect().right + 1,
            ),
          )
          .map((c) => c.textContent),
      );
    expect(clipped, place).toEqual([]);
  }
  await page.goto(`${lab.url}/#/switches/P1-T0-1`);
  const table = page.getByRole('table', { name: 'Ports', exact: true });
  const first = table.getByRole('cell').first();
  const before = (await first.boundingBox())!.x;
  await table.evaluate((t) => t.scrollBy({ left: 10_000 }));
  await expect.poll(() => table.evaluate((t) => t.scrollLeft)).toBeGreaterThan(50);
  expect((await first.boundingBox())!.x).toBeCloseTo(before, 0);
  await table.evaluate((t) => t.scrollTo({ left: 0 })); // no head of a column is half behind the first one
  await wellMade(page, wrong, 'phone');
  await page.getByRole('button', { name: 'Switches' }).click();
  await page.getByRole('link', { name: 'Events', exact: true }).click();
  await page.getByRole('heading', { name: 'Events' }).waitFor();
  expect((await page.locator('header.top').boundingBox())!.height, 'the menu has closed').toBeLessThan(60);
  await page.context().close();
});

test('an event is on the screen at once, and its cause at the top', async () => {
  const { page, wrong } = await open(browser, lab.url);
  await says(page, 'All is well');
  const link = (await lab.items<Schemas['FabricLink']>('/v1/links'))[0]!;
  // The clock of the page is that of the controller: both are this machine's.
  await page.evaluate(() => {
    const seen: Record<string, number> = ((window as never as { seen: object }).seen = {});
    new MutationObserver(() => {
      for (const time of document.querySelectorAll<HTMLTimeElement>('[aria-label="Latest events"] time'))
        seen[time.dateTime] ??= Date.now();
    }).observe(document.body, { childList: true, subtree: true, characterData: true });
  });
  expect(
    (await lab.send('PUT', `/v1/links/${encodeURIComponent(link.id)}`, { spec: { admin: 'drained' } })).status,
  ).toBe(200);
  await says(page, 'but for 1 drain');
  await page.getByRole('link', { name: `Link ${link.status.fromName} – ${link.status.toName} is drained` }).waitFor();
  const latest = await lab.get<{ items: Schemas['Event'][] }>('/v1/events/latest?type=drain');
  const seen = await page.evaluate(() => (window as never as { seen: Record<string, number> }).seen);
  const late = latest.items.map((e) => seen[e.time]! - Date.parse(e.time));
  expect(late.length).toBeGreaterThan(0);
  // 100 ms are wanted, and one of the events takes no longer: others may wait for the work of other processes.
  console.log(JSON.stringify({ bench: 'dashboard', eventMs: late }));
  expect(Math.min(...late)).toBeLessThan(100);
  for (const ms of late) expect(ms).toBeLessThan(2_500);
  await lab.send('PUT', `/v1/links/${encodeURIComponent(link.id)}`, { spec: { admin: 'up' } });
  await says(page, 'All is well');
  expect(wrong).toEqual([]);
  await page.context().close();
});

test('a cut link is one cause, which keeps its words and says what it means and what to do', async () => {
  const { page, wrong } = await open(browser, lab.url);
  await says(page, 'All is well');
  const said = await texts(page, '.verdict .badge');
  const link = (await lab.items<Schemas['FabricLink']>('/v1/links')).find((l) => l.status.fromName === 'P1-T0-1')!;
  const port = Number(link.id.split('~')[0]!.split(',')[1]);
  const path = `/v1/switches/${link.status.fromName}/ports/${port}`;
  const cut = Date.now();
  expect((await lab.send('PUT', path, { spec: { enabled: false } })).status).toBe(200);
  const what = `Link ${link.status.fromName} – ${link.status.toName} has failed`;
  await says(page, what);
  const cause = page.locator('.causes > li').first();
  await expect
    .poll(() => cause.innerText(), { timeout: 20_000 })
    .toMatch(/Traffic[\s\S]*their traffic takes other paths/);
  expect(await cause.innerText()).toMatch(/since \d\d:\d\d:\d\d/);
  expect(await cause.innerText()).toMatch(/What to do[\s\S]*disabled a port/);
  await wellMade(page, wrong, 'cut');
  // Suspicion of packets that were on their way comes and goes in these seconds.
  await expect.poll(() => Date.now() - cut, { timeout: 30_000, interval: 500 }).toBeGreaterThan(15_000);
  await expect.poll(() => page.locator('.causes > li').count(), { timeout: 30_000 }).toBe(1);
  expect(await said()).toEqual(['● All is well', `✕ ${what}`]);
  expect((await lab.send('PUT', path, { spec: { enabled: true } })).status).toBe(200);
  await says(page, 'All is well');
  const all = await said();
  expect(all.slice(0, 2)).toEqual(['● All is well', `✕ ${what}`]);
  expect(all.filter((t) => t.includes('Link'))).toEqual([`✕ ${what}`]);
  await page.context().close();
});

test('a cause is silenced with a note, and the silence ended', async () => {
  const { page, wrong } = await open(browser, lab.url);
  await says(page, 'All is well');
  const link = (await lab.items<Schemas['FabricLink']>('/v1/links')).find((l) => l.status.fromName === 'P1-T0-1')!;
  const path = `/v1/switches/${link.status.fromName}/ports/${Number(link.id.split('~')[0]!.split(',')[1])}`;
  expect((await lab.send('PUT', path, { spec: { enabled: false } })).status).toBe(200);
  await says(page, `Link ${link.status.fromName} – ${link.status.toName} has failed`);
  await page.getByRole('button', { name: 'Silence…' }).first().click();
  await page.keyboard.type('a cable is on its way'); // the focus is in the first field
  await page.getByRole('dialog').getByRole('button', { name: 'Silence', exact: true }).click();
  await says(page, 'but for 1 silent cause');
  await says(page, 'a cable is on its way');
  const silences = await lab.items<Schemas['Silence']>('/v1/silences');
  expect(silences.map((s) => s.spec.note)).toEqual(['a cable is on its way']);
  await wellMade(page, wrong, 'silent');
  await page.getByRole('button', { name: 'End the silence…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'End the silence', exact: true }).click();
  await expect.poll(() => page.locator('.verdict').innerText(), { timeout: 20_000 }).toMatch(/has failed/);
  expect(await lab.items('/v1/silences')).toEqual([]);
  expect((await lab.send('PUT', path, { spec: { enabled: true } })).status).toBe(200);
  await says(page, 'All is well');
  await page.context().close();
});

test('a controller that is silent is shown within 5 s, with the time of its last word', async () => {
  const { page } = await open(browser, lab.url);
  await says(page, 'All is well');
  await page.locator('.live', { hasText: 'live' }).waitFor();
  const began = Date.now();
  lab.pause();
  try {
    await page.locator('.live', { hasText: 'silent for' }).waitFor({ timeout: 15_000 });
    // 5 s are wanted: that is measured, and a machine under load passes.
    console.log(JSON.stringify({ bench: 'dashboard', silentMs: Date.now() - began }));
    expect(Date.now() - began).toBeLessThan(7_500);
    await says(page, /Not known: the controller was last heard of at \d\d:\d\d:\d\d/);
    expect(await page.getByText('All is well').count()).toBe(0);
  } finally {
    lab.resume();
  }
  await page.locator('.live', { hasText: 'live' }).waitFor();
  await says(page, 'All is well');
  await page.context().close();
});

test('the focus of a dialog is in its first field, and never at its end', async () => {
  const { page, wrong } = await open(browser, `${lab.url}/#/groups`);
  await page.getByRole('button', { name: 'New group…' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: 'New multicast group' }).waitFor();
  await page.keyboard.type('by-keys');
  expect(await page.getByLabel('Name').inputValue()).toBe('by-keys');
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('New group…');
  // A question is answered by Enter with no, where yes takes something away.
  await page.goto(`${lab.url}/#/switches/P1-T0-1`);
  await page.getByRole('button', { name: 'Disable…' }).first().focus();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor();
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Cancel');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keys' }).waitFor();
  expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).not.toBe('Close');
  expect(wrong).toEqual([]);
  await page.context().close();
});

test('keys alone suffice: search, pages, help', async () => {
  const { page, wrong } = await open(browser, lab.url);
  await says(page, 'All is well');
  // As a user does it: without a look at where the focus is, and without a pause.
  await page.keyboard.type('/127.1.0.3');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'BGP-LS peers' }).waitFor();
  expect(page.url()).toMatch(/#\/peers\?peer=127\.1\.0\.3/);
  await page.keyboard.press('g');
  await page.keyboard.press('v');
  await page.getByRole('heading', { name: 'Events' }).waitFor();
  await page.keyboard.press('?');
  const help = page.getByRole('dialog', { name: 'Keys' });
  await help.waitFor();
  await page.keyboard.press('Escape');
  await help.waitFor({ state: 'detached' });
  await page.goBack();
  await page.getByRole('heading', { name: 'BGP-LS peers' }).waitFor();
  expect(wrong).toEqual([]);
  await page.context().close();
});

test('peers and events are those of the API', async () => {
  const { page, wrong } = await open(browser, `${lab.url}/#/peers`);
  await says(page, 'established');
  const peers = (await lab.get<{ items: Schemas['BgpPeerView'][] }>('/v1/bgp-peers')).items;
  const shown = await rows(page, 'BGP-LS peers');
  expect(shown.map((r) => [r[0], r[2], r[4], r[6], r[7], r[8], r[9]])).toEqual(
    peers.map((p) => [
      p.name,
      '● established',
      String(p.sessions),
      String(p.nlris.nodes),
      String(p.nlris.links),
      String(p.nlris.prefixes),
      String(p.nlris.sids),
    ]),
  );
  expect(await cutOff(page)).toEqual([]);
  await wellMade(page, wrong, 'peers');
  await page.goto(`${lab.url}/#/events?family=bgp-peer`);
  await says(page, /The BGP-LS session with .* is established/);
  const events = (
    await lab.get<{ items: Schemas['Event'][] }>('/v1/events/latest?type=bgp-peer&limit=1000')
  ).items.reverse();
  // Sessions that begin together are in the order of their times here, and of their numbers in the API.
  const said = events.map((e) => `● The BGP-LS session with ${e.object} is established.`);
  const listed = await rows(page, 'Events');
  expect(listed.length).toBeGreaterThan(5);
  for (const r of listed) expect(said).toContain(r[1]);
  for (const r of listed) expect(r[0]).toMatch(/\d\d:\d\d:\d\d/);
  // Where switches connect late, newer events leave the topology's no room on the screen.
  await page.goto(`${lab.url}/#/events?family=topology`);
  await says(page, /The topology has \d+ nodes/);
  await page.goto(`${lab.url}/#/events?family=switch`);
  await says(page, /Switch .* is connected/);
  // No event has the words of programs.
  await page.goto(`${lab.url}/#/events`);
  await says(page, /events, newest first/);
  expect(
    (await rows(page, 'Events')).map((r) => r[1]).filter((t) => /=yes|=no|rpc error|desc =|\d{4,}:\d/.test(t ?? '')),
  ).toEqual([]);
  await wellMade(page, wrong, 'events');
  await page.context().close();
});

test('after a restart of the controller the page is right again without a reload', async () => {
  const port = new URL(lab.url).port;
  const { page, wrong } = await open(browser, lab.url);
  await says(page, 'All is well');
  await page.evaluate(() => ((window as never as { same: boolean }).same = true));
  await lab.stop();
  await says(page, 'Not known: the controller was last heard of at');
  await wellMade(page, wrong, 'lost');
  lab = await Lab.start('figure1', '--listen', `127.0.0.1:${port}`);
  await says(page, 'All is well');
  await expect.poll(() => card(page, 'Switches')).toBe('6');
  expect(await page.locator('.live').innerText()).toBe('● live');
  expect(await page.evaluate(() => (window as never as { same?: boolean }).same)).toBe(true);
  expect(wrong).toEqual([]);
  await page.context().close();
});
