// Compresses what Vite built, leaves the compressed files alone in dist, and writes the digest of
// the sources that they are made of. fflate is JavaScript and not the zlib of Node, which compresses
// differently on different processors: a build gives the same octets everywhere.
import { gzipSync } from 'fflate';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { sourcesDigest } from './sources.mjs';

const root = join(import.meta.dirname, '..');
const dist = join(root, 'dist');
const limit = 600_000;
let total = 0;
for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile()) continue;
  const path = join(entry.parentPath, entry.name);
  const packed = gzipSync(readFileSync(path), { level: 9, mtime: 0 });
  writeFileSync(path + '.gz', packed);
  rmSync(path);
  total += packed.length;
  console.log(`${relative(root, path).split(sep).join('/')}.gz ${packed.length}`);
}
console.log(`${total} octets compressed, of ${limit} at most`);
if (total > limit) process.exit(1);
writeFileSync(join(dist, 'sources.sha256'), sourcesDigest(root) + '\n');
