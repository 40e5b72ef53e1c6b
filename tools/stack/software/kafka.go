package software

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

// oldestJava is what the pinned broker needs.
const oldestJava = 17

// ensureKafka finds Java and the broker's jars. The jars' folder carries a hash
// of the pinned list, so that a changed list gets a folder of its own.
func (f Finder) ensureKafka(ctx context.Context) (Home, error) {
	java, err := f.ensureJava(ctx)
	if err != nil {
		return Home{}, err
	}
	pom := filepath.Join(sourceDir(), "..", "..", "kafka", "pom.xml")
	pinned, err := os.ReadFile(pom)
	if err != nil {
		return Home{}, fmt.Errorf("pinned list of Kafka's jars: %w", err)
	}
	sum := sha256.Sum256(pinned)
	jars := filepath.Join(f.Dir, "jars-"+hex.EncodeToString(sum[:6]))
	home := Home{Java: java, ClassPath: filepath.Join(jars, "*")}
	if _, err := os.Stat(jars); err == nil {
		return home, nil
	}
	if err := f.resolve(ctx, java, pom, jars); err != nil {
		return Home{}, fmt.Errorf("resolve Kafka's jars: %w", err)
	}
	return home, nil
}

// resolve has Maven copy the jars, and gives the folder its name last, so that
// it is complete whenever it is there.
func (f Finder) resolve(ctx context.Context, java, pom, jars string) error {
	maven, err := f.ensureMaven(ctx)
	if err != nil {
		return err
	}
	f.Say("resolving Kafka's jars with Maven")
	dir, err := f.downloadDir()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // renamed if all went well
	args := append(maven, "-B", "-q", "-f", pom, "org.apache.maven.plugins:maven-dependency-plugin:copy-dependencies",
		"-DincludeScope=runtime", "-DoutputDirectory="+dir)
	if !writableHome() {
		args = append(args, "-Dmaven.repo.local="+filepath.Join(f.Dir, "maven-repository"))
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "JAVA_HOME="+javaHome(java))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w\n%s", args, err, out)
	}
	found, err := filepath.Glob(filepath.Join(dir, "kafka_*.jar"))
	if err != nil || len(found) == 0 {
		return fmt.Errorf("%v: found no kafka_*.jar in %s: %w", args, dir, err)
	}
	if err := readableByAll(dir); err != nil {
		return err
	}
	return os.Rename(dir, jars)
}

// readableByAll undoes a strict umask: the broker runs as another account.
func readableByAll(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return os.Chmod(path, 0o755)
		}
		return os.Chmod(path, 0o644)
	})
}

func writableHome() bool {
	home, err := os.UserHomeDir()
	if err != nil {
		return false
	}
	probe, err := os.MkdirTemp(home, ".msgx-stack-")
	if err != nil {
		return false
	}
	return os.Remove(probe) == nil
}

// ensureJava returns a Java that is new enough: the one of JAVA_HOME, of the
// path, or of the machine's packages.
func (f Finder) ensureJava(ctx context.Context) (string, error) {
	if java, err := f.findJava(ctx); err == nil {
		return java, nil
	}
	if err := f.install(ctx, "openjdk-17-jre-headless"); err != nil {
		return "", fmt.Errorf("install Java %d: %w", oldestJava, err)
	}
	return f.findJava(ctx)
}

func (f Finder) findJava(ctx context.Context) (string, error) {
	candidates := []string{filepath.Join(os.Getenv("JAVA_HOME"), "bin/java")}
	if path, err := exec.LookPath("java"); err == nil {
		candidates = append(candidates, path)
	}
	for _, prefix := range []string{"/", f.unpacked()} {
		found, _ := filepath.Glob(filepath.Join(prefix, "usr/lib/jvm/*/bin/java"))
		candidates = append(candidates, found...)
	}
	var tried []error
	for _, java := range candidates {
		if !filepath.IsAbs(java) {
			continue
		}
		version, err := javaVersion(ctx, java)
		if err == nil && version >= oldestJava {
			return java, nil
		}
		tried = append(tried, fmt.Errorf("%s: version %d: %w", java, version, err))
	}
	return "", fmt.Errorf("no Java of version %d or newer: %w", oldestJava, errors.Join(tried...))
}

var javaVersionLine = regexp.MustCompile(`version "(\d+)`)

func javaVersion(ctx context.Context, java string) (int, error) {
	out, err := exec.CommandContext(ctx, java, "-version").CombinedOutput()
	if err != nil {
		return 0, err
	}
	match := javaVersionLine.FindSubmatch(out)
	if match == nil {
		return 0, fmt.Errorf("found no version in %q", out)
	}
	return strconv.Atoi(string(match[1]))
}

func javaHome(java string) string {
	if resolved, err := filepath.EvalSymlinks(java); err == nil {
		java = resolved
	}
	return filepath.Dir(filepath.Dir(java))
}

// ensureMaven returns how to start Maven.
func (f Finder) ensureMaven(ctx context.Context) ([]string, error) {
	if maven := f.findMaven(); maven != nil {
		return maven, nil
	}
	if err := f.install(ctx, "maven"); err != nil {
		return nil, fmt.Errorf("install Maven: %w", err)
	}
	if maven := f.findMaven(); maven != nil {
		return maven, nil
	}
	return nil, errors.New("install Maven: the package is there, but mvn was not found")
}

func (f Finder) findMaven() []string {
	if os.Getenv("MSGX_STACK_UNPACKED") != "1" {
		if path, err := exec.LookPath("mvn"); err == nil {
			return []string{path}
		}
	}
	// Unpacked, it has no link in usr/bin: those are made when a package is installed.
	if path := filepath.Join(f.unpacked(), "usr/share/maven/bin/mvn"); executable(path) {
		return []string{path}
	}
	return nil
}
