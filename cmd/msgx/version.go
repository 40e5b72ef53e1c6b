package main

import (
	"fmt"
	"runtime/debug"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"msgx/cmd/msgx/config"
)

// build names the build: module version and revision as Go recorded them.
func build() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	parts := []string{info.Main.Version, info.GoVersion}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			parts = append(parts, s.Value)
		}
		if s.Key == "vcs.modified" && s.Value == "true" {
			parts = append(parts, "modified")
		}
	}
	return strings.Join(parts, " ")
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the build",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "msgx", build())
			return err
		},
	}
}

func parametersCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "parameters",
		Short:   "Print every configuration parameter with default and meaning",
		Example: "  msgx parameters\n  msgx parameters | grep rules",
		Long: `Print every configuration parameter. A parameter is set in the file (--config), by its
environment variable, or with --set; the later of these wins.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 4, 2, ' ', 0)
			fmt.Fprintln(w, "KEY\tENVIRONMENT\tDEFAULT\tMEANING")
			for _, p := range config.Parameters() {
				doc := p.Doc
				if len(p.OneOf) > 0 {
					doc += " (" + strings.Join(p.OneOf, ", ") + ")"
				}
				fmt.Fprintf(w, "msgx.%s\t%s\t%v\t%s\n", p.Key, config.EnvName(p.Key), shownDefault(p), doc)
			}
			return w.Flush()
		},
	}
}

func shownDefault(p config.Parameter) string {
	switch d := p.Default.(type) {
	case []string:
		if len(d) == 0 {
			return "-"
		}
		return strings.Join(d, ",")
	case string:
		if d == "" {
			return "-"
		}
		return d
	default:
		return fmt.Sprint(d)
	}
}
