package client

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/weft-sdn/weft/api"
)

// View is the resources of one kind as T. Kinds that clients write are [Resources].
type View[T any] struct {
	client *Client
	path   string
}

// Resources is the resources of one kind: clients write S by name and read T.
type Resources[S, T any] struct {
	View[T]
}

// Groups returns the multicast groups.
func (c *Client) Groups() Resources[api.MulticastGroupSpec, api.MulticastGroup] {
	return resources[api.MulticastGroupSpec, api.MulticastGroup](c, "multicast-groups")
}

// SRv6Policies returns the SRv6 policies.
func (c *Client) SRv6Policies() Resources[api.SRv6PolicySpec, api.SRv6Policy] {
	return resources[api.SRv6PolicySpec, api.SRv6Policy](c, "srv6-policies")
}

// Tenants returns the tenants.
func (c *Client) Tenants() Resources[api.TenantSpec, api.Tenant] {
	return resources[api.TenantSpec, api.Tenant](c, "tenants")
}

// PFCPolicies returns the PFC policies.
func (c *Client) PFCPolicies() Resources[api.PFCPolicySpec, api.PFCPolicy] {
	return resources[api.PFCPolicySpec, api.PFCPolicy](c, "pfc-policies")
}

// Projects returns the projects.
func (c *Client) Projects() Resources[api.ProjectSpec, api.Project] {
	return resources[api.ProjectSpec, api.Project](c, "projects")
}

// Jobs returns the jobs.
func (c *Client) Jobs() Resources[api.JobSpec, api.Job] {
	return resources[api.JobSpec, api.Job](c, "jobs")
}

// JobReadiness returns whether the fabric is ready for a job.
func (c *Client) JobReadiness(ctx context.Context, name string) (*api.JobReadiness, error) {
	return read[api.JobReadiness](ctx, c, http.MethodGet, c.Jobs().path+Path(name)+"/readiness", nil,
		nil)
}

// Leases returns the leases of paths.
func (c *Client) Leases() Resources[api.PathLeaseSpec, api.PathLease] {
	return resources[api.PathLeaseSpec, api.PathLease](c, "leases")
}

// Maintenances returns the maintenances.
func (c *Client) Maintenances() Resources[api.MaintenanceSpec, api.Maintenance] {
	return resources[api.MaintenanceSpec, api.Maintenance](c, "maintenances")
}

// RenewLease renews a lease of paths. Of w, only the version counts.
func (c *Client) RenewLease(ctx context.Context, name string, w Write) (*api.PathLease, error) {
	return c.actOnLease(ctx, name, "renew", w)
}

// MoveLease has the former paths of a lease freed: its client uses the new ones. Of w, only the
// version counts.
func (c *Client) MoveLease(ctx context.Context, name string, w Write) (*api.PathLease, error) {
	return c.actOnLease(ctx, name, "moved", w)
}

func (c *Client) actOnLease(
	ctx context.Context, name, verb string, w Write,
) (*api.PathLease, error) {
	return read[api.PathLease](ctx, c, http.MethodPost, c.Leases().path+Path(name)+":"+verb,
		Write{Version: w.Version}.header(), nil)
}

// RenewJob renews the lease of a job. Of w, only the version counts.
func (c *Client) RenewJob(ctx context.Context, name string, w Write) (*api.Job, error) {
	return read[api.Job](ctx, c, http.MethodPost, c.Jobs().path+Path(name)+":renew",
		Write{Version: w.Version}.header(), nil)
}

// Silences returns the silences of causes.
func (c *Client) Silences() Resources[api.SilenceSpec, api.Silence] {
	return resources[api.SilenceSpec, api.Silence](c, "silences")
}

// Notifications returns the notifications of causes.
func (c *Client) Notifications() Resources[api.NotificationSpec, api.Notification] {
	return resources[api.NotificationSpec, api.Notification](c, "notifications")
}

// TestNotification sends the receiver of a notification a message that reports no cause, and
// returns the receiver's answer.
func (c *Client) TestNotification(ctx context.Context, name string) (*api.NotificationTest, error) {
	return read[api.NotificationTest](ctx, c, http.MethodPost,
		c.Notifications().path+Path(name)+":test", nil, nil)
}

// Networks returns the networks that clients describe.
func (c *Client) Networks() Resources[api.NetworkSpec, api.Network] {
	return resources[api.NetworkSpec, api.Network](c, "networks")
}

// CCProfiles returns the CC profiles.
func (c *Client) CCProfiles() Resources[api.CCProfileSpec, api.CCProfile] {
	return resources[api.CCProfileSpec, api.CCProfile](c, "cc-profiles")
}

// EVProfiles returns the EV profiles. EV profiles exist by themselves: the controller refuses
// Create, and Delete removes the client's spec.
func (c *Client) EVProfiles() Resources[api.EVProfileSpec, api.EVProfile] {
	return resources[api.EVProfileSpec, api.EVProfile](c, "ev-profiles")
}

// Links returns the links, one direction each, by id. Put drains them, as it does nodes, planes
// and ports of hosts; Create and Delete are refused.
func (c *Client) Links() Resources[api.AdminSpec, api.Link] {
	return resources[api.AdminSpec, api.Link](c, "links")
}

// Nodes returns the switches of the fabric, by id.
func (c *Client) Nodes() Resources[api.AdminSpec, api.Node] {
	return resources[api.AdminSpec, api.Node](c, "nodes")
}

// Planes returns the planes of the fabric, by number.
func (c *Client) Planes() Resources[api.AdminSpec, api.Plane] {
	return resources[api.AdminSpec, api.Plane](c, "planes")
}

// HostPorts returns the ports of a host, by number.
func (c *Client) HostPorts(host string) Resources[api.AdminSpec, api.HostPort] {
	return resources[api.AdminSpec, api.HostPort](c, "hosts", host, "ports")
}

// Ports returns the ports of all switches, by switch and number.
func (c *Client) Ports() View[api.Port] { return view[api.Port](c, "ports") }

// SwitchPorts returns the ports of a switch, by number. Ports exist by themselves: the controller
// refuses Create, and Delete removes the client's spec.
func (c *Client) SwitchPorts(sw string) Resources[api.PortSpec, api.Port] {
	return resources[api.PortSpec, api.Port](c, "switches", sw, "ports")
}

// Hosts returns the hosts.
func (c *Client) Hosts() View[api.Host] { return view[api.Host](c, "hosts") }

// Switches returns the switches.
func (c *Client) Switches() View[api.SwitchStatus] { return view[api.SwitchStatus](c, "switches") }

// Orphans returns what switches hold and no resource explains.
func (c *Client) Orphans() View[api.Orphan] { return view[api.Orphan](c, "orphans") }

// DeleteOrphan has an orphan removed from its switch. A dry run returns what would change.
func (c *Client) DeleteOrphan(
	ctx context.Context, name string, w Write,
) (*api.OrphanDeletion, error) {
	path := w.to(Path("v1", "orphans", name))
	if !w.DryRun {
		_, err := c.Do(ctx, http.MethodDelete, path, nil, nil)
		return &api.OrphanDeletion{Deleted: []string{name}}, err
	}
	return read[api.OrphanDeletion](ctx, c, http.MethodDelete, path, nil, nil)
}

// DeleteOrphans has all orphans of a switch removed.
func (c *Client) DeleteOrphans(
	ctx context.Context, sw string, w Write,
) (*api.OrphanDeletion, error) {
	query := url.Values{"switch": {sw}}
	if w.DryRun {
		query.Set("dryRun", "true")
	}
	return read[api.OrphanDeletion](ctx, c, http.MethodDelete,
		Path("v1", "orphans")+"?"+query.Encode(), nil, nil)
}

// Simulate returns what jobs would get of the fabric after some events. Nothing changes by it.
func (c *Client) Simulate(
	ctx context.Context, spec api.SimulationSpec,
) (*api.Simulation, error) {
	return read[api.Simulation](ctx, c, http.MethodPost, Path("v1", "simulations"), nil, spec)
}

// Certificates returns the certificates of the controller that answers.
func (c *Client) Certificates() View[api.Certificate] {
	return view[api.Certificate](c, "certificates")
}

// BGPPeers returns the BGP-LS peers.
func (c *Client) BGPPeers() View[api.BGPPeer] { return view[api.BGPPeer](c, "bgp-peers") }

// At returns the resources of the collection at a path, such as "/v1/tenants", as JSON texts, for
// programs that treat all kinds alike; [api.Object] reads any of them.
func (c *Client) At(path string) Resources[json.RawMessage, json.RawMessage] {
	return Resources[json.RawMessage, json.RawMessage]{View[json.RawMessage]{c, path}}
}

// ResetGroup gives a multicast group a new epoch, which discards all reports of its branches. Of w,
// only the version counts.
func (c *Client) ResetGroup(
	ctx context.Context, name string, w Write,
) (*api.MulticastGroup, error) {
	return read[api.MulticastGroup](ctx, c, http.MethodPost, c.Groups().path+Path(name)+":reset",
		Write{Version: w.Version}.header(), nil)
}

// LatestEvents returns the latest events that a query selects, the oldest first.
func (c *Client) LatestEvents(ctx context.Context, query url.Values) ([]api.Event, error) {
	return view[api.Event](c, "events", "latest").List(ctx, query)
}

// Controllers are the controllers that share the store.
func (c *Client) Controllers() View[api.Controller] {
	return view[api.Controller](c, "controllers")
}

// ReplaceController lets a controller that lost its data start again, among controllers that form
// an etcd.
func (c *Client) ReplaceController(ctx context.Context, name string) error {
	_, err := c.Do(ctx, http.MethodPost, c.Controllers().path+Path(name)+":replace", nil, nil)
	return err
}

func view[T any](c *Client, collection ...string) View[T] {
	return View[T]{c, Path(append([]string{"v1"}, collection...)...)}
}

func resources[S, T any](c *Client, collection ...string) Resources[S, T] {
	return Resources[S, T]{view[T](c, collection...)}
}

// Get reads one resource.
func (v View[T]) Get(ctx context.Context, name string) (*T, error) {
	return read[T](ctx, v.client, http.MethodGet, v.path+Path(name), nil, nil)
}

// List reads all resources, or those that a query selects. The API document has the parameters
// of each kind.
func (v View[T]) List(ctx context.Context, query url.Values) ([]T, error) {
	var out []T
	for t, err := range v.All(ctx, query) {
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// All reads the resources page by page while they are consumed. An error is the last value.
func (v View[T]) All(ctx context.Context, query url.Values) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for page, err := range pages[T](ctx, v.client, v.path, query, func(*Answer) {}) {
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, t := range page {
				if !yield(t, nil) {
					return
				}
			}
		}
	}
}

// Write is how a change is made; its zero value is an unconditional one.
type Write struct {
	// Version is the required version of the resource (If-Match), 0 for any version. A mismatch is a
	// problem with [api.CodeVersion].
	Version uint64
	// Absent demands that no client has written the resource (If-None-Match).
	Absent bool
	// DryRun makes the controller check and plan the change without making the change. The returned
	// resource lists the changes to switches.
	DryRun bool
}

func (w Write) header() http.Header {
	h := http.Header{}
	if w.Version != 0 {
		h.Set("If-Match", strconv.Quote(strconv.FormatUint(w.Version, 10)))
	}
	if w.Absent {
		h.Set("If-None-Match", "*")
	}
	return h
}

func (w Write) to(path string) string {
	if w.DryRun {
		return path + "?dryRun=true"
	}
	return path
}

// Create creates a resource. If the resource exists, the error has [api.CodeExists].
func (r Resources[S, T]) Create(ctx context.Context, name string, spec S, w Write) (*T, error) {
	return read[T](ctx, r.client, http.MethodPost, w.to(r.path), w.header(),
		api.Request[S]{Name: name, Spec: spec})
}

// Put creates a resource or replaces its spec. The spec that it has already changes nothing.
func (r Resources[S, T]) Put(ctx context.Context, name string, spec S, w Write) (*T, error) {
	return read[T](ctx, r.client, http.MethodPut, w.to(r.path+Path(name)), w.header(),
		api.Request[S]{Spec: spec})
}

// Patch changes parts of a resource by a merge patch (RFC 7396), which is a value that
// encoding/json encodes.
func (r Resources[S, T]) Patch(ctx context.Context, name string, patch any, w Write) (*T, error) {
	h := w.header()
	h.Set("Content-Type", "application/merge-patch+json")
	return read[T](ctx, r.client, http.MethodPatch, w.to(r.path+Path(name)), h, patch)
}

// Delete deletes a resource. A dry run only reports whether that would be refused.
func (r Resources[S, T]) Delete(ctx context.Context, name string, w Write) error {
	_, err := r.client.Do(ctx, http.MethodDelete, w.to(r.path+Path(name)), w.header(), nil)
	return err
}

// TryDelete is a dry run of Delete. It returns the resource, which stays, with the changes that
// the deletion would make on switches.
func (r Resources[S, T]) TryDelete(ctx context.Context, name string, w Write) (*T, error) {
	w.DryRun = true
	return read[T](ctx, r.client, http.MethodDelete, w.to(r.path+Path(name)), w.header(), nil)
}

// read makes a request and decodes the answer.
func read[T any](
	ctx context.Context, c *Client, method, path string, header http.Header, body any,
) (*T, error) {
	a, err := c.Do(ctx, method, path, header, body)
	if err != nil {
		return nil, err
	}
	t := new(T)
	if err := a.Decode(t); err != nil {
		return nil, err
	}
	return t, nil
}

// Watched is an event with the id to resume after.
type Watched struct {
	ID string
	api.Event
}

// Watch is which events are watched, and how.
type Watch struct {
	// Types are types of events, or families such as "group"; empty: all types.
	Types []api.EventType
	// Object is the name that events are about; empty: any.
	Object string
	// After is the id of an event: those that followed it come first. Empty: only new events.
	After string
	// Handlers reports connections and their ends; its Event is not called.
	Handlers Handlers
}

// errEnough ends a stream whose consumer has stopped.
var errEnough = errors.New("enough events")

// Watch follows events until ctx ends or the server refuses, which is the last value. A lost
// stream is resumed after the last event; [api.EventGap] reports that events were lost meanwhile.
func (c *Client) Watch(ctx context.Context, w Watch) iter.Seq2[Watched, error] {
	query := url.Values{}
	for _, t := range w.Types {
		query.Add("type", string(t))
	}
	if w.Object != "" {
		query.Set("object", w.Object)
	}
	return func(yield func(Watched, error) bool) {
		h := w.Handlers
		h.Event = func(e Event) error {
			out := Watched{ID: e.ID}
			if err := (&Answer{Body: e.Data}).Decode(&out.Event); err != nil {
				return err
			}
			if !yield(out, nil) {
				return errEnough
			}
			return nil
		}
		if err := c.events(ctx, Path("v1", "events"), query, w.After, h); !errors.Is(err, errEnough) {
			yield(Watched{}, err)
		}
	}
}

// pages reads a list page by page, and shows each answer before its items.
func pages[T any](
	ctx context.Context, c *Client, path string, query url.Values, seen func(*Answer),
) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) {
		ask := url.Values{}
		for name, values := range query {
			ask[name] = slices.Clone(values)
		}
		for {
			a, err := c.Get(ctx, path, ask)
			var page api.List[T]
			if err == nil {
				err = a.Decode(&page)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			seen(a)
			if !yield(page.Items, nil) || page.Continue == "" || page.Continue == ask.Get("continue") {
				return
			}
			// Not every list has pages, so the first request does not ask for them.
			ask.Set("limit", pageSize)
			ask.Set("continue", page.Continue)
		}
	}
}
