import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { browse, open, says, wellMade, type Schemas } from './kit';
import { MadeUp } from './madeup';

let browser: Browser;

beforeAll(async () => {
  browser = await browse();
});
afterAll(async () => {
  await browser?.close();
});

/** A fabric with a job on all of its racks, of which the paths from the last to the first are halved. */
async function job(racks = 4, perRack = 2): Promise<MadeUp> {
  const fabric = await new MadeUp(1, racks).start();
  const status = {
    conditions: [{ type: 'Ready', status: true, reason: 'Go', message: '', transition: '2026-01-01T00:00:00Z' }],
    phase: 'Running',
    ranks: racks * perRack,
    follows: {
      communicators: 1,
      pairs: 8,
      rackPairs: racks,
      racks,
      sendPeers: { least: 1, most: 1 },
      receivePeers: { least: 1, most: 1 },
    },
  };
  const one = { name: 'train', version: 1, spec: {}, status };
  const rack = (i: number): Schemas['JobRack'] => ({
    name: `P1-T0-${i + 1}`,
    switches: [`P1-T0-${i + 1}`],
    ranks: perRack,
    good: perRack,
    nics: Array.from({ length: perRack }, (_, n) => ({
      rank: i * perRack + n,
      name: `h${i * perRack + n}`,
      state: 'good' as const,
      ports: 1,
      up: 1,
    })),
  });
  const pairs = Array.from({ length: racks }, (_, i) => ({
    from: i,
    to: (i + 1) % racks,
    left: i === racks - 1 ? 0.5 : 1,
    roundTrip: `${10 + i}us`,
  }));
  const needs: Schemas['JobDependent'] = { name: 'train', phase: 'Running', go: true, affected: 2, ranks: 8 };
  fabric.besides = {
    '/v1/jobs': { items: [one] },
    '/v1/jobs/train': one,
    '/v1/jobs/train/readiness': { name: 'train', at: '2026-01-01T00:00:00Z', go: true, blockers: [], checks: [] },
    '/v1/jobs/train/racks': {
      name: 'train',
      at: '2026-01-01T00:00:00Z',
      racks: Array.from({ length: racks }, (_, i) => rack(i)),
      pairs,
    },
    '/v1/job-dependents': { items: [needs] },
    '/v1/maintenances': {
      name: 'of-dashboard',
      version: 0,
      spec: {},
      status: { jobs: [{ name: 'train', priority: 0, running: true, cutOff: 0, left: 0.75, lose: 2, pairs: [] }] },
    },
  };
  return fabric;
}

const matrix = (page: Page) => page.getByRole('application', { name: /^Ranks by ranks/ });

test('the ranks of a job by each other say what is left of their paths and their round trip', async () => {
  const fabric = await job();
  const { page, wrong } = await open(browser, `${fabric.url}/#/jobs/train`);
  await matrix(page).focus();
  for (let i = 0; i < 2; i++) await page.keyboard.press('ArrowRight');
  await says(page, 'ranks 0–1 at P1-T0-1 to ranks 2–3 at P1-T0-2: 100 % of the paths left, round trip 10 µs');
  for (let i = 0; i < 3; i++) await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowLeft');
  await says(page, 'ranks 6–7 at P1-T0-4 to ranks 0–1 at P1-T0-1: 50 % of the paths left, round trip 13 µs');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await says(page, 'ranks 6–7 at P1-T0-4 to ranks 4–5 at P1-T0-3: they do not talk');
  await page.getByRole('combobox', { name: 'Show', exact: true }).selectOption('round trip');
  await wellMade(page, wrong, 'job-matrix');
  await page.context().close();
  await fabric.stop();
});

test('a link or switch that is pointed at says which ranks need it, and what they would lose', async () => {
  const fabric = await job();
  const { page, wrong } = await open(browser, `${fabric.url}/#/jobs/train`);
  const picture = page.getByRole('region', { name: 'Where it is' }).getByRole('application');
  const pixels = () =>
    matrix(page)
      .locator('canvas')
      .first()
      .evaluate((c: HTMLCanvasElement) => c.toDataURL());
  await picture.focus();
  await says(page, 'Point at a link or a switch');
  const before = await pixels();
  await page.keyboard.press('ArrowRight');
  await says(page, 'Switch P1-T0-1: 2 of 8 ranks, 25 % fewer paths without it.');
  await expect.poll(pixels, { message: 'the other racks are faint' }).not.toBe(before);
  // A pointer finds a link: between the first leaf and the spine above it nothing else is.
  const box = (await picture.locator('canvas').first().boundingBox())!;
  let found = '';
  for (let y = 0.3; y < 0.8 && !found.startsWith('Link'); y += 0.04)
    for (let x = 0.05; x < 0.6 && !found.startsWith('Link'); x += 0.01) {
      await page.mouse.move(box.x + x * box.width, box.y + y * box.height);
      found = await page.locator('.hero [role=status]').innerText();
    }
  expect(found).toMatch(/^Link P1-T0-\d – P1-T1-\d: 2 of 8 ranks/);
  expect(wrong).toEqual([]);
  await page.context().close();
  await fabric.stop();
});

test('lanes show when the job was NO-GO and why, and a click on them goes to that moment', async () => {
  const fabric = await job();
  const now = Date.now(),
    at = (ago: number) => new Date(now - 1000 * ago).toISOString();
  const cause = { kind: 'cause' as const, id: 'c', what: 'Switch P1-T1-1 is away' };
  fabric.besides['/v1/past'] = {
    at: at(0),
    since: at(600),
    things: [],
    changes: [
      { time: at(90), ...cause, is: 'fault' },
      { time: at(80), kind: 'job', id: 'train', is: 'blocked' },
      { time: at(50), kind: 'job', id: 'train', was: 'blocked' },
      { time: at(40), ...cause, was: 'fault' },
      { time: at(30), kind: 'job', id: 'other', is: 'blocked' },
    ],
  } satisfies Schemas['Past'];
  const { page, wrong } = await open(browser, `${fabric.url}/#/jobs/train`);
  const lanes = page.getByRole('region', { name: 'What happened to train' });
  const nogo = lanes.locator('.stretch.fault', { hasText: 'NO-GO' });
  await nogo.waitFor();
  expect(await lanes.locator('.stretch').count(), 'none of another job').toBe(2);
  await lanes.getByText('none in this time').first().waitFor();
  expect(await lanes.getByText(/Switch P1-T1-1 is away, \d/).count()).toBe(1);
  await nogo.click();
  await says(page, 'NO-GO then');
  expect(Number(new URLSearchParams(page.url().split('?')[1]).get('at'))).toBeLessThan(now / 1000 - 45);
  await page.getByRole('button', { name: 'Back to now' }).click();
  await page.locator('.verdict', { hasText: '● GO' }).waitFor();
  await wellMade(page, wrong, 'job-lanes');
  await page.context().close();
  await fabric.stop();
});

test('1,024 ranks in 64 racks are one picture, on a phone too', async () => {
  const fabric = await job(64, 16);
  const { page, wrong } = await open(browser, `${fabric.url}/#/jobs/train`, { width: 390 });
  await matrix(page).focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await says(page, 'ranks 0–15 at P1-T0-1 to ranks 16–31 at P1-T0-2: 100 % of the paths left');
  await wellMade(page, wrong, 'job-large');
  await page.context().close();
  await fabric.stop();
});
