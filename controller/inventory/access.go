package inventory

import (
	"fmt"
	"time"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/access/audit"
	"github.com/weft-sdn/weft/api"
)

// Access says who may use the API, beside the users and tokens that the API keeps.
type Access struct {
	// Certificates map client certificates (API.TLS.CA) to principals.
	Certificates []access.CertificateRule `yaml:"certificates"`
	Sessions     Sessions                 `yaml:"sessions"`
	Audit        Audit                    `yaml:"audit"`
}

// Sessions are the times of sessions.
type Sessions struct {
	// Idle is how long a session lasts without a request, default 30m; Absolute how long at most,
	// default 12h.
	Idle     api.Duration `yaml:"idle"`
	Absolute api.Duration `yaml:"absolute"`
}

// Audit bounds the audit log.
type Audit struct {
	// Octets of the records of each chain; default 8 MiB.
	Octets int `yaml:"octets"`
	// Age of records; default 2160h.
	Age api.Duration `yaml:"age"`
}

func defaultAccess() Access {
	times, keep := access.DefaultTimes(), audit.DefaultKeep()
	return Access{
		Sessions: Sessions{Idle: api.Duration(times.Idle), Absolute: api.Duration(times.Absolute)},
		Audit:    Audit{Octets: keep.Octets, Age: api.Duration(keep.Age)},
	}
}

// Bounds of the audit log: a small one would forget what happened a moment ago, a large one would
// fill the store.
const (
	minAuditOctets, maxAuditOctets = 64 << 10, 1 << 30
	minAuditAge                    = time.Hour
)

func (v *validator) access() {
	a := &v.inv.API.Access
	seen := make(map[string]bool)
	for i, c := range a.Certificates {
		at := fmt.Sprintf("api.access.certificates[%d].", i)
		switch {
		case c.Name == "":
			v.bad(at+"name", "is missing")
		case seen[c.Name]:
			v.bad(at+"name", "%q is there twice", c.Name)
		}
		seen[c.Name] = true
		v.grant(at, c.Grant)
	}
	if t := v.inv.API.TLS; len(a.Certificates) > 0 && (t == nil || t.CA == "") {
		v.bad("api.access.certificates", "has rules, and api.tls.ca names no authority of clients: want both")
	}
	if s := a.Sessions; s.Idle.D() < time.Minute {
		v.bad("api.access.sessions.idle", "is %v: want at least 1m", s.Idle)
	} else if s.Absolute < s.Idle {
		v.bad("api.access.sessions.absolute", "is %v: want at least idle, %v", s.Absolute, s.Idle)
	}
	if n := a.Audit.Octets; n < minAuditOctets || n > maxAuditOctets {
		v.bad("api.access.audit.octets", "is %d: want %d to %d", n, minAuditOctets, maxAuditOctets)
	}
	if age := a.Audit.Age.D(); age < minAuditAge {
		v.bad("api.access.audit.age", "is %v: want at least %v", age, minAuditAge)
	}
}

// grant checks a role.
func (v *validator) grant(at string, g api.Grant) {
	for _, f := range g.Validate(at) {
		v.bad(f.Field, "is %s: want %s", f.Value, f.Want)
	}
}
