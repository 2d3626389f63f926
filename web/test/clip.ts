// The moving picture at the head of README.md: the wall while a T1 dies: make clip.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { browse, Lab, open, says, weft } from './kit';

const file = process.env.WEFT_CLIP ?? '';
/** Seconds before the switch dies, and after the wall says so. */
const before = 2.5,
  after = 7;
/** The least and the longest time between two frames, in milliseconds. */
const least = 120,
  most = 500;

/** A port that nobody listens on. */
const free = () =>
  new Promise<number>((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });

test('the wall while a T1 dies', { timeout: 600_000 }, async () => {
  const faults = `127.0.0.1:${await free()}`,
    folder = mkdtempSync(join(tmpdir(), 'weft-clip-'));
  const lab = await Lab.start('clos', '--traffic', '--fault-addr', faults),
    browser = await browse();
  try {
    const { page } = await open(browser, `${lab.url}/#/wall`, { dark: true, width: 1280, height: 800 });
    await says(page, 'All is well');
    // Traffic is even by now, and has a history.
    await page.waitForTimeout(45_000);
    const shots: { path: string; at: number }[] = [];
    const devtools = await page.context().newCDPSession(page);
    devtools.on('Page.screencastFrame', ({ data, metadata, sessionId }) => {
      // The last frames come when nobody takes them any more.
      devtools.send('Page.screencastFrameAck', { sessionId }).catch(() => undefined);
      const at = Math.round(1000 * (metadata.timestamp ?? 0));
      if (at - (shots.at(-1)?.at ?? 0) < least) return;
      const path = join(folder, `${shots.length}.png`);
      writeFileSync(path, Buffer.from(data, 'base64'));
      shots.push({ path, at });
    });
    await devtools.send('Page.startScreencast', { format: 'png' });
    await page.waitForTimeout(1000 * before);
    execFileSync(weft, ['lab', 'kill', 'switch', 'P1-T1-2', '--lab', `http://${faults}`]);
    await says(page, 'Switch P1-T1-2 is not connected');
    await page.waitForTimeout(1000 * after);
    await devtools.send('Page.stopScreencast');
    // Where the machine was slower than the page, nobody waits.
    const shown = (i: number) => (i + 1 < shots.length ? Math.min(most, shots[i + 1]!.at - shots[i]!.at) : 3_000);
    const times = shots.flatMap(({ path }, i) => ['-d', String(shown(i)), path]);
    execFileSync('img2webp', ['-loop', '0', '-lossy', '-q', '55', '-m', '4', ...times, '-o', file]);
    console.log(`${shots.length} frames, ${statSync(file).size} octets`);
    expect(statSync(file).size, 'octets').toBeLessThan(2_000_000);
  } finally {
    await browser.close();
    await lab.stop();
    rmSync(folder, { recursive: true });
  }
});
