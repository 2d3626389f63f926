package job

import (
	"net/http"
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	code := m.Run()
	http.DefaultClient.CloseIdleConnections()
	if code == 0 {
		// GoBGP closes the queue of a session without waiting for it to be empty, and then its
		// goroutine stays.
		if err := goleak.Find(goleak.IgnoreTopFunction(
			"github.com/eapache/channels.(*InfiniteChannel).infiniteBuffer")); err != nil {
			println(err.Error())
			code = 1
		}
	}
	os.Exit(code)
}
