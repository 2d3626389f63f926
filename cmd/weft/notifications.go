package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/api"
)

func notificationTable(w *bytes.Buffer, all []api.Notification) {
	g := newGrid("NAME", "URL", "SEVERITIES", "TOLD", "PENDING", "LOST", "DELIVERED", "STATE")
	for i := range all {
		n := &all[i]
		severities := make([]string, len(n.Spec.Severities))
		for j, s := range n.Spec.Severities {
			severities[j] = string(s)
		}
		delivered, state := "never", "ok"
		if !n.Status.Delivered.IsZero() {
			delivered = windowTime(n.Status.Delivered)
		}
		if c := n.Status.Conditions.Find(api.Degraded); c != nil && c.Status {
			state = c.Message
		}
		g.row(n.Name, n.Spec.URL, strings.Join(severities, ","), n.Status.Told, n.Status.Pending,
			n.Status.Lost, delivered, state)
	}
	g.writeTo(w)
}

func newTest(env environment) *cobra.Command {
	var conn connection
	family := family("test", "Test what the controller is told to do", "Tests what the controller is "+
		"told to do.")
	c := &cobra.Command{
		Use: "notification NAME", Short: "Send a test message to the receiver of a notification",
		Long: `Has the controller send a message of the type notification.test to the receiver of a
notification at once, and prints what it answers: status 0 when it takes the message.`,
		Args: arguments(1, 1), ValidArgsFunction: inTurn(completer{env, &conn}.of("notifications")),
	}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		rest, err := conn.open(env)
		if err != nil {
			return err
		}
		defer rest.Close()
		a, err := rest.TestNotification(cmd.Context(), args[0])
		if err != nil {
			return fmt.Errorf("notification %s: %w", args[0], err)
		}
		if !a.Taken {
			return fmt.Errorf("notification %s: the message was not taken: %s", args[0], a.Error)
		}
		_, err = fmt.Fprintf(env.stdout, "%s has taken the message: %d after %d ms\n", inLine(args[0]),
			a.Status, a.TookMs)
		return err
	}
	conn.register(family)
	family.AddCommand(c)
	return family
}
