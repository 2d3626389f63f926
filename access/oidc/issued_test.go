package oidc

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	gooidc "github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/weft-sdn/weft/api"
)

// TestIssuedAhead: an ID token that was issued later than the clocks may differ is refused, with
// the time and what would be right.
func TestIssuedAhead(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	text := base64.RawURLEncoding.EncodeToString
	keys := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"keys":[{"kty":"RSA","alg":"RS256","use":"sig","n":%q,"e":"AQAB"}]}`,
			text(key.N.Bytes()))
	}))
	defer keys.Close()
	p := New(Config{ClientID: "weft", Name: "sub",
		Roles: []Rule{{Claim: "sub", Value: "ann", Grant: api.Grant{Role: api.RoleViewer}}}})
	defer p.Close()
	found := (&gooidc.ProviderConfig{IssuerURL: "https://idp", JWKSURL: keys.URL,
		Algorithms: []string{gooidc.RS256}}).NewProvider(p.context(t.Context()))
	now := time.Now().Truncate(time.Second)
	for _, c := range []struct {
		ahead time.Duration
		ok    bool
	}{{-time.Hour, true}, {0, true}, {maxAhead - time.Second, true}, {maxAhead, true},
		{maxAhead + time.Second, false}, {24 * 365 * time.Hour, false}} {
		claims, err := json.Marshal(map[string]any{"iss": "https://idp", "aud": "weft", "sub": "ann",
			"iat": now.Add(c.ahead).Unix(), "exp": now.Add(1000 * 24 * time.Hour).Unix()})
		if err != nil {
			t.Fatal(err)
		}
		signed := text([]byte(`{"alg":"RS256"}`)) + "." + text(claims)
		sum := sha256.Sum256([]byte(signed))
		signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
		if err != nil {
			t.Fatal(err)
		}
		token := (&oauth2.Token{}).WithExtra(map[string]any{"id_token": signed + "." + text(signature)})
		_, err = p.principal(t.Context(), found, token, "", now)
		if (err == nil) != c.ok || err != nil && !strings.Contains(err.Error(), "want at most 5m0s") {
			t.Errorf("issued %v ahead: %v", c.ahead, err)
		}
	}
}
