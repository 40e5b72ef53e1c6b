// Command schemagen writes what is derived from the catalogue: definitions for
// editors of Lua rules (LuaCATS), an XSD of the messages, and JSON Schemas of the
// events. "go generate ./schemas" runs it; a test fails when its output is stale.
//
// A site that overrides bounds can derive its own set beside ours:
//
//	go run ./tools/schemagen -site site.yaml -out /etc/msgx/schemas
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"msgx/engine/catalogue"
	"msgx/schemas"
)

func main() {
	out := flag.String("out", ".", "folder that stands for the root of the repository")
	site := flag.String("site", "", "site file with overrides of the catalogue")
	flag.Parse()
	if err := run(*out, *site); err != nil {
		fmt.Fprintln(os.Stderr, "schemagen:", err)
		os.Exit(1)
	}
}

func run(out, site string) error {
	var overrides []byte
	if site != "" {
		var err error
		if overrides, err = os.ReadFile(site); err != nil {
			return err
		}
	}
	cat, err := schemas.LoadSite(overrides)
	if err != nil {
		return err
	}
	for name, data := range generate(cat) {
		path := filepath.Join(out, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

const notice = `Generated from the catalogue by "go generate ./schemas"; do not edit.`

// generate gives every derived file by its path from the root of the repository.
func generate(cat *catalogue.Catalogue) map[string][]byte {
	return map[string][]byte{
		".luarc.json":                              luarc(),
		"schemas/generated/lua/msgx.lua":           luaDefinitions(cat),
		"schemas/generated/lua/sandbox.lua":        []byte(luaSandbox),
		"schemas/generated/lua/flight.lua":         luaFlightModule(),
		"schemas/generated/msgx.xsd":               xsd(cat),
		"schemas/generated/event-msg.schema.json":  msgSchema(cat),
		"schemas/generated/event-schd.schema.json": schdSchema(cat),
	}
}
