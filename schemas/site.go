package schemas

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"msgx/engine/catalogue"
)

// override is what a site may change of a field; what it leaves out stays.
type override struct {
	Max   *int      `yaml:"max"`
	Flags *[]string `yaml:"flags"`
	OnBad *string   `yaml:"on-bad"`
}

// site is a site's own file: fields by path ("STND", "FDIV.TEXT", "GTDT.GATE",
// "VIPF.VIPT.VSCD"), those of META by tag, those of requests by name and tag.
type site struct {
	Flight   map[string]override `yaml:"flight"`
	Meta     map[string]override `yaml:"meta"`
	Requests map[string]override `yaml:"requests"`
}

// LoadSite reads the catalogue that the binary carries with a site's changes.
func LoadSite(siteYAML []byte) (*catalogue.Catalogue, error) { return LoadWithSite(shipped, siteYAML) }

// LoadWithSite reads a catalogue and applies a site's changes to it: lengths,
// lists of flags and on-bad, nothing else. Paths and keys that do not exist are
// faults, all of them in one error. An empty file changes nothing.
func LoadWithSite(dir fs.FS, siteYAML []byte) (*catalogue.Catalogue, error) {
	c, err := read(dir)
	if err != nil {
		return nil, err
	}
	var s site
	decoder := yaml.NewDecoder(bytes.NewReader(siteYAML))
	decoder.KnownFields(true)
	if err := decoder.Decode(&s); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("catalogue: site file: %w", err)
	}
	faults := slices.Concat(
		apply("flight", s.Flight, flightFields(c.Flight)),
		apply("meta", s.Meta, fieldsByPath("", c.Meta)),
		apply("requests", s.Requests, requestFields(c.Requests)),
	)
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return catalogue.New(*c)
}

func apply(part string, overrides map[string]override, fields map[string]*catalogue.Field) []error {
	var faults []error
	for _, path := range slices.Sorted(maps.Keys(overrides)) {
		f, known := fields[path]
		if !known {
			faults = append(faults, fmt.Errorf("catalogue: site file: %s: %q is not in the catalogue%s", part, path, nearest(path, fields)))
			continue
		}
		if err := overrides[path].apply(f); err != nil {
			faults = append(faults, fmt.Errorf("catalogue: site file: %s.%s: %w", part, path, err))
		}
	}
	return faults
}

func (o override) apply(f *catalogue.Field) error {
	if o.Max != nil {
		if f.Type != catalogue.Code && f.Type != catalogue.Text {
			return fmt.Errorf("max is given, but a %s has no length", f.Type)
		}
		if *o.Max < 1 {
			return fmt.Errorf("max is %d, expected at least 1", *o.Max)
		}
		f.MaxLen = *o.Max
	}
	if o.Flags != nil {
		if f.Type != catalogue.Flag {
			return fmt.Errorf("flags are given, but a %s has no list of values", f.Type)
		}
		if len(*o.Flags) == 0 || slices.Contains(*o.Flags, "") {
			return fmt.Errorf("flags are %q, expected at least one, none empty", *o.Flags)
		}
		f.Flags = *o.Flags
	}
	if o.OnBad != nil {
		f.OnBad = *o.OnBad // catalogue.New checks it
	}
	return nil
}

func fieldsByPath(prefix string, fields []catalogue.Field) map[string]*catalogue.Field {
	out := make(map[string]*catalogue.Field, len(fields))
	for i := range fields {
		out[prefix+fields[i].Tag] = &fields[i]
	}
	return out
}

func flightFields(f catalogue.Flight) map[string]*catalogue.Field {
	out := fieldsByPath("", f.Scalars)
	for i := range f.Objects {
		maps.Copy(out, fieldsByPath(f.Objects[i].Tag+".", f.Objects[i].Parts))
	}
	listFields(out, "", f.Lists)
	return out
}

func listFields(out map[string]*catalogue.Field, prefix string, lists []catalogue.List) {
	for i := range lists {
		at := prefix + lists[i].Tag + "."
		maps.Copy(out, fieldsByPath(at, lists[i].Fields))
		listFields(out, at, lists[i].Lists)
	}
}

func requestFields(requests []catalogue.Request) map[string]*catalogue.Field {
	out := map[string]*catalogue.Field{}
	for i := range requests {
		maps.Copy(out, fieldsByPath(requests[i].Name+".", requests[i].Fields))
	}
	return out
}

// nearest proposes paths that end like the unknown one, or begin like it.
func nearest(path string, fields map[string]*catalogue.Field) string {
	last := path[strings.LastIndexByte(path, '.')+1:]
	first, _, _ := strings.Cut(path, ".")
	var ending, beginning []string
	for _, known := range slices.Sorted(maps.Keys(fields)) {
		if strings.HasSuffix(known, "."+last) || known == last {
			ending = append(ending, known)
		} else if strings.HasPrefix(known, first) && first != "" {
			beginning = append(beginning, known)
		}
	}
	proposals := append(ending, beginning...)
	if len(proposals) == 0 {
		return ""
	}
	return ", near are " + strings.Join(proposals[:min(len(proposals), 5)], ", ")
}
