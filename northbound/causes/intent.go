package causes

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
)

// portFindings returns a finding for each port of a switch that does not have its settings.
func (v *view) portFindings() (out []finding) {
	for i := range v.Ports {
		p := &v.Ports[i]
		s := &p.Status
		name := fmt.Sprintf("Port %d of %s", s.Port, s.Switch)
		f := api.Finding{ID: "settings/" + p.Name, Kind: "port",
			Object: fmt.Sprintf("switches/%s/ports/%d", s.Switch, s.Port)}
		for _, x := range v.conditions(s.Conditions, f, name, []string{s.Switch}, nil) {
			x.Severity, x.What = api.SeverityWarning, name+" does not have all of its settings"
			x.Means = "The port goes on with the settings that it has."
			out = append(out, x)
		}
	}
	return out
}

// intentFindings returns findings for resources that carry no traffic themselves: networks, jobs,
// leases, maintenances and notifications.
func (v *view) intentFindings() (out []finding) {
	add := func(all api.Conditions, f api.Finding, what, means, todo string) {
		for _, x := range v.conditions(all, f, f.Object, nil, nil) {
			x.Severity, x.What, x.Means, x.Todo = api.SeverityWarning, what, means, todo
			out = append(out, x)
		}
	}
	for i := range v.Networks {
		n := &v.Networks[i]
		add(n.Status.Conditions, api.Finding{ID: "network/" + n.Name, Kind: "network",
			Object: "networks/" + n.Name}, fmt.Sprintf("Network %s is not in force as it is described",
			n.Name), "The topology has what the other source says.",
			"Take out what the other source knows, or have that source not say it.")
	}
	for i := range v.Jobs {
		j := &v.Jobs[i]
		if c := j.Status.Conditions.Find(api.Accepted); c != nil && !c.Status {
			add(api.Conditions{*c}, api.Finding{ID: "job/" + j.Name, Kind: "job",
				Object: "jobs/" + j.Name}, fmt.Sprintf("Job %s is not accepted", j.Name),
				"Nothing is made ready for it.", "Write the job anew.")
		}
	}
	for i := range v.Leases {
		for _, find := range []func(*api.PathLease) (finding, bool){v.unleased, v.blocking} {
			if f, ok := find(&v.Leases[i]); ok {
				out = append(out, f)
			}
		}
	}
	for i := range v.Maintenances {
		if f, ok := maintained(&v.Maintenances[i]); ok {
			out = append(out, f)
		}
	}
	for i := range v.Notifications {
		n := &v.Notifications[i]
		add(n.Status.Conditions, api.Finding{ID: "notification/" + n.Name, Kind: "notification",
			Object: "notifications/" + n.Name},
			fmt.Sprintf("Notification %s does not reach its receiver", n.Name),
			"The receiver is not told of causes.",
			"See that the receiver runs and takes the messages, and that the secret is the same.")
	}
	return out
}

// unleased returns the finding for a lease that has lost its paths, or some paths to another lease;
// false: the lease has its paths, or has ended.
func (v *view) unleased(l *api.PathLease) (f finding, ok bool) {
	c := l.Status.Conditions.Find(api.Accepted)
	if c == nil || c.Status {
		if c = l.Status.Conditions.Find(api.Ready); c == nil || c.Reason == api.ReasonEnded ||
			c.Status && c.Reason != api.ReasonPreempted {
			return f, false
		}
	}
	f.Finding = api.Finding{
		ID: "lease/" + l.Name, Kind: "lease", Object: "leases/" + l.Name,
		Severity: api.SeverityWarning, Since: c.LastTransition,
		What:   fmt.Sprintf("Lease %s has no paths", l.Name),
		Detail: sentence(cmp.Or(l.Status.Reason, c.Message, words(c.Reason))),
		Means:  "Its client has no links that nobody else uses.",
		Todo: "Wait: it is tried again when the network changes. Or free links, or ask for fewer " +
			"paths.",
	}
	if slices.Contains(ofNetwork, c.Reason) {
		f.because = []string{anywhere}
	}
	if c.Reason == api.ReasonPreempted {
		f.What = fmt.Sprintf("Another lease has taken links from lease %s", l.Name)
		f.Todo = "See which lease it is, and whether its priority is right."
		for i := range v.Leases {
			if slices.Contains(v.Leases[i].Status.TookFrom, l.Name) {
				f.by = "leases/" + v.Leases[i].Name
			}
		}
	}
	return f, true
}

// Blocked returns the jobs that a lease blocks, the most important job first: those that depend on
// links that the lease has for itself, except the job that the lease is for. of is
// [Known.Dependents].
func Blocked(l *api.PathLease, of func(api.Part) []api.JobDependent) []api.JobDependent {
	if of == nil {
		return nil
	}
	return slices.DeleteFunc(dependentsOf(l.Alone(), of), func(j api.JobDependent) bool {
		return j.Name == l.Spec.Job
	})
}

// blocking returns the finding for a lease that blocks jobs; false: it blocks none.
func (v *view) blocking(l *api.PathLease) (f finding, ok bool) {
	jobs := Blocked(l, v.Dependents)
	if len(jobs) == 0 {
		return f, false
	}
	f.by, f.jobs = "leases/"+l.Name, causeJobs(jobs)
	f.Finding = api.Finding{
		ID: "blocks/" + l.Name, Kind: "lease", Object: f.by, Severity: api.SeverityWarning,
		Since: l.Status.Granted,
		What:  fmt.Sprintf("Lease %s blocks %s", l.Name, Count(len(jobs), "job")),
		Detail: "It has links for itself on which ranks of these jobs depend: " +
			v.jobNames(jobs) + ".",
		Means: "The jobs are NO-GO while the lease lasts.",
		Todo:  "Delete the lease, or take other links for it.",
	}
	if end := l.Status.Ends; !end.IsZero() {
		f.Todo = "Wait for the end of the lease at " + end.UTC().Format(time.RFC3339) + ", or delete it."
	}
	return f, true
}

// ongoing reports whether a maintenance has its objects drained.
func ongoing(m *api.Maintenance) bool {
	return m.Status.Phase == api.MaintenanceDraining || m.Status.Phase == api.MaintenanceActive
}

// maintained returns the finding for a maintenance that is under way, or that takes something from
// jobs; false: neither.
func maintained(m *api.Maintenance) (f finding, ok bool) {
	f.by = "maintenances/" + m.Name
	f.Finding = api.Finding{
		ID: "maintenance/" + m.Name, Kind: "maintenance", Object: "maintenances/" + m.Name,
		Severity: api.SeverityWork, Since: m.Status.Drains,
		What:   fmt.Sprintf("Maintenance %s is under way", m.Name),
		Detail: Count(len(m.Spec.Objects), "part") + " of the network out of use.",
		Means:  "Nobody uses its objects: traffic takes what is left.",
		Todo:   "Nothing: what it drains is used again when it ends.",
	}
	c := m.Status.Conditions.Find(api.Degraded)
	if c == nil || !c.Status {
		return f, ongoing(m)
	}
	f.Severity, f.Detail = api.SeverityWarning, sentence(c.Message)
	f.Todo = "See its page for the jobs and objects; change its time, or delete it."
	f.What = fmt.Sprintf("Maintenance %s takes paths from jobs", m.Name)
	f.Means = "The jobs have fewer paths while it lasts, or none."
	if c.Reason != api.ReasonJobsConcerned {
		f.What = fmt.Sprintf("Maintenance %s cannot drain all of its objects", m.Name)
		f.Means = "Hosts use what is to be maintained."
	}
	return f, true
}

// outOfUse returns the findings for running maintenances, by the parts taken out of use: link/ID,
// node/NAME, plane/NUMBER and port/HOST/NUMBER.
func (v *view) outOfUse() map[string]string {
	out := make(map[string]string)
	for i := range v.Maintenances {
		m := &v.Maintenances[i]
		if !ongoing(m) {
			continue
		}
		id := "maintenance/" + m.Name
		for _, o := range m.Spec.Objects {
			switch {
			case o.Link != "":
				out["link/"+string(cable(o.Link))] = id
			case o.Node != "":
				out["node/"+o.Node] = id
			case o.Plane != 0:
				out[fmt.Sprintf("plane/%d", o.Plane)] = id
			default:
				out[fmt.Sprintf("port/%s/%d", o.Host, o.Port)] = id
			}
		}
	}
	return out
}

// add appends the finding of the drain or maintenance that has taken a part out of use, if any.
func (v *view) add(because []string, part string) []string {
	if id := v.away[part]; id != "" {
		return append(because, id)
	}
	return because
}
