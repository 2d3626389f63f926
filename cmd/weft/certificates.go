package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/internal/certs"
)

func certificateTable(w *bytes.Buffer, list []api.Certificate) {
	g := newGrid("NAME", "ROLE", "STATE", "EXPIRES", "HOLDER", "NAMES", "FILE", "NOTE")
	for i := range list {
		c := &list[i]
		holder := c.Identity
		if holder == "" {
			holder = c.Subject
		}
		g.row(c.Name, c.Role, c.State, clockTime(c.NotAfter), holder, strings.Join(c.Names, " "), c.File,
			c.Message)
	}
	g.writeTo(w)
}

const (
	day         = 24 * time.Hour
	caValid     = 3650 * day
	issuedValid = 365 * day
)

func newCerts(env environment) *cobra.Command {
	c := family("certs", "Make the certificates of an installation",
		`Makes an authority and certificates for controllers, switches, hosts and clients of the
API. Each names its holder as weft://KIND/NAME, and is good for connections of that kind only.
Existing files are kept unless --replace is given. Private keys have mode 0600.`)
	c.AddCommand(newCertsInit(env), newCertsIssue(env), newCertsShow(env))
	return c
}

// folder of certificates.
type certFolder struct {
	dir     string
	valid   time.Duration
	replace bool
}

func (f *certFolder) register(c *cobra.Command, valid time.Duration) {
	c.Flags().StringVarP(&f.dir, "dir", "d", "certs", "directory of the files")
	c.Flags().DurationVar(&f.valid, "valid", valid, "time until they expire")
	c.Flags().BoolVar(&f.replace, "replace", false, "replace existing files")
}

// write writes a certificate and its key, and prints where.
func (f *certFolder) write(out io.Writer, name string, p certs.PEM) error {
	prefix := filepath.Join(f.dir, name)
	if err := p.Write(prefix, f.replace); err != nil {
		if errors.Is(err, certs.ErrExists) {
			return fmt.Errorf("%w: --replace replaces it", err)
		}
		return err
	}
	list, err := certs.ReadFile(prefix + ".pem")
	if err != nil {
		return err
	}
	holder := list[0].Identity
	if holder == "" {
		holder = list[0].Subject
	}
	_, err = fmt.Fprintf(out, "%s.pem, %s.key: %s, expires %s\n", prefix, prefix, holder,
		clockTime(list[0].NotAfter))
	return err
}

func newCertsInit(env environment) *cobra.Command {
	var f certFolder
	var name string
	var keep bool
	c := &cobra.Command{
		Use: "init", Short: "Make an authority", Args: arguments(0, 0),
		Long: `Makes the certificate and the private key of an authority, ca.pem and ca.key. Machines
need ca.pem; ca.key signs certificates: keep it where nothing else runs.`,
	}
	c.RunE = func(*cobra.Command, []string) error {
		p, err := certs.NewAuthority(name, time.Now(), f.valid)
		if err != nil {
			return &usageError{err}
		}
		if err := os.MkdirAll(f.dir, 0o750); err != nil {
			return err
		}
		err = f.write(env.stdout, "ca", p)
		if keep && errors.Is(err, certs.ErrExists) {
			_, err = fmt.Fprintf(env.stdout, "%s: kept\n", filepath.Join(f.dir, "ca.pem"))
		}
		return err
	}
	f.register(c, caValid)
	c.Flags().StringVar(&name, "name", "Weft CA", "common name of the authority")
	c.Flags().BoolVar(&keep, "keep", false, "succeed where an authority exists, and keep it")
	c.MarkFlagsMutuallyExclusive("keep", "replace")
	return c
}

func newCertsIssue(env environment) *cobra.Command {
	var f certFolder
	var config string
	c := &cobra.Command{
		Use:   "issue [KIND NAME [HOST]...]",
		Short: "Issue a certificate, or those of a whole configuration",
		Long: `Issues the certificate KIND-NAME.pem with its private key KIND-NAME.key, KIND one of
controller, switch, host and client. HOST are DNS names and addresses at which others
connect to a controller or a switch.

--config issues what a controller's configuration needs: for the controller, its switches,
its hosts, and a client named admin. Certificates that are there are kept.`,
		Example: `  weft certs init
  weft certs issue --config controller.yaml
  weft certs issue switch n6 192.0.2.6 n6.example`,
		Args: cobra.ArbitraryArgs,
	}
	c.RunE = func(_ *cobra.Command, args []string) error {
		var wanted []certs.Request
		switch {
		case config != "" && len(args) > 0:
			return usagef("certs issue: want --config, or KIND and NAME")
		case config != "":
			text, err := os.ReadFile(config)
			if err != nil {
				return &usageError{err}
			}
			inv, err := inventory.Load(text)
			if err != nil {
				return &usageError{err}
			}
			wanted = requests(inv)
		case len(args) < 2:
			return usagef("certs issue: want KIND and NAME, or --config FILE")
		default:
			kind, err := certs.ParseKind(args[0])
			if err != nil {
				return &usageError{err}
			}
			wanted = []certs.Request{{Identity: certs.Identity{Kind: kind, Name: args[1]}, Hosts: args[2:]}}
		}
		ca := filepath.Join(f.dir, "ca")
		authority, err := certs.LoadAuthority(ca+".pem", ca+".key")
		if errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%w: \"weft certs init\" makes an authority", err)
		}
		if err != nil {
			return err
		}
		for _, r := range wanted {
			if strings.ContainsAny(r.Name, `/\`) {
				return usagef("name is %q: a file cannot have that name", r.Name)
			}
			p, err := authority.Issue(r, time.Now(), f.valid)
			if err != nil {
				return &usageError{err}
			}
			err = f.write(env.stdout, r.Kind.String()+"-"+r.Name, p)
			if config != "" && errors.Is(err, certs.ErrExists) {
				_, err = fmt.Fprintf(env.stdout, "%s: kept\n", filepath.Join(f.dir, r.Kind.String()+"-"+r.Name+
					".pem"))
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	f.register(c, issuedValid)
	c.Flags().StringVar(&config, "config", "", "configuration of a controller")
	return c
}

// requests are the certificates that a configuration needs.
func requests(inv *inventory.Inventory) []certs.Request {
	at := func(addresses ...string) (hosts []string) {
		for _, a := range addresses {
			host, _, err := net.SplitHostPort(a)
			if err != nil {
				host = a
			}
			if ip := net.ParseIP(host); host != "" && (ip == nil || !ip.IsUnspecified()) &&
				!slices.Contains(hosts, host) {
				hosts = append(hosts, host)
			}
		}
		return hosts
	}
	var out []certs.Request
	want := func(k certs.Kind, name string, hosts ...string) {
		out = append(out, certs.Request{Identity: certs.Identity{Kind: k, Name: name}, Hosts: hosts})
	}
	machine, _ := os.Hostname()
	local := []string{machine, "localhost", "127.0.0.1", "::1"}
	if members := inv.Cluster.Etcd.Members; len(members) > 0 {
		for name, address := range members {
			hosts := append([]string{name, address}, local[1:]...)
			if name == inv.Cluster.Name { // what the others advertise is in their files
				hosts = append(hosts, inv.Cluster.Host())
			}
			want(certs.KindController, name, at(hosts...)...)
		}
		slices.SortFunc(out, func(a, b certs.Request) int { return strings.Compare(a.Name, b.Name) })
	} else {
		name := inv.Cluster.Name
		if name == "" {
			name = "controller"
		}
		want(certs.KindController, name,
			at(append([]string{inv.Cluster.Advertise, inv.Cluster.Listen, inv.API.Listen, inv.MRC.Listen},
				local...)...)...)
	}
	for _, s := range inv.Switches {
		if s.Address == "" {
			continue // the controller does not connect to it
		}
		hosts := at(s.Address, s.GNMI.Address)
		if s.TLS != nil && s.TLS.ServerName != "" {
			hosts = at(append(hosts, s.TLS.ServerName)...)
		}
		want(certs.KindSwitch, s.Name, hosts...)
	}
	for _, h := range inv.Hosts {
		want(certs.KindHost, h.Name)
	}
	want(certs.KindClient, "admin")
	return out
}

func newCertsShow(env environment) *cobra.Command {
	return &cobra.Command{
		Use: "show FILE...", Short: "Show what certificates say and when they expire",
		Args: arguments(1, -1),
		RunE: func(_ *cobra.Command, args []string) error {
			g := newGrid("FILE", "HOLDER", "NAMES", "ISSUER", "FROM", "EXPIRES")
			for _, file := range args {
				list, err := certs.ReadFile(file)
				if err != nil {
					return err
				}
				for _, c := range list {
					holder := c.Identity
					if holder == "" {
						holder = c.Subject
					}
					g.row(c.File, holder, strings.Join(c.Names, " "), c.Issuer, clockTime(c.NotBefore),
						clockTime(c.NotAfter))
				}
			}
			return writeTable(env.stdout, sure(g.writeTo))
		},
	}
}
