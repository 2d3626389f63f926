package oidc

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/bubble"
)

// issuer is a provider in memory that signs the ID token of whoever asks.
type issuer struct {
	key            ed25519.PrivateKey
	claims, person map[string]any // of the ID token, and of the UserInfo response
}

func (i *issuer) RoundTrip(r *http.Request) (*http.Response, error) {
	const at = "https://login.example"
	text := base64.RawURLEncoding.EncodeToString
	var answer any
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		answer = map[string]any{"issuer": at, "authorization_endpoint": at + "/auth",
			"token_endpoint": at + "/token", "jwks_uri": at + "/keys", "userinfo_endpoint": at + "/userinfo",
			"id_token_signing_alg_values_supported": []string{"EdDSA"}}
	case "/keys":
		answer = map[string]any{"keys": []any{map[string]any{"kty": "OKP", "crv": "Ed25519",
			"x": text(i.key.Public().(ed25519.PublicKey))}}}
	case "/userinfo":
		answer = i.person
	case "/token":
		claims, err := json.Marshal(i.claims)
		if err != nil {
			return nil, err
		}
		signed := text([]byte(`{"alg":"EdDSA"}`)) + "." + text(claims)
		answer = map[string]any{"access_token": "a", "token_type": "Bearer",
			"id_token": signed + "." + text(ed25519.Sign(i.key, []byte(signed)))}
	default:
		return nil, fmt.Errorf("no such page: %s", r.URL)
	}
	b, err := json.Marshal(answer)
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(string(b))), Request: r}, err
}

// TestFinish: an attempt and a device's sign-in count up to the moment at which they expire; an ID
// token counts for the attempt whose nonce it has; the UserInfo response is about the same subject
// (OpenID Connect Core 1.0, sections 3.1.3.7 and 5.3.2).
func TestFinish(t *testing.T) {
	for _, c := range []struct {
		name    string
		late    time.Duration
		claims  map[string]any
		person  map[string]any
		code    string // of the device
		refused string
	}{
		{name: "in time", late: attemptTime},
		{name: "late", late: attemptTime + 1, refused: "took more than"},
		{name: "another nonce", claims: map[string]any{"nonce": "other"}, refused: "another attempt"},
		{name: "no nonce", claims: map[string]any{"nonce": ""}, refused: "another attempt"},
		{name: "another subject", person: map[string]any{"sub": "bob"}, refused: "another person"},
		{name: "device in time", code: "d", late: attemptTime, claims: map[string]any{"nonce": nil}},
		{name: "device late", code: "d", late: attemptTime + 1, refused: "has expired"},
		{name: "device, another subject", code: "d", person: map[string]any{"sub": "bob"},
			refused: "another person"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				p := New(Config{Issuer: "https://login.example", ClientID: "weft", Name: "name",
					Roles: []Rule{{Claim: "name", Value: "ann", Grant: api.Grant{Role: api.RoleViewer}}}})
				defer p.Close()
				now := time.Now()
				i := &issuer{key: ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)),
					person: map[string]any{"sub": "ann"}}
				p.client.Transport = i
				a, _, err := p.Begin(t.Context(), "/", now)
				if err != nil {
					t.Fatal(err)
				}
				i.claims = map[string]any{"iss": "https://login.example", "aud": "weft", "sub": "ann",
					"name": "ann", "nonce": a.Nonce, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
				maps.Copy(i.claims, c.claims)
				maps.Copy(i.person, c.person)
				var who access.Principal
				if c.code != "" {
					who, err = p.FinishDevice(t.Context(), &Device{c.code, a.Expires}, now.Add(c.late))
				} else {
					who, err = p.Finish(t.Context(), a, a.State, "code", now.Add(c.late))
				}
				if c.refused == "" && (err != nil || who.Name != "ann") {
					t.Errorf("%q, %v", who.Name, err)
				} else if c.refused != "" && (!errors.Is(err, access.ErrCredentials) ||
					!strings.Contains(err.Error(), c.refused)) {
					t.Errorf("%v, want %q", err, c.refused)
				}
			})
		})
	}
}
