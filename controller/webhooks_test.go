package controller_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/controllertest"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/internal/bubble"
	"github.com/weft-sdn/weft/internal/webhook"
	"github.com/weft-sdn/weft/store/storetest"
)

// receiver takes webhooks over pipes.
type receiver struct {
	net.Listener
	conns chan net.Conn

	mu     sync.Mutex
	status int
	got    []string // id and type of each message
	forged int
}

func (r *receiver) Accept() (net.Conn, error) {
	c, ok := <-r.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (*receiver) Close() error   { return nil }
func (*receiver) Addr() net.Addr { return &net.TCPAddr{} }

// dial connects a sender.
func (r *receiver) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	r.conns <- theirs
	return ours, nil
}

const receiverSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	var m struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(body, &m)
	key, _ := api.SigningKey(receiverSecret)
	id := req.Header.Get("webhook-id")
	sent, _ := strconv.ParseInt(req.Header.Get("webhook-timestamp"), 10, 64)
	r.mu.Lock()
	defer r.mu.Unlock()
	if req.Header.Get("webhook-signature") != webhook.Sign(key, id, time.Unix(sent, 0), body) ||
		sent != time.Now().Unix() {
		r.forged++
	}
	r.got = append(r.got, id+" "+m.Type)
	w.WriteHeader(r.status)
	_, _ = io.WriteString(w, "said")
}

func (r *receiver) answer(status int) (got []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	got, r.got, r.status = r.got, nil, status
	return got
}

// TestWebhooks: what the causes say arrives, signed at the time of each attempt; a receiver that
// refuses gets the same message later; a controller that may not decide any more, or whose store
// keeps nothing, sends nothing; and the next one goes on.
func TestWebhooks(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		to := &receiver{conns: make(chan net.Conn), status: 500}
		server := &http.Server{Handler: to}
		served := make(chan error, 1)
		go func() { served <- server.Serve(to) }()
		network := sample.Figure1()
		s, south := new(storetest.Faulty), new(controllertest.Southbound)
		var over error
		var mu sync.Mutex
		current := func() error { mu.Lock(); defer mu.Unlock(); return over }
		options := controller.Options{Store: s, Current: current,
			Webhooks: webhook.NewSender(false, to.dial)}
		r := runOptions(t, network, south, options)
		told := kind.Of[api.NotificationSpec, api.Notification](r.Kinds())
		put := func() {
			t.Helper()
			if _, _, err := told.Put(t.Context(), "n", api.NotificationSpec{URL: "http://receiver/",
				Secret: receiverSecret}, resource.Precondition{}); err != nil {
				t.Fatal(err)
			}
		}
		put()
		lost := api.Cause{Finding: api.Finding{ID: "switch/n1", Kind: "switch", Severity: "fault"}}
		r.SetCauses(t.Context(), []api.Cause{lost})
		time.Sleep(32 * time.Second)
		synctest.Wait()
		refused := to.answer(204)
		if len(refused) != 2 || refused[0] != refused[1] {
			t.Fatalf("%q, want the same message twice", refused)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if got := to.answer(500); len(got) != 1 || got[0] != refused[0] {
			t.Errorf("%q, want %q again", got, refused[0])
		}
		answer, err := kind.Ask[api.NotificationTest](t.Context(), told, "n", api.TestNotification{},
			resource.Precondition{})
		if err != nil || answer.Taken || answer.Status != 500 ||
			answer.Error == "" {
			t.Errorf("%+v, %v", answer, err)
		}
		if got := to.answer(204); len(got) != 1 || got[0] != answer.ID+" notification.test" {
			t.Errorf("%q", got)
		}

		mu.Lock()
		over = controller.ErrStopped
		mu.Unlock()
		r.SetCauses(t.Context(), nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := to.answer(204); len(got) > 0 {
			t.Errorf("a controller that may not decide sends %q", got)
		}
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		over = nil
		mu.Unlock()
		r = runOptions(t, network, south, options)
		time.Sleep(time.Second)
		synctest.Wait()
		if got := to.answer(204); len(got) != 1 || got[0] == refused[0] {
			t.Errorf("the next controller sends %q, want the end of the cause", got)
		}
		r.SetCauses(t.Context(), []api.Cause{lost})
		time.Sleep(25 * time.Second)
		s.Hang()
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := to.answer(204); len(got) > 0 {
			t.Errorf("%q is sent before it is kept", got)
		}
		if to.forged > 0 {
			t.Errorf("%d signatures are wrong", to.forged)
		}
		s.Answer(nil)
		if err := r.stop(); err != nil {
			t.Log(err)
		}
		close(to.conns)
		<-served
	})
}
