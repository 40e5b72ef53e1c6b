package software

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// install brings Debian packages onto the machine or below the finder's folder.
func (f Finder) install(ctx context.Context, names ...string) error {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("apt-get is not on this machine: install %s by its own means", strings.Join(names, " "))
	}
	prefix, ok := f.privilege(ctx)
	if !ok || os.Getenv("MSGX_STACK_UNPACKED") == "1" {
		return f.unpack(ctx, names)
	}
	f.Say("installing %s", strings.Join(names, " "))
	if err := keepClusterAway(ctx, prefix); err != nil {
		return err
	}
	args := append([]string{"env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-o", "DPkg::Lock::Timeout=300",
		"install", "-y", "-qq", "--no-install-recommends"}, names...)
	if err := command(ctx, "", append(prefix, args...)...); err == nil {
		return nil
	}
	// The lists of a fresh machine are empty, those of an old one out of date.
	update := append(prefix, "apt-get", "-o", "DPkg::Lock::Timeout=300", "update", "-qq")
	return errors.Join(command(ctx, "", update...), command(ctx, "", append(prefix, args...)...))
}

// privilege returns what to put before a command that needs root.
func (f Finder) privilege(ctx context.Context) (prefix []string, ok bool) {
	if os.Geteuid() == 0 {
		return nil, true
	}
	if exec.CommandContext(ctx, "sudo", "-n", "true").Run() == nil {
		return []string{"sudo", "-n"}, true
	}
	return nil, false
}

// keepClusterAway stops the postgresql package from making and starting a
// cluster of its own. A configuration that is there already is left alone.
func keepClusterAway(ctx context.Context, prefix []string) error {
	const script = `f=/etc/postgresql-common/createcluster.conf
[ -e "$f" ] || { mkdir -p "${f%/*}" && echo "create_main_cluster = false" > "$f"; }`
	return command(ctx, "", append(prefix, "sh", "-c", script)...)
}

// unpack downloads packages, with those that they depend on and the machine
// lacks, and unpacks them below the finder's folder.
func (f Finder) unpack(ctx context.Context, names []string) error {
	f.Say("no right to install: unpacking %s below %s", strings.Join(names, " "), f.unpacked())
	missing, err := missingPackages(ctx, names)
	if err != nil {
		return err
	}
	dir, err := f.downloadDir()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the next download clears it again
	if err := command(ctx, dir, append([]string{"apt-get", "download", "-qq"}, missing...)...); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := command(ctx, dir, "dpkg-deb", "-x", file, f.unpacked()); err != nil {
			return err
		}
	}
	// dpkg-deb -x gives the folder the mode of the package's root entry; the
	// servers' account has to get in.
	return errors.Join(os.Chmod(f.unpacked(), 0o755), relink(f.unpacked()))
}

// downloadDir makes an empty folder, and removes what a killed process left of
// an earlier one: only one process at a time gets here.
func (f Finder) downloadDir() (string, error) {
	dir := filepath.Join(f.Dir, "download")
	if err := os.RemoveAll(dir); err != nil {
		return "", fmt.Errorf("clear download folder: %w", err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", fmt.Errorf("make download folder: %w", err)
	}
	return dir, nil
}

// relink turns absolute symbolic links of unpacked packages into links below
// root, where what they mean has been unpacked too: Maven's configuration is
// reached by such links.
func relink(root string) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type()&fs.ModeSymlink == 0 {
			return err
		}
		target, err := os.Readlink(path)
		if err != nil || !filepath.IsAbs(target) || strings.HasPrefix(target, root) {
			return err
		}
		below := filepath.Join(root, target)
		if _, err := os.Lstat(below); err != nil {
			return nil //nolint:nilerr // it points at something that the machine has
		}
		return errors.Join(os.Remove(path), os.Symlink(below, path))
	})
}

// missingPackages asks apt what an installation would bring: lines of the form
// "Inst NAME (VERSION ...)". The names themselves always count, since they may
// be installed but set aside.
func missingPackages(ctx context.Context, names []string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "apt-get", append([]string{"install", "-s", "--no-install-recommends", "--reinstall"}, names...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("ask apt-get what %s needs: %w\n%s(its package lists may be empty: 'apt-get update' as root fills them)",
			strings.Join(names, " "), err, problem.String())
	}
	missing := dependencies(names)
	for line := range strings.Lines(out.String()) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "Inst" {
			missing = append(missing, fields[1])
		}
	}
	return missing, nil
}

// dependencies adds the package that holds the programs where the named one
// only points at it.
func dependencies(names []string) []string {
	for _, name := range names {
		if name != "postgresql" {
			continue
		}
		out, err := exec.Command("apt-cache", "depends", "--important", "postgresql").Output()
		if err != nil {
			return names
		}
		for line := range strings.Lines(string(out)) {
			if fields := strings.Fields(line); len(fields) == 2 && strings.HasPrefix(fields[1], "postgresql-") {
				return append([]string{fields[1]}, names...)
			}
		}
	}
	return append([]string{}, names...)
}

func command(ctx context.Context, dir string, argv ...string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, bytes.TrimSpace(out))
	}
	return nil
}
