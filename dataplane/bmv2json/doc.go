// Package bmv2json is the JSON format in which p4c-bm2-ss writes a program
// (JSON_format.md of behavioral-model, version 2.x), decoded as far as its shape
// is fixed. Parts whose shape depends on a type tag stay raw: the compiler
// decodes them when it knows what to expect. The package knows nothing of what
// a program means.
package bmv2json
