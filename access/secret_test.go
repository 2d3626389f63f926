package access

import (
	"strings"
	"testing"
)

// TestSplit: a valid client token has the mark, an identifier of 24 octets and a secret of 64
// digits.
func TestSplit(t *testing.T) {
	id, secret := strings.Repeat("i", 24), strings.Repeat("0", 2*secretOctets)
	for text, want := range map[string]bool{
		joined("m_", id, secret):       true,
		joined("n_", id, secret):       false,
		joined("m_", id[1:], secret):   false,
		joined("m_", id+"i", secret):   false,
		joined("m_", id, secret[1:]):   false,
		joined("m_", id, secret+"0"):   false,
		"m_" + id + secret:             false,
		"m_" + id:                      false,
		"m_":                           false,
		"":                             false,
		joined("m_", "", secret):       false,
		joined("m_", id, ""):           false,
		"m_" + id + "_" + secret + "_": false,
	} {
		gotID, gotSecret, ok := split("m_", text)
		if ok != want || ok && (gotID != id || gotSecret != secret) {
			t.Errorf("%q: %q, %q, %v; want %v", text, gotID, gotSecret, ok, want)
		}
	}
}

// TestEmpty: a directory reports a store without users and tokens as empty only after reading the
// store.
func TestEmpty(t *testing.T) {
	for _, c := range []struct {
		of   *Directory
		want bool
	}{
		{&Directory{}, false},
		{&Directory{loaded: true}, true},
		{&Directory{loaded: true, users: map[string]user{"a": {}}}, false},
		{&Directory{loaded: true, tokens: map[string]token{"a": {}}}, false},
	} {
		if got := c.of.Empty(); got != c.want {
			t.Errorf("read %v, %d users, %d tokens: empty %v, want %v", c.of.loaded, len(c.of.users),
				len(c.of.tokens), got, c.want)
		}
	}
}
