// Package bmv2json decodes the JSON format in which p4c-bm2-ss writes a program (JSON_format.md in
// behavioral-model, version 2.x), where the shape of the JSON is fixed. Parts with a shape that
// depends on a type tag stay raw: the compiler decodes them when it knows the expected shape. The
// package knows nothing about the meaning of a program.
package bmv2json
