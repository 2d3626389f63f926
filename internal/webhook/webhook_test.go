package webhook

import (
	"bufio"
	"context"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestSign: the signature is that of the example of the Standard Webhooks libraries.
func TestSign(t *testing.T) {
	key, err := base64.StdEncoding.DecodeString("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	const want = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	if got := Sign(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0),
		[]byte(`{"test": 2432232314}`)); got != want {
		t.Errorf("signature %s, want %s", got, want)
	}
}

// TestSend: a message has its body and signed headers; no answer but 2xx counts, a redirect leads
// nowhere, and no more of an answer is read than its bound.
func TestSend(t *testing.T) {
	key := []byte("0123456789abcdefghijklmn")
	var asked int
	var status int
	var fault string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		body, _ := io.ReadAll(r.Body)
		sent, err := strconv.ParseInt(r.Header.Get("webhook-timestamp"), 10, 64)
		if err != nil || time.Since(time.Unix(sent, 0)).Abs() > time.Minute {
			fault = "timestamp " + r.Header.Get("webhook-timestamp")
		}
		if r.Header.Get("webhook-id") != "msg_1" || r.Method != http.MethodPost ||
			string(body) != `{"a":1}` || r.Header.Get("Content-Type") != "application/json" ||
			r.Header.Get("webhook-signature") != Sign(key, "msg_1", time.Unix(sent, 0), body) {
			fault = "request " + r.Method + " " + string(body)
		}
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, strings.Repeat("x", MaxAnswer+1))
	}))
	defer s.Close()
	m := Message{URL: s.URL + "/secret-path", Key: key, ID: "msg_1", Body: []byte(`{"a":1}`)}
	for _, x := range []struct {
		status int
		want   string
	}{{200, ""}, {202, ""}, {302, "redirects are not followed"}, {307, "redirects"},
		{400, "400 Bad Request"}, {500, "500"}} {
		asked, status = 0, x.status
		a, err := NewSender(nil).Send(t.Context(), &m)
		if asked != 1 || a.Status != x.status || (err == nil) != (x.want == "") ||
			err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%d: asked %d times, %v, %v", x.status, asked, a.Status, err)
		}
		if len(a.Body) != MaxAnswer {
			t.Errorf("%d octets of the answer, want %d", len(a.Body), MaxAnswer)
		}
	}
	if fault != "" {
		t.Error(fault)
	}
	s.Close()
	if _, err := NewSender(nil).Send(t.Context(), &m); err == nil ||
		strings.Contains(err.Error(), "secret-path") {
		t.Errorf("without a receiver: %v", err)
	}
}

// TestLinkLocal: addresses of links are not reached, in any form.
func TestLinkLocal(t *testing.T) {
	for _, host := range []string{"169.254.169.254", "[fe80::1%25lo]", "[::ffff:169.254.1.1]"} {
		m := Message{URL: "http://" + host + ":1/", ID: "x"}
		if _, err := NewSender(nil).Send(t.Context(), &m); err == nil ||
			!strings.Contains(err.Error(), errReach.Error()) {
			t.Errorf("%s: %v", host, err)
		}
	}
}

// TestTimeout: a receiver that answers nothing, or that goes on answering, is given up in time.
func TestTimeout(t *testing.T) {
	for name, answer := range map[string]string{"silent": "", "slow": "HTTP/1.1 200 OK\r\nX: "} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				done := make(chan struct{})
				defer func() { _ = theirs.Close(); <-done }()
				go func() {
					defer close(done)
					_, _ = http.ReadRequest(bufio.NewReader(theirs))
					for i := 0; answer != "" && i < 60; i++ {
						if _, err := io.WriteString(theirs, answer); err != nil {
							return
						}
						time.Sleep(time.Second)
					}
				}()
				sender := NewSender(func(context.Context, string, string) (net.Conn, error) {
					return ours, nil
				})
				began := time.Now()
				_, err := sender.Send(t.Context(), &Message{URL: "http://receiver/", ID: "x"})
				if took := time.Since(began); err == nil || took != Timeout {
					t.Errorf("%v after %v", err, took)
				}
			})
		})
	}
}
