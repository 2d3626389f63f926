package main

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/weft-sdn/weft/cmd/weft/client"
	"github.com/weft-sdn/weft/controller/intent"
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
	// document is the type of the documents of the kind.
	document reflect.Type
}

func newKind[S any](name, noun string, path func(string) (string, error)) *kind {
	return &kind{name: name, noun: noun, path: path, document: reflect.TypeFor[resource[S]]()}
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
