// Writes the types of the API from its document. Numbers of 64 bits without a sign are addresses and
// the like: they are BigInts where a double does not hold them (domain/json.ts). An argument names
// another file for them.
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
writeFileSync(process.argv[2] ?? join(root, 'src/api/schema.d.ts'), astToString(ast));
