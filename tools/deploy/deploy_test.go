// Package deploy holds what runs msgx: a systemd unit, an image, a compose file and a Kubernetes manifest. Its tests hold
// them to the configuration that this msgx reads.
package deploy

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"msgx/cmd/msgx/config"
)

// documents are those of a YAML file.
func documents(t *testing.T, name string) (all []any) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var document any
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, document)
	}
}

// walk visits every mapping of a document.
func walk(node any, visit func(map[string]any)) {
	switch n := node.(type) {
	case map[string]any:
		visit(n)
		for _, child := range n {
			walk(child, visit)
		}
	case []any:
		for _, child := range n {
			walk(child, visit)
		}
	}
}

// environment is every variable of ours in a document, however it is written.
func environment(document any) map[string]string {
	found := map[string]string{}
	walk(document, func(m map[string]any) {
		for key, value := range m {
			if strings.HasPrefix(key, "MSGX_") {
				found[key], _ = value.(string)
			}
		}
		if name, _ := m["name"].(string); strings.HasPrefix(name, "MSGX_") {
			found[name], _ = m["value"].(string)
		}
	})
	return found
}

// A variable that this msgx does not know would keep it from starting.
func TestVariablesAreParameters(t *testing.T) {
	for _, name := range []string{"compose.yaml", "kubernetes.yaml"} {
		variables := map[string]string{}
		for _, document := range documents(t, name) {
			for key, value := range environment(document) {
				if value == "" { // from a secret
					value = "secret"
				}
				variables[key] = value
			}
		}
		if len(variables) < 4 {
			t.Errorf("%s: found %v, expected the addresses of the servers at least", name, variables)
		}
		var env []string
		for key, value := range variables {
			env = append(env, key+"="+value)
		}
		slices.Sort(env)
		if _, err := config.Load(config.Sources{Env: env}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestConfigurationOfTheManifestLoads(t *testing.T) {
	found := false
	for _, document := range documents(t, "kubernetes.yaml") {
		walk(document, func(m map[string]any) {
			text, ok := m["msgx.yaml"].(string)
			if !ok {
				return
			}
			found = true
			file := filepath.Join(t.TempDir(), "msgx.yaml")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			c, err := config.Load(config.Sources{File: file, Env: []string{"MSGX_POSTGRES_URL=postgres://x/y", "MSGX_MAILBOX_DSN=u@tcp(x)/y"}})
			if err != nil {
				t.Fatal(err)
			}
			if faults := c.CheckServe(); len(faults) > 0 {
				t.Errorf("serving with it: %v", errors.Join(faults...))
			}
		})
	}
	if !found {
		t.Error("no msgx.yaml in kubernetes.yaml")
	}
}
