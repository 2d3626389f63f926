package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/weft-sdn/weft/cmd/weft/client"
	"github.com/weft-sdn/weft/controller/intent"
	"github.com/weft-sdn/weft/internal/strictyaml"
)

// A kind of resources that files have.
type kind struct {
	name string // as documents have it; that of a document without one is the first's
	noun string // in messages
	// path is where the resource of a name is; the error says what a name has to be.
	path func(name string) (string, error)
	// unnamed: the body has no name, since it is in the path only.
	unnamed bool
	// waits: it has a condition Programmed, which can be waited for.
	waits bool
	// yaml and json read a document of the kind, and refuse what it does not have; the
	// offset is where json stopped.
	yaml func(n ast.Node) (shape, error)
	json func(text []byte) (s shape, offset int64, err error)
}

func newKind[S any](name, noun string, path func(string) (string, error)) *kind {
	return &kind{
		name: name, noun: noun, path: path,
		yaml: func(n ast.Node) (shape, error) {
			var d resource[S]
			err := strictyaml.DecodeNode(n, &d, yaml.Strict())
			return d.shape(), err
		},
		json: func(text []byte) (shape, int64, error) {
			var d resource[S]
			strict := json.NewDecoder(bytes.NewReader(text))
			strict.DisallowUnknownFields()
			err := strict.Decode(&d)
			return d.shape(), strict.InputOffset(), err
		},
	}
}

// below is the path of a resource by its name in a collection.
func below(collection string) func(string) (string, error) {
	return func(name string) (string, error) { return client.Path("v1", collection, name), nil }
}

func programmed(k *kind) *kind {
	k.waits = true
	return k
}

func drainable(k *kind) *kind {
	k.unnamed = true
	return k
}

// kinds are the kinds of resources that can be applied.
var kinds = []*kind{
	programmed(newKind[intent.Spec]("multicast-group", "group", below("multicast-groups"))),
	programmed(newKind[intent.EVProfileSpec]("ev-profile", "ev-profile", below("ev-profiles"))),
	newKind[intent.CCProfileSpec]("cc-profile", "cc-profile", below("cc-profiles")),
	programmed(newKind[intent.SRv6PolicySpec]("srv6-policy", "srv6-policy", below("srv6-policies"))),
	programmed(newKind[intent.TenantSpec]("tenant", "tenant", below("tenants"))),
	programmed(newKind[intent.PFCPolicySpec]("pfc-policy", "pfc-policy", below("pfc-policies"))),
	drainable(newKind[intent.AdminSpec]("link", "link", below("links"))),
	drainable(newKind[intent.AdminSpec]("node", "node", below("nodes"))),
	drainable(newKind[intent.AdminSpec]("plane", "plane", below("planes"))),
	drainable(newKind[intent.AdminSpec]("host-port", "host-port", portPath)),
}

// portPath is where a port of a host is, "h1/2" being port 2 of h1.
func portPath(name string) (string, error) {
	host, port, ok := strings.Cut(name, "/")
	if !ok || host == "" || port == "" {
		return "", fmt.Errorf("host-port %s: want the name of a host, \"/\" and the number of a port", name)
	}
	return client.Path("v1", "hosts", host, "ports", port), nil
}

// kindOf is the kind that a document says it has.
func kindOf(whole []byte) (*kind, error) {
	var d struct {
		Kind any `json:"kind"`
	}
	if err := json.Unmarshal(whole, &d); err != nil || d.Kind == nil || d.Kind == "" {
		return kinds[0], nil // what is wrong is found when it is read as that
	}
	var known []string
	for _, k := range kinds {
		if k.name == d.Kind {
			return k, nil
		}
		known = append(known, k.name)
	}
	return nil, fmt.Errorf("kind is %v: want one of %s", d.Kind, strings.Join(known, ", "))
}

// kindNames are the kinds but the first, for people.
func kindNames() string {
	var names []string
	for _, k := range kinds[1:] {
		names = append(names, k.name)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

func kindNamed(name string) *kind {
	for _, k := range kinds {
		if k.name == name {
			return k
		}
	}
	panic("no kind " + name) // of our own making
}
