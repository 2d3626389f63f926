package api

import (
	"encoding/json"
	"net/http"
	"testing"
)

// TestEveryKindAnswersAlike: conditional requests (RFC 9110 section 13) to what is
// there, and to what is missing, have the same answers whatever the kind.
func TestEveryKindAnswersAlike(t *testing.T) {
	inv, snapshot := ring()
	r := startOn(t, inv, snapshot)
	// In the order in which they refer to each other.
	kinds := []struct{ path, spec string }{
		{"/v1/multicast-groups/", `{"proxyAddress":"2001:db8:ffff::1","designatedQpn":4096,"source":{"address":"2001:db8:1::1","qpn":256},"receivers":[{"address":"2001:db8:1::2","qpn":512}]}`},
		{"/v1/srv6-policies/", `{"headend":"a","endpoint":"c","segments":[{"node":"b"}]}`},
		{"/v1/tenants/", `{"slice":1,"priority":3,"sites":[{"switch":"a","port":11},{"switch":"c","port":11}],"policies":["x"]}`},
		{"/v1/pfc-policies/", `{"srv6Policy":"x","tenant":"x"}`},
	}
	send := func(step, method, path, body string, status int, problem string, headers ...string) string {
		t.Helper()
		got, header, answer := r.send(method, path, body, headers)
		var p struct{ Code string }
		if status >= 400 {
			if err := json.Unmarshal(answer, &p); err != nil {
				t.Fatalf("%s %s: %v: %s", step, path, err, answer)
			}
		}
		if got != status || p.Code != problem {
			t.Fatalf("%s: %s %s: %d %s, want %d %s\n%s", step, method, path, got, p.Code, status, problem, answer)
		}
		return header.Get("ETag")
	}
	const none, any, version = "If-None-Match: *", "If-Match: *", `If-Match: "999999"`
	for _, k := range kinds {
		path, body := k.path+"x", `{"spec":`+k.spec+`}`
		send("missing", http.MethodGet, path, "", 404, "not_found")
		send("missing", http.MethodDelete, path, "", 404, "not_found")
		send("missing", http.MethodDelete, path, "", 404, "not_found", version)
		send("missing", http.MethodPatch, path, body, 404, "not_found")
		send("missing", http.MethodPut, path, body, 412, "version_mismatch", version)
		tag := send("created", http.MethodPut, path, body, 201, "", none)
		if tag == "" {
			t.Fatalf("%s: no ETag", path)
		}
		if again := send("same", http.MethodPut, path, body, 200, ""); again != tag {
			t.Errorf("%s: the same spec again changes %s to %s", path, tag, again)
		}
		send("present", http.MethodPut, path, body, 412, "version_mismatch", none)
		send("present", http.MethodPost, k.path[:len(k.path)-1], `{"name":"x","spec":`+k.spec+`}`, 409, "already_exists")
		send("present", http.MethodPut, path, body, 412, "version_mismatch", version)
		send("present", http.MethodPatch, path, body, 412, "version_mismatch", version)
		send("present", http.MethodDelete, path, "", 412, "version_mismatch", version)
		send("present", http.MethodPut, path, body, 200, "", any)
		send("present", http.MethodPut, path, body, 200, "", "If-Match: "+tag)
	}
	for i := len(kinds) - 1; i >= 0; i-- {
		path := kinds[i].path + "x"
		send("tried", http.MethodDelete, path+"?dryRun=true", "", 412, "version_mismatch", version)
		send("tried", http.MethodDelete, path+"?dryRun=true", "", 200, "")
		tag := send("present", http.MethodGet, path, "", 200, "")
		send("deleted", http.MethodDelete, path, "", 204, "", "If-Match: "+tag)
		send("deleted", http.MethodGet, path, "", 404, "not_found")
	}
}
