// Package software finds the programs that the development stack runs, and
// installs what is missing.
//
// Whatever the machine has is used. What it lacks comes from its package
// manager: as root, or where sudo asks nothing, it is installed; otherwise the
// packages are downloaded and unpacked below the stack's own folder, which
// needs no rights at all. Kafka comes as jars from the pinned list in
// tools/kafka/pom.xml, resolved by Maven.
package software

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
)

// Kind names one of the servers.
type Kind string

// The servers of the stack.
const (
	Postgres Kind = "postgres"
	MariaDB  Kind = "mariadb"
	Kafka    Kind = "kafka"
)

// Home is where the programs of one server are.
type Home struct {
	Prefix    string // "" for the machine's own, else the folder that packages were unpacked in
	Bin       string // PostgreSQL's program folder
	Base      string // MariaDB's base folder
	Java      string // the Java program
	ClassPath string // Kafka's jars
}

// Tool returns the path of a program in the usual folders of the home.
func (h Home) Tool(name string) string {
	for _, dir := range []string{"/usr/bin", "/usr/sbin", "/usr/local/bin"} {
		if path := filepath.Join(h.Prefix, dir, name); executable(path) {
			return path
		}
	}
	return ""
}

// Environment returns what programs of an unpacked package need to find their
// libraries and one another.
func (h Home) Environment() []string {
	if h.Prefix == "" {
		return nil
	}
	libraries, _ := filepath.Glob(filepath.Join(h.Prefix, "usr/lib/*-linux-*"))
	env := "LD_LIBRARY_PATH="
	for _, dir := range libraries {
		env += dir + ":"
	}
	bin := filepath.Join(h.Prefix, "usr/bin") + ":" + filepath.Join(h.Prefix, "usr/sbin")
	return []string{env + filepath.Join(h.Prefix, "usr/lib"), "PATH=" + bin + ":/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"}
}

// Finder finds and installs below one folder, which has to be reachable by the
// account that the servers run as.
type Finder struct {
	Dir string
	// Say reports what takes long.
	Say func(format string, args ...any)
}

// Ensure returns the home of a server's programs, installing them if need be.
// Only one process at a time may call it for a folder.
func (f Finder) Ensure(ctx context.Context, kind Kind) (Home, error) {
	if kind == Kafka {
		return f.ensureKafka(ctx)
	}
	if home, ok := f.find(kind); ok {
		return home, nil
	}
	if err := f.install(ctx, packages[kind]...); err != nil {
		return Home{}, fmt.Errorf("install %s: %w", kind, err)
	}
	home, ok := f.find(kind)
	if !ok {
		return Home{}, fmt.Errorf("install %s: packages %v are there, but their programs were not found", kind, packages[kind])
	}
	return home, nil
}

// packages are Debian's names. MariaDB's core packages bring neither a service
// nor an account; client-core has my_print_defaults, which the set-up needs.
var packages = map[Kind][]string{
	Postgres: {"postgresql"},
	MariaDB:  {"mariadb-server-core", "mariadb-client-core"},
}

func (f Finder) find(kind Kind) (Home, bool) {
	for _, prefix := range f.prefixes() {
		home, ok := findPostgres(prefix)
		if kind == MariaDB {
			home, ok = findMariaDB(prefix)
		}
		if ok {
			return home, true
		}
	}
	return Home{}, false
}

// prefixes lists where programs may be. MSGX_STACK_UNPACKED=1 leaves the
// machine's own out, to try what happens without them.
func (f Finder) prefixes() []string {
	if os.Getenv("MSGX_STACK_UNPACKED") == "1" {
		return []string{f.unpacked()}
	}
	return []string{"", f.unpacked()}
}

func (f Finder) unpacked() string { return filepath.Join(f.Dir, "unpacked") }

// findPostgres takes the highest version that is complete.
func findPostgres(prefix string) (Home, bool) {
	dirs, _ := filepath.Glob(filepath.Join("/", prefix, "usr/lib/postgresql/*/bin"))
	slices.SortFunc(dirs, func(a, b string) int { return version(b) - version(a) })
	if path, err := exec.LookPath("initdb"); err == nil && prefix == "" {
		if resolved, err := filepath.EvalSymlinks(path); err == nil {
			dirs = append(dirs, filepath.Dir(resolved))
		}
	}
	for _, dir := range dirs {
		if executable(filepath.Join(dir, "initdb")) && executable(filepath.Join(dir, "postgres")) {
			return Home{Prefix: prefix, Bin: dir}, true
		}
	}
	return Home{}, false
}

func version(bin string) int {
	number, _ := strconv.Atoi(filepath.Base(filepath.Dir(bin)))
	return number
}

func findMariaDB(prefix string) (Home, bool) {
	home := Home{Prefix: prefix, Base: filepath.Join("/", prefix, "usr")}
	for _, tool := range []string{"mariadbd", "mariadb-install-db", "my_print_defaults"} {
		if home.Tool(tool) == "" {
			return Home{}, false
		}
	}
	return home, true
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// sourceDir is the folder of this file: the pinned list of Kafka's jars is
// found from it, from whatever folder a test or command was started.
func sourceDir() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(file)
}
