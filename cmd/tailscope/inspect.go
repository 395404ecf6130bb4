package main

import (
	"github.com/spf13/cobra"
)

func inspectCommand() *cobra.Command {
	var f inputFlags
	c := &cobra.Command{
		Use:   "inspect PATH...",
		Short: "say what data hold, what is wrong with them, and what is missing",
		RunE: func(c *cobra.Command, args []string) error {
			return &usageError{"inspect: in work", ""}
		},
	}
	f.add(c)
	return c
}
