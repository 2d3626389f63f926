package client

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"

	"github.com/weft-sdn/weft/api"
)

// View is the resources of one kind as T. Kinds that clients write are [Resources]. Both are
// interfaces so that a program compiles the methods of the kinds that the program uses, and not of
// all kinds. Later releases may add methods.
type View[T any] interface {
	// Get reads one resource.
	Get(ctx context.Context, name string) (*T, error)
	// List reads all resources, or those that a query selects. The API document has the parameters
	// of each kind.
	List(ctx context.Context, query url.Values) ([]T, error)
	// All reads the resources page by page while they are consumed. An error is the last value.
	All(ctx context.Context, query url.Values) iter.Seq2[T, error]
}

// Resources is the resources of one kind: clients write S by name and read T.
type Resources[S, T any] interface {
	View[T]
	// Create creates a resource. If the resource exists, the error has [api.CodeExists].
	Create(ctx context.Context, name string, spec S, w Write) (*T, error)
	// Put creates a resource or replaces its spec. The spec that it has already changes nothing.
	Put(ctx context.Context, name string, spec S, w Write) (*T, error)
	// Patch changes parts of a resource by a merge patch (RFC 7396), which is a value that
	// encoding/json encodes.
	Patch(ctx context.Context, name string, patch any, w Write) (*T, error)
	// Delete deletes a resource. A dry run only reports whether that would be refused.
	Delete(ctx context.Context, name string, w Write) error
	// TryDelete is a dry run of Delete. It returns the resource, which stays, with the changes that
	// the deletion would make on switches.
	TryDelete(ctx context.Context, name string, w Write) (*T, error)
}

// Groups returns the multicast groups.
func (c *Client) Groups() Resources[api.MulticastGroupSpec, api.MulticastGroup] {
	return resourcesOf[api.MulticastGroupSpec, api.MulticastGroup](c, "multicast-groups")
}

// SRv6Policies returns the SRv6 policies.
func (c *Client) SRv6Policies() Resources[api.SRv6PolicySpec, api.SRv6Policy] {
	return resourcesOf[api.SRv6PolicySpec, api.SRv6Policy](c, "srv6-policies")
}

// Tenants returns the tenants.
func (c *Client) Tenants() Resources[api.TenantSpec, api.Tenant] {
	return resourcesOf[api.TenantSpec, api.Tenant](c, "tenants")
}

// PFCPolicies returns the PFC policies.
func (c *Client) PFCPolicies() Resources[api.PFCPolicySpec, api.PFCPolicy] {
	return resourcesOf[api.PFCPolicySpec, api.PFCPolicy](c, "pfc-policies")
}

// Projects returns the projects.
func (c *Client) Projects() Resources[api.ProjectSpec, api.Project] {
	return resourcesOf[api.ProjectSpec, api.Project](c, "projects")
}

// Jobs returns the jobs.
func (c *Client) Jobs() Resources[api.JobSpec, api.Job] {
	return resourcesOf[api.JobSpec, api.Job](c, "jobs")
}

// JobReadiness returns whether the fabric is ready for a job.
func (c *Client) JobReadiness(ctx context.Context, name string) (*api.JobReadiness, error) {
	return read[api.JobReadiness](ctx, c, http.MethodGet, Path("v1", "jobs", name)+"/readiness", nil,
		nil)
}

// Leases returns the leases of paths.
func (c *Client) Leases() Resources[api.PathLeaseSpec, api.PathLease] {
	return resourcesOf[api.PathLeaseSpec, api.PathLease](c, "leases")
}

// Maintenances returns the maintenances.
func (c *Client) Maintenances() Resources[api.MaintenanceSpec, api.Maintenance] {
	return resourcesOf[api.MaintenanceSpec, api.Maintenance](c, "maintenances")
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
	return read[api.PathLease](ctx, c, http.MethodPost, Path("v1", "leases", name)+":"+verb,
		Write{Version: w.Version}.header(), nil)
}

// RenewJob renews the lease of a job. Of w, only the version counts.
func (c *Client) RenewJob(ctx context.Context, name string, w Write) (*api.Job, error) {
	return read[api.Job](ctx, c, http.MethodPost, Path("v1", "jobs", name)+":renew",
		Write{Version: w.Version}.header(), nil)
}

// Silences returns the silences of causes.
func (c *Client) Silences() Resources[api.SilenceSpec, api.Silence] {
	return resourcesOf[api.SilenceSpec, api.Silence](c, "silences")
}

// Notifications returns the notifications of causes.
func (c *Client) Notifications() Resources[api.NotificationSpec, api.Notification] {
	return resourcesOf[api.NotificationSpec, api.Notification](c, "notifications")
}

// TestNotification sends the receiver of a notification a message that reports no cause, and
// returns the receiver's answer.
func (c *Client) TestNotification(ctx context.Context, name string) (*api.NotificationTest, error) {
	return read[api.NotificationTest](ctx, c, http.MethodPost,
		Path("v1", "notifications", name)+":test", nil, nil)
}

// Networks returns the networks that clients describe.
func (c *Client) Networks() Resources[api.NetworkSpec, api.Network] {
	return resourcesOf[api.NetworkSpec, api.Network](c, "networks")
}

// CCProfiles returns the CC profiles.
func (c *Client) CCProfiles() Resources[api.CCProfileSpec, api.CCProfile] {
	return resourcesOf[api.CCProfileSpec, api.CCProfile](c, "cc-profiles")
}

// EVProfiles returns the EV profiles. EV profiles exist by themselves: the controller refuses
// Create, and Delete removes the client's spec.
func (c *Client) EVProfiles() Resources[api.EVProfileSpec, api.EVProfile] {
	return resourcesOf[api.EVProfileSpec, api.EVProfile](c, "ev-profiles")
}

// Links returns the links, one direction each, by id. Put drains them, as it does nodes, planes
// and ports of hosts; Create and Delete are refused.
func (c *Client) Links() Resources[api.AdminSpec, api.Link] {
	return resourcesOf[api.AdminSpec, api.Link](c, "links")
}

// Nodes returns the switches of the fabric, by id.
func (c *Client) Nodes() Resources[api.AdminSpec, api.Node] {
	return resourcesOf[api.AdminSpec, api.Node](c, "nodes")
}

// Planes returns the planes of the fabric, by number.
func (c *Client) Planes() Resources[api.AdminSpec, api.Plane] {
	return resourcesOf[api.AdminSpec, api.Plane](c, "planes")
}

// HostPorts returns the ports of a host, by number.
func (c *Client) HostPorts(host string) Resources[api.AdminSpec, api.HostPort] {
	return resourcesOf[api.AdminSpec, api.HostPort](c, "hosts", host, "ports")
}

// Ports returns the ports of all switches, by switch and number.
func (c *Client) Ports() View[api.Port] { return viewOf[api.Port](c, "ports") }

// SwitchPorts returns the ports of a switch, by number. Ports exist by themselves: the controller
// refuses Create, and Delete removes the client's spec.
func (c *Client) SwitchPorts(sw string) Resources[api.PortSpec, api.Port] {
	return resourcesOf[api.PortSpec, api.Port](c, "switches", sw, "ports")
}

// Hosts returns the hosts.
func (c *Client) Hosts() View[api.Host] { return viewOf[api.Host](c, "hosts") }

// Switches returns the switches.
func (c *Client) Switches() View[api.SwitchStatus] {
	return viewOf[api.SwitchStatus](c, "switches")
}

// Orphans returns what switches hold and no resource explains.
func (c *Client) Orphans() View[api.Orphan] { return viewOf[api.Orphan](c, "orphans") }

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
	return viewOf[api.Certificate](c, "certificates")
}

// BGPPeers returns the BGP-LS peers.
func (c *Client) BGPPeers() View[api.BGPPeer] { return viewOf[api.BGPPeer](c, "bgp-peers") }

// At returns the resources of the collection at a path, such as "/v1/tenants", as JSON texts, for
// programs that treat all kinds alike; [api.Object] reads any of them.
func (c *Client) At(path string) Resources[json.RawMessage, json.RawMessage] {
	return &resources[json.RawMessage, json.RawMessage]{view[json.RawMessage]{c, path}}
}

// ResetGroup gives a multicast group a new epoch, which discards all reports of its branches. Of w,
// only the version counts.
func (c *Client) ResetGroup(
	ctx context.Context, name string, w Write,
) (*api.MulticastGroup, error) {
	return read[api.MulticastGroup](ctx, c, http.MethodPost,
		Path("v1", "multicast-groups", name)+":reset", Write{Version: w.Version}.header(), nil)
}

// LatestEvents returns the latest events that a query selects, the oldest first.
func (c *Client) LatestEvents(ctx context.Context, query url.Values) ([]api.Event, error) {
	return viewOf[api.Event](c, "events", "latest").List(ctx, query)
}

// Controllers are the controllers that share the store.
func (c *Client) Controllers() View[api.Controller] {
	return viewOf[api.Controller](c, "controllers")
}

// ReplaceController lets a controller that lost its data start again, among controllers that form
// an etcd.
func (c *Client) ReplaceController(ctx context.Context, name string) error {
	_, err := c.Do(ctx, http.MethodPost, Path("v1", "controllers", name)+":replace", nil, nil)
	return err
}

// view implements [View].
type view[T any] struct {
	client *Client
	path   string
}

// resources implements [Resources].
type resources[S, T any] struct {
	view[T]
}

func viewOf[T any](c *Client, collection ...string) View[T] {
	return &view[T]{c, Path(append([]string{"v1"}, collection...)...)}
}

func resourcesOf[S, T any](c *Client, collection ...string) Resources[S, T] {
	return &resources[S, T]{view[T]{c, Path(append([]string{"v1"}, collection...)...)}}
}

func (v *view[T]) Get(ctx context.Context, name string) (*T, error) {
	return read[T](ctx, v.client, http.MethodGet, v.path+Path(name), nil, nil)
}

func (v *view[T]) List(ctx context.Context, query url.Values) ([]T, error) {
	var out, page []T
	err := v.client.pages(ctx, v.path, query, &page, func(*Answer) bool {
		out = append(out, page...)
		return true
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (v *view[T]) All(ctx context.Context, query url.Values) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var page []T
		err := v.client.pages(ctx, v.path, query, &page, func(*Answer) bool {
			for _, t := range page {
				if !yield(t, nil) {
					return false
				}
			}
			return true
		})
		if err != nil {
			var none T
			yield(none, err)
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

func (r *resources[S, T]) Create(
	ctx context.Context, name string, spec S, w Write,
) (*T, error) {
	return read[T](ctx, r.client, http.MethodPost, w.to(r.path), w.header(),
		api.Request[S]{Name: name, Spec: spec})
}

func (r *resources[S, T]) Put(ctx context.Context, name string, spec S, w Write) (*T, error) {
	return read[T](ctx, r.client, http.MethodPut, w.to(r.path+Path(name)), w.header(),
		api.Request[S]{Spec: spec})
}

func (r *resources[S, T]) Patch(
	ctx context.Context, name string, patch any, w Write,
) (*T, error) {
	h := w.header()
	h.Set("Content-Type", "application/merge-patch+json")
	return read[T](ctx, r.client, http.MethodPatch, w.to(r.path+Path(name)), h, patch)
}

func (r *resources[S, T]) Delete(ctx context.Context, name string, w Write) error {
	_, err := r.client.Do(ctx, http.MethodDelete, w.to(r.path+Path(name)), w.header(), nil)
	return err
}

func (r *resources[S, T]) TryDelete(ctx context.Context, name string, w Write) (*T, error) {
	w.DryRun = true
	return read[T](ctx, r.client, http.MethodDelete, w.to(r.path+Path(name)), w.header(), nil)
}

// read makes a request and decodes the answer.
func read[T any](
	ctx context.Context, c *Client, method, path string, header http.Header, body any,
) (*T, error) {
	t := new(T)
	if err := c.read(ctx, method, path, header, body, t); err != nil {
		return nil, err
	}
	return t, nil
}

func (c *Client) read(
	ctx context.Context, method, path string, header http.Header, body, answer any,
) error {
	a, err := c.Do(ctx, method, path, header, body)
	if err != nil {
		return err
	}
	return a.Decode(answer)
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

// pages reads a list page by page until next returns false. pages decodes the items of each page
// into items, a pointer to a slice, and calls next.
func (c *Client) pages(
	ctx context.Context, path string, query url.Values, items any, next func(*Answer) bool,
) error {
	ask := url.Values{}
	for name, values := range query {
		ask[name] = slices.Clone(values)
	}
	for {
		reflect.ValueOf(items).Elem().SetZero() // not into the items of the page before
		page := struct {
			Items    any
			Continue string
		}{Items: items}
		a, err := c.Get(ctx, path, ask)
		if err == nil {
			err = a.Decode(&page)
		}
		if err != nil {
			return err
		}
		if !next(a) || page.Continue == "" || page.Continue == ask.Get("continue") {
			return nil
		}
		// Not every list has pages, so the first request does not ask for them.
		ask.Set("limit", pageSize)
		ask.Set("continue", page.Continue)
	}
}
