package oidc

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
)

// TestAudience: whom an ID token may be for (OpenID Connect Core 1.0, section 3.1.3.7).
func TestAudience(t *testing.T) {
	for _, c := range []struct {
		name    string
		aud     []string
		azp     any
		trusted []string
		say     string // "": it counts
	}{
		{"ours", []string{"weft"}, nil, nil, ""},
		{"ours, said twice", []string{"weft"}, "weft", nil, ""},
		{"issued to another client", []string{"weft"}, "other", nil, `issued to "other"`},
		{"issued to none", []string{"weft"}, "", nil, `issued to ""`},
		{"issued to a list", []string{"weft"}, []any{"weft"}, nil, `issued to "[weft]"`},
		{"with another audience", []string{"weft", "other"}, "weft", nil, `the audience "other"`},
		{"with another audience, without azp", []string{"weft", "other"}, nil, nil,
			`the audience "other"`},
		{"with a trusted audience", []string{"other", "weft"}, "weft", []string{"other"}, ""},
		{"with a trusted audience, without azp", []string{"weft", "other"}, nil, []string{"other"},
			"issued to nobody"},
		{"with a trusted audience, issued to that", []string{"weft", "other"}, "other", []string{"other"},
			`issued to "other"`},
		{"with a trusted and another one", []string{"weft", "other", "third"}, "weft", []string{"other"},
			`the audience "third"`},
	} {
		cfg := Config{ClientID: "weft", TrustedAudiences: c.trusted}
		err := cfg.audience(c.aud, c.azp)
		if (err == nil) != (c.say == "") || err != nil && (!errors.Is(err, access.ErrCredentials) ||
			!strings.Contains(err.Error(), c.say)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.say)
		}
	}
}

// TestEmail: an address counts if the source of the address also reports the address as verified.
func TestEmail(t *testing.T) {
	type claims = map[string]any
	for _, c := range []struct {
		name         string
		signed, told claims
		text         bool
		want         string
	}{
		{"signed", claims{"email": "a", "email_verified": true}, nil, false, "a"},
		{"told", nil, claims{"email": "a", "email_verified": true}, false, "a"},
		{"not verified", claims{"email": "a", "email_verified": false}, nil, false, ""},
		{"nothing said", claims{"email": "a"}, nil, false, ""},
		{"a signed word for an address that is not", claims{"email_verified": true},
			claims{"email": "victim"}, false, ""},
		{"a word that is not signed for a signed address", claims{"email": "victim"},
			claims{"email": "a", "email_verified": true}, false, ""},
		{"a signed no", claims{"email": "a", "email_verified": false},
			claims{"email": "a", "email_verified": true}, false, ""},
		{"signed, and said by the other source", claims{"email": "a"},
			claims{"email": "a", "email_verified": true}, false, "a"},
		{"two addresses", claims{"email": "a", "email_verified": true},
			claims{"email": "b", "email_verified": true}, false, "a"},
		{"as a text", claims{"email": "a", "email_verified": "true"}, nil, false, ""},
		{"as a text, with the setting", claims{"email": "a", "email_verified": "true"}, nil, true, "a"},
		{"as another text, with the setting", claims{"email": "a", "email_verified": "True"}, nil, true,
			""},
		{"a number, with the setting", claims{"email": "a", "email_verified": 1.0}, nil, true, ""},
		{"false as a text, with the setting", claims{"email": "a", "email_verified": "false"}, nil, true,
			""},
		{"no text", claims{"email": []any{"a"}, "email_verified": true}, nil, false, ""},
	} {
		cfg := Config{Name: "email", EmailVerifiedText: c.text,
			Roles: []Rule{{Claim: "email", Value: c.want, Grant: api.Grant{Role: api.RoleAdmin}}}}
		who, err := cfg.principal(c.signed, c.told)
		if who.Name != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q, %v, want %q", c.name, who.Name, err, c.want)
		}
	}
}

// TestNamesOfPeople: a name is short and can be shown.
func TestNamesOfPeople(t *testing.T) {
	for name, ok := range map[string]bool{
		"Ann Müller": true, "安": true, strings.Repeat("n", 253): true, strings.Repeat("n", 254): false,
		strings.Repeat("n", 100_000): false,
		"a\x1b[31m":                  false, "a\nb": false, "a\u202eb": false, " a": false,
		"a\xff": false, "": false,
		"a\u0000": false,
	} {
		cfg := Config{Name: "name",
			Roles: []Rule{{Claim: "g", Value: "x", Grant: api.Grant{Role: api.RoleViewer}}}}
		_, err := cfg.principal(map[string]any{"name": name, "g": "x"}, nil)
		if (err == nil) != ok || err != nil &&
			(len(err.Error()) > 400 || strings.ContainsAny(err.Error(), "\x1b\n\u202e")) {
			t.Errorf("%.40q: %v", name, err)
		}
	}
}

// TestDefaults: a role holds for an hour.
func TestDefaults(t *testing.T) {
	p := New(Config{})
	defer p.Close()
	if p.cfg.RoleLifetime != time.Hour {
		t.Error(p.cfg.RoleLifetime)
	}
}

// TestKeptClaims: sessions keep the texts of the claims that projects name members by, by default
// those of the rules for roles, and no others. More than a session holds are refused, and named.
func TestKeptClaims(t *testing.T) {
	signed := map[string]any{"name": "ann", "groups": []any{"a", 7.0, "b"}, "dept": "net",
		"level": 3.0, "nested": map[string]any{"x": "y"}, "none": []any{}}
	roles := []Rule{{Claim: "groups", Value: "a", Grant: api.Grant{Role: api.RoleOfProjects}}}
	for _, x := range []struct {
		claims []string
		want   string
	}{
		{nil, "map[groups:[a b]]"}, {[]string{}, "map[]"}, {[]string{"dept"}, "map[dept:[net]]"},
		{[]string{"dept", "groups", "level", "nested", "none", "missing"},
			"map[dept:[net] groups:[a b]]"},
	} {
		cfg := Config{Name: "name", Roles: roles, Claims: x.claims}
		who, err := cfg.principal(signed, map[string]any{"dept": "told"})
		if err != nil || fmt.Sprint(who.Claims) != x.want {
			t.Errorf("%v: %v, %v, want %s", x.claims, who.Claims, err, x.want)
		}
	}
	for n, ok := range map[int]bool{maxValues: true, maxValues + 1: false} {
		values := make([]any, n)
		for i := range values {
			values[i] = fmt.Sprint(i)
		}
		cfg := Config{Name: "name", Roles: []Rule{{Claim: "name", Value: "ann"}},
			Claims: []string{"groups"}}
		_, err := cfg.principal(map[string]any{"name": "ann", "groups": values}, nil)
		if (err == nil) != ok || !ok && (!errors.Is(err, access.ErrCredentials) ||
			!strings.Contains(err.Error(), "the claim groups has 1025 values: want at most 1024")) {
			t.Errorf("%d values: %v", n, err)
		}
	}
	// An address counts only if it is verified, here too.
	cfg := Config{Name: "name", Roles: []Rule{{Claim: "name", Value: "ann"}},
		Claims: []string{"email"}}
	for verified, want := range map[bool]string{true: "map[email:[a@b.example]]", false: "map[]"} {
		who, err := cfg.principal(map[string]any{"name": "ann", "email": "a@b.example",
			"email_verified": verified}, nil)
		if err != nil || fmt.Sprint(who.Claims) != want {
			t.Errorf("verified %v: %v, %v", verified, who.Claims, err)
		}
	}
}
