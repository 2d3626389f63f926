// The digest of what the built files are made of. web_test.go computes the same one, so that a
// change of the sources without a build is found where there is no Node, too.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

/** Files and folders that determine the built files, besides the types of the API. */
const inputs = ['build', 'index.html', 'package-lock.json', 'package.json', 'src', 'tsconfig.json', 'vite.config.ts'];

export function sourcesDigest(root) {
  const files = [];
  for (const input of inputs) {
    if (input.includes('.')) files.push(input);
    else {
      for (const entry of readdirSync(join(root, input), { recursive: true, withFileTypes: true })) {
        if (entry.isFile()) files.push(relative(root, join(entry.parentPath, entry.name)).split(sep).join('/'));
      }
    }
  }
  const hash = createHash('sha256');
  // Tests and types are not in the built files, and the kinds are of the document of the API: web-same builds anew.
  for (const file of files.filter((f) => !/(\.test\.ts|\/schema\.d\.ts|api\/kinds\.ts)$/.test(f)).sort()) {
    hash.update(
      `${createHash('sha256')
        .update(readFileSync(join(root, file)))
        .digest('hex')}  ${file}\n`,
    );
  }
  return hash.digest('hex');
}
