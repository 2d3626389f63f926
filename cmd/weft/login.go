package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
)

const (
	sessionPath  = "/v1/session"
	usersPath    = "/v1/users"
	tokensPath   = "/v1/tokens"
	sessionsPath = "/v1/sessions"
)

// prompter asks for lines on standard input: one reader for all of them.
type prompter struct {
	env   environment
	lines *bufio.Reader
}

func newPrompter(env environment) *prompter { return &prompter{env, bufio.NewReader(env.stdin)} }

// line asks for a line.
func (p *prompter) line(what string) (string, error) {
	fmt.Fprint(p.env.stderr, what+": ")
	text, err := p.lines.ReadString('\n')
	if err == io.EOF && text != "" {
		err = nil
	}
	if err != nil {
		return "", usagef("%s: want a line on standard input", strings.ToLower(what))
	}
	return strings.TrimRight(text, "\r\n"), nil
}

// secret asks for a line that a terminal does not show.
func (p *prompter) secret(what string) (string, error) {
	f, ok := p.env.stdin.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return p.line(what)
	}
	fmt.Fprint(p.env.stderr, what+": ")
	text, err := term.ReadPassword(int(f.Fd()))
	fmt.Fprintln(p.env.stderr)
	return string(text), err
}

func newLogin(env environment) *cobra.Command {
	var conn connection
	var user string
	var oidc bool
	c := &cobra.Command{
		Use: "login", Short: "Sign in at a controller",
		Long: `Signs in with a local user's name and password, or with --oidc by an OpenID Connect
provider (device flow), and keeps the session for the commands that follow, in a file that
its owner alone can read: credentials.json in $XDG_CONFIG_HOME/weft or ~/.config/weft, or
the file of WEFT_CREDENTIALS. Where standard input is no terminal, it has the name (without
--user) and the password, a line each.`,
		Args: arguments(0, 0),
	}
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		kept, err := loadCredentials(env)
		if err != nil {
			return &usageError{err}
		}
		conn.anew = true
		rest, err := conn.open(env)
		if err != nil {
			return err
		}
		defer rest.Close()
		begin := signIn
		if oidc {
			begin = signInByDevice
		}
		s, err := begin(cmd.Context(), env, rest, user)
		if err != nil {
			return err
		}
		kept.Servers[conn.serverURL(env)] = credential{Name: s.Name, Token: s.Token, Expires: s.Expires}
		if err := kept.save(); err != nil {
			return err
		}
		_, err = fmt.Fprintln(env.stdout, sessionText(s))
		return err
	}
	c.Flags().StringVar(&user, "user", "", "name of the local user (default: ask)")
	c.Flags().BoolVar(&oidc, "oidc", false, "sign in by the OpenID Connect provider of the controller")
	conn.register(c)
	return c
}

// signIn begins a session with a password.
func signIn(ctx context.Context, env environment, rest *client.Client, user string) (s api.Session,
	err error) {
	ask := newPrompter(env)
	if user == "" {
		if user, err = ask.line("User"); err != nil {
			return s, err
		}
	}
	password, err := ask.secret("Password")
	if err != nil {
		return s, err
	}
	return post[api.Session](ctx, rest, sessionPath, api.SignIn{User: user, Password: password,
		Bearer: true})
}

// signInByDevice begins a session of whom the OpenID Connect provider of the controller names.
func signInByDevice(ctx context.Context, env environment, rest *client.Client,
	_ string) (s api.Session, err error) {
	d, err := post[api.DeviceSignIn](ctx, rest, "/v1/oidc/device", nil)
	if err != nil {
		return s, err
	}
	fmt.Fprintf(env.stderr, "Open %s and enter %s\n", inLine(d.VerificationURI), inLine(d.UserCode))
	if d.VerificationURIComplete != "" {
		fmt.Fprintf(env.stderr, "or open %s\n", inLine(d.VerificationURIComplete))
	}
	for {
		select {
		case <-time.After(d.Interval.D()):
		case <-ctx.Done():
			return s, ctx.Err()
		}
		s, err = post[api.Session](ctx, rest, sessionPath, api.SignIn{Device: d.Handle, Bearer: true})
		var p *api.Problem
		if !asProblem(err, &p) || p.Code != "pending" {
			return s, err
		}
	}
}

// post sends a body and returns the answer.
func post[T any](ctx context.Context, rest *client.Client, path string, body any) (out T,
	err error) {
	a, err := rest.Do(ctx, http.MethodPost, path, nil, body)
	if err == nil {
		err = a.Decode(&out)
	}
	return out, err
}

func get[T any](ctx context.Context, rest *client.Client, path string) (out T, err error) {
	a, err := rest.Get(ctx, path, nil)
	if err == nil {
		err = a.Decode(&out)
	}
	return out, err
}

// sessionText reports who somebody is in a line.
func sessionText(s api.Session) string {
	if s.Way == "" {
		return "nobody: the API asks for credentials (weft login)"
	}
	out := inLine(s.Name) + ", " + inLine(grantText(s.Grant))
	if s.Way == api.WayNone {
		out += ": the API asks for no credentials"
	}
	if !s.Expires.IsZero() {
		out += ", until " + s.Expires.UTC().Format(time.RFC3339)
	}
	return out
}

func grantText(g api.Grant) string {
	if g.Role == api.RoleTenant {
		return "role tenant of " + g.Tenant
	}
	return "role " + string(g.Role)
}

func newLogout(env environment) *cobra.Command {
	var conn connection
	c := &cobra.Command{
		Use: "logout", Short: "Sign out of a controller",
		Long: `Ends the session of "weft login" at the controller, and forgets it.`,
		Args: arguments(0, 0),
	}
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		kept, err := loadCredentials(env)
		if err != nil {
			return &usageError{err}
		}
		server := conn.serverURL(env)
		was, ok := kept.Servers[server]
		if !ok {
			return fmt.Errorf("logout: there is no session at %s", server)
		}
		conn.token = was.Token
		rest, err := conn.open(env)
		if err != nil {
			return err
		}
		defer rest.Close()
		_, ended := rest.Do(cmd.Context(), http.MethodDelete, sessionPath, nil, nil)
		delete(kept.Servers, server) // whatever the controller says
		if err := kept.save(); err != nil {
			return err
		}
		var p *api.Problem
		if asProblem(ended, &p) && p.Status == http.StatusUnauthorized {
			ended = nil // it was over
		}
		if ended != nil {
			return fmt.Errorf("the session is forgotten here, and may go on at the controller: %w", ended)
		}
		_, err = fmt.Fprintf(env.stdout, "%s signed out\n", inLine(was.Name))
		return err
	}
	conn.register(c)
	return c
}

func newWhoami(env environment) *cobra.Command {
	var conn connection
	var out format
	c := &cobra.Command{Use: "whoami", Short: "Show who you are at a controller",
		Long: "Shows the principal, its role and its scopes.", Args: arguments(0, 0)}
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		rest, err := conn.open(env)
		if err != nil {
			return err
		}
		defer rest.Close()
		a, err := rest.Get(cmd.Context(), sessionPath, nil)
		if err != nil {
			return err
		}
		var s api.Session
		if err := a.Decode(&s); err != nil {
			return err
		}
		return out.write(env.stdout, a.Body, sure(func(w *bytes.Buffer) {
			fmt.Fprintf(w, "%s\nscopes: %s\n", sessionText(s), inLine(strings.Join(s.Scopes, " ")))
		}))
	}
	out.register(c)
	conn.register(c)
	return c
}
