package etcd

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"go.uber.org/zap/zapcore"
)

// TestLogOfServer: the store logs errors of the etcd server until the server closes, and warnings
// after the server has started; for a client, the store always logs both. A message about removal
// by the other members always counts.
func TestLogOfServer(t *testing.T) {
	for _, c := range []struct {
		level           zapcore.Level
		started, closed bool
		want            string // how it is told
	}{
		{zapcore.InfoLevel, true, false, ""},
		{zapcore.WarnLevel, false, false, ""},
		{zapcore.WarnLevel, true, false, "level=WARN"},
		{zapcore.WarnLevel, true, true, ""},
		{zapcore.ErrorLevel, false, false, "level=ERROR"},
		{zapcore.ErrorLevel, true, false, "level=ERROR"},
		{zapcore.ErrorLevel, true, true, ""},
	} {
		for _, message := range []string{"something else", removal} {
			var out bytes.Buffer
			server := newCore(slog.New(slog.NewTextHandler(&out, nil)))
			server.started.Store(c.started)
			server.closed.Store(c.closed)
			log := server.With([]zapcore.Field{{Key: "member", Type: zapcore.StringType, String: "b"}})
			if checked := log.Check(zapcore.Entry{Level: c.level, Message: message}, nil); checked != nil {
				checked.Write(zapcore.Field{Key: "error", Type: zapcore.StringType, String: "EIO"})
			}
			got := out.String()
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("%v, started %v, closed %v: %q, want %q", c.level, c.started, c.closed, got, c.want)
			}
			for _, part := range []string{message, "component=etcd", "member:b", "error:EIO"} {
				if got != "" && !strings.Contains(got, part) {
					t.Errorf("%q lacks %q", got, part)
				}
			}
			if is := server.removed.Load(); is != (message == removal) {
				t.Errorf("after %q the member is removed: %v", message, is)
			}
		}
	}
	if !newClientCore(nil).Enabled(zapcore.WarnLevel) || newCore(nil).Enabled(zapcore.WarnLevel) {
		t.Error("warnings count of a client at once, and of a server once it has started")
	}
}

// TestLogOfProcess: log lines of a server in a separate process are logged unchanged; the server's
// last error, and its first output that is not a log line, may explain its end.
func TestLogOfProcess(t *testing.T) {
	const detail, members = "detail=map", "members="
	for _, c := range []struct {
		line        string
		want, lacks []string
		last, crash string
	}{
		{`{"level":"INFO","msg":"waits","members":"b, c"}`,
			[]string{"level=INFO", "msg=waits", `members="b, c"`}, []string{detail}, "", ""},
		{`{"level":"WARN","msg":"slow","detail":{"took":"1s"}}`,
			[]string{"level=WARN", "msg=slow", "detail=map[took:1s]"}, []string{members}, "", ""},
		{`{"level":"ERROR","msg":"failed"}`, []string{"level=ERROR", "msg=failed"},
			[]string{detail, members}, "failed", ""},
		{`{"level":"ERROR","msg":"failed","detail":{"error":"EIO"}}`,
			[]string{"level=ERROR", "detail=map[error:EIO]"}, nil, "failed: EIO", ""},
		{" ", nil, []string{"level="}, "", ""},
		{`{"level":"ERROR"}`, nil, []string{"level="}, "", `{"level":"ERROR"}`},
		{"panic: so\n", nil, []string{"level="}, "", "panic: so"},
	} {
		var out bytes.Buffer
		p := &process{log: slog.New(slog.NewTextHandler(&out, nil))}
		p.line([]byte(c.line))
		for _, part := range c.want {
			if !strings.Contains(out.String(), part) {
				t.Errorf("%s: told %q, want %q in it", c.line, out.String(), part)
			}
		}
		for _, part := range c.lacks {
			if strings.Contains(out.String(), part) {
				t.Errorf("%s: told %q, want no %q in it", c.line, out.String(), part)
			}
		}
		if p.last != c.last || p.crash != c.crash {
			t.Errorf("%s: last error %q, crash %q; want %q, %q", c.line, p.last, p.crash, c.last, c.crash)
		}
		before := p.crash
		p.line([]byte("goroutine 1 [running]:"))
		if before != "" && p.crash != before {
			t.Errorf("the crash is %q, want %q, which came first", p.crash, before)
		}
	}
}

// TestLogIsRead: each line of a server's log is forwarded until a line is too long; later output is
// read too, because the server would otherwise block for ever.
func TestLogIsRead(t *testing.T) {
	var out bytes.Buffer
	p := &process{log: slog.New(slog.NewTextHandler(&out, nil))}
	line := func(msg string) string { return `{"level":"INFO","msg":"` + msg + `"}` + "\n" }
	rest := strings.NewReader(line("first") + line("second") + strings.Repeat("x", maxLine+1) + "\n" +
		line("third"))
	p.readLog(rest)
	for msg, told := range map[string]bool{"first": true, "second": true, "third": false} {
		if strings.Contains(out.String(), "msg="+msg) != told {
			t.Errorf("%q; %s is told: %v, want %v", out.String(), msg, !told, told)
		}
	}
	if rest.Len() > 0 {
		t.Errorf("%d octets are not read", rest.Len())
	}
}
