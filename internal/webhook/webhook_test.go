package webhook

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/internal/bubble"
)

// TestSign: the signature equals the example in the Standard Webhooks libraries.
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

// TestSend: a message has its body and signed headers; no answer but 2xx counts, and a redirect
// leads nowhere.
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
		a, err := NewSender(true, nil).Send(t.Context(), &m)
		if asked != 1 || a.Status != x.status || (err == nil) != (x.want == "") ||
			err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%d: asked %d times, %v, %v", x.status, asked, a.Status, err)
		}
	}
	if fault != "" {
		t.Error(fault)
	}
	s.Close()
	if _, err := NewSender(true, nil).Send(t.Context(), &m); err == nil ||
		strings.Contains(err.Error(), "secret-path") {
		t.Errorf("without a receiver: %v", err)
	}
}

// TestReach: the sender does not reach addresses that cannot belong to a receiver, in any form and
// behind any name, and reaches this machine's addresses only if allowed.
func TestReach(t *testing.T) {
	const link, cloud, many = "address of a link", "hands out", "many machines"
	const here = "loopbackWebhooks"
	for at, want := range map[string]string{
		"169.254.169.254": link, "fe80::1%lo": link, "::ffff:169.254.1.1": link, "169.253.255.255": "",
		"169.255.0.0": "", "64:ff9b::a9fe:a9fe": link, "64:ff9b:1::a9fe:a9fe": link,
		"2002:a9fe:a9fe::1": link, "::a9fe:a9fe": link, "fec0::1": "", "fe80::": link, "febf::1": link,
		"fd00:ec2::254": cloud, "fd00:ec2::253": "", "fd20:ce::254": cloud, "fd00:42::42": cloud,
		"100.100.100.200": cloud, "64:ff9b::6464:64c8": cloud, "168.63.129.16": cloud,
		"192.0.0.192": cloud, "ff02::1": many, "224.0.0.1": many, "255.255.255.255": many,
		"127.0.0.1": here, "127.255.255.254": here, "::1": here, "::ffff:127.0.0.1": here,
		"0.0.0.0": here, "0.1.2.3": here, "::": here, "64:ff9b::7f00:1": here, "::127.0.0.1": here,
		"2002:7f00:1::": here, "128.0.0.1": "", "126.255.255.255": "", "10.0.0.1": "", "fd00::1": "",
		"192.0.2.1": "", "2001:db8::1": "", "64:ff9b::c000:201": "", "2002:c000:201::1": "",
	} {
		for _, loopback := range []bool{false, true} {
			err := NewSender(loopback, nil).reachable(netip.MustParseAddr(at))
			if want := want; (want == "" || want == here && loopback) != (err == nil) ||
				err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s, loopback %v: %v, want %q", at, loopback, err, want)
			}
		}
	}
	// The address counts that is dialled, whatever name led there.
	asked := false
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked = true
	}))
	defer s.Close()
	for _, url := range []string{s.URL, strings.Replace(s.URL, "127.0.0.1", "localhost", 1),
		strings.Replace(s.URL, "127.0.0.1", "[::ffff:127.0.0.1]", 1)} {
		if _, err := NewSender(false, nil).Send(t.Context(), &Message{URL: url, ID: "x"}); err == nil ||
			!strings.Contains(err.Error(), here) || asked {
			t.Errorf("%s: %v, asked %v", url, err, asked)
		}
	}
}

// proxied marks the process of TestByProxy whose environment names a proxy: net/http reads the
// environment of a process once.
const proxied = "WEFT_TEST_PROXIED"

// TestByProxy: a proxy looks names up, and the sender judges addresses in URLs before the proxy
// gets the message.
func TestByProxy(t *testing.T) {
	if os.Getenv(proxied) == "" {
		asked := make(chan string, 9)
		s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			asked <- r.URL.Host
		}))
		defer s.Close()
		c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestByProxy$")
		c.Env = append(os.Environ(), proxied+"=1", "HTTP_PROXY="+s.URL, "NO_PROXY=", "no_proxy=")
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		close(asked)
		for host := range asked {
			if host != "receiver.example" {
				t.Errorf("the proxy was asked for %s", host)
			}
		}
		return
	}
	for url, want := range map[string]string{"http://receiver.example/": "",
		"http://169.254.169.254/": "address of a link", "http://[fd00:ec2::254]/": "hands out"} {
		_, err := NewSender(false, nil).Send(t.Context(), &Message{URL: url, ID: "x"})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
	}
}

// TestSaysNothingOfOthers: the error never shows the answer of a machine that is not a receiver:
// neither the banner of another protocol, nor a body, nor the words behind a status.
func TestSaysNothingOfOthers(t *testing.T) {
	for _, said := range []string{"SSH-2.0-secret\r\n", "HTTP/1.1 403 secret\r\n\r\nsecret",
		"HTTP/1.1 200 OK\r\nsecret\r\n\r\n", "HTTP/1.1 secret\r\n\r\n", "HTTP/1.1 799 secret\r\n\r\n",
		"HTTP/1.1 302 secret\r\nLocation: http://secret/\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: secret\r\n\r\n"} {
		ours, theirs := net.Pipe()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = http.ReadRequest(bufio.NewReader(theirs))
			_, _ = io.WriteString(theirs, said)
			_ = theirs.Close()
		}()
		a, err := NewSender(false, func(context.Context, string, string) (net.Conn, error) {
			return ours, nil
		}).Send(t.Context(), &Message{URL: "http://receiver/", ID: "x"})
		<-done
		if text := fmt.Sprint(a, err); err == nil || strings.Contains(text, "secret") {
			t.Errorf("%q: %s", said, text)
		}
	}
}

// TestTimeout: a receiver that answers nothing, or that goes on answering, is given up in time.
func TestTimeout(t *testing.T) {
	for name, answer := range map[string]string{"silent": "", "slow": "HTTP/1.1 200 OK\r\nX: "} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
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
				sender := NewSender(false, func(context.Context, string, string) (net.Conn, error) {
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
