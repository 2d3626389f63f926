// Builds into a folder of its own and compares it with the committed files.
import { gunzipSync } from 'fflate';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, sep } from 'node:path';
import { build } from 'vite';

const root = join(import.meta.dirname, '..');
const fresh = mkdtempSync(join(tmpdir(), 'weft-web-'));

/** The files of a folder by path; those that end in .gz unpacked. */
function files(folder) {
  const all = new Map();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || entry.name === 'sources.sha256') continue;
    const path = join(entry.parentPath, entry.name);
    const name = relative(folder, path).split(sep).join('/');
    const octets = readFileSync(path);
    all.set(name.replace(/\.gz$/, ''), Buffer.from(name.endsWith('.gz') ? gunzipSync(octets) : octets));
  }
  return all;
}

try {
  await build({
    root,
    configFile: join(root, 'vite.config.ts'),
    logLevel: 'error',
    build: { outDir: fresh, emptyOutDir: true },
  });
  const want = files(fresh),
    got = files(join(root, 'dist'));
  const differ = [...new Set([...want.keys(), ...got.keys()])].filter(
    (name) => !got.get(name)?.equals(want.get(name) ?? Buffer.alloc(0)),
  );
  if (differ.length > 0) {
    console.error(
      `web/dist is not what its sources make: run make web, and commit it. Different: ${differ.sort().join(', ')}`,
    );
    process.exitCode = 1;
  } else console.log(`web/dist is what its sources make (${got.size} files)`);
} finally {
  rmSync(fresh, { recursive: true });
}
