package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
)

func asProblem(err error, p **api.Problem) bool { return errors.As(err, p) }

// grantFlags are the flags of a role.
type grantFlags struct{ role, tenant string }

func (g *grantFlags) register(c *cobra.Command) {
	c.Flags().StringVar(&g.role, "role", "", "viewer, operator, tenant or admin")
	c.Flags().StringVar(&g.tenant, "tenant", "", "with the role tenant: the name of the tenant")
	var roles []string
	for _, r := range api.Roles() {
		roles = append(roles, string(r))
	}
	flagValues(c, "role", values(roles...))
}

func (g *grantFlags) grant() (api.Grant, error) {
	if g.role == "" {
		return api.Grant{}, usagef("--role is missing: want viewer, operator, tenant or admin")
	}
	return api.Grant{Role: api.Role(g.role), Tenant: g.tenant}, nil
}

// roleCell is a role in a table.
func roleCell(g api.Grant) string {
	if g.Role == api.RoleTenant {
		return "tenant/" + g.Tenant
	}
	return string(g.Role)
}

// at makes a command of a request to a controller.
func at(env environment, c *cobra.Command, run func(cmd *cobra.Command, rest *client.Client,
	args []string) error) *cobra.Command {
	var conn connection
	c.RunE = func(cmd *cobra.Command, args []string) error {
		rest, err := conn.open(env)
		if err != nil {
			return err
		}
		defer rest.Close()
		return run(cmd, rest, args)
	}
	conn.register(c)
	return c
}

// listing makes a command that lists a collection.
func listing[T any](env environment, short, path string,
	table func(*bytes.Buffer, []T)) *cobra.Command {
	var out format
	c := &cobra.Command{Use: "list", Short: short, Long: short + ".", Args: arguments(0, 0)}
	out.register(c)
	return at(env, c, func(cmd *cobra.Command, rest *client.Client, _ []string) error {
		items, err := rest.List(cmd.Context(), path, nil)
		if err != nil {
			return err
		}
		all, err := client.DecodeItems[T](items)
		if err != nil {
			return err
		}
		document, err := json.Marshal(items)
		if err != nil {
			return err
		}
		return out.write(env.stdout, document, sure(func(w *bytes.Buffer) { table(w, all) }))
	})
}

func newToken(env environment) *cobra.Command {
	f := family("token", "Make and revoke tokens for programs",
		"Makes, lists and revokes tokens. A program sends one as a bearer token (--token, WEFT_TOKEN).")
	var grant grantFlags
	var lifetime time.Duration
	create := &cobra.Command{
		Use: "create NAME --role ROLE", Short: "Make a token",
		Long: "Makes a token and prints it on standard output, once: the controller keeps a digest of it.", Args: arguments(1, 1),
	}
	grant.register(create)
	create.Flags().DurationVar(&lifetime, "lifetime", 0, "how long it lasts; 0 is for ever")
	f.AddCommand(at(env, create, func(cmd *cobra.Command, rest *client.Client, args []string) error {
		g, err := grant.grant()
		if err != nil {
			return err
		}
		t, err := post[api.Token](cmd.Context(), rest, tokensPath, api.TokenRequest{Name: args[0],
			Grant: g, Lifetime: api.Duration(lifetime)})
		if err != nil {
			return err
		}
		fmt.Fprintf(env.stderr, "token %s of %s, %s; it is shown only now\n", inLine(t.ID),
			inLine(t.Name), inLine(grantText(t.Grant)))
		_, err = fmt.Fprintln(env.stdout, inLine(t.Secret))
		return err
	}), listing(env, "List the tokens, without their secrets", tokensPath,
		func(w *bytes.Buffer, tokens []api.Token) {
			g := newGrid("ID", "NAME", "ROLE", "CREATED", "BY", "EXPIRES", "LAST USED")
			for _, t := range tokens {
				g.row(t.ID, t.Name, roleCell(t.Grant), dayTime(t.Created), t.CreatedBy, dayTime(t.Expires),
					dayTime(t.LastUsed))
			}
			g.writeTo(w)
		}), removing(env, &cobra.Command{Use: "revoke ID...", Short: "Revoke tokens",
		Long: "Revokes tokens by their ids. They count no more at once."}, "tokens", "token", "revoked"))
	return f
}

func newSession(env environment) *cobra.Command {
	f := family("session", "List and end sessions",
		"Lists and ends sessions of people and programs that have signed in: for who administers all\n"+
			"of them, for anybody else its own.")
	f.AddCommand(listing(env, "List the sessions that have not ended", sessionsPath,
		func(w *bytes.Buffer, sessions []api.OpenSession) {
			g := newGrid("ID", "NAME", "ROLE", "BY", "BEGAN", "LAST USED", "ENDS", "CURRENT")
			for _, s := range sessions {
				current := "-"
				if s.Current {
					current = "yes"
				}
				g.row(s.ID, s.Name, roleCell(s.Grant), string(s.Way), dayTime(s.Created),
					dayTime(s.LastUsed), dayTime(s.Expires), current)
			}
			g.writeTo(w)
		}), removing(env, &cobra.Command{Use: "end ID...", Short: "End sessions",
		Long: "Ends sessions by their ids. They count no more at once."}, "sessions", "session", "ended"))
	return f
}

// removing makes a command that deletes the items with the given keys from a collection; done is
// the word for a deleted thing.
func removing(env environment, c *cobra.Command, collection, thing, done string) *cobra.Command {
	c.Args = arguments(1, -1)
	return at(env, c, func(cmd *cobra.Command, rest *client.Client, args []string) error {
		return eachOf(env, args, func(key string) (string, error) {
			_, err := rest.Do(cmd.Context(), http.MethodDelete, client.Path("v1", collection, key), nil, nil)
			return thing + " " + key + " " + done, err
		})
	})
}

// eachOf does something with each name, and says so.
func eachOf(env environment, names []string, do func(name string) (done string, err error)) error {
	var errs []error
	for _, name := range names {
		done, err := do(name)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
			continue
		}
		if _, err := fmt.Fprintln(env.stdout, inLine(done)); err != nil {
			return err
		}
	}
	return errors.Join(errs...)
}

// dayTime is a time in a table; "-": none.
func dayTime(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

// newPassword asks for a password twice.
func newPassword(ask *prompter) (string, error) {
	first, err := ask.secret("Password")
	if err != nil {
		return "", err
	}
	second, err := ask.secret("Again")
	if err != nil {
		return "", err
	}
	if first != second {
		return "", usagef("the passwords differ: want the same one twice")
	}
	return first, nil
}

func newUser(env environment) *cobra.Command {
	f := family("user", "Add and remove local users",
		"Adds, lists and removes local users, and sets their passwords. Where standard input is no "+
			"terminal, it has the passwords, a line each.")
	var grant grantFlags
	add := &cobra.Command{Use: "add NAME --role ROLE", Short: "Add a local user",
		Long: "Adds a local user. It asks for the password twice.", Args: arguments(1, 1)}
	grant.register(add)
	f.AddCommand(at(env, add, func(cmd *cobra.Command, rest *client.Client, args []string) error {
		g, err := grant.grant()
		if err != nil {
			return err
		}
		password, err := newPassword(newPrompter(env))
		if err != nil {
			return err
		}
		u, err := post[api.User](cmd.Context(), rest, usersPath, api.UserRequest{Name: args[0], Grant: g,
			Password: password})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(env.stdout, "user %s added, %s\n", inLine(u.Name),
			inLine(grantText(u.Grant)))
		return err
	}), listing(env, "List the local users", usersPath, func(w *bytes.Buffer, users []api.User) {
		g := newGrid("NAME", "ROLE", "CREATED", "CHANGED", "LAST USED")
		for _, u := range users {
			g.row(u.Name, roleCell(u.Grant), dayTime(u.Created), dayTime(u.Changed), dayTime(u.LastUsed))
		}
		g.writeTo(w)
	}), removing(env, &cobra.Command{Use: "remove NAME...", Short: "Remove local users",
		Long: "Removes local users and ends their sessions."}, "users", "user", "removed"), at(env, &cobra.Command{Use: "passwd [NAME]", Short: "Set a password",
		Long: "Sets a user's password, and ends the user's sessions: by default your own, for which it " +
			"asks\nfor the present one.", Args: arguments(0, 1)},
		func(cmd *cobra.Command, rest *client.Client, args []string) error {
			s, err := get[api.Session](cmd.Context(), rest, sessionPath)
			if err != nil {
				return err
			}
			name := s.Name
			if len(args) > 0 {
				name = args[0]
			}
			ask, body := newPrompter(env), api.PasswordRequest{}
			if s.Way == api.WayUser && s.Name == name {
				if body.Current, err = ask.secret("Present password"); err != nil {
					return err
				}
			}
			if body.Password, err = newPassword(ask); err != nil {
				return err
			}
			if _, err := rest.Do(cmd.Context(), http.MethodPut, client.Path("v1", "users", name, "password"),
				nil, body); err != nil {
				return err
			}
			_, err = fmt.Fprintf(env.stdout, "password of %s set; its sessions have ended\n", inLine(name))
			return err
		}))
	return f
}
