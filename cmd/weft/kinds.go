package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
	"github.com/weft-sdn/weft/controller"
	known "github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/internal/strictyaml"
)

// A kind of resources, as the controller describes the kind, and how the command line shows
// resources. The commands get, describe, apply, diff and delete are made of the table of kinds.
type kind struct {
	*known.Kind
	name   string // as documents have it; "": it has none
	noun   string // in messages, and the command for one
	plural string // the command for all; "": there is none
	// items is the path of the list; "": there is none.
	items string
	// document is the type of documents that apply accepts; nil: apply accepts none.
	document reflect.Type

	shown
}

// shown has the facts of a kind that only the command line needs.
type shown struct {
	// key is the field for the name in a list. Documents of apply always have "name".
	key string
	// table shows resources a row each, and detail one of them; nil: as the table does.
	table  func(w *bytes.Buffer, items []json.RawMessage) error
	detail func(w *bytes.Buffer, item json.RawMessage) error
	// wide has the additional columns of -o wide; nil: nothing.
	wide *beside
	// waits: commands can wait for the condition Programmed of the kind.
	waits bool
	// whole is the query parameter by which a DELETE of the list deletes many resources, and no
	// deletion depends on a version; "": the API has no such DELETE.
	whole string
}

// show returns a kind of the controller for the command line.
func show(of *known.Kind, s shown) *kind {
	k := &kind{Kind: of, noun: of.Short, shown: s}
	if of.Verbs == 0 || of.Has(known.List) {
		k.plural, k.items = of.Shorts, of.Path()
	}
	if of.Spec != nil {
		k.name, k.document = of.One, documentOf(of.Spec)
	}
	return k
}

// at returns the path of the collection of a resource and its name there, or the rule for names.
// The path has the first part of a two-part name ("n1/3").
func (k *kind) at(name string) (collection, key string, err error) {
	if k.Form == "" {
		return k.items, name, nil
	}
	at := strings.LastIndex(name, "/")
	if at <= 0 || at == len(name)-1 {
		return "", "", fmt.Errorf("%s %s: want %s", k.noun, name, k.Form)
	}
	path := strings.Split(strings.TrimPrefix(k.At, "/"), "/") // v1, switches, {id}, ports, {port}
	path[2] = name[:at]
	return client.Path(path[:4]...), name[at+1:], nil
}

// removed describes the effect of a deletion; "": the kind cannot be deleted.
func (k *kind) removed() string {
	switch {
	case k.whole == "" && !k.Has(known.Delete):
		return ""
	case k.document != nil && !k.Creates:
		return "Deletes the specs of " + k.Nouns + ". " + k.Deleted
	}
	return "Deletes " + k.Nouns + ". " + k.Deleted
}

// rows makes the table function of a kind from a function for a type.
func rows[T any](table func(w *bytes.Buffer, ts []T)) func(*bytes.Buffer, []json.RawMessage) error {
	return func(w *bytes.Buffer, items []json.RawMessage) error {
		ts, err := client.DecodeItems[T](&client.Items{Items: items})
		if err != nil {
			return err
		}
		table(w, ts)
		return nil
	}
}

// detail makes the detail function of a kind from a function for a type.
func detail[T any](show func(w *bytes.Buffer, t *T)) func(*bytes.Buffer, json.RawMessage) error {
	return func(w *bytes.Buffer, item json.RawMessage) error {
		t := new(T)
		if err := (&client.Answer{Body: item}).Decode(t); err != nil {
			return err
		}
		show(w, t)
		return nil
	}
}

// documentOf returns the document type, or the list type, for the type of a spec.
func documentOf(spec reflect.Type) reflect.Type {
	var fields []reflect.StructField
	for f := range reflect.TypeFor[resource[any]]().Fields() {
		if f.Name == "Spec" {
			f.Type = reflect.PointerTo(spec)
		}
		if f.Name == "Items" {
			f.Type = reflect.SliceOf(reflect.StructOf(fields))
		}
		fields = append(fields, f)
	}
	return reflect.StructOf(fields)
}

// kinds are the kinds of resources; a document without a kind has the first.
var kinds = []*kind{
	show(kindNamed("multicast-group"), shown{
		key: "name", table: rows(groupTable), detail: detail(groupDetail), waits: true,
		wide: wider(groupMore, "VERSION", "CREATED", "JOB", "INDEX", "SOURCE QPN", "ROOT", "OBJECTIVE",
			"STALLED", "EVICTED"),
	}),
	show(kindNamed("ev-profile"), shown{
		key: "name", table: rows(evProfileTable), detail: detail(evProfileDetail), waits: true,
		wide: wider(evProfileMore, "VERSION", "REPLACED", "ASSUMED BAD", "DESTINATIONS", "HELD BY",
			"BEHIND", "LOST LINKS", "NOTE"),
	}),
	show(kindNamed("cc-profile"), shown{key: "name", table: rows(ccTable)}),
	show(kindNamed("srv6-policy"), shown{
		key: "name", table: rows(srv6PolicyTable), detail: detail(srv6PolicyDetail), waits: true,
		wide: wider(srv6PolicyMore, "VERSION", "CREATED", "SIDS", "USED BY"),
	}),
	show(kindNamed("tenant"), shown{
		key: "name", table: rows(tenantTable), detail: detail(tenantDetail), waits: true,
		wide: wider(tenantMore, "VERSION", "CREATED", "SIDS", "USED BY"),
	}),
	show(kindNamed("pfc-policy"), shown{
		key: "name", table: rows(pfcPolicyTable), detail: detail(pfcPolicyDetail), waits: true,
		wide: wider(pfcPolicyMore, "VERSION", "CREATED", "TUNNEL", "BUFFER", "XOFF", "XON", "CIRCLE"),
	}),
	show(kindNamed("network"), shown{key: "name", table: rows(networkTable)}),
	show(kindNamed("project"), shown{
		key: "name", table: rows(projectTable), detail: detail(projectDetail),
		wide: wider(projectMore, "VERSION", "CREATED", "ISOLATED", "BANDWIDTH", "USED", "MEMBERS"),
	}),
	show(kindNamed("link"), shown{
		key: "id", table: rows(linkTable),
		wide: wider(linkMore, "VERSION", "FROM PORT", "TO PORT", "PROBES LOST",
			"COUNTERS MISSING", "CONCLUDED", "UNTIL", "DRAINED", "FROM ID", "TO ID"),
	}),
	show(kindNamed("node"), shown{key: "id", table: rows(nodeTable)}),
	show(kindNamed("plane"), shown{key: "plane", table: rows(planeTable)}),
	show(kindNamed("job"), shown{
		key: "name", table: rows(jobTable), detail: detail(jobDetail),
		wide: wider(jobMore, "VERSION", "CREATED", "STATE", "LEASE", "COMMUNICATORS", "RACK PAIRS",
			"GROUPS", "EXCLUSIVE", "HOSTS"),
	}),
	show(kindNamed("lease"), shown{
		key: "name", table: rows(leaseTable), detail: detail(leaseDetail),
		wide: wider(leaseMore, "VERSION", "CREATED", "GRANTED", "PRIORITY", "HEARTBEAT", "FORMER",
			"BETWEEN", "REASON"),
	}),
	show(kindNamed("maintenance"), shown{
		key: "name", table: rows(maintenanceTable), detail: detail(maintenanceDetail),
		wide: wider(maintenanceMore, "VERSION", "CREATED", "LEAD", "OBJECTS"),
	}),
	show(kindNamed("silence"), shown{key: "name", table: rows(silenceTable)}),
	show(kindNamed("notification"), shown{
		key: "name", table: rows(notificationTable),
		wide: wider(notificationMore, "VERSION", "KINDS", "FAILURES", "NEXT ATTEMPT", "LAST ERROR AT",
			"LAST ERROR"),
	}),
	show(kindNamed("host-port"), shown{table: rows(portTable)}),
	show(kindNamed("port"), shown{
		key: "name", table: rows(switchPortTable), waits: true,
		wide: wider(switchPortMore, "VERSION", "MAC", "IFINDEX", "LINK", "DESCRIPTION"),
	}),
	show(kindNamed("host"), shown{
		key: "name", table: rows(hostTable), detail: detail(hostDetail),
		wide: wider(hostMore, "SOFTWARE", "LEAVES", "HELD", "APPLIED", "WANTED", "PREFIXES"),
	}),
	show(kindNamed("switch"), shown{
		key: "name", table: rows[api.SwitchStatus](switchTable),
		wide: wider(switchMore, "SYSTEM", "SETTLING", "PORTS UP", "PORTS DOWN"),
	}),
	show(kindNamed("orphan"), shown{
		key: "name", table: rows(orphanTable), detail: detail(orphanDetail), whole: "switch",
	}),
	show(viewed[api.BGPPeer]("bgp-peer", "BGP-LS peer", "BGP-LS peers and their sessions"), shown{
		key: "name", table: rows(peerTable), detail: detail(peerDetail),
	}),
	show(viewed[api.Certificate]("certificate", "certificate",
		"certificates of the controller that answers, and their ends"), shown{
		key: "name", table: rows(certificateTable),
		wide: wider(certificateMore, "SUBJECT", "ISSUER", "SERIAL", "FROM", "SEEN"),
	}),
	show(viewed[api.Controller]("controller", "controller", "controllers that share the store"), shown{
		key: "name", table: rows(controllerTable),
		wide: wider(controllerMore, "TERM", "PEERS", "HOST API", "SWITCH NAMES", "CLOCK",
			"LAST CONTACT"),
	}),
}

// describedKinds are the kinds of resources that a controller has.
var describedKinds = append(controller.Kinds(), mrc.Kinds()...)

// kindNamed returns the kind that the controller has by a name in documents.
func kindNamed(one string) *known.Kind {
	return describedKinds[slices.IndexFunc(describedKinds, func(k *known.Kind) bool {
		return k.One == one
	})]
}

// viewed returns a kind that the API has for itself, to read.
func viewed[V any](one, noun, help string) *known.Kind {
	return known.NewView[V](known.About{Names: known.Names{One: one, Noun: noun}, Help: help,
		Events: []string{one}})
}

// of returns a resource's collection at a controller, and the resource's name there. A name that
// the kind cannot have is wrong usage.
func (k *kind) of(c *client.Client, name string) (client.Resources[json.RawMessage,
	json.RawMessage], string, error) {
	collection, key, err := k.at(name)
	if err != nil {
		err = &usageError{err}
	}
	return c.At(collection), key, err
}

// documented returns the kind with a given name in documents or commands; nil if no kind with
// documents has the name.
func documented(name string) *kind {
	for _, k := range kinds {
		if k.document != nil && (name == k.name || name == k.noun || name == k.plural) {
			return k
		}
	}
	return nil
}

// ofEach adds a command for one resource of each kind for which has returns true; short is the help
// text before the kind.
func ofEach(parent *cobra.Command, names completer, short string, has func(k *kind) bool,
	run func(ctx context.Context, k *kind, name string) error) {
	for _, k := range kinds {
		if !has(k) {
			continue
		}
		parent.AddCommand(&cobra.Command{
			Use: k.noun + " NAME", Short: short + " " + k.Help, Aliases: k.aliases(),
			Args: arguments(1, 1), ValidArgsFunction: inTurn(names.of(k.plural)),
			RunE: func(cmd *cobra.Command, args []string) error {
				return run(cmd.Context(), k, args[0])
			},
		})
	}
}

// isWritten reports whether clients write resources of a kind.
func (k *kind) isWritten() bool { return k.document != nil }

// aliases returns further names of the commands for one resource: the kind's name in documents.
func (k *kind) aliases() []string {
	if k.name == "" || k.name == k.noun {
		return nil
	}
	return []string{k.name}
}

// aliasesOfAll are other names of the command for all.
func (k *kind) aliasesOfAll() (out []string) {
	for _, a := range k.aliases() {
		out = append(out, a+"s")
	}
	return out
}

// objectOf reads what all kinds have in common.
func objectOf(item json.RawMessage) (o api.Object, err error) {
	err = (&client.Answer{Body: item}).Decode(&o)
	return o, err
}

// present returns the present state of a resource, and whether the resource exists.
func present(ctx context.Context, resources client.Resources[json.RawMessage, json.RawMessage],
	key string) (o api.Object, ok bool, err error) {
	item, err := resources.Get(ctx, key)
	if missing(err) {
		return o, false, nil
	} else if err != nil {
		return o, false, err
	}
	o, err = objectOf(*item)
	return o, err == nil, err
}

// text returns a resource as a file would have it, in YAML; version 0 is left out.
func (k *kind) text(name string, version uint64, spec json.RawMessage) ([]byte, error) {
	text, err := json.Marshal(api.Object{Name: name, Version: version, Spec: spec})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", client.ErrAnswer, err)
	}
	return strictyaml.FromJSON(k.head(text))
}

// show shows one resource.
func (k *kind) show(w *bytes.Buffer, item json.RawMessage) error {
	if k.detail != nil {
		return k.detail(w, item)
	}
	return k.table(w, []json.RawMessage{item})
}

// nameOf is the name of a resource of a list.
func (k *kind) nameOf(item json.RawMessage) string { return nameIn(k.key, item) }

// nameIn is the name that a field of a resource has; "": it has none.
func nameIn(field string, item json.RawMessage) string {
	var fields map[string]any
	if err := (&client.Answer{Body: item}).Decode(&fields); err != nil || fields[field] == nil {
		return ""
	}
	return fmt.Sprint(fields[field])
}

// asDocument adds kind and name to the API's form of a resource, so that "weft apply" accepts the
// document. A resource of a kind that cannot be applied stays unchanged.
func (k *kind) asDocument(name string, item json.RawMessage) json.RawMessage {
	if k.document == nil {
		return item
	}
	if k.key != "name" {
		quoted, err := json.Marshal(name)
		if err != nil {
			return item
		}
		item = prepend("name", quoted, item)
	}
	return k.head(item)
}

// head puts the kind before the members of an object.
func (k *kind) head(item json.RawMessage) json.RawMessage {
	return prepend("kind", fmt.Appendf(nil, "%q", k.name), item)
}

// prepend puts a member before the others of an object.
func prepend(member string, value, object []byte) []byte {
	rest, ok := bytes.CutPrefix(bytes.TrimSpace(object), []byte("{"))
	if !ok {
		return object
	}
	return append(fmt.Appendf(nil, "{%q:%s,", member, value), rest...)
}

// asList is asDocument for a list; document is the list as the API gave it.
func (k *kind) asList(items []json.RawMessage, document []byte) []byte {
	if k.document == nil {
		return document
	}
	out := fmt.Appendf(nil, "{%q:%q,%q:[", "kind", k.name, "items")
	for i, item := range items {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, k.asDocument(k.nameOf(item), item)...)
	}
	return append(out, "]}"...)
}

// kindNames are the kinds that can be applied but the first, for people.
func kindNames() string {
	var names []string
	for _, k := range kinds[1:] {
		if k.document != nil {
			names = append(names, k.name)
		}
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
