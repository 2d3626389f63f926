// Writes what the document of the API says of types (schema.d.ts) and of the kinds of resources that
// clients write (kinds.ts). Numbers of 64 bits without a sign are addresses and the like: they are
// BigInts where a double does not hold them (domain/json.ts). An argument names another file for the
// types alone.
import openapiTS, { astToString } from 'openapi-typescript';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

const root = join(import.meta.dirname, '..');
const document = JSON.parse(readFileSync(join(root, '../northbound/testdata/openapi.json'), 'utf8'));
const { factory, SyntaxKind } = ts;
const number = factory.createUnionTypeNode(
  [SyntaxKind.NumberKeyword, SyntaxKind.BigIntKeyword].map((kind) => factory.createKeywordTypeNode(kind)),
);
const ast = await openapiTS(document, {
  transform: (schema) => (schema.type === 'integer' && schema.format === 'uint64' ? number : undefined),
});
const types = process.argv[2];
writeFileSync(types ?? join(root, 'src/api/schema.d.ts'), astToString(ast));
if (!types)
  writeFileSync(
    join(root, 'src/api/kinds.ts'),
    `export default ${JSON.stringify(document['x-weft-kinds'])} as const;\n`,
  );
