package rulebook

import (
	"io/fs"
	"sync"

	"msgx/engine/catalogue"
)

// Cache keeps compiled files, for whoever loads many rule sets that differ in few of them. A file
// is found by its name and its whole text, so what is loaded is the same as without a cache. It is safe for
// several goroutines: compiled code is never written to.
type Cache struct {
	files sync.Map // of cached to *file
}

type cached struct{ name, source string }

// Load is the function Load, but for files that were compiled before.
func (c *Cache) Load(fsys fs.FS, cat *catalogue.Catalogue, s Settings, limits Limits) (*Rulebook, error) {
	l := newLoader(fsys, cat)
	l.cache = c
	return l.load(s, limits, nil)
}

func (c *Cache) find(name string, source []byte) *file {
	if c == nil {
		return nil
	}
	if f, ok := c.files.Load(cached{name, string(source)}); ok {
		return f.(*file)
	}
	return nil
}

func (c *Cache) keep(f *file) {
	if c != nil {
		c.files.Store(cached{f.name, string(f.source)}, f)
	}
}
