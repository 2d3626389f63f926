package store

import "testing"

// TestNewer: in a record with fields added after a version, Newer finds the first such field with a
// value; Newer also finds a kind of record added later.
func TestNewer(t *testing.T) {
	const groups = "groups/"
	known := since()
	known[[2]string{groups, ".spec.receivers[].qpn"}] = Schema + 1
	known[[2]string{groups, ".spec.labels.*"}] = Schema + 1
	known[[2]string{"meters/", ""}] = Schema + 1
	t.Cleanup(func() {
		delete(known, [2]string{"meters/", ""})
		delete(known, [2]string{groups, ".spec.labels.*"})
		known[[2]string{groups, ".spec.receivers[].qpn"}] = 2
	})
	for _, c := range []struct{ form, value, want string }{
		{groups, `{"spec":{"receivers":[{"qpn":0},{"qpn":7}]}}`, "spec.receivers[].qpn"},
		{groups, `{"spec":{"receivers":[{"qpn":0},{"qpn":null}],"source":{"qpn":7}}}`, ""},
		{groups, `{"spec":{"labels":{"a":"","b":"x"}}}`, "spec.labels.*"},
		{groups, `{"spec":{"labels":{"a":false}}}`, ""},
		{groups, `{"spec":{"unheard":{"of":7}}}`, ""},
		{groups, `7`, ""},
		{groups, `{`, ""},
		{groups, `null`, ""},
		{"meters/", `{}`, "a kind"},
	} {
		path, added := Newer(c.form, []byte(c.value), Schema)
		if c.want == "a kind" && path == "" && added == Schema+1 {
			continue
		}
		if path != c.want || (added == Schema+1) != (path != "") {
			t.Errorf("%s %s: %q of version %d, want %q", c.form, c.value, path, added, c.want)
		}
		if path, added := Newer(c.form, []byte(c.value), Schema+1); added != 0 {
			t.Errorf("%s %s: %q of version %d is newer than that", c.form, c.value, path, added)
		}
	}
}
