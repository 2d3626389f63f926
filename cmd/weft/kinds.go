package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
	"github.com/weft-sdn/weft/internal/strictyaml"
)

// A kind of resources. The commands get, describe, apply, diff and delete are made of the
// table of kinds.
type kind struct {
	name   string // as documents have it
	noun   string // in messages, and the command for one
	plural string // the command for all
	long   string // what they are, for help: "multicast groups"
	// items is where the list is; "": there is none.
	items string
	// place returns the path of a resource's collection and the resource's name there, or the rule for
	// names; nil: items and the name.
	place func(name string) (collection, key string, err error)
	// key is the field for the name in a list.
	key string

	// table shows resources a row each, and detail one of them; nil: as the table does.
	table  func(w io.Writer, items []json.RawMessage) error
	detail func(w io.Writer, item json.RawMessage) error
	// wide is what -o wide has beside the table; nil: nothing.
	wide *beside

	// document is the type of documents that apply accepts; nil: apply accepts none.
	document reflect.Type
	// stored: the store has all resources of the kind, so a controller can give stale answers.
	stored bool
	// unnamed: the API's items have an id and no name.
	unnamed bool
	// waits: commands can wait for the condition Programmed of the kind.
	waits bool
	// removed describes the effect of a deletion; "": the kind cannot be deleted.
	removed string
	// unversioned: a deletion cannot depend on a version.
	unversioned bool
	// whole is the query parameter by which a DELETE of the list deletes many resources; "": the API
	// has no such DELETE.
	whole string
	// events are the families of the events about it.
	events []string
}

// rows makes the table function of a kind from a function for a type.
func rows[T any](table func(w io.Writer, ts []T) error) func(io.Writer, []json.RawMessage) error {
	return func(w io.Writer, items []json.RawMessage) error {
		ts, err := client.DecodeItems[T](&client.Items{Items: items})
		if err != nil {
			return err
		}
		return table(w, ts)
	}
}

// detail makes the detail function of a kind from a function for a type.
func detail[T any](show func(w io.Writer, t *T) error) func(io.Writer, json.RawMessage) error {
	return func(w io.Writer, item json.RawMessage) error {
		t := new(T)
		if err := (&client.Answer{Body: item}).Decode(t); err != nil {
			return err
		}
		return show(w, t)
	}
}

func documentOf[S any]() reflect.Type { return reflect.TypeFor[resource[S]]() }

// kinds are the kinds of resources; that of a document without one is the first.
var kinds = []*kind{
	{
		name: "multicast-group", noun: "group", plural: "groups", long: "multicast groups",
		items: "/v1/multicast-groups", key: "name", stored: true,
		wide: wider(groupMore, "VERSION", "CREATED", "JOB", "INDEX", "SOURCE QPN", "ROOT", "OBJECTIVE",
			"STALLED", "EVICTED"),
		table: rows(groupTable), detail: detail(groupDetail),
		document: documentOf[api.MulticastGroupSpec](), waits: true,
		removed: "Deletes multicast groups. Afterwards the controller removes their entries from the " +
			"switches.",
		events: []string{"group", "receiver"},
	},
	{
		name: "ev-profile", noun: "ev-profile", plural: "ev-profiles",
		long: "EV profiles, one for each pair of leaves with hosts", items: "/v1/ev-profiles",
		key: "name",
		wide: wider(evProfileMore, "VERSION", "REPLACED", "ASSUMED BAD", "DESTINATIONS", "HELD BY",
			"BEHIND", "LOST LINKS", "NOTE"),
		table: rows(evProfileTable), detail: detail(evProfileDetail),
		document: documentOf[api.EVProfileSpec](), waits: true,
		removed: "Removes the spec of EV profiles. The configuration applies to them again.",
		events:  []string{"ev-profile"},
	},
	{
		name: "cc-profile", noun: "cc-profile", plural: "cc-profiles", long: "CC profiles",
		items: "/v1/cc-profiles", key: "name", stored: true,
		table: rows(ccTable), document: documentOf[api.CCProfileSpec](),
		removed: "Deletes CC profiles that no EV profile names.",
	},
	{
		name: "srv6-policy", noun: "srv6-policy", plural: "srv6-policies", long: "SRv6 policies",
		items: "/v1/srv6-policies", key: "name", stored: true,
		wide:  wider(srv6PolicyMore, "VERSION", "CREATED", "SIDS", "USED BY"),
		table: rows(srv6PolicyTable), detail: detail(srv6PolicyDetail),
		document: documentOf[api.SRv6PolicySpec](), waits: true,
		removed: "Deletes SRv6 policies that no tenant and no PFC policy refers to.",
		events:  []string{"srv6-policy"},
	},
	{
		name: "tenant", noun: "tenant", plural: "tenants", long: "tenants", items: "/v1/tenants",
		key: "name", stored: true,
		wide:  wider(tenantMore, "VERSION", "CREATED", "SIDS", "USED BY"),
		table: rows(tenantTable), detail: detail(tenantDetail), document: documentOf[api.TenantSpec](),
		waits:   true,
		removed: "Deletes tenants that no PFC policy refers to.",
		events:  []string{"tenant"},
	},
	{
		name: "pfc-policy", noun: "pfc-policy", plural: "pfc-policies", long: "PFC policies",
		items: "/v1/pfc-policies", key: "name", stored: true,
		wide:  wider(pfcPolicyMore, "VERSION", "CREATED", "TUNNEL", "BUFFER", "XOFF", "XON", "CIRCLE"),
		table: rows(pfcPolicyTable), detail: detail(pfcPolicyDetail),
		document: documentOf[api.PFCPolicySpec](), waits: true,
		removed: "Deletes PFC policies, with their tunnels and pauses.",
		events:  []string{"pfc-policy", "pfc"},
	},
	{
		name: "network", noun: "network", plural: "networks", long: "networks that clients describe",
		items: "/v1/networks", key: "name", stored: true,
		table: rows(networkTable), document: documentOf[api.NetworkSpec](),
		removed: "Deletes networks: their nodes and links leave the topology, unless another source " +
			"has them.",
		events: []string{"network"},
	},
	{
		name: "project", noun: "project", plural: "projects",
		long: "projects, with what administrators assign to them and what is left", items: "/v1/projects",
		key: "name", stored: true,
		wide:  wider(projectMore, "VERSION", "CREATED", "ISOLATED", "BANDWIDTH", "USED", "MEMBERS"),
		table: rows(projectTable), detail: detail(projectDetail), document: documentOf[api.ProjectSpec](),
		removed: "Deletes projects that have no resources. What was assigned to them is the " +
			"administrators' again.",
		events: []string{"project"},
	},
	{
		name: "link", noun: "link", plural: "links",
		long: "links of paths, or of the topology, one direction each", items: "/v1/links", key: "id",
		wide:  wider(linkMore, "VERSION", "FROM PORT", "TO PORT", "UNTIL", "DRAINED", "FROM ID", "TO ID"),
		table: rows(linkTable), document: documentOf[api.AdminSpec](), unnamed: true,
		events: []string{"link"},
	},
	{
		name: "node", noun: "node", plural: "nodes",
		long: "switches of the MRC fabric, or the nodes of the topology", items: "/v1/nodes", key: "id",
		table: rows(nodeTable), document: documentOf[api.AdminSpec](), unnamed: true,
	},
	{
		name: "plane", noun: "plane", plural: "planes", long: "planes of the MRC fabric",
		items: "/v1/planes", key: "plane",
		table: rows(planeTable), document: documentOf[api.AdminSpec](), unnamed: true,
	},
	{
		name: "job", noun: "job", plural: "jobs",
		long:  "jobs: where their ranks are, and whether the fabric is ready for them",
		items: "/v1/jobs", key: "name", stored: true,
		wide: wider(jobMore, "VERSION", "CREATED", "STATE", "LEASE", "COMMUNICATORS", "RACK PAIRS",
			"GROUPS", "EXCLUSIVE", "HOSTS"),
		table: rows(jobTable), detail: detail(jobDetail), document: documentOf[api.JobSpec](),
		removed: "Deletes jobs: what followed from them is taken back.",
		events:  []string{"job"},
	},
	{
		name: "lease", noun: "lease", plural: "leases",
		long:  "leases of paths of the MRC fabric, with what packets on them carry",
		items: "/v1/leases", key: "name", stored: true,
		wide: wider(leaseMore, "VERSION", "CREATED", "GRANTED", "PRIORITY", "HEARTBEAT", "FORMER",
			"BETWEEN", "REASON"),
		table: rows(leaseTable), detail: detail(leaseDetail), document: documentOf[api.PathLeaseSpec](),
		removed: "Deletes leases of paths: the paths are free at once.",
		events:  []string{"lease"},
	},
	{
		name: "maintenance", noun: "maintenance", plural: "maintenances",
		long:  "maintenances: what is drained when, and what jobs lose by it",
		items: "/v1/maintenances", key: "name", stored: true,
		wide:  wider(maintenanceMore, "VERSION", "CREATED", "LEAD", "OBJECTS"),
		table: rows(maintenanceTable), detail: detail(maintenanceDetail),
		document: documentOf[api.MaintenanceSpec](),
		removed:  "Deletes maintenances: what was drained for them is used again.",
		events:   []string{"maintenance"},
	},
	{
		name: "silence", noun: "silence", plural: "silences",
		long:  "silences: causes that somebody has taken notice of",
		items: "/v1/silences", key: "name", stored: true,
		table: rows(silenceTable), document: documentOf[api.SilenceSpec](),
		removed: "Deletes silences: their causes make alerts again.",
		events:  []string{"silence"},
	},
	{
		name: "notification", noun: "notification", plural: "notifications",
		long:  "notifications: webhooks that are told of causes",
		items: "/v1/notifications", key: "name", stored: true,
		wide: wider(notificationMore, "VERSION", "KINDS", "FAILURES", "NEXT ATTEMPT", "LAST ERROR AT",
			"LAST ERROR"),
		table: rows(notificationTable), document: documentOf[api.NotificationSpec](),
		removed: "Deletes notifications: what waits for their receivers is not sent.",
		events:  []string{"notification"},
	},
	{
		name: "host-port", noun: "host-port", long: "ports of hosts, HOST/PORT", place: portPlace,
		table: rows(portTable), document: documentOf[api.AdminSpec](), unnamed: true,
	},
	{
		name: "port", noun: "port", plural: "ports", long: "ports of switches, SWITCH/PORT",
		items: "/v1/ports", place: switchPortPlace, key: "name",
		wide:  wider(switchPortMore, "VERSION", "MAC", "IFINDEX", "LINK", "DESCRIPTION"),
		table: rows(switchPortTable), document: documentOf[api.PortSpec](), waits: true,
		removed: "Removes the spec of ports. The switches keep the settings that they have.",
		events:  []string{"port"},
	},
	{
		noun: "host", plural: "hosts", long: "hosts of the MRC fabric, or of the inventory",
		items: "/v1/hosts", key: "name",
		wide:  wider(hostMore, "SOFTWARE", "LEAVES", "HELD", "APPLIED", "WANTED", "PREFIXES"),
		table: rows(hostTable), detail: detail(hostDetail), events: []string{"host"},
	},
	{
		noun: "switch", plural: "switches", long: "switches and the state of their sessions",
		items: "/v1/switches", key: "name",
		wide:  wider(switchMore, "SYSTEM", "SETTLING", "PORTS UP", "PORTS DOWN"),
		table: rows[api.SwitchStatus](switchTable), events: []string{"switch"},
	},
	{
		noun: "orphan", plural: "orphans", long: "orphans: entries of switches that no resource explains",
		items: "/v1/orphans", key: "name",
		table: rows(orphanTable), detail: detail(orphanDetail), unversioned: true, whole: "switch",
		removed: "Removes orphans, entries of switches that no resource explains: at once, or when the " +
			"switch\nis connected again. --all --switch removes all orphans of a switch.",
		events: []string{"orphan"},
	},
	{
		noun: "bgp-peer", plural: "bgp-peers", long: "BGP-LS peers and their sessions",
		items: "/v1/bgp-peers", key: "name",
		table: rows(peerTable), detail: detail(peerDetail), events: []string{"bgp-peer"},
	},
	{
		noun: "certificate", plural: "certificates",
		long: "certificates of the controller that answers, and their ends", items: "/v1/certificates",
		key:   "name",
		wide:  wider(certificateMore, "SUBJECT", "ISSUER", "SERIAL", "FROM", "SEEN"),
		table: rows(certificateTable), events: []string{"certificate"},
	},
	{
		noun: "controller", plural: "controllers", long: "controllers that share the store",
		items: "/v1/controllers", key: "name",
		wide: wider(controllerMore, "TERM", "PEERS", "HOST API", "SWITCH NAMES", "CLOCK",
			"LAST CONTACT"),
		table: rows(controllerTable), events: []string{"controller"},
	},
}

// at returns the path of the collection of a resource and its name there.
func (k *kind) at(name string) (collection, key string, err error) {
	if k.place != nil {
		return k.place(name)
	}
	return k.items, name, nil
}

// of returns the collection of a resource at a controller and its name there. A name that the kind
// cannot have is wrong usage.
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
			Use: k.noun + " NAME", Short: short + " " + k.long, Aliases: k.aliases(),
			Args: arguments(1, 1), ValidArgsFunction: inTurn(names.of(k.plural)),
			RunE: func(cmd *cobra.Command, args []string) error {
				return run(cmd.Context(), k, args[0])
			},
		})
	}
}

// isWritten reports whether clients write resources of a kind.
func (k *kind) isWritten() bool { return k.document != nil }

// aliases are other names of the commands for one: that of documents.
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
func (k *kind) show(w io.Writer, item json.RawMessage) error {
	if k.detail != nil {
		return k.detail(w, item)
	}
	return k.table(w, []json.RawMessage{item})
}

// nameOf is the name of a resource of a list.
func (k *kind) nameOf(item json.RawMessage) string {
	var fields map[string]any
	if err := (&client.Answer{Body: item}).Decode(&fields); err != nil || fields[k.key] == nil {
		return ""
	}
	return fmt.Sprint(fields[k.key])
}

// asDocument adds kind and name to the API's form of a resource, so that "weft apply" accepts the
// document. A resource of a kind that cannot be applied stays unchanged.
func (k *kind) asDocument(name string, item json.RawMessage) json.RawMessage {
	if k.document == nil {
		return item
	}
	if k.unnamed {
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

// portPlace is where a port of a host is, "h1/2" being port 2 of h1.
func portPlace(name string) (collection, key string, err error) {
	host, port, ok := strings.Cut(name, "/")
	if !ok || host == "" || port == "" {
		return "", "", fmt.Errorf("host-port %s: want the name of a host, \"/\" and the number of a port",
			name)
	}
	return client.Path("v1", "hosts", host, "ports"), port, nil
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
