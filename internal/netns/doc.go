// Package netns makes network namespaces without names, with veth pairs between them: networks of
// one process, for labs and tests.
package netns
