import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { browse, open, says } from './kit';
import { MadeUp } from './madeup';

// What pictures and charts draw, pixel by pixel: made-up answers, of which it is known where each line is.
let browser: Browser;
beforeAll(async () => {
  browser = await browse();
});
afterAll(() => browser?.close());

/** A colour of the style sheet as the digits of #rrggbb. */
const token = (page: Page, name: string) =>
  page.evaluate((n) => getComputedStyle(document.documentElement).getPropertyValue(`--${n}`).trim(), name);

/** The places of the pixels of a colour on a canvas, in CSS pixels. */
const pixels = (canvas: Locator, colour: string): Promise<{ x: number; y: number }[]> =>
  canvas.evaluate((c: HTMLCanvasElement, hex) => {
    const want = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
    const { data, width, height } = c.getContext('2d')!.getImageData(0, 0, c.width, c.height);
    const k = c.clientWidth / width;
    const found: { x: number; y: number }[] = [];
    for (let i = 0; i < width * height; i++)
      // The edges of a thin line are mixed with what is below it; a canvas is clear where nothing is drawn.
      if (data[4 * i + 3]! > 110 && want.every((v, n) => Math.abs(v - data[4 * i + n]!) < 30))
        found.push({ x: (i % width) * k, y: Math.floor(i / width) * k });
    return found;
  }, colour);

/** How many pixels of a colour are on a line of a picture, away from its ends and its middle. */
async function along(page: Page, colour: string, from: [number, number], to: [number, number]): Promise<number> {
  const canvas = page
    .getByRole('application', { name: /^Picture of the network/ })
    .locator('canvas')
    .first();
  const { width, height } = (await canvas.boundingBox())!;
  const all = await pixels(canvas, await token(page, colour));
  const at = (k: number) => ({
    x: width * (from[0] + k * (to[0] - from[0])),
    y: height * (from[1] + k * (to[1] - from[1])),
  });
  let n = 0;
  for (let k = 0.15; k < 0.4; k += 0.005) {
    const p = at(k);
    if (all.some((q) => Math.hypot(q.x - p.x, q.y - p.y) < 2)) n++;
  }
  return n;
}

test('a failed link has the colour of failures, a busy one that of its load, and the past is as it was', async () => {
  const fabric = await new MadeUp(1, 2).start();
  fabric.busy = { 'P1-T0-2/1001': 1 };
  const { page, wrong } = await open(browser, `${fabric.url}/#/fabric?view=picture`);
  // Where the layout of a Clos puts them.
  const leaf: [number, number][] = [
      [0.28, 0.9],
      [0.72, 0.9],
    ],
    spine: [number, number][] = [
      [0.28, 0.1],
      [0.72, 0.1],
    ];
  await expect.poll(() => along(page, 'cell-edge', leaf[0]!, spine[0]!), { timeout: 30_000 }).toBeGreaterThan(25);
  await expect.poll(() => along(page, 'load-5', leaf[1]!, spine[0]!), { timeout: 30_000 }).toBeGreaterThan(40);
  expect(await along(page, 'load-5', leaf[1]!, spine[1]!)).toBe(0);
  const before = Math.floor(Date.now() / 1000) - 2;
  fabric.fail(1, 0, 1);
  // It is dashed: about a third of it.
  await expect.poll(() => along(page, 'fault', leaf[0]!, spine[1]!), { timeout: 30_000 }).toBeGreaterThan(12);
  expect(await along(page, 'fault', leaf[0]!, spine[0]!), 'the link beside it').toBe(0);
  await page.evaluate((at) => (location.hash = `#/fabric?view=picture&at=${at}`), before);
  await says(page, 'Back to now');
  await expect.poll(() => along(page, 'fault', leaf[0]!, spine[1]!), { timeout: 30_000 }).toBe(0);
  await page.getByRole('button', { name: 'Back to now' }).click();
  await expect.poll(() => along(page, 'fault', leaf[0]!, spine[1]!), { timeout: 30_000 }).toBeGreaterThan(12);
  expect(wrong).toEqual([]);
  await page.context().close();
  await fabric.stop();
});

test('charts draw each series at its height and time, with one crosshair', async () => {
  const fabric = await new MadeUp(1, 2).start();
  const end = Math.floor(Date.now() / 1000) - 10,
    begin = end - 100;
  // Measured in the second half of what is shown.
  fabric.history = {
    from: begin + 50,
    to: end,
    metrics: { offeredBits: 100e6, deliveredBits: 200e6, lostPackets: 3 },
  };
  const { page, wrong } = await open(browser, `${fabric.url}/#/?since=${begin}&until=${end}`);
  const goodput = page.getByRole('group', { name: 'goodput of all' }),
    losses = page.getByRole('group', { name: 'losses of all' });
  const canvas = goodput.locator('.plot canvas');
  await canvas.waitFor();
  await losses.locator('.plot canvas').waitFor();
  await losses.scrollIntoViewIfNeeded();
  // The axis goes to 500 Mb/s, over what is left of 150 pixels; that of time is 84 pixels from the left.
  const plot = (await goodput.locator('.u-over').boundingBox())!,
    whole = (await canvas.boundingBox())!;
  const top = plot.y - whole.y;
  for (const [name, value] of [
    ['series-1', 100e6],
    ['series-2', 200e6],
  ] as const) {
    const colour = await token(page, name);
    await expect.poll(async () => (await pixels(canvas, colour)).length, { timeout: 20_000 }).toBeGreaterThan(50);
    const all = await pixels(canvas, colour);
    const mean = all.reduce((sum, p) => sum + p.y, 0) / all.length;
    expect(Math.abs(mean - (top + plot.height * (1 - value / 500e6))), `${name} is at ${mean}`).toBeLessThan(2.5);
    expect(Math.abs(Math.min(...all.map((p) => p.x)) - (84 + plot.width / 2)), `${name} begins`).toBeLessThan(8);
    expect(Math.max(...all.map((p) => p.x)), `${name} ends`).toBeGreaterThan(84 + 0.96 * plot.width);
  }
  // One crosshair: at the same place in both, and the legends are of its moment.
  await page.mouse.move(plot.x + plot.width * 0.75, plot.y + 20);
  const x = (of: Locator) =>
    of.locator('.u-cursor-x').evaluate((c: HTMLElement) => Math.round(new DOMMatrix(getComputedStyle(c).transform).e));
  await expect.poll(() => x(goodput)).toBeGreaterThan(0.7 * plot.width);
  await expect.poll(async () => Math.abs((await x(losses)) - (await x(goodput)))).toBeLessThan(3);
  const head = (of: Locator) => of.locator('thead th').nth(1).innerText();
  await expect.poll(() => head(losses)).toMatch(/^\d\d:\d\d:\d\d$/);
  expect(await head(losses)).toBe(await head(goodput));
  expect(await goodput.locator('tbody tr').allInnerTexts()).toEqual([
    expect.stringMatching(/from hosts\s+100 Mb\/s\s+100 Mb\/s\s+100 Mb\/s/),
    expect.stringMatching(/delivered to hosts\s+200 Mb\/s\s+200 Mb\/s\s+200 Mb\/s/),
  ]);
  // What the legend shows beside a name is what is drawn.
  const stroke = goodput.locator('.swatch line').nth(1);
  const rgb = await stroke.evaluate((l) => getComputedStyle(l).stroke);
  const hex = await token(page, 'series-2');
  expect(rgb).toBe(`rgb(${[1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)).join(', ')})`);
  expect(wrong).toEqual([]);
  await page.context().close();
  await fabric.stop();
});
