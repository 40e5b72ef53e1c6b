// Package schemas reads the catalogue: the YAML files beside it are the single
// source of what a message and a flight consist of. See README.md for how to
// read and change them, and package catalogue for the types.
package schemas

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"go.yaml.in/yaml/v3"

	"msgx/engine/catalogue"
)

//go:generate go run ../tools/schemagen -out ..

//go:embed *.yaml
var shipped embed.FS

// Definitions are what the Lua language server needs to know view, msg and decisions by.
//
//go:embed generated/lua/*.lua
var Definitions embed.FS

// files are the parts of a catalogue, in reading order.
var files = []string{"types.yaml", "flight.yaml", "messages.yaml", "references.yaml", "requests.yaml"}

// document is one YAML file; each file fills its own part.
type document struct {
	Types      []catalogue.ValueType `yaml:"types"`
	Flight     catalogue.Flight      `yaml:"flight"`
	Meta       []catalogue.Field     `yaml:"meta"`
	Messages   []catalogue.Kind      `yaml:"messages"`
	References []catalogue.Reference `yaml:"references"`
	Requests   []catalogue.Request   `yaml:"requests"`
}

// Load reads and checks the catalogue that the binary carries.
func Load() (*catalogue.Catalogue, error) { return LoadFS(shipped) }

// LoadFS reads and checks a catalogue from the files of a directory. Unknown
// keys are faults, so that a misspelt bound is not silently lost.
func LoadFS(dir fs.FS) (*catalogue.Catalogue, error) {
	c, err := read(dir)
	if err != nil {
		return nil, err
	}
	return catalogue.New(*c)
}

// read puts the files together; nothing is checked yet but their keys.
func read(dir fs.FS) (*catalogue.Catalogue, error) {
	var c catalogue.Catalogue
	for _, name := range files {
		var d document
		data, err := fs.ReadFile(dir, name)
		if err != nil {
			return nil, fmt.Errorf("catalogue: %w", err)
		}
		decoder := yaml.NewDecoder(bytes.NewReader(data))
		decoder.KnownFields(true)
		if err := decoder.Decode(&d); err != nil {
			return nil, fmt.Errorf("catalogue: %s: %w", name, err)
		}
		merge(&c, d)
	}
	fillDefaults(&c)
	return &c, nil
}

func merge(c *catalogue.Catalogue, d document) {
	c.Types = append(c.Types, d.Types...)
	c.Flight.Scalars = append(c.Flight.Scalars, d.Flight.Scalars...)
	c.Flight.Objects = append(c.Flight.Objects, d.Flight.Objects...)
	c.Flight.Lists = append(c.Flight.Lists, d.Flight.Lists...)
	c.Meta = append(c.Meta, d.Meta...)
	c.Kinds = append(c.Kinds, d.Messages...)
	c.References = append(c.References, d.References...)
	c.Requests = append(c.Requests, d.Requests...)
}

// fillDefaults writes out what the files leave to convention.
func fillDefaults(c *catalogue.Catalogue) {
	fillFields("", c.Flight.Scalars)
	fillFields("", c.Meta)
	for i := range c.Flight.Objects {
		fillFields(strings.ToLower(c.Flight.Objects[i].Tag)+"_", c.Flight.Objects[i].Parts)
	}
	for i := range c.Requests {
		fillFields("", c.Requests[i].Fields)
	}
	fillLists(c.Flight.Lists)
}

func fillLists(lists []catalogue.List) {
	for i := range lists {
		fillFields("", lists[i].Fields)
		fillLists(lists[i].Lists)
	}
}

func fillFields(prefix string, fields []catalogue.Field) {
	for i := range fields {
		f := &fields[i]
		if f.Column == "" {
			f.Column = prefix + strings.ToLower(f.Tag)
		}
		if f.Source == "" {
			f.Source = catalogue.FromElement
		}
	}
}
